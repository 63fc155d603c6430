"""Tables of a study, for the terminal, Markdown and LaTeX: scores and costs, mean and spread over seeds."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

import vbcgcd
from vbcgcd.study.experiments import Experiment
from vbcgcd.study.plans import paper_dataset
from vbcgcd.study.records import RunRecord, SessionEvaluation
from vbcgcd.study.scoring import PROTOCOLS
from vbcgcd.validation import check_choice

if TYPE_CHECKING:
    from vbcgcd.study.published import Published

#: With more methods than this, the table of sessions shows All only.
MANY = 3
_LATEX = str.maketrans(
    {"\\": r"\textbackslash{}", "±": r"$\pm$", "–": "--", "…": r"\dots{}", "|": r"$|$"}
    | {c: "\\" + c for c in "&%$#_{}"}
)
Row = tuple[str, ...]
Groups = Mapping[str, Sequence[RunRecord]]

__all__ = ["KINDS", "ResultTable", "make_tables"]


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


def _present(values: Iterable[float], scale: float = 1.0) -> list[float]:
    """The values that there are, scaled."""
    return [scale * value for value in values if not math.isnan(value)]


def _mean(values: Sequence[float], digits: int = 2, scale: float = 100.0) -> str:
    """Mean over seeds; a dash where there is no value."""
    numbers = _present(values, scale)
    return f"{np.mean(numbers):.{digits}f}" if numbers else "–"


def _mean_sd(values: Sequence[float], digits: int = 2, scale: float = 100.0) -> str:
    """Mean ± sample standard deviation over seeds."""
    numbers = _present(values, scale)
    spread = f" ± {np.std(numbers, ddof=1):.{digits}f}" if len(numbers) > 1 else ""
    return _mean(values, digits, scale) + spread


def _unscaled(digits: int) -> Callable[[Sequence[float]], str]:
    """Mean over seeds of what is not a share."""
    return lambda values: _mean(values, digits, 1)


def _printed(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


class _Column(NamedTuple):
    """One column: its value in a run, how values over seeds are written, and the paper's own value."""

    name: str
    value: Callable[[RunRecord], float]
    text: Callable[[Sequence[float]], str] = _mean_sd
    paper: Callable[[Published], float | None] = lambda row: None


def _over_sessions(value: Callable[[SessionEvaluation], float]) -> Callable[[RunRecord], float]:
    """Mean of a value over the sessions of a run that have it."""
    return lambda record: float(np.mean(_present(map(value, record.sessions)) or [math.nan]))


# ---------------------------------------------------------------------------------------------- tables


@dataclass(frozen=True)
class _Context:
    """What every table of an experiment is made from."""

    experiment: Experiment
    data: str
    protocol: str
    groups: Groups
    paper: tuple[Published, ...]

    @property
    def heading(self) -> str:
        first = next(iter(self.groups.values()))[0]
        seeds = max(len(group) for group in self.groups.values())
        spread = f"mean ± sd of {seeds} seeds" if seeds > 1 else "one seed"
        version = "" if first.version == vbcgcd.__version__ else f", vbcgcd {first.version or 'unknown'}"
        plan = f"plan {first.plan.plan}, {first.plan.order} order"
        return f"{self.experiment.title}: {self.data}, {plan}, {spread}{version}"

    @property
    def protocol_note(self) -> str:
        return f"Scoring {self.protocol}: {PROTOCOLS[self.protocol]}. Accuracy on test rows in %."

    @property
    def source_notes(self) -> tuple[str, ...]:
        notes = []
        if any(r.run.method.endswith("-frozen") for group in self.groups.values() for r in group):
            notes.append("…-frozen: the mechanism of the original on frozen embeddings, not the original.")
        if self.paper:
            source = self.paper[0].source
            notes.append(f"paper: as printed, {source}; other embeddings and protocol than ours.")
        return tuple(notes)

    def rows(self, columns: Sequence[_Column], suffix: str = "") -> list[Row]:
        """One row for each variant."""
        return [
            (label + suffix, *(column.text([column.value(r) for r in group]) for column in columns))
            for label, group in self.groups.items()
        ]

    def paper_rows(self, cells: Callable[[Published], Sequence[str]]) -> list[Row]:
        """One row for each method that the paper prints."""
        return [(f"paper: {row.method}", *cells(row)) for row in self.paper]

    def table(
        self, columns: Sequence[_Column], notes: tuple[str, ...], *, more: Sequence[Row] = ()
    ) -> ResultTable:
        """Rows of the variants, further ones, and those of the paper."""
        rows = [*self.rows(columns), *more]
        paper = self.paper_rows(lambda row: [_printed(column.paper(row)) for column in columns])
        names = ("method", *(column.name for column in columns))
        breaks = (len(rows),) if paper else ()
        return ResultTable(self.heading, names, (*rows, *paper), (*notes, *self.source_notes), breaks=breaks)

    def own_table(self, title: str, columns: Sequence[_Column], note: str) -> ResultTable:
        """Rows of the variants alone, where the paper prints nothing."""
        names = ("method", *(column.name for column in columns))
        return ResultTable(f"{title}: {self.data}", names, tuple(self.rows(columns)), (note,))


