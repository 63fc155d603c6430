"""Tables of a study, for the terminal, Markdown and LaTeX: scores and costs, mean and spread over seeds."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate, chain
from typing import TYPE_CHECKING

import numpy as np

from vbcgcd.study.experiments import Experiment
from vbcgcd.study.plans import paper_dataset
from vbcgcd.study.records import RunRecord
from vbcgcd.study.scoring import PROTOCOLS
from vbcgcd.study.streams.tables import STREAM_KINDS
from vbcgcd.study.table_parts import (
    Column,
    Context,
    Groups,
    ResultTable,
    Row,
    mean,
    mean_sd,
    over_sessions,
    printed,
    unscaled,
)
from vbcgcd.validation import check_choice

if TYPE_CHECKING:
    from vbcgcd.study.published import Published

#: With more methods than this, the table of sessions shows All only.
MANY = 3

__all__ = ["KINDS", "ResultTable", "make_tables"]


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
    published_rows = _printed_rows(experiment.name, plan, data) if paper else ()
    context = Context(experiment, data, protocol, groups, published_rows)
    return [KINDS[kind](context) for kind in experiment.tables]


def _printed_rows(experiment: str, plan: str, data: str) -> tuple[Published, ...]:
    """Rows of the paper that belong beside a table; none where the dataset is not one of the paper's."""
    dataset = paper_dataset(data)
    if dataset is None:
        return ()
    from vbcgcd.study.published import paper_experiment, published

    return published(paper_experiment(experiment, plan), dataset)


def _sessions(c: Context) -> ResultTable:
    """Accuracy after each session; All only where there are many methods."""
    notes = (c.protocol_note, *c.source_notes)
    length = max(len(r.sessions) for group in c.groups.values() for r in group)
    runs = {label: [r.accuracies(c.protocol) for r in group] for label, group in c.groups.items()}
    if len(runs) > MANY:
        ours = [(k, *(mean([run.all[t] for run in v]) for t in range(length + 1))) for k, v in runs.items()]
        paper = c.paper_rows(lambda p: [printed(v) for v in _padded(p, length)])
        columns = ("All after session", *map(str, range(length + 1)))
        breaks = (len(ours),) if paper else ()
        return ResultTable(c.heading, columns, (*ours, *paper), notes, breaks=breaks)
    blocks: list[list[Row]] = []
    for label, group in runs.items():
        blocks.append([(label, "0", mean_sd([run.base for run in group]), "", "")])
        for t in range(length):
            cells = [mean_sd([getattr(run.scores[t], k) for run in group]) for k in ("all", "old", "new")]
            blocks[-1].append(("", str(t + 1), *cells))
    for p in (p for p in c.paper if p.sessions):
        later = [("", str(t), *map(printed, s)) for t, s in enumerate(p.sessions, start=1)]
        blocks.append([(f"paper: {p.method}", "0", printed(p.base), "", ""), *later])
    rows, ends = tuple(chain.from_iterable(blocks)), tuple(accumulate(map(len, blocks)))
    columns = ("method", "session", "All", "Old", "New")
    return ResultTable(c.heading, columns, rows, notes, n_left=2, breaks=ends)


def _padded(p: Published, length: int) -> list[float | None]:
    """All of a printed row after each session, as many as ours has."""
    return [p.base, *(s[0] for s in p.sessions), *[None] * length][: length + 1]


def _summary(c: Context) -> ResultTable:
    columns = (
        Column("All", lambda r: r.accuracies(c.protocol).final.all, paper=lambda p: p.all),
        Column("Old", lambda r: r.accuracies(c.protocol).final.old, paper=lambda p: p.old),
        Column("New", lambda r: r.accuracies(c.protocol).final.new, paper=lambda p: p.new),
        Column("M_f", lambda r: r.accuracies(c.protocol).forgetting, paper=lambda p: p.forgetting),
        Column("M_d", lambda r: r.accuracies(c.protocol).discovery, paper=lambda p: p.discovery),
        Column("ids kept", lambda r: r.ids_kept, mean),
        Column("upper", lambda r: r.bound.final.all, mean),
        Column("share", lambda r: r.share(c.protocol), lambda values: mean_sd(values, 3, 1)),
        Column("of best", c.share_of_best, unscaled(3)),
    )
    notes = (
        c.protocol_note,
        "All, Old, New: after the last session. M_f: labelled classes at session 0 minus at the end. "
        "M_d: mean New. ids kept: items of earlier sessions that have the same id after the last, with the "
        "same meaning, %.",
        "upper: the same method with the true labels of every session; share: All / upper; of best: All / "
        "the largest upper of the table.",
    )
    return c.table(columns, notes)


def _overview(c: Context) -> ResultTable:
    """What decides between methods, one line for each: accuracy, honesty, lasting ids, time."""
    columns = (
        Column("All", lambda r: r.accuracies(c.protocol).final.all),
        Column("of best", c.share_of_best, unscaled(3)),
        Column("New", lambda r: r.accuracies(c.protocol).final.new, _tenths),
        Column("M_f", lambda r: r.accuracies(c.protocol).forgetting, _tenths),
        Column("ECE", lambda r: r.calibration_error, unscaled(3)),
        Column("AUROC", over_sessions(lambda s: s.stream.auroc), _tenths),
        Column("ids kept", lambda r: r.ids_kept, _tenths),
        Column("seconds", lambda r: r.seconds, unscaled(1)),
    )
    note = (
        "of best: All / the largest supervised bound of any method here. ECE: calibration error of its own "
        "probabilities, test rows after the last session, frozen scoring; a dash where it has none. "
        "AUROC: of the novelty of the sessions' rows. ids kept: items of earlier sessions that have the same "
        "id after the last, with the same meaning, %. seconds: fit and all sessions."
    )
    heading = c.heading.replace(c.experiment.title, "Side by side", 1)
    return replace(c.own_table("", columns, note), title=heading)


