"""``vbcgcd items``: find items among all of them, and correct them: move, confirm, reject, unlabel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vbcgcd.cli import arguments as a
from vbcgcd.cli.common import (
    AsJson,
    errors_are_messages,
    finish,
    note,
    refuse_options_before,
    working,
    writes,
)
from vbcgcd.errors import InputError, NothingToDo
from vbcgcd.words import saved

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vbcgcd.workspace import ItemInfo, ItemsResult, Workspace

app = typer.Typer(invoke_without_command=True)
#: Items that a terminal shows.
FIRST = 20

Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="CONDITION",
        help="Items that meet CONDITION, such as 'category=lost card', 'probability<0.5', 'text~swallow', "
        "session=3, state=guessed, source=monday.csv, category=none. Repeat it: all must hold.",
    ),
]
Chosen = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="ITEM...",
        help="References of items; FILE:REFERENCE (a row number from 0, an id or a path) where several files "
        "have the same, REFERENCE@SESSION where several sessions do.",
    ),
]

__all__ = ["app", "save_items"]


@app.callback()
@errors_are_messages
def items(
    ctx: typer.Context,
    where: Where = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Save all of them: .csv, .jsonl or .parquet. Default: a table."),
    ] = None,
    workspace: a.Place = None,
    as_json: AsJson = False,
) -> None:
    """Find items among all that sessions have seen, or correct them: move, confirm, reject, unlabel.

    Example: vbcgcd items --where 'category=lost card' --where 'probability<0.6'

    Example: vbcgcd items --where text~swallow -o found.csv
    """
    if ctx.invoked_subcommand is not None:
        refuse_options_before(ctx, {"as_json": "--json"})
        return
    from vbcgcd.show import items as show

    here = a.open_workspace(workspace)
    if output is not None:
        save_items(here, where or (), output)
        if not as_json:
            return
    found = here.items(*(where or ()))
    rows = _rows(here, found if as_json else found[:FIRST])
    steps = ["vbcgcd items move ITEM... --to CATEGORY", "vbcgcd items confirm ITEM..."] if found else []
    finish({"items": rows}, as_json, lambda: show.items(rows, total=len(found)), steps=steps)


def save_items(here: Workspace, where: Sequence[str], output: Path) -> None:
    """Write the items that meet all conditions to a file, a row for each."""
    from vbcgcd.cli.writing import check_output, write_predictions

    check_output(output)
    here.check_target(output)
    rows = _rows(here, here.items(*where))
    if not rows:
        raise NothingToDo(f"No item meets {' and '.join(where)}; nothing was saved.", option="where")
    write_predictions(rows, output)
    note(saved(len(rows), output), style="green")


def _rows(here: Workspace, found: Sequence[ItemInfo]) -> list[dict[str, Any]]:
    from vbcgcd.cli.categories import texts_of

    names = {info.id: info.name for info in here.categories(n_samples=0, retired=True)}
    texts = texts_of(here, found)
    return [
        {
            "reference": item.reference,
            "source": item.source,
            "session": item.session,
            "state": item.state,
            "category": -1 if item.category is None else item.category,
            "name": "" if item.category is None else names[item.category],
            "probability": item.probability,
            "novelty": item.novelty,
            "second": -1 if item.second is None else item.second,
            "second_name": "" if item.second is None else names[item.second],
            "second_probability": item.second_probability,
            "text": texts[item.commit, item.reference],
        }
        for item in found
    ]


@app.command()
@writes
def move(
    items: Chosen = None,
    to: Annotated[
        str, typer.Option("--to", metavar="CATEGORY", help="Id or name of the category they belong to.")
    ] = ...,  # type: ignore[assignment]
    create: Annotated[
        bool, typer.Option("--new", help="CATEGORY is the name of a new category for these items.")
    ] = False,
    where: Where = None,
    workspace: a.Place = None,
    as_json: AsJson = False,
) -> None:
    """Move items into a category. It learns from them, and the old ones lose what they had learned.

    Example: vbcgcd items move monday.csv:12 monday.csv:31 --to 'lost card'

    Example: vbcgcd items move --where category=75 --where text~stolen --to 'stolen card' --new
    """
    _correct("move_items", items, where, workspace, as_json, to=to, create=create)


@app.command()
@writes
def confirm(
    items: Chosen = None, where: Where = None, workspace: a.Place = None, as_json: AsJson = False
) -> None:
    """Confirm that items are where they belong: they count as labelled from now on.

    Example: vbcgcd items confirm monday.csv:12
    """
    _correct("confirm_items", items, where, workspace, as_json)


@app.command()
@writes
def reject(
    items: Chosen = None, where: Where = None, workspace: a.Place = None, as_json: AsJson = False
) -> None:
    """Say that items are not of their category: they become unassigned, and it unlearns them.

    Example: vbcgcd items reject monday.csv:12
    """
    _correct("reject_items", items, where, workspace, as_json)


@app.command()
@writes
def unlabel(
    items: Chosen = None, where: Where = None, workspace: a.Place = None, as_json: AsJson = False
) -> None:
    """Forget what people said about items: what a session found counts again.

    Items of a labelled session become unassigned.

    Example: vbcgcd items unlabel monday.csv:12
    """
    _correct("unlabel_items", items, where, workspace, as_json)


def _correct(
    verb: str,
    items: list[str] | None,
    where: list[str] | None,
    workspace: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Carry out a method of the workspace on the items that were given, and show what became of them."""
    from vbcgcd.show import items as show

    if not items and not where:
        raise InputError("No item was given; give references, or a query with --where.")
    here = a.open_workspace(workspace)
    chosen: list[Any] = list(items or ())
    if where:
        found = here.items(*where)
        if not found:
            raise NothingToDo(f"No item meets {' and '.join(where)}.", option="where")
        chosen += found
    with working("correcting") as steps:
        result: ItemsResult = getattr(here, verb)(chosen, embedding_progress=steps.embedding, **options)
    following = [f"vbcgcd categories drop {i}" for i in result.emptied]
    finish(result, as_json, lambda: show.correction(result), steps=[*following, "vbcgcd undo"])
