"""``vbcgcd categories``: list them, show one, rename, merge, split, drop, undo."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group
from rich.text import Text

from vbcgcd.cli import arguments as a
from vbcgcd.cli.batches import report_failures
from vbcgcd.cli.common import AsJson, errors_are_messages, finish, refuse_options_before, working
from vbcgcd.errors import InputError

if TYPE_CHECKING:
    from vbcgcd.workspace import CategoryInfo, ItemInfo, Workspace

app = typer.Typer(invoke_without_command=True)
OPERATIONS = ("rename", "merge", "split", "drop")

__all__ = ["app", "shown_names", "texts_of"]


class Order(StrEnum):
    """What the list is sorted by."""

    ID = "id"
    NAME = "name"
    SIZE = "size"
    BIRTH = "birth"


_KEYS: dict[Order, Callable[[CategoryInfo], Any]] = {
    Order.ID: lambda info: info.id,
    Order.NAME: lambda info: (info.name.casefold(), info.id),
    Order.SIZE: lambda info: (-info.size, info.id),
    Order.BIRTH: lambda info: (-info.birth, info.id),
}


@app.callback()
@errors_are_messages
def categories(
    ctx: typer.Context,
    everything: Annotated[
        bool, typer.Option("--all", help="Include categories that were merged, split or dropped.")
    ] = False,
    sort: Annotated[
        Order,
        typer.Option("--sort", help="By id, name, size (largest first) or birth (newest first)."),
    ] = Order.ID,
    find: Annotated[
        str | None,
        typer.Option("--find", metavar="TEXT", help="Only those with TEXT in their name or in an item."),
    ] = None,
    workspace: a.Place = None,
    as_json: AsJson = False,
) -> None:
    """List the categories, or work on them: show, rename, merge, split, drop, undo, redo.

    Refer to a category by its id (12 or #12) or its name.
    Write #12 if 12 is also a name.

    Example: vbcgcd categories --sort size

    Example: vbcgcd categories --find card
    """
    if ctx.invoked_subcommand is not None:
        refuse_options_before(ctx, {"everything": "--all", "as_json": "--json"})
        return
    from vbcgcd.show import categories as show

    here = a.open_workspace(workspace)
    every = here.categories(n_samples=3, retired=everything, items=True)
    found = Counter(item.category for item in here.items(f"text~{find}")) if find and find.strip() else {}
    matches = sorted((i for i in every if i.id in found or _matches(i, find)), key=_KEYS[sort])
    n_unassigned, seedlings = here.count_unassigned(), here.seedlings()
    values: dict[str, Any] = {"categories": matches, "unassigned": n_unassigned, "seedlings": seedlings}
    if find:
        values["found_items"] = {str(info.id): found.get(info.id, 0) for info in matches}

    def render() -> Any:
        page = show.categories(matches, total=len(every), n_unassigned=n_unassigned, seedlings=seedlings)
        return Group(page, show.found(find, matches, found)) if find and matches else page

    finish(values, as_json, render, steps=["vbcgcd unassigned"] if n_unassigned else [])


def _matches(info: CategoryInfo, text: str | None) -> bool:
    parts = (info.name, *info.samples, *info.sample_texts)
    return text is None or any(text.casefold() in part.casefold() for part in parts)


@app.command()
@errors_are_messages
def show(
    category: a.Category,
    n: Annotated[
        int, typer.Option("--items", min=0, help="How many typical and doubtful items to show.")
    ] = 8,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Save all of its items: .csv, .jsonl or .parquet."),
    ] = None,
    workspace: a.Place = None,
    as_json: AsJson = False,
) -> None:
    """Show one category: its items by session, the most typical and the most doubtful ones.

    Example: vbcgcd categories show 75

    Example: vbcgcd categories show 'lost card' --items 20

    Example: vbcgcd categories show 'lost card' -o lost-card.csv
    """
    from vbcgcd.show import categories as render

    here = a.open_workspace(workspace)
    entry = here.category(category, retired=True)
    if output is not None:
        from vbcgcd.cli.items import save_items

        save_items(here, [f"category=#{entry.id}"], output)
        if not as_json:
            return
    if not entry.live:
        [retired] = here.categories(n_samples=0, retired=True, only=[entry.id])
        finish(retired, as_json, lambda: render.retired_category(retired))
        return
    overview = here.overview(n_items=n, n_map=0)
    view = next(view for view in overview.categories if view.info.id == entry.id)
    texts = texts_of(here, (*view.typical, *view.doubtful))
    names = shown_names(here)
    values = view.as_json()
    for item in (*values["typical"], *values["doubtful"]):
        item["text"] = texts[item["commit"], item["reference"]]
    rename = f"vbcgcd categories rename {entry.id} 'a better name'"
    finish(values, as_json, lambda: render.category(view, names, texts), steps=[rename])


def shown_names(here: Workspace) -> dict[int, str]:
    """Names of all categories by id; those that are no longer live say so."""
    return {e.id: e.name if e.live else f"{e.name} (retired)" for e in here.entries(retired=True)}


def texts_of(here: Workspace, items: Sequence[ItemInfo]) -> dict[tuple[int, str], str]:
    """Texts of items by commit and reference, "" where they are no longer available."""
    contents = here.item_contents(items)
    return {(item.commit, item.reference): part.text for item, part in zip(items, contents, strict=True)}


@app.command()
@errors_are_messages
def rename(
    category: a.Category,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The new name.")],
    workspace: a.Place = None,
    as_json: AsJson = False,
) -> None:
    """Rename a category. Its id stays the same.

    Example: vbcgcd categories rename 75 'lost card'
    """
    from vbcgcd.show import categories as render

    here = a.open_workspace(workspace)
    before = here.category(category).name
    result = here.rename(category, name)
    finish(result, as_json, lambda: render.change(result, before), steps=("vbcgcd categories", "vbcgcd undo"))


@app.command()
@errors_are_messages
def merge(
    categories: a.Categories,
    name: Annotated[
        str | None, typer.Option("--name", help="Name of the merged category. Default: the best of theirs.")
    ] = None,
    workspace: a.Place = None,
    as_json: AsJson = False,
) -> None:
    """Merge categories into one, exactly as if their items had always had the same label.

    Example: vbcgcd categories merge 75 81 --name 'lost card'
    """
    from vbcgcd.show import categories as render

    here = a.open_workspace(workspace)
    result = here.merge(categories, name)
    finish(result, as_json, lambda: render.change(result), steps=("vbcgcd categories", "vbcgcd undo"))


@app.command()
@errors_are_messages
def split(
    category: a.Category,
    data: a.Data,
    n_parts: Annotated[int, typer.Option("--parts", min=2, help="Number of parts.")] = 2,
    names: Annotated[
        list[str] | None,
        typer.Option("--name", help="Name of a part, the largest part first. Repeat it for each part."),
    ] = None,
    text: a.Text = None,
    image: a.Image = None,
    embedding: a.Embedding = None,
    id: a.Id = None,
    rows: a.Split = None,
    kind: a.Kind = None,
    workspace: a.Place = None,
    as_json: AsJson = False,
) -> None:
    """Split a category by clustering the items of DATA that belong to it.

    The parts are learned from these items alone, so give many:
    for example, the batch in which the category was discovered.

    Example: vbcgcd categories split 75 monday.csv --parts 2 --name lost --name stolen
    """
    from vbcgcd.show import categories as render
    from vbcgcd.words import category_table

    columns = a.column_options(text=text, image=image, embedding=embedding, id=id, split=rows, kind=kind)
    here = a.open_workspace(workspace)
    with working("splitting") as steps:
        result = here.split(
            category,
            a.check_data(data),
            n_parts,
            names=names or None,
            embedding_progress=steps.embedding,
            **columns,
        )
    report_failures(result.failures)
    following = [f"vbcgcd categories show {i}" for i in result.categories]

    def page() -> Group:
        parts = here.categories(n_samples=3, items=True, only=result.categories)
        return Group(render.change(result), Text(), category_table(parts, result.counts))

    finish(result, as_json, page, steps=[*following, "vbcgcd undo"])


@app.command()
@errors_are_messages
def drop(category: a.Category, workspace: a.Place = None, as_json: AsJson = False) -> None:
    """Drop a category. From now on similar items go to the other categories.

    Example: vbcgcd categories drop 75
    """
    from vbcgcd.show import categories as render

    here = a.open_workspace(workspace)
    result = here.drop(category)
    finish(result, as_json, lambda: render.change(result), steps=("vbcgcd categories", "vbcgcd undo"))


@app.command()
@errors_are_messages
def undo(workspace: a.Place = None, as_json: AsJson = False) -> None:
    """Undo the last rename, merge, split or drop.

    Example: vbcgcd categories undo
    """
    _undo_or_redo("undo", workspace, as_json)


@app.command()
@errors_are_messages
def redo(workspace: a.Place = None, as_json: AsJson = False) -> None:
    """Redo the rename, merge, split or drop that was just undone.

    Example: vbcgcd categories redo
    """
    _undo_or_redo("redo", workspace, as_json)


def _undo_or_redo(command: str, workspace: Path | None, as_json: bool) -> None:
    from vbcgcd.cli.workspace import describe, finish_undo

    here = a.open_workspace(workspace)
    info = here.last_command() if command == "undo" else here.next_redo()
    if info is not None and info.command not in (*OPERATIONS, "init"):
        which = "last command was" if command == "undo" else "next command to redo is"
        raise InputError(
            f"The {which} not a category change: {describe(here, info.commit)}. Use 'vbcgcd {command}' to "
            f"{command} it anyway."
        )
    commit = None if info is None else info.commit
    result = here.undo(commit=commit) if command == "undo" else here.redo(commit=commit)
    finish_undo(here, result, as_json)