def _tenths(values: Sequence[float]) -> str:
    return mean(values, 1)


def _forgetting(c: Context) -> ResultTable:
    columns = (
        Column("M_f", lambda r: r.accuracies(c.protocol).forgetting, paper=lambda p: p.forgetting),
        Column("M_d", lambda r: r.accuracies(c.protocol).discovery, paper=lambda p: p.discovery),
    )
    bound = (Column("M_f", lambda r: r.bound.forgetting), Column("M_d", lambda r: r.bound_discovery))
    two_part = (bound[0], Column("M_d", lambda r: r.bound.final.later))
    notes = (
        c.protocol_note,
        "M_f: labelled classes at session 0 minus at the end. M_d: mean New over the sessions.",
        "supervised bound: the same method with the true labels of every session. two-part bound, as in the "
        "paper: all later classes at once; M_d is then their accuracy among all classes.",
    )
    more = [*c.rows(bound, ", supervised bound"), *c.rows(two_part, ", two-part bound")]
    return c.table(columns, notes, more=more)


def _bounds(c: Context) -> ResultTable:
    def lost(p: Published) -> float | None:
        return None if p.base is None or p.labelled is None else p.base - p.labelled

    columns = (
        Column("S0", lambda r: r.bound.base, paper=lambda p: p.base),
        Column("All(S0)", lambda r: r.bound.final.labelled, paper=lambda p: p.labelled),
        Column("lost", lambda r: r.bound.forgetting, paper=lost),
        Column("later", lambda r: r.bound.final.later),
        Column("All", lambda r: r.bound.final.all, paper=lambda p: p.all),
    )
    notes = (
        "Every class labelled; accuracy on test rows in %. S0: labelled classes, learned alone. All(S0): the "
        "same test rows once all classes are learned. lost: their difference (inevitable forgetting), the "
        "M_f of the paper's two-part bound. later: the other classes, its M_d.",
    )
    return c.table(columns, notes)


def _stream(c: Context) -> ResultTable:
    names = ("precision", "recall", "AUROC", "NMI", "ARI")
    columns = [
        Column(name, over_sessions(operator.attrgetter(f"stream.{name.lower()}")), _tenths) for name in names
    ]
    wrong = over_sessions(lambda s: float(abs(s.n_discovered - s.n_novel)))
    note = (
        "Rows of the sessions themselves, mean over sessions and seeds, %. precision, recall: of 'this row "
        "is novel'. AUROC: of the novelty score before the session is learned. NMI, ARI: ids against true "
        "classes. |estimated - true|: error of the number of categories."
    )
    return c.own_table(
        "Judging the stream", [*columns, Column("|estimated - true|", wrong, unscaled(1))], note
    )


def _cost(c: Context) -> ResultTable:
    seconds = over_sessions(lambda s: s.seconds)
    ours = [seconds(r) for r in c.groups.get("ours", ())]
    reference = float(np.mean(ours)) if ours else math.nan

    def memory(r: RunRecord) -> float:
        last = r.sessions[-1]
        return last.nbytes / last.n_categories / 1024 if last.nbytes else math.nan

    columns = (
        Column("fit s", lambda r: r.result.fit_seconds if r.result else math.nan, unscaled(1)),
        Column("session s", seconds, unscaled(2)),
        Column("x ours", lambda r: seconds(r) / reference, unscaled(2)),
        Column("peak MB", lambda r: max(s.peak_bytes for s in r.sessions) / 2**20, unscaled(0)),
        Column("kB/category", memory, unscaled(1)),
    )
    note = (
        "fit, session: seconds. x ours: seconds of a session relative to ours. peak: memory of a session "
        "above what was held before it. kB/category: what is kept between sessions."
    )
    return c.own_table("Cost", columns, note)


def _clusters(c: Context) -> ResultTable:
    """Clustering of the test rows and of the session's own rows, as papers on text report it."""

    def value(part: str, name: str) -> Callable[[RunRecord], float]:
        def read(record: RunRecord) -> float:
            score = getattr(record.result, part)
            return math.nan if score is None else float(getattr(score, name))

        return read

    names = ("ACC", "NMI", "ARI")
    columns = (
        Column("ACC", value("test_clusters", "acc"), paper=lambda p: p.all),
        *(Column(name, value("test_clusters", name.lower())) for name in names[1:]),
        *(Column(f"{name} (session)", value("session_clusters", name.lower()), mean) for name in names),
        Column("found", over_sessions(lambda s: float(s.n_discovered)), unscaled(1)),
        Column("seconds", over_sessions(lambda s: s.seconds), unscaled(1)),
    )
    notes = (
        "ACC: rows that are right under the best one-to-one match of ids to classes, %. NMI, ARI in %. Of "
        "all test rows, and of the rows of the session itself. found: novel categories.",
    )
    return c.table(columns, notes)


def _averages(c: Context) -> ResultTable:
    """Means over the sessions, as the paper's comparison with Happy shows them."""
    columns = [
        Column(name, over_sessions(operator.attrgetter(f"{c.protocol}.{name.lower()}")))
        for name in ("All", "Old", "New")
    ]
    return c.own_table("Mean over the sessions", columns, c.protocol_note)


def _counts(c: Context) -> ResultTable:
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
KINDS: dict[str, Callable[[Context], ResultTable]] = {
    "sessions": _sessions,
    "summary": _summary,
    "overview": _overview,
    "forgetting": _forgetting,
    "bounds": _bounds,
    "stream": _stream,
    "cost": _cost,
    "clusters": _clusters,
    "averages": _averages,
    "counts": _counts,
    **STREAM_KINDS,
}
