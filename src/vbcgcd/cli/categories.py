"""``vbcgcd categories``: list them, look at one, name, merge, split, drop, take back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group
from rich.text import Text

from vbcgcd.cli import columns as c
from vbcgcd.cli.batches import tell_failures
from vbcgcd.cli.common import AsJson, errors_are_messages, finish, working, wrong
from vbcgcd.cli.completion import complete_category
from vbcgcd.cli.places import Place, category_id, opened

if TYPE_CHECKING:
    from vbcgcd.workspace import CategoryInfo, ItemInfo, Workspace

app = typer.Typer(invoke_without_command=True)
OPERATIONS = ("rename", "merge", "split", "drop")

Category = Annotated[
    str, typer.Argument(metavar="ID", help="Id or name of a category.", autocompletion=complete_category)
]
Categories = Annotated[
    list[str],
    typer.Argument(metavar="ID...", help="Ids or names of categories.", autocompletion=complete_category),
]

__all__ = ["app"]


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
        bool, typer.Option("--all", help="Also those that were merged, split or dropped.")
    ] = False,
    sort: Annotated[
        Order, typer.Option("--sort", help="By id, by name, the largest first, or the newest first.")
    ] = Order.ID,
    find: Annotated[
        str | None, typer.Option("--find", metavar="TEXT", help="Only those with TEXT in name or items.")
    ] = None,
    workspace: Place = None,
    as_json: AsJson = False,
) -> None:
    """List the categories, or work on them: show, rename, merge, split, drop, undo, redo.

    A category is given by its id (12 or #12) or by its name. Where a name looks like an id, the id wins.

    Example: vbcgcd categories --sort size

    Example: vbcgcd categories --find card
    """
    if ctx.invoked_subcommand is not None:
        _refuse_before_a_command(ctx)
        return
    from vbcgcd.cli.show import categories as show

    here = opened(workspace)
    every = here.categories(n_samples=3, retired=everything, items=True)
    shown = sorted((info for info in every if _matches(info, find)), key=_KEYS[sort])
    finish({"categories": shown}, as_json, lambda: show.categories(shown, total=len(every)))


def _refuse_before_a_command(ctx: typer.Context) -> None:
    """Options before a sub-command would be lost without a word."""
    given = [name for name in ctx.params if _said(ctx, name)]
    if given:
        name = {"everything": "--all", "as_json": "--json"}.get(given[0], f"--{given[0]}")
        raise wrong(f"{name} stands before {ctx.invoked_subcommand!r}; put options after it.")


def _said(ctx: typer.Context, name: str) -> bool:
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _matches(info: CategoryInfo, wanted: str | None) -> bool:
    if wanted is None:
        return True
    return any(
        wanted.casefold() in part.casefold() for part in (info.name, *info.samples, *info.sample_texts)
    )


@app.command()
@errors_are_messages
def show(
    category: Category,
    n: Annotated[int, typer.Option("--items", min=0, help="Typical and doubtful items to show.")] = 8,
    workspace: Place = None,
    as_json: AsJson = False,
) -> None:
    """Show one category in full: its items by session, the most typical and the most doubtful ones.

    Example: vbcgcd categories show 75

    Example: vbcgcd categories show 'lost card' --items 20
    """
    from vbcgcd.cli.show import categories as render

    here = opened(workspace)
    retired = _retired(here, category)
    if retired is not None:
        finish(retired, as_json, lambda: render.retired_category(retired))
        return
    chosen = category_id(here, category)
    every = here.overview(n_items=n, n_map=0).categories
    view = next(view for view in every if view.info.id == chosen)
    texts = _texts(here, (*view.typical, *view.doubtful))
    names = {other.info.id: other.info.name for other in every}
    told = view.as_dict()
    for item in (*told["typical"], *told["doubtful"]):
        item["text"] = texts[item["commit"], item["reference"]]
    finish(told, as_json, lambda: render.category(view, names, texts))


def _texts(here: Workspace, items: Sequence[ItemInfo]) -> dict[tuple[int, str], str]:
    """Texts of items by commit and reference, where they can still be found."""
    shown = here.shown(items)
    return {(item.commit, item.reference): found.text for item, found in zip(items, shown, strict=True)}


def _retired(here: Workspace, key: str) -> CategoryInfo | None:
    """The retired category with this id."""
    digits = key.strip().removeprefix("#")
    found = (info for info in here.categories(n_samples=0, retired=True) if info.status != "live")
    return next((info for info in found if str(info.id) == digits), None)


@app.command()
@errors_are_messages
def rename(
    category: Category,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its new name.")],
    workspace: Place = None,
    as_json: AsJson = False,
) -> None:
    """Name a category. Its id stays.

    Example: vbcgcd categories rename 75 'lost card'
    """
    from vbcgcd.cli.show import categories as render

    here = opened(workspace)
    chosen = category_id(here, category)
    before = here.category(chosen).name
    done = here.rename(chosen, name)
    finish(done, as_json, lambda: render.changed(done, before))


@app.command()
@errors_are_messages
def merge(
    categories: Categories,
    name: Annotated[
        str | None, typer.Option("--name", help="Its name; without it the best of theirs.")
    ] = None,
    workspace: Place = None,
    as_json: AsJson = False,
) -> None:
    """Make one category of several. Nothing is lost: it is as if all their items had taught one.

    Example: vbcgcd categories merge 75 81 --name 'lost card'
    """
    from vbcgcd.cli.show import categories as render

    here = opened(workspace)
    done = here.merge([category_id(here, key) for key in categories], name)
    finish(done, as_json, lambda: render.changed(done))


@app.command()
@errors_are_messages
def split(
    category: Category,
    data: c.Data,
    n_parts: Annotated[int, typer.Option("--parts", min=2, help="How many parts.")] = 2,
    names: Annotated[
        list[str] | None,
        typer.Option("--name", help="Name of a part, the largest first; once for each part."),
    ] = None,
    text: c.Text = None,
    image: c.Image = None,
    embedding: c.Embedding = None,
    id: c.Id = None,
    rows: c.Split = None,
    kind: c.Kind = None,
    workspace: Place = None,
    as_json: AsJson = False,
) -> None:
    """Split a category by clustering those items of DATA that belong to it.

    The parts learn from these items alone: give many of them, for example the batch it was found in.

    Example: vbcgcd categories split 75 monday.csv --parts 2 --name lost --name stolen
    """
    from vbcgcd.cli.show import categories as render

    said = c.columns_of(text=text, image=image, embedding=embedding, id=id, split=rows, kind=kind)
    here = opened(workspace)
    chosen = category_id(here, category)
    with working("splitting") as steps:
        done = here.split(
            chosen,
            c.check_data(data),
            n_parts,
            names=names or None,
            embedding_progress=steps.embedding,
            **said,
        )
    tell_failures(done.failures)

    def shown() -> Group:
        parts = here.categories(n_samples=3, items=True, only=done.categories)
        return Group(render.found(parts, done.counts), Text(), render.changed(done))

    finish(done, as_json, shown)


@app.command()
@errors_are_messages
def drop(category: Category, workspace: Place = None, as_json: AsJson = False) -> None:
    """Give a category up: items like its own go to the others from now on.

    Example: vbcgcd categories drop 75
    """
    from vbcgcd.cli.show import categories as render

    here = opened(workspace)
    done = here.drop(category_id(here, category))
    finish(done, as_json, lambda: render.changed(done))


@app.command()
@errors_are_messages
def undo(workspace: Place = None, as_json: AsJson = False) -> None:
    """Take back the last rename, merge, split or drop.

    Example: vbcgcd categories undo
    """
    _back_or_forth("undo", workspace, as_json)


@app.command()
@errors_are_messages
def redo(workspace: Place = None, as_json: AsJson = False) -> None:
    """Do again the rename, merge, split or drop that the last undo took back.

    Example: vbcgcd categories redo
    """
    _back_or_forth("redo", workspace, as_json)


def _back_or_forth(command: str, workspace: Path | None, as_json: bool) -> None:
    from vbcgcd.cli.workspace import described, tell_undone

    here = opened(workspace)
    info = here.last_command() if command == "undo" else here.next_redo()
    if info is not None and info.command not in (*OPERATIONS, "init"):
        what = described(here, info.commit)
        raise wrong(
            f"What would be {'taken back' if command == 'undo' else 'done again'} is no operation on "
            f"categories but: {what}. Use 'vbcgcd {command}' if you mean that."
        )
    meant = None if info is None else info.commit
    done = here.undo(commit=meant) if command == "undo" else here.redo(commit=meant)
    tell_undone(here, done, as_json)
