"""`read_items`: one entry point for every source of items."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vbcgcd.errors import InputError, MissingFileError
from vbcgcd.items.arrays import ARRAYS, read_array
from vbcgcd.items.folders import read_folder
from vbcgcd.items.from_table import read_table
from vbcgcd.items.items import Items
from vbcgcd.items.tables import TABLES

__all__ = ["read_items"]


def read_items(
    path: str | os.PathLike[str],
    *,
    kind: str | None = None,
    text: str | None = None,
    image: str | None = None,
    label: str | None = None,
    embedding: str | Sequence[str] | None = None,
    id: str | None = None,
    split: tuple[str, str] | None = None,
) -> Items:
    r"""Items of a table, a folder of pictures or a NumPy file.

    The extension of the name decides how it is read:

    - ``.csv``, ``.tsv``, ``.jsonl``, ``.ndjson``, ``.parquet`` (with pyarrow): a table.
    - a folder: its pictures; the names of its subfolders are the labels, a flat folder has none.
    - ``.npy``: numbers (N, d), pictures uint8 (N, H, W, 3) or strings (N,); ``.npz``: such an array ``x``,
      and ``y`` if there are labels. Pickled objects are refused.

    Columns that the caller does not choose are guessed, and ``columns`` of the result reports the outcome.
    Contents are judged by the first 1,000 rows, names without regard to case.

    1. The label is a column called label, labels, category, class, class_name, label_name, intent, target, y
       or fine_label, in this order of preference; the id is one called id, item_id, uuid, key, index or
       similar, if its cells are unique. Columns called split, partition, subset, set or fold are ignored.
    2. Among the other columns, strings under a name such as text, sentence or utterance are texts; names of
       picture files are images; lists of numbers (in CSV as JSON), or at least 8 columns of numbers with
       numbered names without a gap (e0, e1, ...), are an embedding. If two of these are present, ``kind``
       must choose.
    3. Failing that, the only column of strings is the text; without strings, the numbered columns of numbers
       or else all columns of numbers (at least two) are the embedding.

    Parameters
    ----------
    path : str or Path
        A table, a folder of pictures, or a NumPy file.
    kind : {"image", "text", "embedding"}, optional
        What the items are; None guesses.
    text, image, label, id : str, optional
        Names of columns. Paths of images are relative to the folder of the table. For ``.npz``, names of
        arrays.
    embedding : str or sequence of str, optional
        A column of lists, several columns of numbers, or the prefix of numbered columns.
    split : (str, str), optional
        A column and a value: only rows with this value are read.

    Returns
    -------
    Items
        Rows without a label (an empty cell) are included. References are ids, else paths of images, else row
        numbers of the source, from 0.

    Raises
    ------
    InputError
        The source cannot be read, or its columns are ambiguous.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name, "intents.csv")
    >>> _ = file.write_text("utterance,intent\nhello,greet\nbye,leave\n???,\n")
    >>> items = read_items(file)
    >>> items.kind, items.values, items.columns
    ('text', ['hello', 'bye', '???'], {'text': 'utterance', 'label': 'intent'})
    >>> items.labels, items.labelled
    (array(['greet', 'leave', None], dtype=object), array([ True,  True, False]))
    >>> folder.cleanup()
    """
    columns: dict[str, Any] = {"text": text, "image": image, "label": label, "embedding": embedding, "id": id}
    source = Path(path)
    extension = source.suffix.lower()
    try:
        if source.is_dir():
            _refuse({**columns, "split": split}, source, "a folder has no columns")
            items = read_folder(source)
        elif not source.exists():
            raise MissingFileError(f"There is no file or folder {source}.")
        elif extension in ARRAYS:
            _refuse({"split": split}, source, "an array has no columns to split by")
            items = read_array(source, kind=kind, **columns)
        elif extension in TABLES:
            items = read_table(source, kind=kind, split=split, **columns)
        else:
            raise InputError(
                f"Unsupported file type {extension!r} of {source}; use CSV, TSV, JSONL, Parquet, .npy, .npz "
                "or a folder of pictures."
            )
    except OSError as error:
        raise InputError(f"Cannot read {source}: {error.strerror or error}.") from None
    if kind is not None and kind != items.kind:
        raise InputError(f"{source} holds {items.kind}s, not {kind}s.", option="kind")
    return items


def _refuse(options: dict[str, Any], source: Path, reason: str) -> None:
    names = [name for name, value in options.items() if value is not None]
    if names:
        plural = "s" if len(names) > 1 else ""
        raise InputError(
            f"The option{plural} {', '.join(map(repr, names))} cannot be used with {source}: {reason}.",
            option=names[0],
        )
