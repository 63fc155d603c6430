"""Reading items: `read_items`, one entry point for every source, and items of NumPy arrays.

Tables and folders of pictures have modules of their own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.errors import InputError, MissingFileError, NothingToDo, reason_of
from vbcgcd.items.folders import list_pictures, read_folder
from vbcgcd.items.from_table import Keep, read_table, table_items
from vbcgcd.items.items import Items, as_floats, as_labels, check_finite, check_kind
from vbcgcd.items.opening import extension_of
from vbcgcd.items.tables import TABLES, TableFile
from vbcgcd.plugins import call_plugin, entry_points_of

Array = NDArray[Any]

#: File name extensions of NumPy files.
ARRAYS = (".npy", ".npz")
#: Entry points of readers, each named by the extension that it reads.
READERS = "vbcgcd.readers"

__all__ = ["ARRAYS", "array_items", "load_npy", "load_npz", "read_array", "read_items"]


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
    format: str | None = None,
    keep: Keep = None,
    prefer: Mapping[str, Any] | None = None,
) -> Items:
    r"""Items of a table, a folder of pictures, a dataset or a NumPy file.

    The extension of the name decides how it is read:

    - ``.csv``, ``.tsv``, ``.jsonl``, ``.ndjson``: a table; ``.json``: a list of objects or texts; ``.txt``:
      a text on each line. Each may be packed: ``.csv.gz``.
    - ``.parquet``, ``.arrow``, ``.feather`` (with pyarrow): a table.
    - a folder: its pictures; the names of its subfolders are the labels, a flat folder has none. A folder of
      Parquet or Arrow files is one table, and so is one that ``save_to_disk`` of Hugging Face wrote.
    - ``hf:NAME`` (with the package datasets): a dataset of Hugging Face, streamed.
    - any other extension: by the plug-in of an installed package for it, if there is one.
    - ``.npy``: numbers (N, d), pictures uint8 (N, H, W, 3) or strings (N,); ``.npz``: such an array ``x``,
      and ``y`` if there are labels. Pickled objects are rejected.

    Columns that the caller does not choose are guessed, and ``columns`` of the result reports the outcome.
    Contents are judged by the first 1,000 rows, names without regard to case.

    1. The label is a column called label, labels, category, class, class_name, label_name, intent, target, y
       or fine_label, in this order of preference; the id is one called id, item_id, uuid, key, index or
       similar, if its cells are unique. Columns called split, partition, subset, set or fold are ignored.
    2. Among the other columns, strings under a name such as text, sentence or utterance are texts; names of
       picture files are images; lists of numbers (in CSV as JSON), or at least 8 columns of numbers with
       numbered names without a gap (e0, e1, ...), are an embedding. If two of these are present, ``kind``
       must choose. Beside an embedding, texts or pictures are kept as ``contents``: they name and show.
    3. Failing that, the only column of strings is the text; without strings, the numbered columns of numbers
       or else all columns of numbers (at least two) are the embedding.

    Parameters
    ----------
    path : str or Path
        A table, a folder, the name of a dataset, or a NumPy file.
    kind : {"image", "text", "embedding"}, optional
        What the items are; None guesses.
    text, image, label, id : str, optional
        Names of columns. Paths of images are relative to the folder of the table. For ``.npz``, names of
        arrays.
    embedding : str or sequence of str, optional
        A column of lists, several columns of numbers, or the prefix of numbered columns.
    split : (str, str), optional
        A column and a value: only rows with this value are read.
    format : str, optional
        What a file is, where its name does not say: an extension such as ``"csv"`` or ``"jsonl.gz"``.
    keep : bool or sequence of str, optional
        Columns of a table to carry along as ``kept``; True takes all.
    prefer : mapping, optional
        The options ``kind`` to ``id`` once more: these count only where none is given and where the table has
        such columns.

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
    extension = extension_of(source)
    of_tables: dict[str, Any] = {"kind": kind, "split": split, "keep": keep, "prefer": prefer}
    try:
        table = None if format is not None else _table_of_many_files(path)
        if table is not None:
            items = table_items(table, **of_tables, **columns)
        elif source.is_dir():
            _reject(
                {**columns, "split": split, "format": format, "keep": keep or None},
                source,
                "a folder has no columns",
            )
            items = read_folder(source)
        elif not source.exists():
            raise MissingFileError(f"There is no file or folder {source}.")
        elif extension in ARRAYS and format is None:
            _reject({"split": split, "keep": keep or None}, source, "an array has no such columns")
            items = read_array(source, kind=kind, **columns)
        elif extension in TABLES or format is not None:
            items = read_table(source, format=format, **of_tables, **columns)
        elif extension[1:] in entry_points_of(READERS):
            items = _read_by_plugin(source, kind=kind, split=split, **columns)
        else:
            raise InputError(
                f"Unsupported file type {extension!r} of {source}; use CSV, TSV, JSON, JSONL, .txt, Parquet, "
                "Arrow, .npy, .npz or a folder of pictures, or say what it is with the option 'format'."
            )
    except OSError as error:
        raise InputError(f"Cannot read {source}: {error.strerror or error}.") from None
    if kind is not None and kind != items.kind:
        raise InputError(f"{source} holds {items.kind}s, not {kind}s.", option="kind")
    return items


