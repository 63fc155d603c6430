"""What tables of a study are made of: the titled table itself, cells, columns, and one row per variant."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

import vbcgcd
from vbcgcd.study.experiments import Experiment
from vbcgcd.study.records import RunRecord, SessionEvaluation
from vbcgcd.study.scoring import PROTOCOLS

if TYPE_CHECKING:
    from vbcgcd.study.published import Published

_LATEX = str.maketrans(
    {"\\": r"\textbackslash{}", "±": r"$\pm$", "–": "--", "…": r"\dots{}", "|": r"$|$"}
    | {c: "\\" + c for c in "&%$#_{}"}
)
Row = tuple[str, ...]
Groups = Mapping[str, Sequence[RunRecord]]

__all__ = [
    "Column",
    "Context",
    "Groups",
    "ResultTable",
    "Row",
    "mean",
    "mean_sd",
    "over_sessions",
    "present",
    "printed",
    "unscaled",
]


@dataclass(frozen=True)
class ResultTable:
    """A titled table of text; ``print`` shows it as Markdown, rich prints it for the terminal.

    Parameters
    ----------
    title : str
    columns : tuple of str
    rows : tuple of tuples of str
    notes : tuple of str
        Sentences that explain the columns.
    n_left : int
        How many columns, from the left, are names rather than numbers.
    breaks : tuple of int
        Numbers of rows after which a line is drawn.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    n_left: int = 1
    breaks: tuple[int, ...] = ()

    def __rich__(self) -> Group:
        """Narrow enough for 100 columns: few lines, no spaces around ±."""
        out = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=True)
        for i, column in enumerate(self.columns):
            out.add_column(column, justify="left" if i < self.n_left else "right", no_wrap=i > 0)
        for i, row in enumerate(self.rows, start=1):
            out.add_row(*(cell.replace(" ± ", "±") for cell in row), end_section=i in self.breaks)
        return Group(Text(self.title, style="bold"), Text(), out, Text("\n".join(self.notes), style="dim"))

    def markdown(self) -> str:
        """The table as Markdown."""
        rule = ["---" if i < self.n_left else "---:" for i in range(len(self.columns))]
        rows = [self.columns, tuple(rule), *self.rows]
        lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
        notes = [note + "  " for note in self.notes]
        return "\n".join([f"**{self.title}**", "", *lines, "", *notes]).rstrip()

    def latex(self) -> str:
        """The table as LaTeX, for the package booktabs."""
        caption = f"{self.title}. {' '.join(self.notes)}"
        align = "".join("l" if i < self.n_left else "r" for i in range(len(self.columns)))
        lines = [
            r"\begin{table}[t]",
            r"\centering",
            rf"\caption{{{caption.translate(_LATEX)}}}",
            rf"\begin{{tabular}}{{{align}}}",
            r"\toprule",
            " & ".join(cell.translate(_LATEX) for cell in self.columns) + r" \\",
            r"\midrule",
        ]
        for i, row in enumerate(self.rows, start=1):
            lines.append(" & ".join(cell.translate(_LATEX) for cell in row) + r" \\")
            if i in self.breaks and i < len(self.rows):
                lines.append(r"\midrule")
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}"])

    __str__ = markdown


# ---------------------------------------------------------------------------------------------- cells


def present(values: Iterable[float], scale: float = 1.0) -> list[float]:
    """The values that there are, scaled."""
    return [scale * value for value in values if not math.isnan(value)]


def mean(values: Sequence[float], digits: int = 2, scale: float = 100.0) -> str:
    """Mean over seeds; a dash where there is no value."""
    numbers = present(values, scale)
    return f"{np.mean(numbers):.{digits}f}" if numbers else "–"


def mean_sd(values: Sequence[float], digits: int = 2, scale: float = 100.0) -> str:
    """Mean ± sample standard deviation over seeds."""
    numbers = present(values, scale)
    spread = f" ± {np.std(numbers, ddof=1):.{digits}f}" if len(numbers) > 1 else ""
    return mean(values, digits, scale) + spread


