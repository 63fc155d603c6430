"""Commands about other commands and settings: undo, redo, configure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vbcgcd.errors import InputError, NothingToDo
from vbcgcd.workspace.config import DEFAULTS, FIXED, check_config, check_device, fixed_part
from vbcgcd.workspace.log.commits import Commit, Draft
from vbcgcd.workspace.snapshot import Snapshot
from vbcgcd.workspace.trust import check_model_setting
from vbcgcd.workspace.values import UndoResult

__all__ = ["configure_draft", "redo_draft", "undo_draft", "undo_result"]


def undo_draft(snapshot: Snapshot, commit: int | None) -> Draft:
    """Go back to the state before the last command in effect.

    Parameters
    ----------
    snapshot : Snapshot
    commit : int or None
        The command that must be the last one; None takes any.
    """
    trail = snapshot.state.trail
    if len(trail) < 2:
        raise NothingToDo("Nothing to undo.")
    _check_last(commit, snapshot.history.commit(trail[-1]), "last command", "undone")
    return Draft("undo", changes={"goto": trail[-2]}, parameters={"of": trail[-1]})


def redo_draft(snapshot: Snapshot, commit: int | None) -> Draft:
    """Go forward to the state after the command that was undone last; ``commit`` as for `undo_draft`."""
    undone = snapshot.history.undone
    if not undone:
        raise NothingToDo("Nothing to redo; redo works only right after undo.")
    _check_last(commit, snapshot.history.commit(undone[-1]), "next command to redo", "redone")
    return Draft("redo", changes={"goto": undone[-1]}, parameters={"of": undone[-1]})


def undo_result(commit: Commit, before: Snapshot) -> UndoResult:
    """What an undo or redo did; ``before`` is the snapshot before it."""
    of = before.history.commit(commit.parameters["of"])
    return UndoResult(commit.number, commit.command, of.number, of.command)


def configure_draft(snapshot: Snapshot, changes: Mapping[str, Any]) -> Draft:
    """Change settings."""
    now = snapshot.state.config
    check_model_setting(snapshot, changes.get("model", now["model"]))
    changed = {
        name: value
        for name, value in changes.items()
        if name not in FIXED or fixed_part(name, value) != fixed_part(name, now.get(name))
    }
    # What is fixed may be said again as it is, which confirms it in an imported workspace.
    checked = check_config(changed, learned=snapshot.state.model is not None)
    checked |= check_config({name: value for name, value in changes.items() if name not in changed})
    if not checked:
        raise InputError(f"No setting to change; the settings are {', '.join(DEFAULTS)}.")
    check_device(checked.get("model", {}), now["model"])
    return Draft("configure", changes={"config": checked}, parameters=checked)


def _check_last(commit: int | None, last: Commit, what: str, outcome: str) -> None:
    if commit is not None and commit != last.number:
        raise InputError(
            f"The {what} is {last.number} ({last.command}), not {commit}, so nothing was {outcome}; check "
            "the history.",
            option="commit",
        )
