"""What a report shows, gathered from an overview: values that a template only has to lay out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from markupsafe import Markup

from vbcgcd.record import SessionRecord
from vbcgcd.words import NAMED_BY, source_name
from vbcgcd.workspace.history import Category
from vbcgcd.workspace.log.files import UNASSIGNED
from vbcgcd.workspace.report.charts import Spread, sparkline
from vbcgcd.workspace.values import CategoryInfo, CategoryView, ItemContent, ItemInfo, Overview

#: Items surer than this are not called doubtful.
SURE = 0.9
#: Colours after the grey one; the style sheet gives them a value in light and in dark.
COLOURS = 6

__all__ = ["Birth", "Card", "Content", "Group", "ItemLine", "birth_colours"]


@dataclass(frozen=True)
class ItemLine:
    """An item of a card, with the second choice if the assignment is in doubt."""

    content: ItemContent
    place: str
    probability: float | None = None
    second: int | None = None
    second_name: str = ""
    second_probability: float = 0.0

    @property
    def known(self) -> bool:
        """Whether there is more to show than its reference."""
        return bool(self.content.text or self.content.jpeg)


@dataclass(frozen=True)
class Card:
    """A category as it is shown; ``since`` is the session in which the seedling that it grew from began."""

    info: CategoryInfo
    css: str
    labelled: bool
    named_by: str
    spark: Markup
    typical: tuple[ItemLine, ...]
    doubtful: tuple[ItemLine, ...]
    since: int | None = None


@dataclass(frozen=True)
class Group:
    """The categories born in one session, or in neighbouring ones that share a colour; the newest first."""

    births: tuple[int, ...]
    session: SessionRecord | None
    css: str
    labelled: bool
    cards: tuple[Card, ...]

    @property
    def when(self) -> str:
        """Its sessions in words."""
        first, last = self.births[0], self.births[-1]
        return f"session {first}" if first == last else f"sessions {first} to {last}"


class Content:
    """All parts of a report.

    Parameters
    ----------
    overview : Overview
    show : callable
        What can be shown of an item.
    labelled : frozenset of int
        Numbers of the labelled sessions.
    resolve : callable
        The category that a merged one became.
    n_items : int
        Items of each kind on a card.
    entries : sequence of Category, optional
        All categories, where the overview has only some.
    """

    def __init__(
        self,
        overview: Overview,
        show: Callable[[ItemInfo], ItemContent],
        labelled: frozenset[int],
        resolve: Callable[[int], int],
        n_items: int,
        entries: Sequence[Category] = (),
    ) -> None:
        self.overview, self.show, self.labelled, self.resolve = overview, show, labelled, resolve
        self.n_items = n_items
        self.classes, self.legend = birth_colours(view.info.birth for view in overview.categories)
        shown = [view.info for view in overview.categories]
        self.entries: Sequence[Category | CategoryInfo] = entries or (*shown, *overview.retired)
        self.names: Mapping[int, str] = {entry.id: entry.name for entry in self.entries}
        self.live = frozenset(view.info.id for view in overview.categories)
        self.grown: Mapping[int, int] = {
            category: since for session in overview.sessions for category, since in session.grown.items()
        }

    @cached_property
    def cards(self) -> dict[int, Card]:
        """A card for each live category, by id."""
        numbers = [session.session for session in self.overview.sessions]
        return {view.info.id: self._card(view, numbers) for view in self.overview.categories}

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Cards by session of birth: discovered ones before labelled ones, the newest session first."""
        parts: dict[tuple[bool, str], list[Card]] = {}
        for card in self.cards.values():
            parts.setdefault((card.labelled, card.css), []).append(card)
        sessions = {session.session: session for session in self.overview.sessions}
        groups = []
        for (labelled, css), cards in parts.items():
            births = tuple(sorted({card.info.birth for card in cards}))
            only = sessions.get(births[0]) if len(births) == 1 else None
            ordered = sorted(cards, key=lambda card: (-card.info.birth, -card.info.size, card.info.id))
            groups.append(Group(births, only, css, labelled, tuple(ordered)))
        return tuple(sorted(groups, key=lambda group: (group.labelled, -group.births[-1])))

    @cached_property
    def unassigned(self) -> tuple[ItemLine, ...]:
        """The most novel of the items that have no category, each with the category that fits best."""
        return tuple(self._line(item, UNASSIGNED) for item in self.overview.unassigned_items)

    @property
    def by_name(self) -> list[Card]:
        """All cards in the order of their names."""
        return sorted(self.cards.values(), key=lambda card: (card.info.name.casefold(), card.info.id))

    def counts(self) -> tuple[int, int]:
        """Live categories: labelled, and discovered."""
        live = [entry for entry in self.entries if entry.status == "live"]
        n = sum(entry.birth in self.labelled for entry in live)
        return n, len(live) - n

    def spreads(self) -> list[Spread]:
        """The spread of each live category."""
        return [
            Spread(card.info.name, card.info.birth, card.info.spread, card.css)
            for card in self.cards.values()
            if card.info.spread is not None
        ]

    def balance(self) -> str:
        """One sentence on the spreads of discovered categories against those of labelled ones."""
        parts: list[list[float]] = [[], []]
        for card in self.cards.values():
            if card.info.spread is not None:
                parts[not card.labelled].append(card.info.spread)
        if not all(parts):
            return ""
        labelled, discovered = (float(np.median(part)) for part in parts)
        if labelled < 1e-6:
            return ""
        change = discovered / labelled - 1
        how = (
            "as wide as"
            if abs(change) < 0.02
            else f"{abs(change):.0%} {'wider' if change > 0 else 'narrower'} than"
        )
        return (
            f"Here the median discovered category is {how} the median labelled one "
            f"(spread {discovered:.2f} against {labelled:.2f})."
        )

    def _card(self, view: CategoryView, numbers: Sequence[int]) -> Card:
        info = view.info
        unsure = [item for item in view.doubtful if item.probability - item.second_probability < SURE]
        return Card(
            info,
            self.classes[info.birth],
            info.birth in self.labelled,
            NAMED_BY.get(info.named_by, info.named_by),
            sparkline(view.by_session, numbers),
            self._typical(view),
            tuple(self._line(item, info.id) for item in unsure),
            self.grown.get(info.id),
        )

    def _typical(self, view: CategoryView) -> tuple[ItemLine, ...]:
        """Items that can be shown, then stored excerpts; only references if there is nothing else."""
        lines = [self._line(item) for item in view.typical]
        known = [line for line in lines if line.known]
        there = {line.content.reference for line in known}
        excerpts = [
            ItemLine(ItemContent(part["reference"], part.get("text", ""), part.get("jpeg", "")), "")
            for part in view.excerpts
            if part["reference"] not in there
        ]
        return tuple([*known, *excerpts][: self.n_items] or lines)

    def _line(self, item: ItemInfo, own: int | None = None) -> ItemLine:
        content, place = self.show(item), source_name(item.source)
        if item.session >= 0:
            place += f", session {item.session}"
        second = None if item.second is None or own is None else self.resolve(item.second)
        if second is None or second == own or second not in self.names:
            return ItemLine(content, place, item.probability)
        return ItemLine(
            content,
            place,
            item.probability,
            second if second in self.live else None,
            self.names[second],
            item.second_probability,
        )


@dataclass(frozen=True)
class Birth:
    """A colour (class ``b0`` to ``b6``) and what it stands for."""

    css: str
    label: str


def birth_colours(births: Iterable[int]) -> tuple[dict[int, str], tuple[Birth, ...]]:
    """Class of each session of birth, and the legend.

    Up to six later sessions have a colour each; of more, neighbours share one.

    Examples
    --------
    >>> classes, legend = birth_colours([0, 0, 2, 5])
    >>> classes, [birth.label for birth in legend]
    ({0: 'b0', 2: 'b1', 5: 'b2'}, ['base session', 'session 2', 'session 5'])
    """
    sessions = sorted(set(births))
    classes = {session: "b0" for session in sessions if session == 0}
    legend = [Birth("b0", "base session")] if classes else []
    later = [session for session in sessions if session != 0]
    groups = min(COLOURS, len(later))
    for k in range(groups):
        part = later[len(later) * k // groups : len(later) * (k + 1) // groups]
        classes |= dict.fromkeys(part, f"b{k + 1}")
        text = f"session {part[0]}" if len(part) == 1 else f"sessions {part[0]} to {part[-1]}"
        legend.append(Birth(f"b{k + 1}", text))
    return classes, tuple(legend)
