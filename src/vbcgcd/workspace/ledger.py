"""The ledger: what each item teaches now, and what corrections have changed in each category.

Numbers that are added and subtracted again are not what they were. So a correction never changes the last
result: the posterior of a category is made from its foundation, which is what the last session, merge or
split wrote, and from all corrections since, item by item in a fixed order. The order in which they were made
does not matter, and where they cancel, the foundation itself counts again, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from numpy.typing import NDArray

from vbcgcd.errors import InputError
from vbcgcd.workspace.log.commits import Commit
from vbcgcd.workspace.log.files import CORRECTIONS, LESSONS, TABLE
from vbcgcd.workspace.log.lessons import Correction, Corrections, ItemKey, Target, Taught
from vbcgcd.workspace.snapshot import Category, Snapshot, once_per_snapshot

Array = NDArray[Any]
#: Commands that correct items: they write posteriors, but lay no foundation.
CORRECTING = ("move", "confirm", "reject", "unlabel")

__all__ = [
    "CORRECTING",
    "Change",
    "Changes",
    "Ledger",
    "Standing",
    "enter",
    "ledger_of",
    "present_category",
    "session_lessons",
    "taught_now",
]


class Change(NamedTuple):
    """Weight of an item in a foundation, and its weight now."""

    before: float
    after: float


#: What corrections have changed since the foundation of a target, by item.
Changes = Mapping[ItemKey, Change]


class Standing(NamedTuple):
    """The last correction of an item, and the commit that made it."""

    commit: int
    correction: Correction


@dataclass(frozen=True, eq=False)
class Ledger:
    """All corrections in effect.

    Parameters
    ----------
    standing : dict of item -> Standing
    vectors : dict of item -> array (D,)
        Reduced embeddings of corrected items.
    changes : dict of target -> (dict of item -> Change)
        Those that are left where corrections cancel.
    foundations : dict of category -> (commit, row)
    bed : int or None
        Commit of the seedlings that the last session left.
    kept : list of int
        Positions in that bed of the seedlings that corrections have left over.
    fates : list of (int, dict of int -> Target or None)
        Sessions that made another bed, and what they made of the seedlings before; None if it is not known.
    parts : dict of (item, category) -> category
        Where a split of the category put the item.
    """

    standing: dict[ItemKey, Standing] = field(default_factory=dict)
    vectors: dict[ItemKey, Array] = field(default_factory=dict)
    changes: dict[Target, dict[ItemKey, Change]] = field(default_factory=dict)
    foundations: dict[int, tuple[int, int]] = field(default_factory=dict)
    bed: int | None = None
    kept: tuple[int, ...] = ()
    fates: tuple[tuple[int, Mapping[int, Target] | None], ...] = ()
    parts: dict[tuple[ItemKey, int], int] = field(default_factory=dict)


@once_per_snapshot
def ledger_of(snapshot: Snapshot) -> Ledger:
    """The ledger of the commits in effect."""
    return _replayed(snapshot, snapshot.history.in_effect())


def _replayed(snapshot: Snapshot, commits: Iterable[Commit]) -> Ledger:
    ledger = Ledger()
    bed, kept, fates = ledger.bed, list[int](), list[tuple[int, Mapping[int, Target] | None]]()
    for commit in commits:
        changes, correcting = commit.changes, commit.command in CORRECTING
        if not correcting:
            for row, category in enumerate(changes.get("posteriors", ())):
                ledger.foundations[category] = (commit.number, row)
                ledger.changes.pop((category, -1), None)
        if "seedlings" in changes and correcting:
            kept = list(changes["bed"])
        elif "seedlings" in changes:
            for target in [target for target in ledger.changes if target[1] >= 0]:
                del ledger.changes[target]
            fates.append((commit.number, _fate(commit, kept)))
            bed = commit.number if changes["seedlings"] else None
            kept = list(range(changes["seedlings"]))
        if CORRECTIONS in commit.files:
            corrections: Corrections = snapshot.content(commit, CORRECTIONS)
            for correction in corrections.items:
                _enter(ledger, commit, correction, changed=correcting)
            if commit.command == "split":
                _enter_parts(ledger, commit, corrections)
    return replace(ledger, bed=bed, kept=tuple(kept), fates=tuple(fates))


def _enter_parts(ledger: Ledger, commit: Commit, corrections: Corrections) -> None:
    """Where a split put each item: the part that it teaches or, if it teaches none, that it belongs to."""
    whole = next(values for values in commit.changes["categories"] if values["status"] == "split")
    for item in corrections.items:
        named = [*(category for category, _ in item.after), item.category]
        part = next((category for category in named if category in whole["into"]), None)
        if part is not None:
            ledger.parts[item.key, whole["id"]] = part


def _fate(commit: Commit, kept: list[int]) -> dict[int, Target] | None:
    """What a session made of each seedling of the bed before it; those that are missing are gone."""
    lineage = commit.changes.get("lineage")
    if lineage is None:
        return None
    fate = {kept[old]: (-1, new) for new, old in enumerate(lineage["seedlings"]) if old >= 0}
    return {**fate, **{kept[old]: (int(category), -1) for category, old in lineage["grown"].items()}}


def _enter(ledger: Ledger, commit: Commit, correction: Correction, *, changed: bool) -> None:
    key = correction.key
    ledger.standing[key] = Standing(commit.number, correction)
    if correction.vector is not None:
        ledger.vectors[key] = correction.vector
    if changed:
        enter(ledger.changes, correction)


def enter(changes: dict[Target, dict[ItemKey, Change]], correction: Correction) -> None:
    """Add a correction to the changes of each target; those that cancel vanish."""
    for target in {*correction.before, *correction.after}:
        of_target = changes.setdefault(target, {})
        before, after = correction.before.get(target, 0.0), correction.after.get(target, 0.0)
        first = of_target.pop(correction.key, Change(before, before)).before
        if first != after:
            of_target[correction.key] = Change(first, after)


def taught_now(snapshot: Snapshot, key: ItemKey) -> dict[Target, float]:
    """What an item teaches now: categories that are live, and seedlings of the bed, by weight.

    Raises
    ------
    InputError
        It was not recorded.
    """
    standing = ledger_of(snapshot).standing.get(key)
    if standing is None:
        return session_lessons(snapshot, key)
    return _followed(snapshot, key, standing.correction.after, standing.commit)


def session_lessons(snapshot: Snapshot, key: ItemKey) -> dict[Target, float]:
    """What the session of an item would have it teach now, whatever was corrected since.

    Raises
    ------
    InputError
        It was not recorded.
    """
    number, row = key
    commit = snapshot.history.commit(number)
    if snapshot.base.options.inference == "svi":
        raise InputError(
            "Items cannot be corrected in a workspace with inference 'svi', which does not tell what a "
            "single item taught; make a workspace with inference 'exact'."
        )
    if LESSONS in commit.files:
        return _followed(snapshot, key, snapshot.content(commit, LESSONS).of_row(row), number)
    if commit.command == "discover":
        if commit.changes["posteriors"] or "seedlings" in commit.changes:
            raise InputError(
                f"What the items of session {commit.changes['session']} taught was not recorded by the "
                "release that ran it, so it cannot be taken back; undo back to it and discover again, or "
                "correct items of other sessions."
            )
        return {}
    category = int(snapshot.content(commit, TABLE).category[row])
    taught = {(category, -1): 1.0} if category in commit.changes["posteriors"] else {}
    return _followed(snapshot, key, taught, number)


def present_category(snapshot: Snapshot, key: ItemKey, category: int) -> Category | None:
    """What became of a category for one of its items: what it was merged into, or the item's part of it.

    None if it was split by a release that did not say where its items went. Retired ones are returned too.

    Raises
    ------
    InputError
        It was split, and where the item went is not known.
    """
    state, parts = snapshot.state, ledger_of(snapshot).parts
    now = state.categories[state.resolve(category)]
    while now.status == "split":
        part = parts.get((key, now.id))
        if part is None:
            if not _says_parts(snapshot, now):
                return None
            names = " or ".join(repr(state.categories[i].name) for i in now.into)
            raise InputError(
                f"{now.name!r} was split into {names} when this item was elsewhere or could not be read, so "
                "its part is not known; undo the split first, or leave the item where it is."
            )
        now = state.categories[state.resolve(part)]
    return now


def _says_parts(snapshot: Snapshot, whole: Category) -> bool:
    """Whether the split of a category says where its items went; splits of earlier releases do not."""
    for commit in snapshot.history.in_effect():
        if commit.command == "split" and whole.into[0] in commit.changes["posteriors"]:
            return CORRECTIONS in commit.files
    return False


def _followed(snapshot: Snapshot, key: ItemKey, taught: Taught, since: int) -> dict[Target, float]:
    """What became of targets after a commit; those that are retired or gone are left out."""
    now: dict[Target, float] = {}
    for target, weight in taught.items():
        if weight == 0:
            raise InputError(
                "What this item taught was not recorded by the release that ran its session, so it cannot be "
                "taken back; undo back to it and discover again, or correct items of other sessions."
            )
        for final in _final(snapshot, key, target, since):
            now[final] = now.get(final, 0.0) + weight
    return dict(sorted(now.items()))


def _final(snapshot: Snapshot, key: ItemKey, target: Target, since: int) -> Iterator[Target]:
    category, seedling = target
    if seedling >= 0:
        for number, fate in ledger_of(snapshot).fates:
            if number > since and seedling >= 0:
                if fate is None:
                    raise InputError(
                        "What became of the seedling that this item belongs to was not recorded by the "
                        f"release that ran the session of commit {number}, so it cannot be taken out."
                    )
                category, seedling = fate.get(seedling, (-1, -1))
        if seedling >= 0:
            yield (-1, seedling)
        if category < 0:
            return
    final = present_category(snapshot, key, category)
    if final is not None and final.live:
        yield (final.id, -1)
