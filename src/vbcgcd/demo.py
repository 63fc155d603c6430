"""The main job on real data that ships with scikit-learn: handwritten digits, half of them never labelled."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_digits

from vbcgcd.model import CategoryDiscoverer
from vbcgcd.study.plans import Plan, PlannedSession
from vbcgcd.study.scoring import FrozenMatch, SessionScore, discovery, forgetting, score_session

Array = NDArray[Any]
LABELLED = np.arange(5)
ARRIVING = (np.array([5, 6]), np.array([7, 8]), np.array([9]))
TEST_ROWS, KNOWN_ROWS = 50, 15

__all__ = ["digits_plan", "run_demo"]


def digits_plan(y: Array, seed: int = 0) -> tuple[Plan, Array]:
    """Digits 0 to 4 labelled; 5 and 6, 7 and 8, and 9 arrive later. Returns the plan and the test rows."""
    rng = np.random.default_rng(seed)
    test, used, held = [], {}, {}
    for digit in range(10):
        members = rng.permutation(np.flatnonzero(y == digit))
        test.append(members[:TEST_ROWS])
        used[digit], held[digit] = members[TEST_ROWS:-30], members[-30:]
    sessions, known = [], LABELLED
    for novel in ARRIVING:
        old = [rng.choice(held[d], KNOWN_ROWS, replace=False) for d in known.tolist()]
        sessions.append(
            PlannedSession(novel, rng.permutation(np.concatenate([*old, *(used[d] for d in novel.tolist())])))
        )
        known = np.concatenate([known, novel])
    base = np.concatenate([used[d] for d in LABELLED.tolist()])
    return Plan(LABELLED, base, tuple(sessions)), np.concatenate(test)


def run_demo(console: Console, picture: Path | None = None) -> None:
    """Learn five digits, discover the other five in three unlabelled sessions, print what happened.

    Parameters
    ----------
    console : Console
    picture : Path, optional
        Where to draw the categories; needs matplotlib.
    """
    start = time.perf_counter()
    x, y = load_digits(return_X_y=True)
    plan, test = digits_plan(y)
    names = np.array([f"digit {d}" for d in range(10)])
    console.print(
        "Handwritten digits, 8 by 8 pixels. [bold]Digits 0 to 4 are labelled[/]; the others arrive in "
        "three unlabelled sessions, mixed with known ones. Nobody says what they are, nor how many."
    )
    model = CategoryDiscoverer().fit(x[plan.base_rows], names[y[plan.base_rows]])
    match = FrozenMatch(names[plan.labelled])
    seen = np.isin(y[test], plan.labelled)
    base = float(match.correct(model.predict(x[test][seen]), names[y[test][seen]]).mean())
    table = Table(title="Accuracy on test rows, % (frozen scoring)", title_justify="left")
    for column in ("session", "rows", "novel found", "as", "All", "Old", "New"):
        table.add_column(column, justify="left" if column in ("session", "as") else "right")
    table.add_row("0 (labelled)", str(len(plan.base_rows)), "", "", f"{100 * base:.1f}", "", "")
    scores: list[SessionScore] = []
    for t, session in enumerate(plan.sessions):
        with console.status(f"session {t + 1} ..."):
            report = model.discover(x[session.rows])
        match.add(report.novel, report.labels_, names[y[session.rows]], names[session.novel])
        known = plan.known_before(t)
        seen = np.isin(y[test], np.concatenate([known, session.novel]))
        truth = names[y[test][seen]]
        correct = match.correct(model.predict(x[test][seen]), truth)
        score = score_session(correct, truth, names[plan.labelled], names[known], names[session.novel])
        scores.append(score)
        found = f"{report.n_novel} of {len(session.novel)}"
        shown = ", ".join(report.novel.tolist())
        numbers = (f"{100 * v:.1f}" for v in (score.all, score.old, score.new))
        table.add_row(str(t + 1), str(report.n_rows), found, shown, *numbers)
    console.print(table)
    console.print(
        f"Forgetting M_f {100 * forgetting(base, scores):.1f} points, "
        f"discovery M_d {100 * discovery(scores):.1f} %, "
        f"{model.posterior_.nbytes / 1024 / len(model.classes_):.0f} kB per category, "
        f"{time.perf_counter() - start:.1f} s. (What was learned is unchanged; old categories lose a little "
        "because new ones compete with them.)"
    )
    if picture is not None:
        _draw(picture, model, x[test], y[test], base, scores)
        console.print(f"The categories as the model sees them: {picture}")


def _draw(
    path: Path, model: CategoryDiscoverer, x: Array, y: Array, base: float, scores: list[SessionScore]
) -> None:
    """Mean and most doubtful images of each category, and accuracy per session."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    predicted, probability = model.predict(x), model.predict_proba(x).max(axis=1)
    n = len(model.classes_)
    figure = Figure(figsize=(11, 4.4), facecolor="white")
    FigureCanvasAgg(figure)
    grid = figure.add_gridspec(4, n + 5, height_ratios=(1.15, 1, 1, 1), hspace=0.12, wspace=0.12)
    for k, label in enumerate(model.classes_.tolist()):
        members = np.flatnonzero(predicted == label)
        order = members[np.argsort(-probability[members])]
        images = [x[members].mean(axis=0), *x[order[:1]], *x[order[len(order) // 2 :][:1]], *x[order[-1:]]]
        for row, image in enumerate(images):
            axes = figure.add_subplot(grid[row, k])
            axes.imshow(image.reshape(8, 8), cmap="gray_r")
            axes.set_xticks([])
            axes.set_yticks([])
            novel = model.births_[k] > 0
            for spine in axes.spines.values():
                spine.set_color("#d9480f" if novel else "#adb5bd")
            if row == 0:
                axes.set_title(
                    label.replace(" ", "\n").replace("-", "\n"),
                    fontsize=9,
                    color="#d9480f" if novel else "black",
                )
            if k == 0:
                axes.set_ylabel(("mean", "surest", "typical", "doubtful")[row], fontsize=9)
    axes = figure.add_subplot(grid[:, n + 1 :])
    sessions = np.arange(len(scores) + 1)
    axes.plot(
        sessions, [100 * base, *(100 * s.all for s in scores)], "o-", color="#1c7ed6", label="all so far"
    )
    axes.plot(sessions[1:], [100 * s.old for s in scores], "s--", color="#495057", label="known before")
    axes.plot(sessions[1:], [100 * s.new for s in scores], "^:", color="#d9480f", label="new")
    axes.set_xticks(sessions)
    axes.set_xlabel("session (0 is labelled)")
    axes.set_ylabel("test accuracy, %")
    axes.set_ylim(min(50, axes.get_ylim()[0]), 101)
    axes.grid(alpha=0.3)
    axes.legend(loc="lower left", frameon=False)
    figure.suptitle("Digits 0 to 4 were labelled, the others (orange) were discovered", fontsize=12)
    figure.savefig(path, dpi=110, bbox_inches="tight")
