"""What the last session and the commands after it changed, as sentences and short tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vbcgcd.record import SessionRecord
from vbcgcd.words import date, plural, series, source_name
from vbcgcd.workspace.report.content import Card, Content
from vbcgcd.workspace.values import CategoryInfo

#: Rows of the tables of new and of growing categories.
NEW_ROWS, GROWN_ROWS = 16, 6

__all__ = ["Growth", "News", "became", "news", "recent"]


@dataclass(frozen=True)
class Growth:
    """A category that was there before, and the items it gained."""

    card: Card
    gained: int

    @property
    def before(self) -> int:
        """Its items before."""
        return self.card.info.size - self.gained


@dataclass(frozen=True)
class News:
    """What is new.

    Parameters
    ----------
    lead : str
        The last session in a sentence or two.
    novel : tuple of Card
        Categories discovered in it, the largest first; ``more`` is how many are not shown.
    derived : tuple of (Card, str)
        Categories made by merging or splitting, and from what.
    renamed : tuple of (Card or None, str, str)
        Names before and now.
    retired : tuple of (CategoryInfo, str)
        Categories that are no longer live, and what became of them.
    growth : tuple of Growth
        The categories known before that gained most.
    warnings : tuple of str
        What the last session could not judge.
    """

    lead: str
    novel: tuple[Card, ...] = ()
    more: int = 0
    derived: tuple[tuple[Card, str], ...] = ()
    renamed: tuple[tuple[Card | None, str, str], ...] = ()
    retired: tuple[tuple[CategoryInfo, str], ...] = ()
    growth: tuple[Growth, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def largest_gain(self) -> int:
        """Of the table of growing categories."""
        return max((growth.gained for growth in self.growth), default=1) or 1


def news(content: Content) -> News:
    """What is different from the state before the last session."""
    changes, sessions = content.overview.changes, content.overview.sessions
    last = next((s for s in reversed(sessions) if s.session == changes.session), None)
    if last is None:
        return News("Nothing has been learned yet. The first labelled items make the base session.")
    cards = content.cards
    new = [cards[i] for i in changes.novel if i in cards]
    novel = sorted((c for c in new if not c.info.parents), key=lambda card: (-card.info.size, card.info.id))
    listed = [] if last.command == "learn" else novel[:NEW_ROWS]
    growth = [
        Growth(cards[i], gained)
        for i, gained in changes.gains.items()
        if i in cards and i not in changes.novel and gained
    ]
    return News(
        _lead(last),
        tuple(listed),
        len(novel) - len(listed) if listed else 0,
        tuple((card, _parents(content, card.info)) for card in new if card.info.parents),
        tuple((cards.get(i), before, now) for i, (before, now) in changes.renamed.items()),
        tuple(
            (info, became(content, info)) for info in content.overview.retired if info.id in changes.retired
        ),
        tuple(sorted(growth, key=lambda each: (-each.gained, each.card.info.id))[:GROWN_ROWS]),
        last.warnings,
    )


def became(content: Content, info: CategoryInfo) -> str:
    """What happened to a retired category."""
    into = series([_name(content, i) for i in info.into])
    return f"{info.status} into {into}" if into else info.status


def _parents(content: Content, info: CategoryInfo) -> str:
    names = [_name(content, i) for i in info.parents]
    return f"merged from {series(names)}" if len(names) > 1 else f"a part of {series(names)}"


def _name(content: Content, category: int) -> str:
    return f"{content.names.get(category, 'a category')} (#{category})"


def _lead(session: SessionRecord) -> str:
    place = f"Session {session.session} ({source_name(session.source)}, {date(session.time)})"
    if session.command == "learn":
        learned = plural(session.n_novel, "category", "categories")
        sentence = f"{place} learned {learned} from {plural(session.rows, 'labelled item')}"
        if session.known_rows:
            sentence += f"; {session.known_rows:,} of them belong to categories that were known before"
        return f"{sentence}."
    assigned, rest = plural(session.rows - session.unassigned, "item"), _rest(session)
    if not session.novel:
        return f"{place} assigned {assigned}, all to known categories.{rest}"
    number = "the number was estimated" if session.estimated else "as requested"
    return (
        f"{place} assigned {assigned}: {session.known_rows:,} to known categories and "
        f"{session.novel_rows:,} to {plural(session.n_novel, 'novel category', 'novel categories')} "
        f"({number}).{rest}"
    )


def _rest(session: SessionRecord) -> str:
    """Sentences on the items that have no category, and on the categories that had none before."""
    sentences = []
    if session.unassigned:
        sentences.append(f"{plural(session.unassigned, 'item')} fitted no category well enough then.")
    if session.seedlings:
        sentences.append(f"It left {plural(len(session.seedlings), 'seedling')} waiting for more items.")
    if session.grown:
        grown = plural(len(session.grown), "novel category", "novel categories")
        sentences.append(f"{grown} grew from {'a seedling' if len(session.grown) == 1 else 'seedlings'}.")
    if session.returned:
        items, categories = plural(sum(session.returned.values()), "item"), len(session.returned)
        back = plural(categories, "category", "categories")
        sentences.append(f"{items} came back to {back} found in earlier sessions.")
    return "".join(f" {sentence}" for sentence in sentences)


def recent(content: Content) -> Sequence[str]:
    """Commands after the last session, counted: "2 renames", "1 merge"."""
    words = {
        "rename": "rename",
        "merge": "merge",
        "split": "split",
        "drop": "drop",
        "move": "move of items",
        "confirm": "confirmation of items",
        "reject": "rejection of items",
        "unlabel": "withdrawn label",
        "dismiss": "dismissed question",
        "configure": "change of settings",
    }
    commands = [command.command for command in content.overview.changes.commands[1:]]
    many = {
        "change of settings": "changes of settings",
        "move of items": "moves of items",
        "confirmation of items": "confirmations of items",
        "rejection of items": "rejections of items",
    }
    return [
        plural(commands.count(name), word, many.get(word)) for name, word in words.items() if name in commands
    ]
