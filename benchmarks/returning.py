"""Labelled categories that come in number: are they recognised, or taken for novel ones?

VBCGCD_DATA=... python benchmarks/returning.py --seeds 10 11 12

Half of the classes are labelled. A session holds many rows of a few of them, and rows of novel classes or
none; the number is not given. The same sessions are judged without the rule that a group which nothing tells
from a labelled category is that category.
"""

from __future__ import annotations

import argparse
import copy
from typing import NamedTuple
from unittest.mock import patch

import numpy as np

from common import table
from streams import datasets
from vbcgcd import CategoryDiscoverer
from vbcgcd.discovery import worth
from vbcgcd.study import Dataset

#: Classes that come back and novel ones, in turn.
MIXES = ((1, 0), (2, 0), (4, 0), (2, 4), (4, 4))
#: Labelled rows of a class, and rows of each class in the session: at most this many, and shares of all.
LABELLED_ROWS, SESSION_ROWS, LABELLED_SHARE, SESSION_SHARE = 100, 60, 0.5, 0.4


class Session(NamedTuple):
    """Known rows that are named rightly, that `predict` named rightly before, and categories found."""

    right: float
    predicted: float
    found: int


def sessions(data: Dataset, seed: int) -> list[tuple[Session, Session]]:
    """Each mix by the judge without and with the rule."""
    rng, rows, codes = np.random.default_rng(seed), data.train_x, data.train_y
    order = rng.permutation(np.unique(codes))
    known = order[: len(order) // 2]
    of = {c: rng.permutation(np.flatnonzero(codes == c)) for c in order}
    labelled = {c: of[c][: min(LABELLED_ROWS, int(LABELLED_SHARE * len(of[c])))] for c in known}
    base = np.concatenate(list(labelled.values()))
    model = CategoryDiscoverer().fit(rows[base], codes[base])
    found = []
    for n_back, n_novel in MIXES:
        chosen = [of[c][::-1][: min(SESSION_ROWS, int(SESSION_SHARE * len(of[c])))] for c in order]
        place = np.concatenate(
            [chosen[k] for k in (*range(n_back), *range(len(known), len(known) + n_novel))]
        )
        pair = []
        for limit in (-np.inf, worth.SAME_AS_LABELLED):
            with patch.object(worth, "SAME_AS_LABELLED", limit):
                after = copy.deepcopy(model)
                record = after.discover(rows[place])
            back = np.isin(codes[place], known)
            right = (np.asarray(record.labels_)[back] == codes[place][back]).mean()
            predicted = (model.predict(rows[place][back]) == codes[place][back]).mean()
            pair.append(Session(float(right), float(predicted), record.n_novel))
        found.append((pair[0], pair[1]))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[10, 11, 12])
    parser.add_argument("--data", nargs="*", default=[], help="parts of file names; by default all files")
    options = parser.parse_args()
    rows = []
    for name, data in datasets(options.data).items():
        runs = [sessions(data, seed) for seed in options.seeds]
        for i, (n_back, n_novel) in enumerate(MIXES):
            before, after = ([run[i][k] for run in runs] for k in (0, 1))
            rows.append(
                (
                    name.partition("-")[0],
                    f"{n_back}",
                    f"{n_novel}",
                    f"{100 * np.mean([s.predicted for s in after]):.0f}",
                    f"{100 * np.mean([s.right for s in before]):.0f}",
                    f"{100 * np.mean([s.right for s in after]):.0f}",
                    " ".join(str(s.found) for s in before),
                    " ".join(str(s.found) for s in after),
                )
            )
    table(
        f"Labelled categories that come in number, the number not given, seeds {options.seeds}",
        ("", "back", "novel", "by predict, %", "before, %", "now, %", "found before", "found now"),
        rows,
    )


if __name__ == "__main__":
    main()