def make_tables(
    experiment: Experiment, groups: Groups, *, data: str, protocol: str = "frozen", paper: bool = True
) -> list[ResultTable]:
    """All tables of an experiment.

    Parameters
    ----------
    experiment : Experiment
    groups : mapping of str to sequence of RunRecord
        Runs of each variant, one for each seed, by the variant's label.
    data : str
        Name of the dataset.
    protocol : {"frozen", "joint"}
        How ids are matched to true classes; see `vbcgcd.study.scoring`.
    paper : bool
        Show the paper's results beside ours where it prints them.
    """
    check_choice("protocol", protocol, tuple(PROTOCOLS))
    if not groups:
        return []
    most = max(map(len, groups.values()))
    groups = {f"{k} [{len(g)} of {most} seeds]" if len(g) < most else k: g for k, g in groups.items()}
    plan = next(iter(groups.values()))[0].plan.plan
    printed = _printed_rows(experiment.name, plan, data) if paper else ()
    context = _Context(experiment, data, protocol, groups, printed)
    return [KINDS[kind](context) for kind in experiment.tables]


def _printed_rows(experiment: str, plan: str, data: str) -> tuple[Published, ...]:
    """Rows of the paper that belong beside a table; none where the dataset is not one of the paper's."""
    dataset = paper_dataset(data)
    if dataset is None:
        return ()
    from vbcgcd.study.published import paper_experiment, published

    return published(paper_experiment(experiment, plan), dataset)


def _sessions(c: _Context) -> ResultTable:
    """Accuracy after each session; All only where there are many methods."""
    notes = (c.protocol_note, *c.source_notes)
    length = max(len(r.sessions) for group in c.groups.values() for r in group)
    runs = {label: [r.accuracies(c.protocol) for r in group] for label, group in c.groups.items()}
    if len(runs) > MANY:
        ours = [(k, *(_mean([run.all[t] for run in v]) for t in range(length + 1))) for k, v in runs.items()]
        paper = c.paper_rows(lambda p: [_printed(v) for v in _padded(p, length)])
        columns = ("All after session", *map(str, range(length + 1)))
        breaks = (len(ours),) if paper else ()
        return ResultTable(c.heading, columns, (*ours, *paper), notes, breaks=breaks)
    blocks: list[list[Row]] = []
    for label, group in runs.items():
        blocks.append([(label, "0", _mean_sd([run.base for run in group]), "", "")])
        for t in range(length):
            cells = [_mean_sd([getattr(run.scores[t], k) for run in group]) for k in ("all", "old", "new")]
            blocks[-1].append(("", str(t + 1), *cells))
    for p in (p for p in c.paper if p.sessions):
        later = [("", str(t), *map(_printed, s)) for t, s in enumerate(p.sessions, start=1)]
        blocks.append([(f"paper: {p.method}", "0", _printed(p.base), "", ""), *later])
    rows, ends = tuple(chain.from_iterable(blocks)), tuple(accumulate(map(len, blocks)))
    columns = ("method", "session", "All", "Old", "New")
    return ResultTable(c.heading, columns, rows, notes, n_left=2, breaks=ends)


def _padded(p: Published, length: int) -> list[float | None]:
    """All of a printed row after each session, as many as ours has."""
    return [p.base, *(s[0] for s in p.sessions), *[None] * length][: length + 1]


def _summary(c: _Context) -> ResultTable:
    bounds = [float(np.mean([r.bound.final.all for r in group])) for group in c.groups.values()]
    best = max(bounds) if c.protocol == "frozen" else math.nan
    columns = (
        _Column("All", lambda r: r.accuracies(c.protocol).final.all, paper=lambda p: p.all),
        _Column("Old", lambda r: r.accuracies(c.protocol).final.old, paper=lambda p: p.old),
        _Column("New", lambda r: r.accuracies(c.protocol).final.new, paper=lambda p: p.new),
        _Column("M_f", lambda r: r.accuracies(c.protocol).forgetting, paper=lambda p: p.forgetting),
        _Column("M_d", lambda r: r.accuracies(c.protocol).discovery, paper=lambda p: p.discovery),
        _Column("upper", lambda r: r.bound.final.all, _mean),
        _Column("share", lambda r: r.share(c.protocol), lambda values: _mean_sd(values, 3, 1)),
        _Column("of best", lambda r: r.accuracies(c.protocol).final.all / best, _unscaled(3)),
    )
    notes = (
        c.protocol_note,
        "All, Old, New: after the last session. M_f: labelled classes at session 0 minus at the end. "
        "M_d: mean New.",
        "upper: the same method with the true labels of every session; share: All / upper; of best: All / "
        "the largest upper of the table.",
    )
    return c.table(columns, notes)


