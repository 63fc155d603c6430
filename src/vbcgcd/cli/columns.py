"""Data on the command line: its path, and the options that say which column is what."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from vbcgcd.cli.common import wrong
from vbcgcd.cli.places import is_workspace
from vbcgcd.cli.settings import pair

Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="A table (.csv, .tsv, .jsonl, .parquet), a folder of pictures, or arrays (.npy, .npz).",
    ),
]
_PANEL = "Columns of a table (guessed where they are clear)"
Text = Annotated[str | None, typer.Option("--text", help="Column with the texts.", rich_help_panel=_PANEL)]
Image = Annotated[
    str | None, typer.Option("--image", help="Column with paths of pictures.", rich_help_panel=_PANEL)
]
Embedding = Annotated[
    list[str] | None,
    typer.Option(
        "--embedding",
        help="Column with lists of numbers, or the prefix of numbered columns; several times: columns of "
        "numbers.",
        rich_help_panel=_PANEL,
    ),
]
Label = Annotated[str | None, typer.Option("--label", help="Column with the labels.", rich_help_panel=_PANEL)]
Id = Annotated[
    str | None,
    typer.Option("--id", help="Column with the names of the items.", rich_help_panel=_PANEL),
]
Split = Annotated[
    str | None,
    typer.Option(
        "--split",
        metavar="COLUMN=VALUE",
        help="Read only the rows with this value in this column.",
        rich_help_panel=_PANEL,
    ),
]
Again = Annotated[
    bool, typer.Option("--again", help="Use data once more that a session has learned from already.")
]
Kind = Annotated[
    str | None,
    typer.Option("--kind", help="What the items are: image, text or embedding.", rich_help_panel=_PANEL),
]

__all__ = [
    "Again",
    "Data",
    "Embedding",
    "Id",
    "Image",
    "Kind",
    "Label",
    "Split",
    "Text",
    "check_data",
    "columns_of",
]


def columns_of(
    *,
    text: str | None = None,
    image: str | None = None,
    embedding: list[str] | None = None,
    label: str | None = None,
    id: str | None = None,
    split: str | None = None,
    kind: str | None = None,
) -> dict[str, Any]:
    """Options of ``vbcgcd.items.read_items``, without those that were not given."""
    said: dict[str, Any] = {"text": text, "image": image, "label": label, "id": id, "kind": kind}
    if embedding:
        said["embedding"] = embedding[0] if len(embedding) == 1 else list(embedding)
    if split is not None:
        said["split"] = pair(split, "--split")
    return {name: value for name, value in said.items() if value is not None}


def check_data(data: Path) -> Path:
    """Raise where the data is a workspace."""
    if is_workspace(data):
        raise wrong(f"{data} is a workspace, not data; give a table, a folder of pictures or arrays.")
    return data
