"""Tables of realistic streams: what was found, hit rates by size, the summary, and one row per kind."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from vbcgcd.study.records import RunRecord
from vbcgcd.study.streams.scoring import SIZE_BINS, StreamResult, StreamSession, hit_rates
from vbcgcd.study.streams.yours import verdict
from vbcgcd.study.table_parts import Column, Context, ResultTable, Row, mean, over_sessions, unscaled

_ONE = unscaled(1)

__all__ = ["STREAM_KINDS"]


def _stream(record: RunRecord) -> StreamResult:
    assert record.result is not None
    assert record.result.stream is not None
    return record.result.stream


def _per_session(value: Callable[[StreamSession], float]) -> Callable[[RunRecord], float]:
    """Mean of a value over the sessions of a run."""
    return lambda record: float(np.mean([value(session) for session in _stream(record).sessions]))


def _share(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f}" if whole else "–"


def _discoveries(c: Context) -> ResultTable:
    """Categories that were found, hit, missed and invented."""
    columns = [
        Column("true", _per_session(lambda s: s.true), _ONE),
        Column("found", _per_session(lambda s: s.found), _ONE),
        Column("hit", _per_session(lambda s: s.hit), _ONE),
        Column("missed", _per_session(lambda s: s.true - s.hit), _ONE),
        Column("split", _per_session(lambda s: s.split), _ONE),
        Column("merged", _per_session(lambda s: s.merged), _ONE),
        Column("invented", _per_session(lambda s: s.invented), _ONE),
        Column("off %", _per_session(lambda s: s.off), lambda values: mean(values, 1)),
        Column("B3", _per_session(lambda s: s.b_cubed), lambda values: mean(values, 1)),
    ]
    names = ("method", *(column.name for column in columns))
    note = (
        "Mean over sessions and seeds. hit: an id has the novel class as its largest and at least half of "
        "its rows; split: two ids hold a fifth each; merged: an id holds half of two novel classes; "
        "invented: its largest class is not novel. off: found above 1.5 true + 1 or below true / 1.5 - 1. "
        "B3: B-cubed F1, %."
    )
    return ResultTable(c.heading, names, tuple(c.rows(columns)), (note, *c.source_notes))


def _sizes(c: Context) -> ResultTable:
    """Hit rates by the size of the class in the session, over all seeds."""
    rows = []
    for label, group in c.groups.items():
        rates = hit_rates([s for record in group for s in _stream(record).sessions])
        rows.append((label, *(f"{_percent(*rate)} of {rate[1]}" for rate in rates)))
    names = [f"{low}-{high} rows" if high else "more rows" for low, high in SIZE_BINS]
    title = f"Novel classes that were hit, %, by their rows in the session: {c.data}"
    return ResultTable(title, ("method", *names), tuple(rows))


def _of_missed(record: RunRecord, measure: str) -> float:
    """Share of the rows of missed classes that a measure counts."""
    judged = [s for s in _stream(record).sessions if getattr(s, measure) is not None]
    return _share(sum(getattr(s, measure) for s in judged), sum(s.missed_rows for s in judged))


def _summary(c: Context) -> ResultTable:
    """Test accuracy, calibration, what was noticed of missed classes, and seconds."""
    columns = [
        Column("All", lambda r: r.accuracies(c.protocol).final.all, lambda values: mean(values, 1)),
        Column("share", lambda r: r.share(c.protocol), unscaled(3)),
        Column("macro", lambda r: _stream(r).macro, lambda values: mean(values, 1)),
        Column("share", lambda r: _stream(r).macro / r.bound.macro, unscaled(3)),
        Column("ECE", lambda r: _stream(r).calibration_error, unscaled(3)),
        Column("noticed %", lambda r: _of_missed(r, "noticed_rows"), lambda values: mean(values, 1)),
        Column("doubted %", lambda r: _of_missed(r, "doubted_rows"), lambda values: mean(values, 1)),
        Column("ids kept", lambda r: r.ids_kept, lambda values: mean(values, 1)),
        Column("session s", over_sessions(lambda s: s.seconds), unscaled(2)),
    ]
    note = (
        "All, macro: test accuracy in % after the last session on all classes that arrived, over rows and "
        "over classes; share: of the same method with the true labels. ECE: calibration of the answers over "
        "all rows of the stream. noticed: rows of missed classes that were flagged or left unassigned; "
        "doubted: or whose answer is less probable than not. ids "
        "kept: items of earlier sessions that have the same id after the last, with the same meaning, %."
    )
    return c.own_table("Accuracy and calibration", columns, note)


def _kinds(c: Context) -> ResultTable:
    """One row for each kind of session, over all seeds."""
    rows: list[Row] = []
    breaks = []
    for label, group in c.groups.items():
        sessions = [s for record in group for s in _stream(record).sessions]
        for i, kind in enumerate(sorted({s.kind for s in sessions})):
            rows.append(("" if i else label, *_kind_cells(kind, [s for s in sessions if s.kind == kind])))
        breaks.append(len(rows))
    columns = (
        "method",
        "kind",
        "true",
        "found",
        "ratio",
        "hit %",
        "invented",
        "quiet %",
        "off %",
        "B3",
    )
    note = (
        "Sums over the sessions of a kind. ratio: found / true. quiet, off: share of the sessions in "
        "which no category was invented, and in which the number is off. B3: mean B-cubed F1, %."
    )
    title = f"Kinds of sessions: {c.data}"
    return ResultTable(title, columns, tuple(rows), (note,), n_left=2, breaks=tuple(breaks))


def _kind_cells(kind: str, sessions: Sequence[StreamSession]) -> Row:
    true, found = sum(s.true for s in sessions), sum(s.found for s in sessions)
    return (
        kind,
        str(true),
        str(found),
        f"{found / true:.2f}" if true else "–",
        _percent(sum(s.hit for s in sessions), true),
        str(sum(s.invented for s in sessions)),
        _percent(sum(s.invented == 0 for s in sessions), len(sessions)),
        _percent(sum(s.off for s in sessions), len(sessions)),
        mean([s.b_cubed for s in sessions], 1),
    )


def _numbers(c: Context) -> ResultTable:
    """Categories found and true in each session of each seed."""
    length = max(len(_stream(r).sessions) for group in c.groups.values() for r in group)
    rows: list[Row] = []
    for label, group in c.groups.items():
        for record in group:
            cells = [f"{s.kind} {s.found}/{s.true}{'!' * s.off}" for s in _stream(record).sessions]
            rows.append((label, str(record.plan.seed), *cells, *[""] * (length - len(cells))))
    columns = ("method", "seed", *(str(t) for t in range(1, length + 1)))
    note = "found/true novel categories of each session; ! where the number is off."
    return ResultTable(f"Number of categories: {c.data}", columns, tuple(rows), (note,))


#: Kinds of tables that realistic streams add.
STREAM_KINDS: dict[str, Callable[[Context], ResultTable]] = {
    "discoveries": _discoveries,
    "sizes": _sizes,
    "stream-summary": _summary,
    "kinds": _kinds,
    "numbers": _numbers,
    "verdict": verdict,
}
