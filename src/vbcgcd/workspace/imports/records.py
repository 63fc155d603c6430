"""The records of an imported workspace: the shape of each, and whether together they are a history.

Every command is replayed. What a record changes must be what its command can change after the commits before
it: ids count on, merges lead to newer categories (and so never in a circle), undo goes back by one.
"""

from __future__ import annotations

import json
import zipfile
from typing import Any

from vbcgcd.errors import InputError, reason_of
from vbcgcd.workspace.config import DEFAULTS, LATER, check_config
from vbcgcd.workspace.imports.schema import COMMIT_SHAPE, HEAD_SHAPE, SESSION_SUMMARY, check_about
from vbcgcd.workspace.ledger import CORRECTING
from vbcgcd.workspace.log.commits import ABOUT, COMMITS, HEAD, RECORD, SESSIONS, Commit, record_of
from vbcgcd.workspace.log.files import CORRECTIONS, MODEL, SEEDLINGS, SEGMENT, TABLE
from vbcgcd.workspace.log.store import Store
from vbcgcd.workspace.snapshot import Category, History, Snapshot

__all__ = ["check_records", "check_shapes"]


def check_shapes(archive: zipfile.ZipFile) -> None:
    """Raise `InputError` unless every record has its shape and names exactly the files that are there.

    The members were checked before; nothing was unpacked yet, and no path that a record names is touched.
    """
    check_about(ABOUT, _read(archive, ABOUT))
    head = _read(archive, HEAD)
    HEAD_SHAPE(HEAD, head)
    sizes: dict[str, dict[str, int]] = {}
    for info in archive.infolist():
        if "/" in info.filename:
            _, folder, name = info.filename.split("/")
            sizes.setdefault(folder, {})[name] = info.file_size
    if sorted(sizes) != [f"{n:06d}" for n in range(1, head["commit"] + 1)]:
        raise InputError(f"HEAD names commit {head['commit']}, but commits are missing or beyond it")
    for folder, files in sorted(sizes.items()):
        where = f"commit {int(folder)}"
        values = _read(archive, f"{COMMITS}/{folder}/{RECORD}")
        COMMIT_SHAPE(where, values)
        named = {RECORD: files[RECORD], **{name: mark["bytes"] for name, mark in values["files"].items()}}
        if named != files:
            odd = next(name for name in (*named, *files) if named.get(name) != files.get(name))
            raise InputError(f"{odd} of {where} is missing, too many, or has other bytes instead")
        if values["number"] != int(folder):
            raise InputError(f"{where} says that it is commit {values['number']}")


def check_records(store: Store) -> Snapshot:
    """Raise `InputError` unless the records tell a history; returns its last snapshot."""
    history = History()
    for commit in store.commits(store.head()):
        _check_command(f"commit {commit.number}", commit, history)
        history = history.after(commit)
    return Snapshot(store).refresh()


def _read(archive: zipfile.ZipFile, name: str) -> Any:
    try:
        return json.loads(archive.read(name), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name} is not a record: {reason_of(error)}") from None


def _no_constant(name: str) -> Any:
    raise InputError(f"a record holds {name}, which is not a number")


def _check_command(where: str, commit: Commit, history: History) -> None:
    """Whether a command can have made these changes after this history."""
    changes, command = commit.changes, commit.command
    if (command == "init") != (not history.commits):
        raise InputError(f"{where} is {command!r}, and a history begins with one 'init'")
    if (command in SESSIONS) != ("session" in changes) or changes.get("session", 0) != (
        history.next_session if "session" in changes else 0
    ):
        raise InputError(f"{where} has the session {changes.get('session')!r}")
    if ("goto" in changes) != (command in ("undo", "redo")) or ("config" in changes) != (
        command in ("init", "configure")
    ):
        raise InputError(f"{where} changes what {command!r} cannot change")
    if ("dismissed" in changes) != (command == "dismiss") or (command == "dismiss" and len(changes) > 1):
        raise InputError(f"{where} changes what {command!r} cannot change")
    if command in ("undo", "redo"):
        _check_undo(where, commit, history)
    elif "config" in changes:
        _check_config(where, commit)
    else:
        _check_categories(where, commit, history)
        _check_files(where, commit, history)
        _check_bed(where, commit, history)
    if command in SESSIONS or TABLE in commit.files:
        SESSION_SUMMARY(where, dict(commit.summary))
        _check_summary(where, commit, history)


def _check_undo(where: str, commit: Commit, history: History) -> None:
    trail, undone = history.state.trail, history.undone
    if commit.command == "undo":
        possible = (trail[-2], trail[-1]) if len(trail) > 1 else None
    else:
        possible = (undone[-1], undone[-1]) if undone else None
    if possible != (commit.changes["goto"], commit.parameters.get("of")) or set(commit.changes) != {"goto"}:
        raise InputError(f"{where} goes to a state that {commit.command} does not lead to")


def _check_config(where: str, commit: Commit) -> None:
    config = commit.changes["config"]
    checked = check_config(config)
    complete = set(DEFAULTS) - LATER <= set(checked)
    if set(commit.changes) != {"config"} or (commit.command == "init" and not complete):
        raise InputError(f"{where} has the wrong settings")


