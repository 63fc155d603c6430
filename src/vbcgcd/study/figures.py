"""The paper's figures on any embeddings: of the runs of a study, or of one dataset and plan."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.archive import atomic_file
from vbcgcd.errors import DiskError, InputError
from vbcgcd.model import CategoryDiscoverer
from vbcgcd.study.datasets.labelled import Dataset
from vbcgcd.study.methods import METHODS
from vbcgcd.study.plans import Plan, paper_dataset
from vbcgcd.study.published import paper_experiment, published
from vbcgcd.study.records import RunRecord
from vbcgcd.study.traces import (
    ProgressTrace,
    calibration_of,
    estimates_of,
    progress_of_session,
    two_categories,
)
from vbcgcd.validation import check_choice

Array = NDArray[Any]
BLUE, GREY, ORANGE, GREEN = "#1c7ed6", "#495057", "#d9480f", "#2b8a3e"
SUFFIXES = (".png", ".pdf", ".svg")
Runs = Mapping[str, Sequence[RunRecord]]

__all__ = ["DATA_FIGURES", "RUN_FIGURES", "check_figure", "draw_data", "draw_runs", "save_figure"]


def check_figure(name: str, path: Path) -> None:
    """Raise unless the figure exists and can be saved there."""
    names = (*DATA_FIGURES, *RUN_FIGURES)
    if name not in names:
        raise InputError(f"Unknown figure {name!r}; choose among {', '.join(names)}.", option="name")
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(
            f"Unsupported file type of {str(path)!r}; save a figure as {', '.join(SUFFIXES)}.",
            option="output",
        )
    if not path.absolute().parent.is_dir():
        raise InputError(
            f"Cannot write {path}: there is no folder {path.parent}; create it first.", option="output"
        )
    if importlib.util.find_spec("matplotlib") is None:
        raise InputError("Figures need matplotlib; install it with: pip install 'vbcgcd[plot]'")


def draw_runs(name: str, runs: Runs, *, data: str) -> Any:
    """A figure of finished runs, as a matplotlib object.

    Parameters
    ----------
    name : str
        A key of ``RUN_FIGURES``.
    runs : mapping of str to sequence of RunRecord
        Runs of each variant, one for each seed, by the variant's label.
    data : str
        Name of the dataset.
    """
    check_choice("name", name, tuple(RUN_FIGURES))
    return RUN_FIGURES[name](runs, data)


def draw_data(name: str, data: Dataset, plan: Plan) -> Any:
    """A figure of one dataset and plan, as a matplotlib object.

    Parameters
    ----------
    name : str
        A key of ``DATA_FIGURES``.
    data : Dataset
    plan : Plan
    """
    check_choice("name", name, tuple(DATA_FIGURES))
    return DATA_FIGURES[name](data, plan)


def save_figure(figure: Any, path: Path) -> None:
    """Write a figure; if that fails, an existing file is left unchanged."""
    try:
        with atomic_file(path) as file:
            figure.savefig(file, format=path.suffix[1:].lower(), dpi=120, bbox_inches="tight")
    except OSError as error:
        raise DiskError.writing(path, error) from None


def _canvas(width: float, height: float, **grid: Any) -> tuple[Any, Any]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), facecolor="white", layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(**grid)


def _progress(data: Dataset, plan: Plan) -> Any:
    """Accuracy and covariance volume over the iterations of the first session (the paper's figure 2)."""
    figure, axes = _canvas(11, 6.4, nrows=2, ncols=2, sharex=True)
    titles = {
        "paper": "prior N(0, I), rows of unit variance",
        "paper-narrow": "rows ten times as wide as the prior",
    }
    for column, (method, title) in enumerate(titles.items()):
        model = CategoryDiscoverer.paper(**METHODS[method].options)
        _progress_column(axes[:, column], progress_of_session(data, plan, model), f"{method}: {title}")
    figure.suptitle(f"Novel categories trained by SVI without stopping, {data.name}, session 1", fontsize=12)
    return figure


def _progress_column(axes: Any, trace: ProgressTrace, title: str) -> None:
    top, bottom = axes
    for name, colour, style in (("all", BLUE, "-"), ("old", GREY, "--"), ("new", ORANGE, ":")):
        top.plot(trace.steps, 100 * getattr(trace, name), style, color=colour, lw=2, label=name.capitalize())
    best = int(np.argmax(trace.all))
    top.plot(trace.steps[best], 100 * trace.all[best], "o", color=BLUE, ms=7, label="best All")
    top.set_ylabel("test accuracy, %")
    top.set_title(title, fontsize=11)
    bottom.plot(trace.steps, trace.volume - trace.known_volume, color=ORANGE, lw=2, label="R, mean")
    bottom.axhline(0.0, color=GREY, ls="--", label="known categories, log of the mean")
    bottom.axhline(trace.typical_volume - trace.known_volume, color=GREY, ls=":", label="mean of the logs")
    bottom.set_ylabel("R: log-volume, novel less known")
    bottom.set_xlabel("iteration")
    for ax in (top, bottom):
        if trace.stop is not None:
            ax.axvline(trace.stop, color=GREEN, lw=1.2, label="R = 0")
        ax.set_xscale("symlog", linthresh=1)
        ax.set_xlim(0, trace.steps[-1])
        ax.grid(alpha=0.25)
        ax.legend(frameon=False, fontsize=9)


def _reliability(data: Dataset, plan: Plan) -> Any:
    """How far probabilities are right, before and after the sessions, and the rate of false alarms."""
    trace = calibration_of(data, plan, CategoryDiscoverer())
    figure, axes = _canvas(10, 4.2, ncols=2)
    left, right = axes
    left.plot([0, 1], [0, 1], color=GREY, lw=1, ls="--", label="as sure as right")
    names = ("labelled classes alone", f"after session {len(plan.sessions)}")
    for i, (name, colour) in enumerate(zip(names, (BLUE, ORANGE), strict=True)):
        label = f"{name}, ECE {trace.error[i]:.3f}"
        left.plot(trace.confidence[i], trace.accuracy[i], "-", color=colour, lw=1.2, label=label)
        left.scatter(trace.confidence[i], trace.accuracy[i], s=12 + 400 * trace.weight[i], color=colour)
    left.set_xlabel("probability of the answer (size: share of the rows)")
    left.set_ylabel("share of right answers")
    left.legend(frameon=False, fontsize=9)
    right.plot(np.arange(len(trace.false_alarms)), 100 * trace.false_alarms, "o-", color=BLUE)
    right.axhline(5, color=GREY, ls="--", lw=1, label="promised")
    right.set_ylim(bottom=0)
    right.set_xticks(np.arange(len(trace.false_alarms)))
    right.set_xlabel("session")
    right.set_ylabel("known test rows with novelty above 0.95, %")
    right.legend(frameon=False, fontsize=9)
    for ax in axes:
        ax.grid(alpha=0.25)
    figure.suptitle(f"Calibration, {data.name}, test rows of the classes so far", fontsize=12)
    return figure


def _novel_rows(runs: Runs, data: str) -> Any:
    """Rows judged novel against the truth, per session (the paper's figure 3)."""
    figure, axes = _canvas(7.5, 4)
    first = [s.stream for s in next(iter(runs.values()))[0].sessions]
    at = np.arange(1, len(first) + 1)
    axes.bar(at, [stream.rows for stream in first], 0.85, color="#e9ecef", label="all rows")
    width = 0.7 / len(runs)
    for i, (label, group) in enumerate(runs.items()):
        streams = [s.stream for s in group[0].sessions]
        judged = np.array([stream.judged_novel for stream in streams])
        correct = judged * np.nan_to_num([stream.precision for stream in streams])
        x = at + (i - (len(runs) - 1) / 2) * width
        axes.bar(x, judged, width * 0.9, color=ORANGE, alpha=0.45, label=f"{label}: judged novel")
        axes.bar(x, correct, width * 0.9, color=ORANGE, label=f"{label}: and truly novel")
    for place, stream in zip(at.tolist(), first, strict=True):
        axes.hlines(stream.novel_rows, place - 0.45, place + 0.45, color="#c92a2a", ls="--", lw=1.5)
    axes.plot([], [], "--", color="#c92a2a", label="truly novel")
    axes.set_xlabel("session")
    axes.set_ylabel("rows")
    axes.set_xticks(at)
    axes.set_ylim(0, 1.35 * max(stream.rows for stream in first))
    axes.legend(frameon=False, fontsize=9, ncols=2, loc="upper left")
    axes.set_title(f"Rows judged novel, {data}", fontsize=12)
    return figure


def _dimensions(data: Dataset, plan: Plan) -> Any:
    """Distributions of two categories in the dimensions that vary most (the paper's figure 4)."""
    pair = two_categories(data, plan)
    figure, axes = _canvas(8, 4)
    at = np.arange(pair.first.shape[1])
    for rows, colour, side, label in (
        (pair.first, BLUE, -0.2, data.class_name(pair.names[0])),
        (pair.second, ORANGE, 0.2, data.class_name(pair.names[1])),
    ):
        parts = axes.violinplot(list(rows.T), positions=at + side, widths=0.36, showextrema=False)
        for body in parts["bodies"]:
            body.set_facecolor(colour)
            body.set_alpha(0.55)
        axes.plot(at + side, np.median(rows, axis=0), "_", color=colour, ms=10, mew=2, label=str(label))
    axes.set_xticks(at, [str(d) for d in pair.dimensions])
    axes.set_xlabel("principal component of the labelled rows")
    axes.set_ylabel("value")
    axes.grid(alpha=0.25, axis="y")
    axes.legend(frameon=False, title="class")
    axes.set_title(f"The two nearest labelled classes, {data.name}", fontsize=12)
    return figure


def _estimators(data: Dataset, plan: Plan) -> Any:
    """Means and covariances by point estimate and by variational Bayes (the paper's figure 5)."""
    both = estimates_of(data, plan)
    figure, axes = _canvas(11, 3.6, ncols=3, width_ratios=(1.2, 1, 1))
    at = np.arange(len(both.mean_pe))
    axes[0].plot(at, both.mean_pe, "o", color=GREY, ms=4, label="point estimate")
    axes[0].plot(at, both.mean_vi, "x", color=ORANGE, ms=5, label="variational Bayes")
    axes[0].set_xlabel("dimension")
    axes[0].set_title("mean", fontsize=11)
    axes[0].set_ylim(top=axes[0].get_ylim()[1] * 1.35)
    axes[0].legend(frameon=False, fontsize=9, ncols=2, loc="upper center")
    axes[0].grid(alpha=0.25)
    for ax, matrix, title in (
        (axes[1], both.covariance_pe, "covariance, point estimate"),
        (axes[2], both.covariance_vi, "covariance, variational Bayes"),
    ):
        limit = float(np.abs(matrix).max())
        image = ax.imshow(matrix, cmap="RdBu_r", vmin=-limit, vmax=limit)
        ax.set_title(f"{title}\nmean variance {np.diag(matrix).mean():.2f}", fontsize=11)
        figure.colorbar(image, ax=ax, shrink=0.85)
    name = data.class_name(both.name)
    title = f"Class {name} from {both.n_rows} rows, {data.name}, the leading {len(at)} dimensions"
    figure.suptitle(title, fontsize=12)
    return figure


def _sessions(runs: Runs, data: str) -> Any:
    """Accuracy per session of every method, with the spread over seeds."""
    from matplotlib import colormaps

    figure, axes = _canvas(10, 5)
    colours = [colormaps["tab20"](k) for k in range(20)]
    for i, (label, group) in enumerate(runs.items()):
        values = 100 * np.array([r.accuracies("frozen").all for r in group])
        at, mean = np.arange(values.shape[1]), values.mean(axis=0)
        ours = label == "ours"
        colour = "#c92a2a" if ours else colours[(2 * i + i // 10) % 20]
        axes.plot(at, mean, "o-", color=colour, lw=2.6 if ours else 1.3, ms=6 if ours else 3.5, label=label)
        if ours and len(values) > 1:
            sd = values.std(axis=0, ddof=1)
            axes.fill_between(at, mean - sd, mean + sd, color=colour, alpha=0.15)
    bound = [100 * r.bound.final.all for r in runs.get("ours", ())]
    if bound:
        axes.axhline(float(np.mean(bound)), color=GREY, ls="--", lw=1, label="ours, every class labelled")
    plan, seeds = next(iter(runs.values()))[0].plan.plan, max(map(len, runs.values()))
    for p in published(paper_experiment("main", plan), paper_dataset(data)):
        if p.method == "VB-CGCD":
            printed = [p.base, *(s[0] for s in p.sessions)]
            axes.plot(
                range(len(printed)), printed, ":", color="black", lw=1, label="VB-CGCD as printed (DINO)"
            )
    axes.set_xlabel("session (0 is labelled)")
    axes.set_ylabel("All, test accuracy in % (frozen)")
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.01, 0.5))
    axes.set_title(f"{data}, plan {plan}, mean of {seeds} seeds", fontsize=12)
    return figure


#: Figures of one dataset and plan.
DATA_FIGURES: dict[str, Callable[[Dataset, Plan], Any]] = {
    "progress": _progress,
    "dimensions": _dimensions,
    "estimators": _estimators,
    "reliability": _reliability,
}
#: Figures of the runs of a study.
RUN_FIGURES: dict[str, Callable[[Runs, str], Any]] = {"novel-rows": _novel_rows, "sessions": _sessions}
