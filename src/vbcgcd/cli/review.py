"""``vbcgcd review``: what is worth a person's minute, one question in full, and the answers to it."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vbcgcd.cli import arguments as a
from vbcgcd.cli.common import (
    AsJson,
    console,
    errors_are_messages,
    finish,
    note,
    refuse_options_before,
    working,
    writes,
)
from vbcgcd.errors import InputError, VbcgcdError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from vbcgcd.workspace import Question, Workspace

app = typer.Typer(invoke_without_command=True)

Asked = Annotated[
    str, typer.Argument(metavar="QUESTION", help="Id of a question, or its number in the list of all kinds.")
]
Settled = Annotated[
    str, typer.Argument(metavar="QUESTION", help="Id of a question, such as same-75-81: it lasts.")
]

__all__ = ["app"]


class KindOf(StrEnum):
    """Kinds of questions."""

    SAME = "same"
    TWO = "two"
    ODD = "odd"
    LABEL = "label"
    GROUP = "group"
    DRIFT = "drift"
    STALE = "stale"


@app.callback()
@errors_are_messages
def review(
    ctx: typer.Context,
    kind: Annotated[KindOf | None, typer.Option("--kind", help="Only questions of this kind.")] = None,
    n: Annotated[int, typer.Option("--questions", "-n", min=0, help="How many to list.")] = 8,
    ask: Annotated[
        bool, typer.Option("--ask", help="Ask them one after the other, and take the answers as keys.")
    ] = False,
    workspace: a.Place = None,
    as_json: AsJson = False,
) -> None:
    """List what is worth a person's minute, the most worthwhile first, or settle it: show, accept, dismiss.

    same: two categories may be one. two: one may be two things.
    odd: items that may be wrong where they are. label: items whose label teaches the most.
    group: items that may become a category. drift: recent items lie elsewhere or wider.
    stale: a category without items for long.

    Example: vbcgcd review

    Example: vbcgcd review --kind same -n 20

    Example: vbcgcd review --ask
    """
    if ctx.invoked_subcommand is not None:
        refuse_options_before(ctx, {"as_json": "--json", "n": "--questions"})
        return
    from vbcgcd.show import review as render

    here = a.open_workspace(workspace)
    if ask:
        if as_json or not _in_terminal():
            raise InputError("--ask needs a terminal; use 'vbcgcd review accept' and 'dismiss' in scripts.")
        _ask(here, kind)
        return
    found = here.review(n, kind=None if kind is None else kind.value, items=True)
    steps = []
    if found.questions:
        first = found.questions[0]
        to = " --to CATEGORY" if first.needs_category else ""
        steps = [f"vbcgcd review {word} {first.id}" for word in ("show", "accept", "dismiss")]
        steps[1] += to
    finish(found, as_json, lambda: render.questions(found), steps=steps)


@app.command()
@errors_are_messages
def show(
    question: Asked,
    n: Annotated[int, typer.Option("--items", min=0, help="How many examples of each category.")] = 5,
    workspace: a.Place = None,
    as_json: AsJson = False,
) -> None:
    """Show one question with all its evidence.

    Example: vbcgcd review show 1

    Example: vbcgcd review show same-75-81 --items 10
    """
    from vbcgcd.show import review as render

    here = a.open_workspace(workspace)
    asked = here.question(question, examples=n, items=True)
    to = " --to CATEGORY" if asked.needs_category else ""
    steps = [f"vbcgcd review accept {asked.id}{to}", f"vbcgcd review dismiss {asked.id}"]
    finish(asked, as_json, lambda: render.question(asked), steps=steps)


@app.command()
@writes
def accept(
    question: Settled,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="CATEGORY", help="Id or name of the category that its items belong to."),
    ] = None,
    create: Annotated[bool, typer.Option("--new", help="CATEGORY is the name of a new category.")] = False,
    without: Annotated[
        list[int] | None,
        typer.Option("--without", metavar="N", help="Leave item N of its list as it is. Repeat it for more."),
    ] = None,
    workspace: a.Place = None,
    as_json: AsJson = False,
) -> None:
    """Accept a question: carry out the command that settles it. 'vbcgcd undo' takes it back.

    Odd items are rejected, or moved with --to. An item to be labelled is confirmed, or moved with --to.

    Example: vbcgcd review accept same-75-81

    Example: vbcgcd review accept odd-12 --to 'lost card' --without 3

    Example: vbcgcd review accept group-4-17 --to 'stolen card' --new
    """
    here = a.open_workspace(workspace)
    result, page = _accepted(here, question, to, create, without or [])
    finish(result, as_json, lambda: page, steps=["vbcgcd review", "vbcgcd undo"])


@app.command()
@writes
def dismiss(question: Settled, workspace: a.Place = None, as_json: AsJson = False) -> None:
    """Dismiss a question: it does not come back unless its evidence changes clearly.

    It comes back if twice as many items are affected, or if its odds are ten times as high.

    Example: vbcgcd review dismiss same-75-81
    """
    from rich.text import Text

    here = a.open_workspace(workspace)
    result = here.dismiss(question)
    text = Text(f"Dismissed {result.question}: {result.title}")
    finish(result, as_json, lambda: text, steps=["vbcgcd review", "vbcgcd undo"])


def _accepted(
    here: Workspace, question: str, to: str | None, create: bool, without: list[int]
) -> tuple[Any, RenderableType]:
    from vbcgcd.show import categories, items
    from vbcgcd.workspace import CategoryResult

    with working("settling") as steps:
        result = here.accept(
            question, to=to, create=create, without=without, embedding_progress=steps.embedding
        )
    if isinstance(result, CategoryResult):
        return result, categories.change(result)
    return result, items.correction(result)


def _in_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _ask(here: Workspace, kind: KindOf | None) -> None:
    """Ask question after question until there are no more, or the person has had enough."""
    from vbcgcd.show import review as render

    out, skipped, answers = console(), set[str](), list[int]()
    while True:
        found = here.review(None, kind=None if kind is None else kind.value, examples=0)
        left = [asked for asked in found.questions if asked.id not in skipped]
        if not left:
            note("No more questions.", style="green")
            return
        asked = here.question(left[0].id, items=True)
        out.print("", render.question(asked), "", sep="\n", markup=False, emoji=False)
        out.print(_keys(asked), style="bold", markup=False)
        key = typer.getchar()
        if key in ("q", "\x03", "\x04", "\x1b"):
            note(f"{len(answers)} answered; 'vbcgcd undo' takes the last one back.", style="green")
            return
        if key == "u" and not answers:
            note("Nothing was answered yet.")
            continue
        try:
            _answer(here, asked, key, skipped, answers)
        except VbcgcdError as error:
            note(f"Error: {error}", style="red")
            skipped.add(asked.id)


def _keys(asked: Question) -> str:
    to = "  t = to another category" if asked.kind in ("odd", "label", "group") else ""
    yes = "" if asked.needs_category else "y = yes, do it  "
    return f"{yes}n = no, do not ask again{to}  s = skip  u = undo the last answer  q = quit"


def _answer(here: Workspace, asked: Question, key: str, skipped: set[str], answers: list[int]) -> None:
    """Carry out what a key says; ``answers`` are the commits of the answers so far."""
    if key == "y" and not asked.needs_category:
        answers.append(_settle(here, asked, None, False))
    elif key == "n":
        answers.append(here.dismiss(asked.id).commit)
    elif key == "t" and asked.kind in ("odd", "label", "group"):
        name = typer.prompt("Category (an id, a name, or a new name)")
        live = {category.name for category in here.entries()} | {str(c.id) for c in here.entries()}
        new = name not in live and not name.startswith("#")
        if new and not typer.confirm(f"Make a new category {name!r}?"):
            return
        answers.append(_settle(here, asked, name, new))
    elif key == "u":
        done = here.undo(commit=answers[-1])  # and not what another process did since
        answers.pop()
        note(f"Took back: {done.of_command}.")
    else:
        skipped.add(asked.id)


def _settle(here: Workspace, asked: Question, to: str | None, create: bool) -> int:
    """Accept a question and show what came of it; returns the commit."""
    result, page = _accepted(here, asked.id, to, create, [])
    console().print(page, markup=False, emoji=False)
    return int(result.commit)
