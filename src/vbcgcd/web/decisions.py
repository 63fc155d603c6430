"""Decisions that are based on what a visitor saw: refused, with what has changed, if that is no longer so."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from vbcgcd.errors import InputError
from vbcgcd.workspace import Snapshot
from vbcgcd.workspace.log.commits import SESSIONS, Commit
from vbcgcd.workspace.log.files import CORRECTIONS
from vbcgcd.workspace.log.lessons import ItemKey

__all__ = ["Outdated", "check_current", "what_happened"]


@dataclass(eq=False)
class Outdated(Exception):
    """What a decision was about has changed since the visitor saw it.

    Parameters
    ----------
    head : int
        The present commit.
    changes : list of dict
        The commands since.
    """

    head: int
    changes: list[dict[str, Any]]

    def __str__(self) -> str:
        names = ", ".join(change["text"] for change in self.changes[:3])
        return f"Somebody was quicker: {names}. Nothing was changed; look again and decide anew."


def check_current(
    snapshot: Snapshot,
    seen: int | None,
    concerns: Collection[int] | None,
    items: Collection[ItemKey] | None = (),
) -> None:
    """Raise `Outdated` if commits after ``seen`` touch what a decision is about.

    Parameters
    ----------
    snapshot : Snapshot
    seen : int or None
        None skips the check: a script that has looked at nothing.
    concerns : collection of int or None
        Categories; None stands for everything.
    items : collection of (int, int) or None
        Items that it is about, by commit and row; None for items that any correction or session may change.
    """
    head = snapshot.head.number
    if seen is None or seen == head:
        return
    if not 0 < seen <= head:
        raise InputError(f"seen is a commit between 1 and {head}, got {seen}.", option="seen")
    since = snapshot.history.commits[seen:]
    touching = [c for c in since if _touches(c, concerns) or _corrects(snapshot, c, items)]
    if touching:
        raise Outdated(head, [what_happened(commit) for commit in touching])


def what_happened(commit: Commit) -> dict[str, Any]:
    """A command in a few words, for a visitor who sees it happen."""
    by = commit.parameters.get("by")
    names = [values["name"] for values in commit.changes.get("categories", ())]
    what = {
        "learn": "a labelled session",
        "discover": "a session",
        "rename": "a category was renamed",
        "merge": "categories were merged",
        "split": "a category was split",
        "drop": "a category was dropped",
        "move": "items were moved",
        "confirm": "items were confirmed",
        "reject": "items were rejected",
        "unlabel": "labels of items were withdrawn",
        "undo": "a command was undone",
        "redo": "a command was redone",
        "configure": "settings were changed",
    }.get(commit.command, commit.command)
    about = f" ({', '.join(names[:3])})" if names and commit.command not in ("learn", "discover") else ""
    return {
        "commit": commit.number,
        "command": commit.command,
        "time": commit.time,
        "by": by if isinstance(by, str) else None,
        "text": what + about + (f" by {by}" if isinstance(by, str) else ""),
    }


def _touches(commit: Commit, concerns: Collection[int] | None) -> bool:
    if concerns is None or commit.command in ("undo", "redo"):
        return True
    touched = {values["id"] for values in commit.changes.get("categories", ())}
    if commit.command not in SESSIONS:
        touched |= set(commit.changes.get("posteriors", ()))
    return bool(touched & set(concerns))


def _corrects(snapshot: Snapshot, commit: Commit, items: Collection[ItemKey] | None) -> bool:
    if items is None:
        return commit.command in SESSIONS or CORRECTIONS in commit.files
    if not items or CORRECTIONS not in commit.files:
        return False
    return not set(items).isdisjoint(one.key for one in snapshot.content(commit, CORRECTIONS).items)
