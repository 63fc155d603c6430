"""The questions of a review: the list, and one in full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from vbcgcd.words import add_row, facts, grid, item_name, number, one_line, plural, series, user_text
from vbcgcd.workspace.values.questions import KINDS

if TYPE_CHECKING:
    from vbcgcd.workspace import ItemInfo, Question, Review, Side

__all__ = ["question", "questions"]


def questions(review: Review) -> RenderableType:
    """Three lines for each question: what is asked, why, and the command that settles it."""
    if not review.questions:
        rest = (
            f" {plural(review.dismissed, 'question was', 'questions were')} dismissed."
            if review.dismissed
            else ""
        )
        return Text(f"Nothing to ask.{rest}")
    table = Table.grid(padding=(0, 1))
    table.add_column(justify="right", style="dim", no_wrap=True)
    table.add_column(ratio=1)
    table.add_column(justify="right", no_wrap=True)
    for place, asked in zip(review.places, review.questions, strict=True):
        table.add_row(str(place), user_text(asked.title, "bold"), Text(_gain(asked), style="green"))
        table.add_row("", Text(one_line(asked.reason), style="dim"), Text(KINDS[asked.kind], style="cyan"))
        table.add_row("", user_text(asked.command), Text(asked.id, style="dim"))
    return Group(table, Text(), Text(_total(review), style="dim"))


def _gain(asked: Question) -> str:
    return f"+{asked.gain:.0f} items" if asked.gain >= 1.5 else "+1 item" if asked.gain >= 0.5 else "+0.1"


def _total(review: Review) -> str:
    counts = series([f"{n:,} {KINDS[kind]}" for kind, n in review.counts.items()])  # type: ignore[index]
    shown = len(review.questions)
    first = f"The first {shown} of" if shown < review.total else "All"
    dismissed = f" {plural(review.dismissed, 'is', 'are')} dismissed." if review.dismissed else ""
    return (
        f"{first} {plural(review.total, 'question')}, by items gained for each second ({counts}).{dismissed} "
        "+ items: how many change for the better, on average."
    )


def question(asked: Question) -> RenderableType:
    """One question with all its evidence."""
    parts: list[RenderableType] = [
        Text.assemble((f"{KINDS[asked.kind]}  ", "cyan"), (one_line(asked.title), "bold")),
        Text(f"{one_line(asked.reason)}."),
        facts(
            {
                "gain": f"{asked.gain:.1f} items on average ({100 * asked.probability:.0f} % of "
                f"{asked.affected:.1f}), about {asked.seconds:.0f} s",
                "settled by": asked.command,
                "id": asked.id,
            }
        ),
    ]
    if asked.items:
        shown = asked.items[:12]
        more = len(asked.items) - len(shown)
        parts += [Text(), _items(shown, asked.texts, asked.names)]
        parts += [Text(f"... and {plural(more, 'more item')}", style="dim")] * (more > 0)
    for side in asked.sides:
        parts += [Text(), _side(side)]
    return Group(*parts)


def _items(
    items: Sequence[ItemInfo], texts: Mapping[tuple[int, int], str], names: Mapping[int, str]
) -> Table:
    words = ["****text"] if any(texts.values()) else []
    table = grid(
        ">", "item" if words else "**item", *words, ">prob.", "**second choice", ">prob.", ">session"
    )
    for place, item in enumerate(items, start=1):
        second = "" if item.second is None else names.get(item.second, str(item.second))
        add_row(
            table,
            str(place),
            user_text(item_name(item.reference, item.source), limit=30 if words else 400),
            *([texts.get((item.commit, item.row), "")] if words else []),
            number(item.probability),
            second,
            number(item.second_probability) if second else "",
            str(item.session),
        )
    return table


def _side(side: Side) -> RenderableType:
    head = Text.assemble((f"{side.category}  ", "dim"), (one_line(side.name), "bold"))
    head.append(f"  {plural(side.size, 'item')}, since session {side.birth}", style="dim")
    lines = [
        Text.assemble(
            (f"{word:9}", "dim"), one_line(side.texts.get((item.commit, item.row)) or item.reference, 90)
        )
        for word, items in (("typical", side.typical), ("doubtful", side.doubtful))
        for item in items
    ]
    return Group(head, *(Padding(line, (0, 0, 0, 2), expand=False) for line in lines))