def _check_categories(where: str, commit: Commit, history: History) -> None:
    """Ids count on; what is merged or split leads to newer categories, which are there."""
    changed = [Category.from_json(values) for values in commit.changes.get("categories", ())]
    before = history.state.categories
    new = sorted(c.id for c in changed if c.id not in before)
    if len({c.id for c in changed}) < len(changed):
        raise InputError(f"{where} names a category twice")
    if new != list(range(history.next_id, history.next_id + len(new))):
        raise InputError(
            f"{where} gives new categories the ids {new[:5]}, expected from {history.next_id} on"
        )
    after = {**before, **{c.id: c for c in changed}}
    for category in changed:
        parts = {"merged": category.into[:1], "split": category.into}.get(category.status, ())
        sound = category.into == tuple(parts) and bool(parts) == (category.status in ("merged", "split"))
        if not sound or not all(i > category.id and i in after for i in category.into):
            raise InputError(f"{where} leads category {category.id} into {list(category.into)[:5]}")
        if not all(i < category.id and i in after for i in category.parents):
            raise InputError(f"{where} makes category {category.id} of {list(category.parents)[:5]}")
        if category.birth > history.next_session:
            raise InputError(f"{where} has category {category.id} born in session {category.birth}")
    if changed and not any(c.live for c in after.values()):
        raise InputError(f"{where} leaves no category")
    _check_posteriors(where, commit, history, after)


def _check_posteriors(where: str, commit: Commit, history: History, after: dict[int, Category]) -> None:
    ids = commit.changes.get("posteriors", [])
    if len(set(ids)) < len(ids) or not all(i in after and after[i].live for i in ids):
        raise InputError(f"{where} has posteriors of categories that are not live")
    without = {i for i, c in after.items() if c.live} - set(history.state.posterior_places) - set(ids)
    if without:
        raise InputError(f"{where} has no posterior of category {min(without)}")


def _check_files(where: str, commit: Commit, history: History) -> None:
    """Whether a commit has the files that its changes point to, and no others that it should not have."""
    changes, files = commit.changes, set(commit.files)
    first = commit.command == "learn" and history.state.model is None
    if bool(changes.get("model")) != first or ("embedder" in changes) != first:
        raise InputError(f"{where} has a model where it should not, or none where it should")
    if history.state.model is None and not first:
        raise InputError(f"{where} is {commit.command!r} before anything was learned")
    needed = {MODEL} if first else {SEGMENT} if changes.get("posteriors") else set()
    by_items = commit.command == "split" and TABLE not in files  # release 0.1 assigned items of a batch
    needed |= {TABLE} if commit.command in SESSIONS or (commit.command == "split" and not by_items) else set()
    needed |= {SEEDLINGS} if changes.get("seedlings") else set()
    needed |= {CORRECTIONS} if commit.command in CORRECTING or by_items else set()
    if not needed <= files or files & {MODEL, SEGMENT, SEEDLINGS, TABLE, CORRECTIONS} - needed:
        raise InputError(f"{where} has the files {sorted(files)}, expected {sorted(needed)}")


def _check_bed(where: str, commit: Commit, history: History) -> None:
    """Whether a commit makes its seedlings of those that there were, and splits a category if it says so."""
    changes, correcting = commit.changes, commit.command in CORRECTING
    split = [values for values in changes.get("categories", ()) if values["status"] == "split"]
    if len(split) != (commit.command == "split"):
        raise InputError(f"{where} splits {len(split)} categories")
    if ("bed" in changes) != (correcting and "seedlings" in changes):
        raise InputError(f"{where} has seedlings where it should not, or none where it should")
    if "bed" in changes:
        laid = (c for c in reversed(history.in_effect()) if c.command not in CORRECTING)
        size = next((c.changes["seedlings"] for c in laid if "seedlings" in c.changes), 0)
        bed = changes["bed"]
        if sorted(set(bed)) != bed or len(bed) != changes["seedlings"] or not all(i < size for i in bed):
            raise InputError(f"{where} keeps seedlings that are not there")
    if "lineage" in changes:
        last, known = history.state.seedlings, history.after(commit).state.categories
        size = 0 if last is None else history.commit(last).changes["seedlings"]
        past = [*changes["lineage"]["seedlings"], *changes["lineage"]["grown"].values()]
        if not all(i < size for i in past) or not all(int(i) in known for i in changes["lineage"]["grown"]):
            raise InputError(f"{where} makes seedlings of those that are not there")


def _check_summary(where: str, commit: Commit, history: History) -> None:
    """Whether the outcome of a session agrees with itself."""
    summary, known = commit.summary, history.after(commit).state.categories
    total = sum(summary["counts"].values()) + summary.get("unassigned", 0)
    if total != summary["rows"]:
        raise InputError(f"{where} has {summary['rows']} rows, but {total} in categories")
    named = (*summary["counts"], *summary.get("grown", {}), *summary.get("returned", {}))
    ids = {int(i) for i in named} | set(summary["novel"])
    if not ids <= set(known):
        raise InputError(f"{where} counts items of the unknown category {min(ids - set(known))}")
    if commit.command in SESSIONS:
        record_of(commit)
