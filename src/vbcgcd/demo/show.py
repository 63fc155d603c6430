"""What the demo prints: prompts, short answers, small tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from vbcgcd.demo.judge import Judged
from vbcgcd.study.scoring import discovery, forgetting

__all__ = ["accuracy_table", "answer", "command", "say", "table"]


def say(console: Console, text: str) -> None:
    """A paragraph between commands."""
    console.print()
    console.print(Text(text))


def command(console: Console, line: str, *, first: bool = True) -> None:
    """A command as it is typed; it is never broken, so that it can be copied."""
    if first:
        console.print()
    console.print(Text.assemble(("$ ", "dim"), (line, "bold")), soft_wrap=True)


def answer(console: Console, text: str) -> None:
    """What a command says."""
    console.print(_indented(Text(text)))


def table(
    console: Console, columns: Sequence[str], rows: Iterable[Sequence[str]], *, words: Sequence[str]
) -> None:
    """A small table; the columns ``words`` are set to the left, those of numbers to the right."""
    out = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in columns:
        out.add_column(column, justify="left" if column in words else "right")
    for row in rows:
        out.add_row(*map(Text, row))
    console.print(_indented(out))


def accuracy_table(console: Console, judged: Sequence[Judged]) -> None:
    """Accuracy after each session, and what it comes to."""
    base, *sessions = judged
    out = Table(title="Accuracy on held-out pictures, % (frozen scoring)", title_justify="left")
    for column in ("session", "pictures", "found", "named", "All", "Old", "New"):
        out.add_column(column, justify="left" if column in ("session", "named") else "right")
    out.add_row(base.session, str(base.pictures), "", "", _percent(base.score.all), "", "")
    for one in sessions:
        values = map(_percent, (one.score.all, one.score.old, one.score.new))
        found = f"{one.found} of {one.novel}"
        out.add_row(one.session, str(one.pictures), found, Text(", ".join(one.names)), *values)
    console.print()
    console.print(out)
    scores = [one.score for one in sessions]
    console.print(
        Text(
            "All: the digits so far. Old: those known before the session. New: those that came with it. A "
            "found category stands for the digit that fits it best on the pictures of its own day, for good. "
            f"Forgetting M_f {100 * forgetting(base.score.all, scores):.1f} points, discovery M_d "
            f"{100 * discovery(scores):.1f} %."
        )
    )


def _indented(what: RenderableType) -> Padding:
    return Padding(what, (0, 0, 0, 2), expand=False)


def _percent(value: float) -> str:
    return f"{100 * value:.1f}"
