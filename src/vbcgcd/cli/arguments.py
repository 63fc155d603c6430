"""What commands take: data and its columns, the workspace, a category; and how a shell completes them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vbcgcd.errors import InputError
from vbcgcd.words import one_line

if TYPE_CHECKING:
    from vbcgcd.workspace import Workspace

__all__ = [
    "Again",
    "Categories",
    "Category",
    "Data",
    "Embedding",
    "Id",
    "Image",
    "Kind",
    "Label",
    "Place",
    "Split",
    "Text",
    "check_data",
    "column_options",
    "complete_setting",
    "find_workspace",
    "key_value",
    "new_folder",
    "open_workspace",
]


def _never_fails(complete: Callable[[typer.Context, str], list[Any]]) -> Callable[..., list[Any]]:
    def quiet(ctx: typer.Context, incomplete: str) -> list[Any]:
        try:
            return complete(ctx, incomplete)
        except Exception:  # a shell that completes has no place for errors
            return []

    return quiet


@_never_fails
def complete_category(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Ids with the names as help, and names with the ids as help."""
    folder = ctx.params.get("workspace")
    live = open_workspace(Path(folder) if folder else None).categories(n_samples=0)
    start = incomplete.strip("'\"").casefold()
    ids = [(str(c.id), one_line(c.name, 60)) for c in live if str(c.id).startswith(start)]
    names = [(c.name, f"id {c.id}") for c in live if start and c.name.casefold().startswith(start)]
    return [*ids, *names]


@_never_fails
def complete_setting(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of settings, and ``model.`` with the options of the model."""
    from vbcgcd.model import CategoryDiscoverer
    from vbcgcd.workspace.config import DEFAULTS

    names = [*DEFAULTS, *(f"model.{option}" for option in CategoryDiscoverer().get_params())]
    return [name for name in names if name.startswith(incomplete)]


_PANEL = "Columns of a table (detected automatically where possible)"
Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="A table (.csv, .tsv, .jsonl, .parquet), a folder of pictures, or arrays (.npy, .npz).",
    ),
]
Text = Annotated[str | None, typer.Option("--text", help="Column with the texts.", rich_help_panel=_PANEL)]
Image = Annotated[
    str | None, typer.Option("--image", help="Column with the paths of pictures.", rich_help_panel=_PANEL)
]
Embedding = Annotated[
    list[str] | None,
    typer.Option(
        "--embedding",
        help="Column with lists of numbers, or the prefix of numbered columns. Repeat it to name several "
        "columns of numbers.",
        rich_help_panel=_PANEL,
    ),
]
Label = Annotated[str | None, typer.Option("--label", help="Column with the labels.", rich_help_panel=_PANEL)]
Id = Annotated[
    str | None, typer.Option("--id", help="Column that identifies the items.", rich_help_panel=_PANEL)
]
Split = Annotated[
    str | None,
    typer.Option(
        "--split",
        metavar="COLUMN=VALUE",
        help="Read only the rows that have this value in this column.",
        rich_help_panel=_PANEL,
    ),
]
Kind = Annotated[
    str | None,
    typer.Option("--kind", help="What the items are: image, text or embedding.", rich_help_panel=_PANEL),
]
Again = Annotated[
    bool, typer.Option("--again", help="Use data that an earlier session has already used; it counts twice.")
]
Place = Annotated[
    Path | None,
    typer.Option(
        "--workspace",
        "-w",
        metavar="FOLDER",
        envvar="VBCGCD_WORKSPACE",
        help="The workspace. Default: the current folder, or the nearest folder above it that is one.",
    ),
]
Category = Annotated[
    str, typer.Argument(metavar="ID", help="Id or name of a category.", autocompletion=complete_category)
]
Categories = Annotated[
    list[str],
    typer.Argument(metavar="ID...", help="Ids or names of categories.", autocompletion=complete_category),
]


def column_options(
    *,
    text: str | None = None,
    image: str | None = None,
    embedding: list[str] | None = None,
    label: str | None = None,
    id: str | None = None,
    split: str | None = None,
    kind: str | None = None,
) -> dict[str, Any]:
    """Options of ``vbcgcd.items.read_items``, without those that are None."""
    options: dict[str, Any] = {"text": text, "image": image, "label": label, "id": id, "kind": kind}
    if embedding:
        options["embedding"] = embedding[0] if len(embedding) == 1 else list(embedding)
    if split is not None:
        options["split"] = key_value(split, "split")
    return {name: value for name, value in options.items() if value is not None}


def key_value(pair: str, option: str) -> tuple[str, str]:
    """Key and value of ``KEY=VALUE``; ``option`` is where it was given."""
    key, equals, value = pair.partition("=")
    if not key or not equals:
        raise InputError(f"Expected a name and a value separated by =, got {pair!r}.", option=option)
    return key.strip(), value


def check_data(data: Path) -> Path:
    """Raise if the data is a workspace."""
    if _is_workspace(data):
        raise InputError(f"{data} is a workspace, not data. Give a table, a folder of pictures or arrays.")
    return data


def find_workspace(folder: Path | None) -> Path:
    """The workspace of a command: ``folder``, or the current folder or the nearest one above it."""
    if folder is not None:
        from vbcgcd.workspace.log.folder import ABOUT

        if (folder / ABOUT).exists():  # opening it tells what is wrong with it
            return folder
        raise InputError(f"There is no workspace at {folder}. Create one with 'vbcgcd init {folder}'.")
    nearest = _enclosing(Path.cwd())
    if nearest is None:
        raise InputError(
            f"Neither {Path.cwd()} nor any folder above it is a workspace. Create one with 'vbcgcd init "
            "NAME' and change into it, or choose one with --workspace."
        )
    return nearest


def open_workspace(folder: Path | None) -> Workspace:
    """The workspace of a command, open."""
    path = find_workspace(folder)
    from vbcgcd.workspace import Workspace

    return Workspace.open(path)


def new_folder(path: Path) -> Path:
    """Absolute path of a workspace to be created; raise if it would be inside another one."""
    path = Path(os.path.abspath(path))
    outer = _enclosing(path)
    if outer not in (None, path):
        raise InputError(f"{path} is inside the workspace {outer}. Choose a folder outside of it.")
    return path


def _is_workspace(path: Path) -> bool:
    from vbcgcd.workspace.log.folder import is_workspace

    return is_workspace(path)


def _enclosing(start: Path) -> Path | None:
    start = Path(os.path.abspath(start))
    return next((folder for folder in (start, *start.parents) if _is_workspace(folder)), None)
