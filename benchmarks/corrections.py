"""What corrections change: answers after 12 of them, the number of parts of a category, and calibration.

VBCGCD_DATA=FOLDER python benchmarks/corrections.py answers     # CLINC150: move 12 items, or learn them
VBCGCD_DATA=FOLDER python benchmarks/corrections.py parts       # how many parts a split sees
VBCGCD_DATA=FOLDER python benchmarks/corrections.py temperature # why corrections leave the temperature
    python benchmarks/corrections.py speed  # 5,000 of 20,000 items, synthetic
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from common import console, data_folder, table
from vbcgcd import CategoryDiscoverer
from vbcgcd.bayes import recover_statistics, statistics_by_label
from vbcgcd.discovery.knowledge import Knowledge, log_probabilities
from vbcgcd.discovery.parts import find_parts
from vbcgcd.workspace import Workspace

DATASETS = {
    "CLINC150": "clinc150-minilm.npz",
    "StackOverflow-20": "stackoverflow20-minilm.npz",
    "ESC-50": "esc50-yamnet.npz",
    "CIFAR-100": "cifar100-efficientnet-lite0.npz",
}
Array = Any


def load(name: str) -> tuple[Array, Array, Array, Array]:
    """Rows and labels of train and test."""
    with np.load(data_folder() / DATASETS[name]) as data:
        x, y, test_x, test_y = (data[key] for key in ("train_x", "train_y", "test_x", "test_y"))
    return x.astype(np.float32), y.astype(int), test_x.astype(np.float32), test_y.astype(int)


def near_pairs(means: Array, classes: Array) -> list[tuple[int, int]]:
    """Pairs of classes that are nearest to each other, the nearest first, each class once."""
    unit = means / np.linalg.norm(means, axis=1, keepdims=True)
    similarity = unit @ unit.T
    np.fill_diagonal(similarity, -np.inf)
    left, pairs = set(range(len(classes))), []
    for i in np.argsort(-similarity.max(axis=1)).tolist():
        j = int(similarity[i].argmax())
        if {i, j} <= left:
            left -= {i, j}
            pairs.append((int(classes[i]), int(classes[j])))
    return pairs


def answers() -> None:
    """Two intents were found as one, and 12 of 20 items of the second are corrected: what of the others?"""
    x, y, test_x, test_y = load("CLINC150")
    order = np.random.default_rng(0).permutation(150)
    base, new = order[:75], order[75:]
    labelled = np.concatenate([np.flatnonzero(y == c)[:20] for c in base])
    names = np.array([f"intent {c}" for c in y[labelled]])
    rows = []
    for first, second in near_pairs(np.array([x[y == c].mean(axis=0) for c in new]), new)[:6]:
        batch = np.concatenate([np.flatnonzero(y == c)[:20] for c in (first, second)])
        shares = []
        for way in ("nothing", "learn", "move"):
            with tempfile.TemporaryDirectory() as folder:
                workspace = Workspace.init(Path(folder) / "w")
                workspace.learn(x[labelled], names)
                workspace.discover(x[batch], n_novel=1)
                if way == "learn":
                    workspace.learn(x[batch[20:32]], ["second"] * 12)
                elif way == "move":
                    items = [item for item in workspace.items("session=1") if 20 <= int(item.reference) < 32]
                    workspace.move_items(items, "second", create=True, data=x[batch])
                found = workspace.predict(test_x[test_y == second])
                shares.append(float(np.mean(np.array(found.name) == "second")))
        rows.append((f"{first} and {second}", *(f"{100 * share:.0f} %" for share in shares[1:])))
    table(
        "Test rows of the second intent that are named rightly after 12 corrections",
        ("intents found as one", "learned as new labels", "moved"),
        rows,
    )


def parts() -> None:
    """How many parts are seen in single categories, in random pairs and in nearest pairs that are one."""
    rows = []
    for name in DATASETS:
        x, y, _, _ = load(name)
        rng = np.random.default_rng(0)
        order = rng.permutation(np.unique(y))
        base, new = order[: len(order) // 2], order[len(order) // 2 :]
        labelled = np.concatenate([np.flatnonzero(y == c)[:60] for c in base])
        known = CategoryDiscoverer().fit(x[labelled], y[labelled]).knowledge_
        items = {c: known.reduced(x[rng.permutation(np.flatnonzero(y == c))[:30]]) for c in new}
        near = near_pairs(np.array([items[c].mean(axis=0) for c in new]), new)[:15]
        random = [tuple(rng.choice(new, 2, replace=False)) for _ in range(15)]
        for kind, groups in (
            ("one", [(c,) for c in new[:15]]),
            ("random two", random),
            ("nearest two", near),
        ):
            seen = [seen_parts(known, np.concatenate([items[c] for c in group])) for group in groups]
            numbers = (f"{seen.count(k)}" for k in (1, 2))
            rows.append((name, kind, *numbers, sum(k > 2 for k in seen)))
    table("Parts that a split sees (30 items of each class)", ("", "truth", "1", "2", "more"), rows)


def seen_parts(known: Knowledge, rows: Array) -> int:
    """The number of parts of rows."""
    codes = find_parts(rows, known, None, np.random.default_rng(0))
    return 1 if codes is None else int(codes.max()) + 1


def temperature() -> None:
    """Calibration on test rows with the temperature as it is, and fitted to left-out corrected items."""
    rows = []
    for name in DATASETS:
        x, y, test_x, test_y = load(name)
        rng = np.random.default_rng(0)
        classes = rng.permutation(np.unique(y))[:60]
        shuffled = [rng.permutation(np.flatnonzero(y == c)) for c in classes]
        labelled, batch = (np.concatenate([s[a:b] for s in shuffled]) for a, b in ((0, 10), (10, 20)))
        model = CategoryDiscoverer().fit(x[labelled], y[labelled])
        known = model.knowledge_
        place = {int(label): row for row, label in enumerate(model.classes_)}
        reduced, truth = known.reduced(x[batch]), np.array([place[int(label)] for label in y[batch]])
        wrong = np.flatnonzero(known.predict(reduced) != truth)[:60]
        after = known.absorbed(reduced[wrong], truth[wrong])
        fitted = fitted_temperature(after, reduced[wrong], truth[wrong])
        test = np.isin(test_y, classes)
        density = after.classifier.log_density(known.reduced(test_x[test]), after.posterior)
        test_truth = np.array([place[int(label)] for label in test_y[test]])
        errors = [calibration_error(density, test_truth, t) for t in (known.temperature, fitted)]
        rows.append((name, len(wrong), *(f"{error:.3f}" for error in errors)))
    table(
        "Expected calibration error after items that were wrong have been moved",
        ("", "items", "temperature kept", "fitted to them"),
        rows,
    )


def fitted_temperature(known: Knowledge, rows: Array, truth: Array) -> float:
    """The temperature that suits corrected rows best, each left out of its own category."""
    density = known.classifier.log_density(rows, known.posterior).astype(np.float64)
    statistics = recover_statistics(known.prior, known.posterior)
    for row, category in enumerate(truth):
        itself = statistics_by_label(rows[[row]], np.array([0]), 1)
        without = known.posterior_of(statistics.take([category]) - itself)
        density[row, category] = known.classifier.log_density(rows[[row]], without)[0, 0]
    grid = known.temperature * np.exp(np.linspace(-3, 3, 61))
    own = np.arange(len(truth)), truth
    return float(max(grid, key=lambda t: log_probabilities(density, t)[own].sum()))


def calibration_error(density: Array, truth: Array, temperature: float, bins: int = 10) -> float:
    """Mean gap between the probability of the answer and how often it is right, in bins."""
    values = log_probabilities(density.astype(np.float64), temperature)
    right, probability = values.argmax(axis=1) == truth, np.exp(values.max(axis=1))
    place = np.minimum((probability * bins).astype(int), bins - 1)
    gaps = [
        abs(right[place == k].mean() - probability[place == k].mean()) * np.mean(place == k)
        for k in np.unique(place)
    ]
    return float(sum(gaps))


def speed() -> None:
    """CPU seconds of corrections of 5,000 items in a workspace of 20,000, and of a split."""
    rng = np.random.default_rng(0)
    means = 3 * rng.normal(size=(40, 128))
    labels, kinds = np.repeat(np.arange(20), 50), rng.integers(0, 40, 19_000)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        np.save(
            Path(folder) / "batch.npy", (means[kinds] + rng.normal(size=(19_000, 128))).astype(np.float32)
        )
        workspace = Workspace.init(Path(folder) / "w")
        workspace.learn(means[labels] + rng.normal(size=(1000, 128)), [f"c{i}" for i in labels])
        novel = list(workspace.discover(Path(folder) / "batch.npy", n_novel=20).novel)
        items = [item for item in workspace.items("session=1") if item.category is not None]
        chosen = [items[i] for i in rng.choice(len(items), 5000, replace=False)]
        for name, action in {
            "move 5,000 items": lambda: workspace.move_items(chosen, "c0"),
            "move one item of them": lambda: workspace.move_items(chosen[0], "c1"),
            "reject 5,000 items": lambda: workspace.reject_items(chosen),
            "unlabel 5,000 items": lambda: workspace.unlabel_items(chosen),
            "confirm 5,000 items": lambda: workspace.confirm_items(chosen),
            "merge two categories": lambda: workspace.merge(novel[:2], name="both"),
            "split them, the number judged": lambda: workspace.split("both"),
            "undo": workspace.undo,
        }.items():
            start = time.process_time()
            action()
            rows.append((name, f"{time.process_time() - start:.2f}"))
    table("CPU seconds in a workspace of 20,000 items, 128 dimensions", ("", "seconds"), rows)


if __name__ == "__main__":
    ways = {"answers": answers, "parts": parts, "temperature": temperature, "speed": speed}
    for way in sys.argv[1:] or ways:
        if way not in ways:
            console.print(f"Unknown part {way!r}; choose from {', '.join(ways)}.")
            sys.exit(2)
        ways[way]()