def _read_by_plugin(source: Path, **options: Any) -> Items:
    """Items as the plug-in for the extension reads them; it gets the options that the caller chose."""
    name = source.suffix.lower()[1:]
    chosen = {key: value for key, value in options.items() if value is not None}
    items = call_plugin(READERS, name, source, **chosen)
    if not isinstance(items, Items):
        raise InputError(
            f"The reader {name!r} ({entry_points_of(READERS)[name].value}) returned a value "
            f"of the type {type(items).__name__} for {source}, not vbcgcd.items.Items. Update or "
            "uninstall that package."
        )
    return items


def _table_of_many_files(path: str | os.PathLike[str]) -> TableFile | None:
    """The table in a folder, or of a dataset by name; None for everything else."""
    name = os.fspath(path)
    if name.startswith("hf:") and not os.path.exists(name):
        from vbcgcd.items.hub import hub_table

        return hub_table(name)
    folder = Path(path)
    if not folder.is_dir():
        return None
    from vbcgcd.items.arrow import arrow_folder, dataset_files
    from vbcgcd.items.hub import hub_table, is_saved_dataset

    if is_saved_dataset(folder):
        return hub_table(folder)
    tables = dataset_files(folder) and not list_pictures(os.path.abspath(folder))
    return arrow_folder(folder) if tables else None


def _reject(options: dict[str, Any], source: Path, reason: str) -> None:
    names = [name for name, value in options.items() if value is not None]
    if names:
        plural = "s" if len(names) > 1 else ""
        raise InputError(
            f"The option{plural} {', '.join(map(repr, names))} cannot be used with {source}: {reason}.",
            option=names[0],
        )


def read_array(
    path: Path,
    *,
    kind: str | None = None,
    label: str | None = None,
    id: str | None = None,
    **values: str | None,
) -> Items:
    """Items of an ``.npy`` file (one array) or an ``.npz`` file (``x``, and ``y`` if there are labels).

    Parameters
    ----------
    path : Path
    kind : str, optional
        The kind of items that the array must hold.
    label, id : str, optional
        Names of the arrays with labels and ids in an ``.npz`` file; without ``label``, labels are ``y``.
    **values
        ``text``, ``image`` or ``embedding``: the name of the array with the items, where it is not ``x``.
    """
    choices = {option: name for option, name in values.items() if name is not None}
    shown = (
        {} if "embedding" not in choices else {o: choices.pop(o) for o in ("text", "image") if o in choices}
    )
    if len(choices) > 1 or len(shown) > 1 or (choices and kind is not None and kind not in choices):
        raise InputError(
            f"Only one of the options 'text', 'image' and 'embedding' can be used with {path} (text or image "
            "also beside an embedding), and it must agree with 'kind'; got "
            f"{', '.join(map(repr, [*choices, *shown, *([kind] if kind else [])]))}.",
            option=next(iter(choices)),
        )
    kind = next(iter(choices), kind)
    if path.suffix.lower() == ".npy":
        if choices or label or id:
            option = next(iter(choices), "label" if label else "id")
            raise InputError(
                f"{path} holds one unnamed array; there are no columns to choose.", option=option
            )
        return array_items(load_npy(path), source=str(path), kind=kind)
    name = next(iter(choices.values()), "x")
    arrays = load_npz(path, [name, *shown.values(), *(n for n in (label, id) if n is not None)], maybe=["y"])
    label = label if label is not None else "y" if "y" in arrays else None
    columns = {kind or "x": name} | shown
    columns |= ({"label": label} if label else {}) | ({"id": id} if id else {})
    items = array_items(
        arrays[name],
        source=str(path),
        kind=kind,
        labels=arrays[label] if label else None,
        ids=arrays[id] if id else None,
        columns=columns,
    )
    if not shown:
        return items
    [(content, other)] = shown.items()
    contents = array_items(arrays[other], source=f"{other!r} of {path}", kind=content).values
    return replace(items, contents=contents)


