"""Predictions into a file: CSV, JSON lines or Parquet, by the ending of its name."""

from __future__ import annotations

import csv
import io
import itertools
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from vbcgcd.cli.common import wrong

if TYPE_CHECKING:
    from vbcgcd.workspace import Predictions

FORMATS = (".csv", ".jsonl", ".parquet")

__all__ = ["FORMATS", "check_output", "write_predictions"]


def check_output(output: Path, data: Path) -> None:
    """Raise where predictions for ``data`` cannot go to ``output``; before any work is done."""
    if output.suffix.lower() not in FORMATS:
        raise wrong(f"{output} is not known by its ending; predictions are {', '.join(FORMATS)}.")
    if output.is_dir():
        raise wrong(f"{output} is a folder; give the name of a file.")
    folder = os.path.dirname(os.path.abspath(output))
    if not os.path.isdir(folder):
        raise wrong(f"There is no folder {folder} to hold {output.name}; make it first.")
    if output.exists() and data.exists() and output.samefile(data):
        raise wrong(f"{output} is the data itself; choose another name for the predictions.")
    if output.suffix.lower() == ".parquet":
        from vbcgcd.workspace.assignments import check_pyarrow

        check_pyarrow()


def write_predictions(found: Predictions, output: Path) -> None:
    """Write one row for each item; the file appears whole or stays as it was."""
    from vbcgcd.archive import written_whole

    write = {".csv": _csv, ".jsonl": _jsonl, ".parquet": _parquet}[output.suffix.lower()]
    try:
        with written_whole(output) as file:
            write(found, file)
    except OSError as error:
        raise wrong(f"Cannot write {output}: {error.strerror or error}.") from None


def _csv(found: Predictions, file: BinaryIO) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    rows = found.rows()
    first = next(rows)
    writer = csv.DictWriter(text, list(first), lineterminator="\n")
    writer.writeheader()
    for row in itertools.chain([first], rows):
        writer.writerow({key: _short(value) for key, value in row.items()})
    text.flush()
    text.detach()


def _jsonl(found: Predictions, file: BinaryIO) -> None:
    for row in found.rows():
        file.write(json.dumps(row, ensure_ascii=False, allow_nan=False).encode() + b"\n")


def _parquet(found: Predictions, file: BinaryIO) -> None:
    from vbcgcd.workspace.assignments import check_pyarrow

    arrow, parquet = check_pyarrow(), check_pyarrow("pyarrow.parquet")
    rows = list(found.rows())
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    parquet.write_table(arrow.table(columns), file, compression="zstd")


def _short(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float) else value