def unscaled(digits: int) -> Callable[[Sequence[float]], str]:
    """Mean over seeds of what is not a share."""
    return lambda values: mean(values, digits, 1)


def printed(value: float | None) -> str:
    """A value of the paper; a dash where it prints none."""
    return "–" if value is None else f"{value:.2f}"


class Column(NamedTuple):
    """One column: its value in a run, how values over seeds are written, and the paper's own value."""

    name: str
    value: Callable[[RunRecord], float]
    text: Callable[[Sequence[float]], str] = mean_sd
    paper: Callable[[Published], float | None] = lambda row: None


def over_sessions(value: Callable[[SessionEvaluation], float]) -> Callable[[RunRecord], float]:
    """Mean of a value over the sessions of a run that have it."""
    return lambda record: float(np.mean(present(map(value, record.sessions)) or [math.nan]))


# ---------------------------------------------------------------------------------------------- tables


@dataclass(frozen=True)
class Context:
    """What every table of an experiment is made from."""

    experiment: Experiment
    data: str
    protocol: str
    groups: Groups
    paper: tuple[Published, ...]

    @property
    def heading(self) -> str:
        """Experiment, dataset, plan and number of seeds."""
        first = next(iter(self.groups.values()))[0]
        seeds = max(len(group) for group in self.groups.values())
        spread = f"mean ± sd of {seeds} seeds" if seeds > 1 else "one seed"
        version = "" if first.version == vbcgcd.__version__ else f", vbcgcd {first.version or 'unknown'}"
        plan = f"plan {first.plan.plan}, {first.plan.order} order"
        return f"{self.experiment.title}: {self.data}, {plan}, {spread}{version}"

    @property
    def protocol_note(self) -> str:
        """How ids are matched to classes."""
        return f"Scoring {self.protocol}: {PROTOCOLS[self.protocol]}. Accuracy on test rows in %."

    def share_of_best(self, record: RunRecord) -> float:
        """Final All as a share of the best bound of any method here in the same class order."""
        if self.protocol != "frozen":
            return math.nan
        every = (r for group in self.groups.values() for r in group)
        best = max(r.bound.final.all for r in every if r.plan.seed == record.plan.seed)
        return record.accuracies(self.protocol).final.all / best

    @property
    def source_notes(self) -> tuple[str, ...]:
        """Where rivals and printed values come from."""
        notes = []
        if any(r.run.method.endswith("-frozen") for group in self.groups.values() for r in group):
            notes.append("…-frozen: the mechanism of the original on frozen embeddings, not the original.")
        if self.paper:
            source = self.paper[0].source
            notes.append(f"paper: as printed, {source}; other embeddings and protocol than ours.")
        return tuple(notes)

    def rows(self, columns: Sequence[Column], suffix: str = "") -> list[Row]:
        """One row for each variant."""
        return [
            (label + suffix, *(column.text([column.value(r) for r in group]) for column in columns))
            for label, group in self.groups.items()
        ]

    def paper_rows(self, cells: Callable[[Published], Sequence[str]]) -> list[Row]:
        """One row for each method that the paper prints."""
        return [(f"paper: {row.method}", *cells(row)) for row in self.paper]

    def table(
        self, columns: Sequence[Column], notes: tuple[str, ...], *, more: Sequence[Row] = ()
    ) -> ResultTable:
        """Rows of the variants, further ones, and those of the paper."""
        rows = [*self.rows(columns), *more]
        paper = self.paper_rows(lambda row: [printed(column.paper(row)) for column in columns])
        names = ("method", *(column.name for column in columns))
        breaks = (len(rows),) if paper else ()
        return ResultTable(self.heading, names, (*rows, *paper), (*notes, *self.source_notes), breaks=breaks)

    def own_table(self, title: str, columns: Sequence[Column], note: str) -> ResultTable:
        """Rows of the variants alone, where the paper prints nothing."""
        names = ("method", *(column.name for column in columns))
        return ResultTable(f"{title}: {self.data}", names, tuple(self.rows(columns)), (note,))
