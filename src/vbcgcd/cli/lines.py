"""``vbcgcd predict --stdin``: a line in, a line out, with the model kept in memory."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vbcgcd.cli.common import find_workspace, note
from vbcgcd.cli.incoming import is_terminal, standard_input
from vbcgcd.cli.scripting import SCHEMA_VERSION
from vbcgcd.errors import InputError, VbcgcdError
from vbcgcd.words import one_line

if TYPE_CHECKING:
    from vbcgcd.items import Items
    from vbcgcd.workspace import Workspace

#: Letters of a message about a line.
_LONGEST = 300

__all__ = ["answer_lines", "check_stdin", "predict_stdin"]


def check_stdin(data: Path | None, output: Path | None, columns: dict[str, Any]) -> None:
    """Raise if something was given that has no meaning for lines."""
    given = {"DATA": data, "--output": output, **{f"--{name}": value for name, value in columns.items()}}
    wrong = [name for name, value in given.items() if value is not None]
    if wrong:
        raise InputError(
            f"{wrong[0]} cannot be used with --stdin, which reads one item from each line and answers with "
            "one line; redirect the output with > FILE."
        )


def predict_stdin(workspace: Path | None, *, reject: float | None, as_json: bool) -> None:
    """Answer the lines of standard input, each before the next is read, until it ends or Ctrl-C."""
    from vbcgcd.discovery.options import check_reject
    from vbcgcd.workspace import Workspace

    check_reject(reject)
    lines = standard_input()
    # One shard of the cache for every line would make it slow for everybody.
    here = Workspace.open(find_workspace(workspace), cache=False)
    here.warm_up()
    if is_terminal():
        note("Ready. Type an item and press Enter; end with Ctrl-D.")
    try:
        for answer in answer_lines(here, lines, reject=reject, as_json=as_json):
            sys.stdout.write(f"{answer}\n")
            sys.stdout.flush()
        time.sleep(0)  # a Ctrl-C that came with the end of the input is raised here, not later
    except KeyboardInterrupt:
        return


def answer_lines(
    here: Workspace, lines: Iterable[bytes], *, reject: float | None = None, as_json: bool = False
) -> Iterator[str]:
    """One line for each line: a prediction, or what is wrong with it.

    Parameters
    ----------
    here : Workspace
    lines : iterable of bytes
        Texts, paths of pictures, or JSON lists of numbers: whatever the workspace holds, as UTF-8.
    reject : float, optional
        As for ``Workspace.predict``.
    as_json : bool
        Whether to give JSON objects; else id, name, probability and novelty, or ``error`` and a message,
        separated by tabs.
    """
    for number, line in enumerate(lines, start=1):
        try:
            [row] = here.predict(_item(here, line, number), reject).rows()
        except VbcgcdError as error:
            yield _line(number, {"error": one_line(str(error), _LONGEST)}, as_json)
        else:
            del row["reference"]
            yield _line(number, row, as_json)


def _item(here: Workspace, line: bytes, number: int) -> Items:
    from vbcgcd.items import Items

    text = line.decode("utf-8", "replace").strip()
    if not text:
        raise InputError("The line is empty.")
    kind = "text" if here.embedder is None else str(here.embedder["kind"])
    value: Any = text
    if kind == "image":
        value = Path(text).absolute()
    elif kind == "embedding":
        value = _numbers(text)
    return Items(kind, [value], [f"line {number}"], f"line {number}")


def _numbers(text: str) -> list[float]:
    try:
        values = json.loads(text)
    except ValueError:
        values = None
    if not isinstance(values, list) or not all(type(value) in (int, float) for value in values):
        raise InputError("Expected a JSON list of numbers, such as [0.1, 0.2]: the items are embeddings.")
    return [float(value) for value in values]


def _line(number: int, row: dict[str, Any], as_json: bool) -> str:
    if as_json:
        return json.dumps(
            {"schema_version": SCHEMA_VERSION, "line": number, **row}, ensure_ascii=False, allow_nan=False
        )
    if "error" in row:
        return f"error\t{row['error']}"
    name = one_line(row["name"], _LONGEST)
    return f"{row['category']}\t{name}\t{row['probability']:.4f}\t{row['novelty']:.4f}"