def _forgetting(c: _Context) -> ResultTable:
    columns = (
        _Column("M_f", lambda r: r.accuracies(c.protocol).forgetting, paper=lambda p: p.forgetting),
        _Column("M_d", lambda r: r.accuracies(c.protocol).discovery, paper=lambda p: p.discovery),
    )
    bound = (_Column("M_f", lambda r: r.bound.forgetting), _Column("M_d", lambda r: r.bound_discovery))
    notes = (
        c.protocol_note,
        "M_f: labelled classes at session 0 minus at the end. M_d: mean New over the sessions.",
        "supervised bound: the same method with the true labels of every session.",
    )
    return c.table(columns, notes, more=c.rows(bound, ", supervised bound"))


def _bounds(c: _Context) -> ResultTable:
    def lost(p: Published) -> float | None:
        return None if p.base is None or p.labelled is None else p.base - p.labelled

    columns = (
        _Column("S0", lambda r: r.bound.base, paper=lambda p: p.base),
        _Column("All(S0)", lambda r: r.bound.final.labelled, paper=lambda p: p.labelled),
        _Column("lost", lambda r: r.bound.forgetting, paper=lost),
        _Column("All", lambda r: r.bound.final.all, paper=lambda p: p.all),
    )
    notes = (
        "Every class labelled; accuracy on test rows in %. S0: labelled classes, learned alone. All(S0): the "
        "same test rows once all classes are learned. lost: their difference (inevitable forgetting).",
    )
    return c.table(columns, notes)


def _stream(c: _Context) -> ResultTable:
    names = ("precision", "recall", "AUROC", "NMI", "ARI")
    columns = [
        _Column(name, _over_sessions(operator.attrgetter(f"stream.{name.lower()}")), lambda v: _mean(v, 1))
        for name in names
    ]
    wrong = _over_sessions(lambda s: float(abs(s.n_discovered - s.n_novel)))
    note = (
        "Rows of the sessions themselves, mean over sessions and seeds, %. precision, recall: of 'this row "
        "is novel'. AUROC: of the novelty score before the session is learned. NMI, ARI: ids against true "
        "classes. |estimated - true|: error of the number of categories."
    )
    return c.own_table(
        "Judging the stream", [*columns, _Column("|estimated - true|", wrong, _unscaled(1))], note
    )


def _cost(c: _Context) -> ResultTable:
    seconds = _over_sessions(lambda s: s.seconds)
    ours = [seconds(r) for r in c.groups.get("ours", ())]
    reference = float(np.mean(ours)) if ours else math.nan

    def memory(r: RunRecord) -> float:
        last = r.sessions[-1]
        return last.nbytes / last.n_categories / 1024 if last.nbytes else math.nan

    columns = (
        _Column("fit s", lambda r: r.result.fit_seconds if r.result else math.nan, _unscaled(1)),
        _Column("session s", seconds, _unscaled(2)),
        _Column("x ours", lambda r: seconds(r) / reference, _unscaled(2)),
        _Column("peak MB", lambda r: max(s.peak_bytes for s in r.sessions) / 2**20, _unscaled(0)),
        _Column("kB/category", memory, _unscaled(1)),
    )
    note = (
        "fit, session: seconds. x ours: seconds of a session relative to ours. peak: memory of a session "
        "above what was held before it. kB/category: what is kept between sessions."
    )
    return c.own_table("Cost", columns, note)


def _counts(c: _Context) -> ResultTable:
    rows = [
        (
            label,
            str(r.plan.seed),
            " ".join(str(s.n_discovered) for s in r.sessions),
            " ".join(str(s.n_novel) for s in r.sessions),
        )
        for label, group in c.groups.items()
        for r in group
    ]
    columns = ("method", "seed", "estimated", "true")
    return ResultTable(f"Novel categories in each session: {c.data}", columns, tuple(rows), n_left=2)


#: Kinds of tables that an experiment may ask for.
KINDS: dict[str, Callable[[_Context], ResultTable]] = {
    "sessions": _sessions,
    "summary": _summary,
    "forgetting": _forgetting,
    "bounds": _bounds,
    "stream": _stream,
    "cost": _cost,
    "counts": _counts,
}
