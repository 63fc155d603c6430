"""Sessions, commands, and what the last session changed."""

from __future__ import annotations

from vbcgcd.record import SessionRecord
from vbcgcd.workspace.log.commits import SESSIONS, Commit, record_of
from vbcgcd.workspace.queries.items import commit_counts
from vbcgcd.workspace.snapshot import Snapshot, once_per_snapshot
from vbcgcd.workspace.values import CategoryCount, Changes, CommandInfo, SeedlingInfo

__all__ = [
    "category_growth",
    "labelled_sessions",
    "last_command",
    "list_changes",
    "list_commands",
    "list_seedlings",
    "list_sessions",
    "next_redo",
]


def list_sessions(snapshot: Snapshot, *, undone: bool = True) -> tuple[SessionRecord, ...]:
    """The labelled and unlabelled sessions, first to last; with ``undone=False`` only those in effect."""
    trail = set(snapshot.state.trail)
    return tuple(
        record_of(commit, undone=commit.number not in trail)
        for commit in snapshot.history.commits
        if commit.command in SESSIONS and (undone or commit.number in trail)
    )


def labelled_sessions(snapshot: Snapshot) -> frozenset[int]:
    """Numbers of the labelled sessions."""
    return frozenset(c.changes["session"] for c in snapshot.history.commits if c.command == "learn")


def category_growth(snapshot: Snapshot) -> tuple[CategoryCount, ...]:
    """Live categories after each session in effect, first to last."""
    labelled = labelled_sessions(snapshot)
    live: dict[int, bool] = {}  # whether each live category is labelled
    counts = []
    for commit in snapshot.history.in_effect():
        for values in commit.changes.get("categories", ()):
            live.pop(values["id"], None)
            if values["status"] == "live":
                live[values["id"]] = values["birth"] in labelled
        if commit.command in SESSIONS:
            n_labelled = sum(live.values())
            counts.append(CategoryCount(commit.changes["session"], n_labelled, len(live) - n_labelled))
    return tuple(counts)


def list_commands(snapshot: Snapshot) -> tuple[CommandInfo, ...]:
    """Every command that changed the workspace, first to last."""
    return tuple(_command(snapshot, commit) for commit in snapshot.history.commits)


def list_seedlings(snapshot: Snapshot) -> tuple[SeedlingInfo, ...]:
    """The groups that are too small or too doubtful to be a category yet, the largest first."""
    if (seedlings := snapshot.seedlings()) is None:
        return ()
    infos = (
        SeedlingInfo(round(float(rows)), int(since))
        for rows, since in zip(seedlings.rows, seedlings.since, strict=True)
    )
    return tuple(sorted(infos, key=lambda info: (-info.items, info.since)))


def last_command(snapshot: Snapshot) -> CommandInfo:
    """The last command in effect: the one that undo would take back, unless it is ``init``."""
    return _command(snapshot, snapshot.history.in_effect()[-1])


def next_redo(snapshot: Snapshot) -> CommandInfo | None:
    """The command that redo would bring back; None if there is none."""
    history = snapshot.history
    return _command(snapshot, history.commit(history.undone[-1])) if history.undone else None


def list_changes(snapshot: Snapshot) -> Changes:
    """What is different from the state before the last session."""
    history, state = snapshot.history, snapshot.state
    effective = history.in_effect()
    last = next((c for c in reversed(effective) if c.command in SESSIONS), None)
    if last is None:
        return Changes(None, {}, {}, {}, {}, ())
    before = history.state_at(state.trail[state.trail.index(last.number) - 1])
    since = [commit for commit in effective if commit.number >= last.number]
    old, new = before.categories, state.categories
    gains: dict[int, int] = {}
    for commit in since:
        for category, count in commit_counts(snapshot, commit).items():
            if category in state.posterior_places:
                gains[category] = gains.get(category, 0) + count
    return Changes(
        session=last.changes["session"],
        novel={i: c.name for i, c in new.items() if c.live and i not in old},
        retired={i: c.name for i, c in new.items() if not c.live and i in old and old[i].live},
        renamed={i: (old[i].name, c.name) for i, c in new.items() if i in old and old[i].name != c.name},
        gains=gains,
        commands=tuple(_command(snapshot, commit) for commit in since),
    )


def _command(snapshot: Snapshot, commit: Commit) -> CommandInfo:
    undone = commit.number not in _trail(snapshot) and commit.command not in ("undo", "redo")
    return CommandInfo(commit.number, commit.command, commit.time, commit.parameters, undone)


@once_per_snapshot
def _trail(snapshot: Snapshot) -> frozenset[int]:
    return frozenset(snapshot.state.trail)
