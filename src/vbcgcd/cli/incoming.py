"""The data of a command: a file, a folder, the name of a dataset, or standard input."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from vbcgcd.cli.common import check_data
from vbcgcd.errors import InputError

if TYPE_CHECKING:
    from vbcgcd.workspace import Workspace

#: What stands for standard input, and what sessions call it.
STDIN, NAME = Path("-"), "standard input"

__all__ = ["STDIN", "incoming", "is_terminal", "standard_input"]


def standard_input() -> IO[bytes]:
    """What standard input holds, as bytes."""
    if sys.stdin is None:  # as after <&-
        raise InputError("Standard input is closed; pipe the data into the command, or give a file.")
    return sys.stdin.buffer


def is_terminal() -> bool:
    """Whether a person can answer on standard input."""
    return sys.stdin is not None and sys.stdin.isatty()


@contextmanager
def incoming(here: Workspace, data: Path, columns: dict[str, Any]) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Data and options for a method of the workspace; standard input is read to its end."""
    if data != STDIN:
        yield check_data(data), columns
        return
    form = columns.get("format")
    if form is None:
        raise InputError(
            "Say what standard input holds: csv, tsv, json, jsonl, txt or parquet.", option="format"
        )
    source = standard_input()
    from vbcgcd.items.from_table import open_table

    with tempfile.TemporaryDirectory() as folder:
        # Tables are read more than once: first to find out what the columns are.
        file = Path(folder, f"{NAME}.{form.replace('/', '')}")
        with file.open("wb") as copy:
            shutil.copyfileobj(source, copy)
        table = open_table(file, form)
        table.folder = Path.cwd()
        options = {name: value for name, value in columns.items() if name != "format"}
        yield replace(here.read(table, **options), source=NAME), {}
