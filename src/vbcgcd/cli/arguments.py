"""Arguments and options of commands: data, columns, workspace, category; and how a shell completes them."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from vbcgcd.cli.common import (
    check_data,
    column_options,
    find_workspace,
    key_value,
    new_folder,
    open_workspace,
)
from vbcgcd.words import one_line

__all__ = [
    "Address",
    "Again",
    "Categories",
    "Category",
    "Data",
    "Embedding",
    "Engine",
    "EngineName",
    "Format",
    "Id",
    "Image",
    "Keep",
    "Kind",
    "Label",
    "OptionalData",
    "Place",
    "RawCells",
    "Split",
    "Text",
    "Workers",
    "check_data",
    "column_options",
    "complete_setting",
    "find_workspace",
    "key_value",
    "new_folder",
    "open_workspace",
]


class EngineName(StrEnum):
    """Who computes."""

    HERE = "here"
    PROCESSES = "processes"
    RAY = "ray"


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
    live = open_workspace(Path(folder) if folder else None).entries()
    start = incomplete.strip("'\"").casefold()
    ids = [(str(c.id), one_line(c.name, 60)) for c in live if str(c.id).startswith(start)]
    names = [(c.name, f"id {c.id}") for c in live if start and c.name.casefold().startswith(start)]
    return [*ids, *names]


@_never_fails
def complete_setting(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of settings, and ``model.`` with the options of the model."""
    from dataclasses import fields

    from vbcgcd.discovery.options import Options
    from vbcgcd.workspace.config import DEFAULTS

    names = [*DEFAULTS, *sorted(f"model.{option.name}" for option in fields(Options))]
    return [name for name in names if name.startswith(incomplete)]


_PANEL = "Columns of a table (detected automatically where possible)"
_DATA = (
    "A table (.csv, .tsv, .json, .jsonl, .txt, also with .gz; .parquet, .arrow), a folder of pictures or of "
    "Parquet files, arrays (.npy, .npz), hf:NAME, or - for standard input with --format."
)
Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help=_DATA,
    ),
]
OptionalData = Annotated[
    Path | None,
    typer.Argument(
        metavar="DATA",
        help=_DATA,
        show_default=False,
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
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="What standard input holds, or a file whose name does not say: csv, tsv, json, jsonl, txt, "
        "parquet, csv.gz, ...",
        rich_help_panel=_PANEL,
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        "--keep",
        metavar="COLUMN",
        help="Columns of the data to carry along into the output, repeated or with commas; 'all' takes every "
        "column.",
        rich_help_panel=_PANEL,
    ),
]
RawCells = Annotated[
    bool,
    typer.Option(
        "--raw-cells",
        help="Write texts to a .csv as they are. Default: an apostrophe before those that a spreadsheet "
        "would run as a formula.",
    ),
]
Again = Annotated[
    bool, typer.Option("--again", help="Use data that an earlier session has already used; it counts twice.")
]
_MACHINES = "Folders of Parquet shards, on several processors or machines"
Engine = Annotated[
    EngineName | None,
    typer.Option(
        "--engine",
        help="DATA is a folder of Parquet shards, and the output another one; who computes: here, processes "
        "of this machine, or a Ray cluster. The answers are the same.",
        rich_help_panel=_MACHINES,
        show_default=False,
    ),
]
Address = Annotated[
    str | None,
    typer.Option(
        "--address",
        metavar="HOST:PORT",
        help="Head of the Ray cluster, or 'auto' on one of its nodes. Default: RAY_ADDRESS, else Ray on this "
        "machine alone.",
        rich_help_panel=_MACHINES,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        help="Workers of the engine. Default: one for each processor.",
        rich_help_panel=_MACHINES,
    ),
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
