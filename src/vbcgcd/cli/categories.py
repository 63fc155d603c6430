"""``vbcgcd categories``: list them, show one, rename, merge, split, drop, undo."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group
from rich.text import Text

from vbcgcd.cli import arguments as a
from vbcgcd.cli.batches import report_failures
from vbcgcd.cli.common import AsJson, errors_are_messages, finish, refuse_options_before, working, writes
from vbcgcd.errors import InputError

if TYPE_CHECKING:
    from vbcgcd.workspace import Category, CategoryInfo, ItemInfo, Workspace

app = typer.Typer(invoke_without_command=True)
#: Categories in the list, unless another number is asked for: more than that nobody reads to the end.
MOST = 200
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
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            min=0,
            metavar="N",
            help=f"Most categories to list; 0 for all. Default: {MOST}, and all with --json.",
            show_default=False,
        ),
    ] = None,
    workspace: a.Place = None,
    as_json: AsJson = False,
) -> None:
    """List the categories, or work on them: show, rename, suggest, merge, split, drop, undo, redo.

    Refer to a category by its id (12 or #12) or its name.
    Write #12 if 12 is also a name.

    Example: vbcgcd categories --sort size

    Example: vbcgcd categories --find card

    Example: vbcgcd categories --sort birth --limit 20
    """
    if ctx.invoked_subcommand is not None:
        refuse_options_before(ctx, {"everything": "--all", "as_json": "--json"})
        return
    from vbcgcd.show import categories as show

    here = a.open_workspace(workspace)
    most = (0 if as_json else MOST) if limit is None else limit
    found = Counter(item.category for item in here.items(f"text~{find}")) if find and find.strip() else {}
    entries = here.entries(retired=everything)
    if find:
        every = here.categories(n_samples=3, retired=everything, items=True)
        matches = sorted((i for i in every if i.id in found or _matches(i, find)), key=_KEYS[sort])
        n_found, matches = len(matches), matches[: most or None]
    else:
        first, n_found = _first(here, entries, sort, most), len(entries)
        shown = here.categories(n_samples=3, retired=everything, items=True, only=first)
        matches = sorted(shown, key=_KEYS[sort])
    n_unassigned, seedlings = here.count_unassigned(), here.seedlings()
    values: dict[str, Any] = {"categories": matches, "unassigned": n_unassigned, "seedlings": seedlings}
    if find:
        values["found_items"] = {str(info.id): found.get(info.id, 0) for info in matches}

    def render() -> Any:
        page = show.categories(
            matches, total=len(entries), n_found=n_found, n_unassigned=n_unassigned, seedlings=seedlings
        )
        return Group(page, show.found(find, matches, found)) if find and matches else page

    finish(values, as_json, render, steps=["vbcgcd unassigned"] if n_unassigned else [])


def _first(here: Workspace, entries: Sequence[Category], sort: Order, most: int) -> Collection[int]:
    """Ids of the categories at the top of the list, without what is slow to know of all of them."""
    sizes = here.sizes() if sort is Order.SIZE else {}
    keys: dict[Order, Callable[[Category], Any]] = {
        Order.ID: lambda entry: entry.id,
        Order.NAME: lambda entry: (entry.name.casefold(), entry.id),
        Order.SIZE: lambda entry: (-sizes.get(entry.id, 0), entry.id),
        Order.BIRTH: lambda entry: (-entry.birth, entry.id),
    }
    return {entry.id for entry in sorted(entries, key=keys[sort])[: most or None]}


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
    [view] = here.overview(n_items=n, n_map=0, only=[entry.id]).categories
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
@writes
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
@writes
def suggest(
    categories: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CATEGORY]...",
            help="Ids or names. Default: all categories with an automatic name.",
            autocompletion=a.complete_category,
        ),
    ] = None,
    n: Annotated[int, typer.Option("--names", min=1, help="Most names of each kind.")] = 2,
    apply: Annotated[
        bool, typer.Option("--apply", help="Rename each category to the first suggestion.")
    ] = False,
    namer: Annotated[
        str | None,
        typer.Option(
            "--namer",
            metavar="NAMER",
            help="Ask this namer, openai:URL#MODEL or a plug-in, instead of the setting's.",
        ),
    ] = None,
    no_namer: Annotated[bool, typer.Option("--no-namer", help="Ask no namer.")] = False,
    workspace: a.Place = None,
    as_json: AsJson = False,
) -> None:
    """Suggest names, from the items that each category has now. Nothing changes without --apply.

    A namer is sent up to 12 typical texts of each category and the names of 5 similar ones.
    Without a namer nothing leaves this machine.

    Example: vbcgcd categories suggest 75 81

    Example: vbcgcd categories suggest --namer openai:http://localhost:8080/v1#llama
    """
    from vbcgcd.show import categories as render

    if namer is not None and no_namer:
        raise InputError("--namer and --no-namer contradict each other; pass one of them.")
    here = a.open_workspace(workspace)
    with working("looking for names"):
        suggestions = here.suggest_names(categories or None, n=n, namer=False if no_namer else namer)
    renamed = {}
    for suggestion in suggestions if apply else ():
        if suggestion.best is not None:
            here.rename(f"#{suggestion.category}", suggestion.best)
            renamed[suggestion.category] = suggestion.best
    better = next((each for each in suggestions if each.best is not None), None)
    steps = ["vbcgcd categories", "vbcgcd undo"] if renamed else []
    if better is not None and not apply:
        steps = [
            f"vbcgcd categories rename {better.category} {shlex.quote(str(better.best))}",
            f"vbcgcd categories suggest {better.category} --apply",
        ]
    values = {"suggestions": suggestions, "renamed": renamed}
    finish(values, as_json, lambda: render.suggestions(suggestions, renamed, applied=apply), steps=steps)


@app.command()
@writes
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
@writes
def split(
    category: a.Category,
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="DATA",
            help="Items to find the parts by, if those of the category cannot be read any more.",
            show_default=False,
        ),
    ] = None,
    n_parts: Annotated[
        int | None,
        typer.Option("--parts", min=2, help="Number of parts. Default: judged, or that of the names."),
    ] = None,
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
    """Split a category by clustering its items, which are read again from their files.

    Each item takes along what it taught.
    What the category learned from items whose files are gone is shared among the parts.

    Example: vbcgcd categories split 75

    Example: vbcgcd categories split 75 --name lost --name stolen
    """
    from vbcgcd.show import categories as render
    from vbcgcd.words import category_table

    columns = a.column_options(text=text, image=image, embedding=embedding, id=id, split=rows, kind=kind)
    here = a.open_workspace(workspace)
    with working("splitting") as steps:
        result = here.split(
            category,
            None if data is None else a.check_data(data),
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
@writes
def drop(category: a.Category, workspace: a.Place = None, as_json: AsJson = False) -> None:
    """Drop a category. From now on similar items go to the other categories.

    Example: vbcgcd categories drop 75
    """
    from vbcgcd.show import categories as render

    here = a.open_workspace(workspace)
    result = here.drop(category)
    finish(result, as_json, lambda: render.change(result), steps=("vbcgcd categories", "vbcgcd undo"))


@app.command()
@writes
def undo(workspace: a.Place = None, as_json: AsJson = False) -> None:
    """Undo the last rename, merge, split or drop.

    Example: vbcgcd categories undo
    """
    _undo_or_redo("undo", workspace, as_json)


@app.command()
@writes
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
