"""A week with review: real texts of uneven sizes, the real commands, and what 20 answers change.

    VBCGCD_DATA=... python benchmarks/week.py                 # 40 intents of clinc150.csv
    VBCGCD_DATA=... python benchmarks/week.py --categories 150 --answers 50

Half of the intents are labelled. The others come on five days without labels, mixed with items of the
labelled ones; sizes are uneven (`vbcgcd.study.streams.shapes`). After the week somebody who knows the truth
answers the first questions of ``vbcgcd review``.
"""

from __future__ import annotations

import argparse
import csv
import os
import tempfile
from pathlib import Path

import numpy as np

from common import console, data_folder, table
from review import Life, Score, reviewed
from vbcgcd.items import Items
from vbcgcd.study.datasets.load import load_items
from vbcgcd.study.streams.shapes import make_stream
from vbcgcd.workspace import Workspace
from walkthrough import Commands

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday")


def write(path: Path, texts: list[str], labels: list[str] | None = None) -> None:
    """A table of texts, with labels or without."""
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["text", "label"][: 1 if labels is None else 2])
        out.writerows(zip(texts, labels, strict=True) if labels is not None else ([text] for text in texts))


def chosen(items: Items, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Texts and codes of some of the categories."""
    labels = np.asarray(items.labels)
    keep = np.isin(labels, codes)
    return np.array(list(items.values), dtype=object)[keep], labels[keep]


def lived(folder: Path, categories: int, seed: int) -> tuple[Life, Commands]:
    """The week, day by day."""
    loaded = load_items(data_folder() / "clinc150.csv")
    names = np.array(loaded.class_names)
    codes = np.random.default_rng(seed).permutation(len(names))[:categories]
    (texts, y), (test, test_y) = chosen(loaded.train, codes), chosen(loaded.test, codes)
    plan = make_stream(y, "uneven", seed=seed)
    write(folder / "labelled.csv", texts[plan.base_rows].tolist(), names[y[plan.base_rows]].tolist())
    for day, session in zip(DAYS, plan.sessions, strict=True):
        write(folder / f"{day}.csv", texts[session.rows].tolist())
    vbcgcd = Commands(folder)
    os.environ["VBCGCD_CACHE"] = vbcgcd.environment["VBCGCD_CACHE"]
    vbcgcd("init", "tickets")
    vbcgcd("learn", "labelled.csv", "--workspace", "tickets")
    for day in DAYS:
        vbcgcd("discover", f"{day}.csv", "--workspace", "tickets")
    here = Workspace.open(folder / "tickets")
    rows = [plan.base_rows, *(session.rows for session in plan.sessions)]
    keys = [record.commit for record in here.sessions()]
    truth = {(c, k): int(y[row]) for c, part in zip(keys, rows, strict=True) for k, row in enumerate(part)}
    return Life(here, truth, test.astype(str), test_y), vbcgcd


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--categories", type=int, default=40)
    parser.add_argument("--answers", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        life, vbcgcd = lived(Path(name), options.categories, options.seed)
        vbcgcd("review", "-n", "6", "--workspace", "tickets")
        vbcgcd("review", "show", "1", "--items", "3", "--workspace", "tickets")
        course = reviewed(life, "review", (0, options.answers))
        vbcgcd("review", "-n", "3", "--workspace", "tickets")
    intents = len(set(life.truth.values()))
    rows = [_line("before", course.scores[0]), _line(f"after {options.answers} answers", course.scores[-1])]
    title = f"A week of CLINC150: {intents} intents, {len(life.truth):,} items"
    table(title, ("", "categories", "All", "B-cubed F1"), rows)
    kinds = ", ".join(f"{course.accepted[k]} of {n} {k}" for k, n in course.asked.most_common())
    console.print(f"Accepted: {kinds}.", highlight=False)


def _line(name: str, score: Score) -> tuple[str, int, str, str]:
    return name, score.categories, f"{100 * score.all:.1f}", f"{100 * score.b_cubed:.1f}"


if __name__ == "__main__":
    main()
