"""Tables of a study from its records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vbcgcd.study.experiments import Experiment, Work
from vbcgcd.study.methods import METHODS
from vbcgcd.study.published import SOURCE, Published, paper_dataset, paper_experiment, published
from vbcgcd.study.records import Record
from vbcgcd.study.rendering import Cell, Table
from vbcgcd.study.scoring import PROTOCOLS

__all__ = ["tables_of"]

#: More methods than this and the table of sessions shows All alone.
MANY = 3


# ---------------------------------------------------------------------------------------------- values

Values = Sequence[float | None]


def _mean_sd(values: Values, scale: float = 100.0, digits: int = 2) -> str:
    """Mean ± sample standard deviation over seeds."""
    numbers = [scale * v for v in values if v is not None and not np.isnan(v)]
    if not numbers:
        return "–"
    spread = f" ± {np.std(numbers, ddof=1):.{digits}f}" if len(numbers) > 1 else ""
    return f"{np.mean(numbers):.{digits}f}{spread}"


def _mean(values: Values, scale: float = 1.0, digits: int = 1) -> str:
    numbers = [scale * v for v in values if v is not None and not np.isnan(v)]
    return f"{np.mean(numbers):.{digits}f}" if numbers else "–"


def _printed(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _base(record: Record, protocol: str) -> float:
    return float(record["result"]["base" if protocol == "frozen" else "base_joint"])


def _final(record: Record, protocol: str, which: str) -> float:
    return _number(record["result"]["sessions"][-1][protocol][which])


def _number(value: float | None) -> float:
    """NaN where there is no figure, as for classes without test rows."""
    return float("nan") if value is None else float(value)


def _forgetting(record: Record, protocol: str) -> float:
    return _base(record, protocol) - _final(record, protocol, "labelled")


def _discovery(record: Record, protocol: str) -> float:
    return float(np.mean([_number(s[protocol]["new"]) for s in record["result"]["sessions"]]))


def _bound_all(record: Record) -> float:
    return float(record["bound"]["scores"][-1]["all"])


def _share(record: Record, protocol: str) -> float:
    if protocol != "frozen":
        return float("nan")  # the bound is scored by equality
    return _final(record, protocol, "all") / _bound_all(record)


def _bound_discovery(record: Record) -> float:
    """M_d of the supervised bound; NaN where it was learned in one piece."""
    scores = record["bound"]["scores"]
    whole = record["result"] is not None and len(scores) == len(record["result"]["sessions"])
    return float(np.mean([_number(s["new"]) for s in scores])) if whole else float("nan")


def _per_session(record: Record, value: Callable[[dict[str, Any]], float | None]) -> float | None:
    found = [v for v in map(value, record["result"]["sessions"]) if v is not None]
    return float(np.mean(found)) if found else None


# ---------------------------------------------------------------------------------------------- tables


@dataclass(frozen=True)
class _Context:
    """What every table of an experiment is made from."""

    asked: Experiment
    data: str
    protocol: str
    groups: dict[str, list[Record]]
    paper: tuple[Published, ...]

    @property
    def heading(self) -> str:
        records = [r for group in self.groups.values() for r in group]
        plan = records[0]["plan"]
        seeds = max(len(group) for group in self.groups.values())
        spread = f"mean ± sd of {seeds} seeds" if seeds > 1 else "one seed"
        return (
            f"{self.asked.title}: {self.data}, plan {plan.get('plan')}, {plan.get('order')} order, {spread}"
        )

    @property
    def protocol_note(self) -> str:
        return f"Scoring {self.protocol}: {PROTOCOLS[self.protocol]}. Accuracy on test rows in %."


def tables_of(
    asked: Experiment, work: list[Work], *, data: str, protocol: str = "frozen", paper: bool = True
) -> list[Table]:
    """All tables of an experiment from its finished runs.

    Parameters
    ----------
    asked : Experiment
    work : list of Work
        Those without a record are left out.
    data : str
        Name of the dataset.
    protocol : {"frozen", "joint"}
    paper : bool
        Put the paper's figures beside ours where it prints them.
    """
    groups: dict[str, list[Record]] = {}
    for item in work:
        if item.record is not None:
            groups.setdefault(item.variant.label, []).append(item.record)
    if not groups:
        return []
    most = max(map(len, groups.values()))
    groups = {f"{k} [{len(g)} of {most} seeds]" if len(g) < most else k: g for k, g in groups.items()}
    plan = next(iter(groups.values()))[0]["plan"].get("plan")
    rows = published(paper_experiment(asked.name, plan), paper_dataset(data)) if paper else ()
    context = _Context(asked, data, protocol, groups, rows)
    return [_KINDS[kind](context) for kind in asked.tables]


def _sessions(c: _Context) -> Table:
    """Accuracy after each session; many methods show All alone."""
    many = len(c.groups) > MANY
    length = max(len(r["result"]["sessions"]) for g in c.groups.values() for r in g)
    rows: list[tuple[Cell, ...]] = []
    breaks: list[int] = []
    if many:
        for label, group in c.groups.items():
            cells = [_mean([_base(r, c.protocol) for r in group], 100, 2)]
            cells += [
                _mean([r["result"]["sessions"][t][c.protocol]["all"] for r in group], 100, 2)
                for t in range(length)
            ]
            rows.append((label, *cells))
        rows += _paper_rows(c, breaks, rows, lambda p: (_printed(p.base), *_padded(p, length)))
        columns = ("All after session", *(str(t) for t in range(length + 1)))
        return Table(c.heading, columns, rows, (c.protocol_note, *_notes(c)), breaks=tuple(breaks))
    for label, group in c.groups.items():
        rows.append((label, "0", _mean_sd([_base(r, c.protocol) for r in group]), "", ""))
        for t in range(length):
            scores = [r["result"]["sessions"][t][c.protocol] for r in group]
            rows.append(("", str(t + 1), *(_mean_sd([s[k] for s in scores]) for k in ("all", "old", "new"))))
        breaks.append(len(rows))
    for p in c.paper:
        if not p.sessions:
            continue
        rows.append((f"paper: {p.method}", "0", _printed(p.base), "", ""))
        rows += [("", str(t), *map(_printed, s)) for t, s in enumerate(p.sessions, start=1)]
        breaks.append(len(rows))
    columns = ("method", "session", "All", "Old", "New")
    return Table(c.heading, columns, rows, (c.protocol_note, *_notes(c)), n_left=2, breaks=tuple(breaks))


def _padded(p: Published, length: int) -> list[str]:
    cells = [_printed(s[0]) for s in p.sessions][:length]
    return cells + ["–"] * (length - len(cells))


def _paper_rows(
    c: _Context, breaks: list[int], rows: list[Any], cells: Callable[[Published], tuple[str, ...]]
) -> list[tuple[Cell, ...]]:
    if c.paper:
        breaks.append(len(rows))
    return [(f"paper: {p.method}", *cells(p)) for p in c.paper]


def _notes(c: _Context) -> tuple[str, ...]:
    notes = []
    if any(METHODS[r["method"]].name.endswith("-frozen") for g in c.groups.values() for r in g):
        notes.append("…-frozen: the mechanism of the original on frozen embeddings, not the original.")
    if c.paper:
        notes.append(f"paper: as printed, {SOURCE}; other embeddings and protocol than ours.")
    return tuple(notes)


def _summary(c: _Context) -> Table:
    rows: list[tuple[Cell, ...]] = []
    breaks: list[int] = []
    best = max(float(np.mean([_bound_all(r) for r in group])) for group in c.groups.values())
    best = best if c.protocol == "frozen" else float("nan")
    for label, group in c.groups.items():
        final = [_mean_sd([_final(r, c.protocol, k) for r in group]) for k in ("all", "old", "new")]
        rows.append(
            (
                label,
                *final,
                _mean_sd([_forgetting(r, c.protocol) for r in group]),
                _mean_sd([_discovery(r, c.protocol) for r in group]),
                _mean([_bound_all(r) for r in group], 100, 2),
                _mean_sd([_share(r, c.protocol) for r in group], 1, 3),
                _mean([_final(r, c.protocol, "all") / best for r in group], 1, 3),
            )
        )
    rows += _paper_rows(
        c,
        breaks,
        rows,
        lambda p: (*map(_printed, (p.all, p.old, p.new, p.forgetting, p.discovery)), "–", "–", "–"),
    )
    notes = (
        c.protocol_note,
        "All, Old, New: after the last session. M_f: labelled classes at session 0 minus at the end. "
        "M_d: mean New.",
        "upper: the same method with the true labels of every session; share: All / upper; of best: All / "
        "the largest upper of the table.",
        *_notes(c),
    )
    columns = ("method", "All", "Old", "New", "M_f", "M_d", "upper", "share", "of best")
    return Table(c.heading, columns, rows, notes, breaks=tuple(breaks))


def _forgetting_table(c: _Context) -> Table:
    rows: list[tuple[Cell, ...]] = []
    breaks: list[int] = []
    for label, group in c.groups.items():
        cells = ([_forgetting(r, c.protocol) for r in group], [_discovery(r, c.protocol) for r in group])
        rows.append((label, *map(_mean_sd, cells)))
    for label, group in c.groups.items():
        lost = [r["bound"]["base"] - _number(r["bound"]["scores"][-1]["labelled"]) for r in group]
        found = [_bound_discovery(r) for r in group]
        rows.append((f"{label}, supervised bound", _mean_sd(lost), _mean_sd(found)))
    rows += _paper_rows(c, breaks, rows, lambda p: (_printed(p.forgetting), _printed(p.discovery)))
    notes = (
        c.protocol_note,
        "M_f: labelled classes at session 0 minus at the end. M_d: mean New over the sessions.",
        "supervised bound: the same method with the true labels of every session.",
        *_notes(c),
    )
    return Table(c.heading, ("method", "M_f", "M_d"), rows, notes, breaks=tuple(breaks))


def _bounds(c: _Context) -> Table:
    rows: list[tuple[Cell, ...]] = []
    breaks: list[int] = []
    for label, group in c.groups.items():
        last = [r["bound"]["scores"][-1] for r in group]
        base = [r["bound"]["base"] for r in group]
        lost = [b - _number(s["labelled"]) for b, s in zip(base, last, strict=True)]
        cells = (base, [s["labelled"] for s in last], lost, [s["all"] for s in last])
        rows.append((label, *map(_mean_sd, cells)))
    rows += _paper_rows(
        c, breaks, rows, lambda p: (_printed(p.base), _printed(p.labelled), _lost(p), _printed(p.all))
    )
    notes = (
        "Every class labelled; accuracy on test rows in %. S0: labelled classes, learned alone. All(S0): the "
        "same test rows once all classes are learned. lost: their difference (inevitable forgetting).",
        *_notes(c),
    )
    return Table(c.heading, ("method", "S0", "All(S0)", "lost", "All"), rows, notes, breaks=tuple(breaks))


def _lost(p: Published) -> str:
    return "–" if p.base is None or p.labelled is None else f"{p.base - p.labelled:.2f}"


def _stream(c: _Context) -> Table:
    rows = []
    for label, group in c.groups.items():

        def mean(name: str, group: list[Record] = group) -> Values:
            return [_per_session(r, lambda s: s["stream"][name]) for r in group]

        wrong = [_per_session(r, lambda s: abs(s["found"] - s["n_novel"])) for r in group]
        percent = (_mean(mean(name), 100, 1) for name in ("precision", "recall", "auroc", "nmi", "ari"))
        rows.append((label, *percent, _mean(wrong, 1, 1)))
    notes = (
        "Rows of the sessions themselves, mean over sessions and seeds, %. precision, recall: of 'this row "
        "is novel'. AUROC: of the novelty score before the session is learned. NMI, ARI: ids against true "
        "classes. |found - true|: error of the number of categories.",
    )
    columns = ("method", "precision", "recall", "AUROC", "NMI", "ARI", "|found - true|")
    return Table(f"Judging the stream: {c.data}", columns, rows, notes)


def _cost(c: _Context) -> Table:
    rows: list[tuple[Cell, ...]] = []
    ours = c.groups.get("ours")
    reference = [s["seconds"] for r in ours or [] for s in r["result"]["sessions"]]
    for label, group in c.groups.items():
        seconds = [s["seconds"] for r in group for s in r["result"]["sessions"]]
        ratio = [float(np.mean(seconds)) / float(np.mean(reference))] if ours else []
        kept = [
            r["result"]["sessions"][-1]["nbytes"] / r["result"]["sessions"][-1]["n_categories"] / 1024
            for r in group
            if r["result"]["sessions"][-1]["nbytes"]
        ]
        peak = [max(s["peak_bytes"] for s in r["result"]["sessions"]) / 2**20 for r in group]
        rows.append(
            (
                label,
                _mean([r["result"]["fit_seconds"] for r in group], 1, 1),
                _mean(seconds, 1, 2),
                _mean(ratio, 1, 2),
                _mean(list(peak), 1, 0),
                _mean(list(kept), 1, 1),
            )
        )
    notes = (
        "fit, session: seconds. x ours: seconds of a session relative to ours. peak: memory of a session "
        "above what was held before it. kB/category: what is kept between sessions.",
    )
    columns = ("method", "fit s", "session s", "x ours", "peak MB", "kB/category")
    return Table(f"Cost: {c.data}", columns, rows, notes)


def _counts(c: _Context) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for label, group in c.groups.items():
        for r in group:
            found = " ".join(str(s["found"]) for s in r["result"]["sessions"])
            true = " ".join(str(s["n_novel"]) for s in r["result"]["sessions"])
            rows.append((label, str(r["plan"].get("seed")), found, true))
    columns = ("method", "seed", "found", "true")
    return Table(f"Novel categories in each session: {c.data}", columns, rows, n_left=2)


_KINDS: dict[str, Callable[[_Context], Table]] = {
    "sessions": _sessions,
    "summary": _summary,
    "forgetting": _forgetting_table,
    "bounds": _bounds,
    "stream": _stream,
    "cost": _cost,
    "counts": _counts,
}
