"""Corrections of single items: move, confirm, reject, unlabel.

What an item has taught is taken back exactly, and what it is said to be is learned with weight 1, as if it
had been labelled so from the beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray

from vbcgcd.errors import InputError
from vbcgcd.record import plain
from vbcgcd.workspace.commands.foundations import renewed_bed, renewed_posteriors
from vbcgcd.workspace.commands.naming import check_distinct, check_name
from vbcgcd.workspace.ledger import (
    CORRECTING,
    Change,
    enter,
    ledger_of,
    present_category,
    session_lessons,
    taught_now,
)
from vbcgcd.workspace.log.commits import Commit, Content, Draft
from vbcgcd.workspace.log.files import CORRECTIONS, SEEDLINGS, SEGMENT, SeedlingBed, Segment
from vbcgcd.workspace.log.lessons import (
    Correction,
    Corrections,
    ItemKey,
    ItemState,
    Target,
    Taught,
)
from vbcgcd.workspace.queries.categories import describe, find_category
from vbcgcd.workspace.queries.items import assigned_category, item_info, item_row, labelled_items
from vbcgcd.workspace.snapshot import Category, Key, Snapshot
from vbcgcd.workspace.values import ItemChange, ItemInfo, ItemsResult

Array = NDArray[Any]
#: Gives the reduced embeddings (M, D) of items.
Vectors = Callable[[Sequence[ItemInfo]], Array]
#: Items that a record on disk names by their references.
NAMED_ITEMS = 100

__all__ = ["confirm_draft", "items_result", "move_draft", "reject_draft", "unlabel_draft"]


@dataclass(frozen=True)
class _Wish:
    """What an item shall be: its category (None for unassigned), its state, and what it shall teach."""

    item: ItemInfo
    category: int | None
    state: ItemState
    taught: Taught

    @property
    def granted(self) -> bool:
        """Whether it is so already."""
        return (self.item.category, self.item.state) == (self.category, self.state)


def move_draft(
    snapshot: Snapshot, items: Sequence[ItemInfo], to: Key, vectors: Vectors, *, create: bool = False
) -> Draft:
    """Put items into a category, where they count as labelled.

    Parameters
    ----------
    snapshot : Snapshot
    items : sequence of ItemInfo
    to : int or str
        A live category or, with ``create``, a name for a new one.
    vectors : callable
    create : bool
        Make a category that has just these items.
    """
    category = _new_category(snapshot, to) if create else find_category(snapshot.state, to)
    wishes = [
        _confirmed(snapshot, item) if item.category == category.id else _told(item, category.id, "moved")
        for item in items
    ]
    return _draft(snapshot, "move", wishes, vectors, {"to": category.id}, category if create else None)


def confirm_draft(snapshot: Snapshot, items: Sequence[ItemInfo], vectors: Vectors) -> Draft:
    """Say that items are where they belong: they count as labelled."""
    for item in items:
        _check_assigned(snapshot, item, "confirmed; move it to its category")
    return _draft(snapshot, "confirm", [_confirmed(snapshot, item) for item in items], vectors)


def reject_draft(snapshot: Snapshot, items: Sequence[ItemInfo], vectors: Vectors) -> Draft:
    """Say that items are not of their category: they become unassigned and teach nothing."""
    for item in items:
        if item.state != "rejected":
            _check_assigned(snapshot, item, "rejected; it has no category")
    return _draft(snapshot, "reject", [_Wish(item, None, "rejected", {}) for item in items], vectors)


def unlabel_draft(snapshot: Snapshot, items: Sequence[ItemInfo], vectors: Vectors) -> Draft:
    """Forget what people said about items.

    What an unlabelled session found counts again. An item of a labelled session has nothing but its label, so
    it becomes unassigned and teaches nothing.
    """
    return _draft(snapshot, "unlabel", [_unlabelled(snapshot, item) for item in items], vectors)


def items_result(commit: Commit, before: Snapshot, after: Snapshot) -> ItemsResult:
    """What a correction did; the snapshots are those before and after it."""
    corrections: Corrections = after.content(commit, CORRECTIONS)
    changes = []
    for correction in corrections.items:
        was = item_info(before, item_row(before, correction.key))
        category = None if correction.category < 0 else correction.category
        changes.append(
            ItemChange(was.reference, was.source, was.session, was.category, category, correction.state)
        )
    weights = {int(i): (float(old), float(new)) for i, (old, new) in commit.summary["weights"].items()}
    mentioned = {*weights, *(i for change in changes for i in (change.before, change.after) if i is not None)}
    return ItemsResult(
        commit.number,
        commit.command,
        tuple(changes),
        commit.summary["unchanged"],
        weights,
        {i: after.state.categories[i].name for i in sorted(mentioned)},
        next((i for i in mentioned if i not in before.state.categories), None),
        tuple(i for i, (_, now) in weights.items() if now == 0),
    )


def _told(item: ItemInfo, category: int | None, state: Any) -> _Wish:
    return _Wish(item, category, state, {(category, -1): 1.0} if category is not None else {})


def _confirmed(snapshot: Snapshot, item: ItemInfo) -> _Wish:
    """An item that stays where it is; a label that has taught nothing shall teach too."""
    wish = _told(item, item.category, "confirmed")
    if item.state == "moved":
        return replace(wish, state="moved")
    if item.state == "labelled" and taught_now(snapshot, (item.commit, item.row)) == wish.taught:
        return replace(wish, state="labelled")
    return wish


def _check_assigned(snapshot: Snapshot, item: ItemInfo, outcome: str) -> None:
    if item.category is None:
        raise InputError(f"Item {item.reference!r} of {item.source} is unassigned and cannot be {outcome}.")
    category = snapshot.state.categories[item.category]
    if not category.live:
        raise InputError(
            f"Item {item.reference!r} of {item.source} belongs to {describe(category)}, which was "
            f"{category.status}; move it to a live category."
        )


def _unlabelled(snapshot: Snapshot, item: ItemInfo) -> _Wish:
    if snapshot.history.commit(item.commit).command == "learn":
        return _Wish(item, None, "unassigned", {})
    key, said = (item.commit, item.row), item.state not in ("guessed", "unassigned")
    if not said:
        return _Wish(item, item.category, "unassigned" if item.category is None else "guessed", {})
    category = assigned_category(snapshot, key)
    if category is not None:
        now = present_category(snapshot, key, category)
        category = category if now is None else now.id
    state: ItemState = "unassigned" if category is None else "guessed"
    return _Wish(item, category, state, session_lessons(snapshot, key))


def _new_category(snapshot: Snapshot, name: Any) -> Category:
    name = check_name(name)
    taken = next((c for c in snapshot.state.live if c.name == name), None)
    if taken is not None:
        raise InputError(f"There is {describe(taken)} already; move the items there.", option="to")
    check_distinct(name, (c.name for c in snapshot.state.live))
    sessions = [c.changes["session"] for c in snapshot.history.in_effect() if "session" in c.changes]
    return Category(snapshot.history.next_id, name, "user", sessions[-1])


def _draft(
    snapshot: Snapshot,
    command: str,
    wishes: Sequence[_Wish],
    vectors: Vectors,
    parameters: Mapping[str, Any] | None = None,
    created: Category | None = None,
) -> Draft:
    left = sorted((w for w in wishes if not w.granted), key=lambda w: (w.item.commit, w.item.row))
    if not left:
        raise InputError(_nothing(wishes, command))
    corrections = _corrections(snapshot, left, vectors)
    changes, embedded = _all_changes(snapshot, corrections)
    targets = {t for c in corrections for t in {*c.before, *c.after} if c.before != c.after}
    ids = sorted(
        {category for category, _ in targets if category >= 0} | ({created.id} if created else set())
    )
    files: dict[str, Content] = {CORRECTIONS: Corrections(tuple(corrections))}
    record: dict[str, Any] = {"categories": [c.as_json() for c in _categories(snapshot, left, created)]}
    weights: dict[int, tuple[float, float]] = {}
    if ids:
        posterior = renewed_posteriors(snapshot, changes, embedded, ids)
        files[SEGMENT] = Segment(posterior, tuple(ids))
        record["posteriors"] = ids
        weights = _weights(snapshot, ids, posterior.kappa)
    if any(seedling >= 0 for _, seedling in targets):
        bed, record["bed"] = renewed_bed(snapshot, changes, embedded)
        record["seedlings"] = 0 if bed is None else len(bed)
        if bed is not None:
            files[SEEDLINGS] = SeedlingBed(bed)
    summary = {"items": len(left), "unchanged": len(wishes) - len(left), "weights": plain(weights)}
    called = {"items": [wish.item.reference for wish in left[:NAMED_ITEMS]], **(parameters or {})}
    return Draft(command, changes=record, parameters=called, summary=summary, files=files)


def _nothing(wishes: Sequence[_Wish], command: str) -> str:
    if not wishes:
        return "No item was given; give references, or a query that finds some."
    first = wishes[0].item
    done = {"move": "there", "confirm": "confirmed", "reject": "rejected", "unlabel": "without a label"}[
        command
    ]
    which = (
        f"Item {first.reference!r} of {first.source} is"
        if len(wishes) == 1
        else f"All {len(wishes)} items are"
    )
    return f"{which} {done} already; nothing to change."


def _corrections(snapshot: Snapshot, wishes: Sequence[_Wish], vectors: Vectors) -> list[Correction]:
    """What to write down of each item; embeddings are looked up only where statistics change."""
    known = ledger_of(snapshot).vectors
    keys: list[ItemKey] = [(wish.item.commit, wish.item.row) for wish in wishes]
    before = [taught_now(snapshot, key) for key in keys]
    taught = [dict(wish.taught) for wish in wishes]
    needed = [i for i, key in enumerate(keys) if before[i] != taught[i] and key not in known]
    found = dict(zip(needed, vectors([wishes[i].item for i in needed]), strict=True)) if needed else {}
    return [
        Correction(
            key,
            -1 if wish.category is None else wish.category,
            wish.state,
            before[i],
            taught[i],
            found.get(i),
        )
        for i, (key, wish) in enumerate(zip(keys, wishes, strict=True))
    ]


def _all_changes(
    snapshot: Snapshot, corrections: Sequence[Correction]
) -> tuple[dict[Target, dict[ItemKey, Change]], dict[ItemKey, Array]]:
    """Changes since the foundations, the new ones included, and the embeddings of their items."""
    ledger = ledger_of(snapshot)
    changes = {target: dict(parts) for target, parts in ledger.changes.items()}
    vectors = dict(ledger.vectors)
    for correction in corrections:
        enter(changes, correction)
        if correction.vector is not None:
            vectors[correction.key] = correction.vector
    return changes, vectors


def _weights(snapshot: Snapshot, ids: Sequence[int], kappa: Array) -> dict[int, tuple[float, float]]:
    knowledge, place = snapshot.knowledge, {category: row for row, category in enumerate(snapshot.state.ids)}
    before = [knowledge.counts[place[i]] if i in place else 0.0 for i in ids]
    after = kappa - knowledge.prior.kappa
    return {i: (round(float(b), 6), round(float(a), 6)) for i, b, a in zip(ids, before, after, strict=True)}


def _categories(snapshot: Snapshot, wishes: Sequence[_Wish], created: Category | None) -> list[Category]:
    """Categories whose reliability changes: it is certain as long as people put items there."""
    labelled = labelled_items(snapshot)
    for wish in wishes:
        for category, state, change in (
            (wish.item.category, wish.item.state, -1),
            (wish.category, wish.state, 1),
        ):
            if category is not None and state in ("labelled", "moved", "confirmed"):
                labelled[category] = labelled.get(category, 0) + change
    changed = [] if created is None else [created]
    for i in sorted({i for w in wishes for i in (w.item.category, w.category) if i is not None}):
        known = snapshot.state.categories.get(i)
        if known is None or not known.live:
            continue
        reliability = 1.0 if labelled.get(i, 0) > 0 else _guessed_reliability(snapshot, i)
        if reliability != known.reliability:
            changed.append(replace(known, reliability=reliability))
    return changed


def _guessed_reliability(snapshot: Snapshot, category: int) -> float:
    """What the last command that was no correction said."""
    for commit in reversed(snapshot.history.in_effect()):
        if commit.command not in CORRECTING:
            for values in commit.changes.get("categories", ()):
                if values["id"] == category:
                    return float(values.get("reliability", 1.0))
    return 1.0