def array_items(
    values: Array,
    *,
    source: str,
    kind: str | None = None,
    labels: Array | None = None,
    ids: Array | None = None,
    columns: Mapping[str, str] | None = None,
) -> Items:
    """Items from an array: uint8 (N, H, W, 3) is pictures, numbers (N, d) embeddings, strings (N,) texts."""
    content = _kind_of(values, source)
    if kind is not None:
        check_kind(kind)
        if kind != content:
            raise InputError(
                f"{source} holds {content}s (an array of shape {values.shape}), not {kind}s.", option="kind"
            )
    if labels is not None and labels.shape != (len(values),):
        raise InputError(
            f"{source} has {len(values)} items but labels of shape {labels.shape}; give one label for each.",
            option="label",
        )
    references = [str(row) for row in range(len(values))] if ids is None else _references(ids, source)
    rows: Any = values.tolist() if content == "text" else values
    if content == "embedding":
        rows = as_floats(values)
        check_finite(rows, references, source)
    item_labels = None if labels is None else as_labels(labels, source=source)
    report = {content if key == "x" else key: name for key, name in (columns or {}).items()}
    return Items(content, rows, references, source, item_labels, report)


def load_npy(path: Path) -> Array:
    """The array of an ``.npy`` file, or one clear error."""
    with _load(path) as content:
        if not isinstance(content, np.ndarray):
            raise InputError(f"{path} holds several arrays; rename it to .npz.")
        return _check_letters(content)


def load_npz(path: Path, names: Sequence[str], *, maybe: Sequence[str] = ()) -> dict[str, Array]:
    """These arrays of an ``.npz`` file, and those of ``maybe`` that it has, or one clear error."""
    with _load(path) as content:
        if isinstance(content, np.ndarray):
            raise InputError(f"{path} holds one array; rename it to .npy.")
        for name in names:
            if name not in content.files:
                raise InputError(_no_array(path, name, content.files))
        wanted = [name for name in content.files if name in (*names, *maybe)]
        return {name: _check_letters(content[name]) for name in wanted}


def _check_letters(array: Array) -> Array:
    """The array; raise where a text holds numbers that are no letters, on which Python itself would fail."""
    if array.dtype.kind == "U" and array.size and array.dtype.itemsize:
        codes = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("="))).reshape(-1).view(np.uint32)
        if codes.max() > sys.maxunicode:
            raise ValueError("a text holds a letter that does not exist")
    return array


@contextmanager
def _load(path: Path) -> Iterator[Any]:
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty; write it again.")
    try:
        # Opened here, because NumPy leaves a broken archive open.
        with path.open("rb") as file:
            yield np.load(file, allow_pickle=False)
    except InputError:
        raise
    except Exception as error:  # a damaged header can fail in any way, even in its tokens
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: Exception) -> InputError:
    text = str(error)
    if "allow_pickle" in text or "pickle" in text.lower():
        return InputError(
            f"{path} holds pickled objects or is not a NumPy file; pickles can run code and are never "
            "loaded. Save arrays of numbers or strings."
        )
    return InputError(f"{path} is not a complete NumPy file ({reason_of(error)}); write it again.")


def _kind_of(values: Array, source: str) -> str:
    shape, letter = values.shape, values.dtype.kind
    if len(shape) and not all(shape):
        raise NothingToDo(f"{source} is empty: its array has the shape {shape}.")
    if values.dtype == np.uint8 and len(shape) == 4 and shape[3] == 3:
        return "image"
    if letter in "fiu" and len(shape) == 2:
        return "embedding"
    if letter == "U" and len(shape) == 1:
        return "text"
    raise InputError(
        f"{source} has shape {shape} and type {values.dtype}; use embeddings (N, d) of "
        "numbers, pictures (N, H, W, 3) of uint8 or texts (N,) of strings."
    )


def _references(ids: Array, source: str) -> list[str]:
    names = [str(value) for value in ids.ravel().tolist()]
    if len(set(names)) < len(names):
        raise InputError(f"The ids of {source} are not unique; use another array or none.", option="id")
    return names


def _no_array(path: Path, name: str, arrays: Sequence[str]) -> str:
    hint = ""
    if name == "x" and "train_x" in arrays:
        hint = " It holds two parts; choose one with the options embedding 'train_x' and label 'train_y'."
    return f"{path} has no array {name!r}; it has {', '.join(sorted(arrays)) or 'none'}.{hint}"
