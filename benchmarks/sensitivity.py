"""Every constant of `vbcgcd.discovery`: what it is, how it was chosen, and what half and double of it change.

VBCGCD_DATA=... python benchmarks/sensitivity.py --markdown

Each constant in turn is halved and doubled (one between 0.5 and 1 has its distance to 1 halved and doubled)
and short streams of the datasets are run again, the number of novel categories not told: 18 classes of at
most 40 rows, 9 of them labelled, three sessions, 48 dimensions. Shown is the change of All in points, the
mean over the datasets and the largest on one of them. Constants that only bound memory or rounding, and
tuples, are listed, not varied.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import vbcgcd.discovery
from common import data_folder, table
from vbcgcd import CategoryDiscoverer
from vbcgcd.study import Dataset, random_plan
from vbcgcd.study.datasets import load_dataset
from vbcgcd.study.runner import run_plan

FILES = (
    "clinc150-minilm.npz",
    "cifar100-efficientnet-lite0.npz",
    "stackoverflow20-minilm.npz",
    "esc50-yamnet.npz",
)
CLASSES, ROWS, COMPONENTS = 18, 40, 48
#: How the constants of a module were chosen, unless they are named below.
KINDS = {
    "base": "effort",
    "calibrate": "streams",
    "count": "streams",
    "distinct": "streams",
    "geometry": "rounding",
    "head_choice": "effort",
    "knowledge": "memory",
    "known_side": "memory",
    "large": "effort",
    "leftovers": "convention",
    "magnitude": "rounding",
    "mixture": "rounding",
    "observe": "effort",
    "reduce": "effort",
    "rehearsal": "streams",
    "search": "effort",
    "seedlings": "streams",
    "session": "convention",
    "silhouette": "effort",
    "sound": "rounding",
    "strategies": "convention",
    "top": "effort",
    "traces": "effort",
    "watch": "convention",
    "worth": "streams",
}
NAMED = {
    "memory": "BLOCK_ROWS CHUNK_ROWS CALIBRATION_SCORES HELD_BYTES WIDEST_EXACT VERSION",
    "rounding": "LEAST_VARIANCE SAME_EVIDENCE CONSTANT TINY LEAST_WEIGHT GMM_FLOOR NEGLIGIBLE LEAST_WORTH "
    "LEAST_REAL FARTHEST DEVIATIONS SINGULAR LIGHTEST",
    "effort": "FOLDS CANDIDATES MERGE_STEPS FIRST_CROWD SILHOUETTE_ROWS SILHOUETTE_MOST KMEANS_STARTS "
    "EM_STEPS CROWD_STARTS CROWD_STEPS REFIT_STEPS JOINT_STEPS LARGEST_CROWD QUANTILES STRANGER_STEPS "
    "HIDDEN_ROWS KNOWN_ROWS TRAINING_ROWS EM_TOLERANCE MOST",
    "convention": "FLAGGED FEWEST USUAL_ALERTNESS STRANGER_START SILHOUETTE_NOVELTY EVEN_SHARE "
    "HDBSCAN_FEWEST HDBSCAN_SHARE UNSEEN_SHARE FEWEST_OTHERS GOLDEN",
    "streams": "GROUP_ROWS TOO_LARGE LEAST_ROWS "
    "EVENNESS_PRICE SEARCH_SHARPNESS SAFETY CONFIDENT SURPRISE CHEAPNESS PROMISING",
}
UNVARIED = ("memory", "rounding")
MEANING = {
    "streams": "chosen by looking at streams of the four datasets",
    "effort": "a compromise with time",
    "convention": "a round number",
    "memory": "bounds memory",
    "rounding": "guards against rounding",
}


class Constant(NamedTuple):
    """One constant: its module, its name, its value, the comment above it, and how it was chosen."""

    module: str
    name: str
    value: Any
    what: str
    kind: str


def constants() -> Iterator[Constant]:
    """All numbers in capitals at the top of the modules of `vbcgcd.discovery`, several together as well."""
    named = {name: kind for kind, names in NAMED.items() for name in names.split()}
    home = Path(vbcgcd.discovery.__file__).parent
    for path in sorted(home.rglob("*.py")):
        short_name = ".".join(path.relative_to(home).with_suffix("").parts)
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines()
        for node in ast.parse(text).body:
            if not isinstance(node, ast.Assign):
                continue
            module = importlib.import_module(f"vbcgcd.discovery.{short_name}")
            for name in (
                n.id for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name)
            ):
                value = getattr(module, name)
                if name.isupper() and is_number(value):
                    kind = named.get(name, KINDS.get(short_name.partition(".")[0], "streams"))
                    kind = "convention" if short_name == "model_file" else kind
                    yield Constant(short_name, name, value, comment_above(lines, node.lineno - 1), kind)


def is_number(value: Any) -> bool:
    """Whether it is a number, or a tuple of such."""
    if isinstance(value, tuple):
        return bool(value) and all(map(is_number, value))
    return isinstance(value, int | float) and not isinstance(value, bool)


def printed(value: Any) -> str:
    """The number, or the numbers of a tuple."""
    return f"({', '.join(map(printed, value))})" if isinstance(value, tuple) else f"{value:g}"


def comment_above(lines: list[str], line: int) -> str:
    while line and not lines[line - 1].startswith("#:"):
        line -= 1  # one comment may stand above several constants
        if not lines[line].strip():
            return ""
    words = []
    while line and lines[line - 1].startswith("#:"):
        words.insert(0, lines[line - 1].removeprefix("#:").strip())
        line -= 1
    return " ".join(words)


def halved_and_doubled(value: Any) -> tuple[Any, Any]:
    if isinstance(value, int):
        return max(value // 2, 1), 2 * value
    if 0.5 < value < 1:
        return 1 - (1 - value) / 2, 1 - 2 * (1 - value)
    return value / 2, 2 * value


@contextmanager
def changed(constant: Constant, value: Any) -> Iterator[None]:
    """The constant has another value, wherever it was imported to."""
    home = f"vbcgcd.discovery.{constant.module}"
    places = [sys.modules[home]]
    for name, module in list(sys.modules.items()):
        source = getattr(module, "__file__", None)
        if name.startswith("vbcgcd.") and name != home and source and hasattr(module, constant.name):
            tree = ast.parse(Path(source).read_text(encoding="utf-8"))
            imports = (n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module == home)
            if any(alias.name == constant.name for n in imports for alias in n.names):
                places.append(module)
    for module in places:
        setattr(module, constant.name, value)
    try:
        yield
    finally:
        for module in places:
            setattr(module, constant.name, constant.value)


def short(path: Path) -> Dataset:
    """Some classes and rows of a dataset."""
    data = load_dataset(path)
    classes = np.random.default_rng(0).permutation(np.unique(data.train_y))[:CLASSES]

    def rows(y: np.ndarray) -> np.ndarray:
        return np.sort(np.concatenate([np.flatnonzero(y == c)[:ROWS] for c in classes]))

    train, test = rows(data.train_y), rows(data.test_y)
    return Dataset(
        data.train_x[train], data.train_y[train], data.test_x[test], data.test_y[test], name=data.name
    )


def accuracy(data: Dataset) -> float:
    """All after the last session in per cent, the number not told."""
    n = len(np.unique(data.train_y))
    plan = random_plan(data.train_y, n_labelled=n // 2, n_sessions=3, n_novel=n // 6, known_rows=4, seed=1)
    model = CategoryDiscoverer(n_components=COMPONENTS)
    return 100 * run_plan(model, data, plan, number_known=False).final.all


def effect(constant: Constant, value: Any, streams: list[Dataset], usual: list[float]) -> str:
    """Mean change of All and the largest one, or a word where it cannot run."""
    try:
        with changed(constant, value):
            changes = np.array([accuracy(data) for data in streams]) - usual
    except Exception as error:
        return type(error).__name__
    largest = changes[np.abs(changes).argmax()]
    return f"{changes.mean():+.1f} ({largest:+.1f})" if np.abs(changes).max() > 0.05 else "0"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--markdown", action="store_true", help="print a table for the documents")
    parser.add_argument("--data", nargs="*", help="files of embeddings; by default those of VBCGCD_DATA")
    parser.add_argument("--only", help="vary constants of this kind alone: " + ", ".join(MEANING))
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    paths = [Path(p) for p in args.data] if args.data else [data_folder() / name for name in FILES]
    streams = [short(path) for path in paths]
    usual = [accuracy(data) for data in streams]
    scores = ", ".join(f"{data.name} {value:.1f}" for data, value in zip(streams, usual, strict=True))
    print(f"All as it is: {scores}", flush=True)
    rows = []
    for constant in constants():
        effects = ("", "")
        fixed = constant.kind in UNVARIED or isinstance(constant.value, tuple)
        if not fixed and args.only in (None, constant.kind):
            low, high = halved_and_doubled(constant.value)
            effects = (effect(constant, low, streams, usual), effect(constant, high, streams, usual))
        where = f"{constant.module}.{constant.name}"
        rows.append((where, printed(constant.value), constant.what, constant.kind, *effects))
        if args.markdown:
            print(f"| `{where}` | {' | '.join(map(str, rows[-1][1:]))} |", flush=True)
    if not args.markdown:
        table("Half and double of each constant", ("", "value", "what", "kind", "half", "double"), rows)
    print("; ".join(f"{kind}: {words}" for kind, words in MEANING.items()))


if __name__ == "__main__":
    main()
