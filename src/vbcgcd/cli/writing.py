"""Predictions in a file: CSV, JSON lines or Parquet, by its extension."""

from __future__ import annotations

import csv
import functools
import io
import itertools
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from vbcgcd.errors import DiskError, InputError, MissingFileError

FORMATS = (".csv", ".jsonl", ".parquet")
#: What a cell begins with that spreadsheets run; the last four in their full-width forms.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_PLAIN_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?", re.ASCII)

__all__ = ["FORMATS", "check_output", "write_predictions"]


Rows = Iterable[Mapping[str, Any]]


def check_output(output: Path, data: Path | None = None) -> None:
    """Raise if rows about ``data`` cannot be written to ``output``, before any work is done."""
    if output.suffix.lower() not in FORMATS:
        ending = f"Unsupported file type {output.suffix!r}" if output.suffix else f"{output} has no extension"
        raise InputError(f"{ending}; predictions can be saved as {', '.join(FORMATS)}.", option="output")
    if output.is_dir():
        raise InputError(f"{output} is a folder; give the name of a file.", option="output")
    folder = os.path.dirname(os.path.abspath(output))
    if not os.path.isdir(folder):
        raise MissingFileError(f"There is no folder {folder}; create it first.", option="output")
    if data is not None and output.exists() and data.exists() and output.samefile(data):
        raise InputError(
            f"{output} is the data itself; choose another name for the predictions.", option="output"
        )
    if output.suffix.lower() == ".parquet":
        from vbcgcd.workspace.log.parquet import check_pyarrow

        check_pyarrow()


def write_predictions(answers: Rows, output: Path, *, raw_cells: bool = False) -> None:
    """Write one row for each item; on any error the file stays as it was.

    Parameters
    ----------
    answers : Predictions, SessionRecord, or any dicts with the same keys
    output : Path
    raw_cells : bool
        Write the texts of a CSV as they are, also those that a spreadsheet would run as a formula.
    """
    from vbcgcd.archive import atomic_file

    cell = _number_cell if raw_cells else _safe_cell
    writers: dict[str, Callable[[Rows, BinaryIO], None]] = {
        ".csv": functools.partial(_csv, cell=cell),
        ".jsonl": _jsonl,
        ".parquet": _parquet,
    }
    write = writers[output.suffix.lower()]
    try:
        with atomic_file(output) as file:
            write(answers, file)
    except OSError as error:
        raise DiskError.writing(output, error) from None


def _csv(answers: Rows, file: BinaryIO, cell: Callable[[Any], Any]) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    rows = iter(answers)
    first = next(rows)
    writer, quoting = (
        csv.DictWriter(text, list(first), lineterminator="\n", quoting=how)
        for how in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL)
    )
    writer.writeheader()
    for row in itertools.chain([first], rows):
        # Python leaves a carriage return unquoted, though readers begin a new row there.
        returns = any(isinstance(value, str) and "\r" in value for value in row.values())
        (quoting if returns else writer).writerow({key: cell(value) for key, value in row.items()})
    text.flush()
    text.detach()


def _jsonl(answers: Rows, file: BinaryIO) -> None:
    for row in answers:
        file.write(json.dumps(row, ensure_ascii=False, allow_nan=False, default=str).encode() + b"\n")


def _parquet(answers: Rows, file: BinaryIO) -> None:
    from vbcgcd.workspace.log.parquet import check_pyarrow

    arrow, parquet = check_pyarrow(), check_pyarrow("pyarrow.parquet")
    rows = list(answers)
    columns = {name: _arrow_column(arrow, [row[name] for row in rows]) for name in rows[0]}
    parquet.write_table(arrow.table(columns), file, compression="zstd")


def _arrow_column(arrow: Any, cells: list[Any]) -> Any:
    try:
        return arrow.array(cells)
    except (
        arrow.ArrowInvalid,
        arrow.ArrowTypeError,
        OverflowError,
    ):  # a column of the input that mixes types
        return arrow.array([None if cell is None else str(cell) for cell in cells])


def _number_cell(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float) else value


def _safe_cell(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula: an apostrophe before it makes it a text.

    Names and references come from data that others wrote, and a formula can run programs or send cells away.
    Numbers are no danger, also where they are texts such as ``-1``.
    """
    if not isinstance(value, str) or not value.startswith(_FORMULA):
        return _number_cell(value)
    return value if _PLAIN_NUMBER.fullmatch(value) else f"'{value}"
