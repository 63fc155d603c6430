"""Items from NumPy files: embeddings, pictures or texts, never pickled objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.errors import InputError
from vbcgcd.items.items import KINDS, Items
from vbcgcd.items.labels import as_labels
from vbcgcd.items.vectors import as_floats, check_finite

Array = NDArray[Any]

__all__ = ["array_items", "load_npy", "load_npz", "read_array"]


def read_array(
    path: Path,
    *,
    kind: str | None = None,
    label: str | None = None,
    id: str | None = None,
    **said: str | None,
) -> Items:
    """Items of an ``.npy`` file (one array) or an ``.npz`` file (``x``, and ``y`` if there are labels).

    Parameters
    ----------
    path : Path
    kind : str, optional
        What the array must hold.
    label, id : str, optional
        Names of arrays in the ``.npz`` file, where labels are not ``y``.
    **said
        ``text``, ``image`` or ``embedding``: the name of the array, where it is not ``x``.
    """
    given = {k: v for k, v in said.items() if v is not None}
    if len(given) > 1 or (given and kind is not None and kind not in given):
        raise InputError(f"Say one of text, image, embedding for {path}, got {', '.join(given)}.")
    kind = next(iter(given), kind)
    if path.suffix.lower() == ".npy":
        if given or label or id:
            raise InputError(f"{path} holds one array without a name; columns cannot be chosen in it.")
        return array_items(load_npy(path), source=str(path), kind=kind)
    name = next(iter(given.values()), "x")
    arrays = load_npz(path, [name, *(n for n in (label, id) if n is not None)], maybe=["y"])
    label = label if label is not None else "y" if "y" in arrays else None
    report = {kind or "x": name} | ({"label": label} if label else {}) | ({"id": id} if id else {})
    return array_items(
        arrays[name],
        source=str(path),
        kind=kind,
        labels=arrays[label] if label else None,
        ids=arrays[id] if id else None,
        columns=report,
    )


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
    found = _kind(values, source)
    if kind is not None and kind not in KINDS:
        raise InputError(f"kind must be one of {', '.join(map(repr, KINDS))}, got {kind!r}.")
    if kind is not None and kind != found:
        raise InputError(f"{source} holds {found}s of shape {values.shape}, asked was kind={kind!r}.")
    if labels is not None and labels.shape != (len(values),):
        raise InputError(
            f"{source} has {len(values)} items but labels of shape {labels.shape}; give one label for each."
        )
    references = [str(row) for row in range(len(values))] if ids is None else _references(ids, source)
    kept: Any = values.tolist() if found == "text" else values
    if found == "embedding":
        kept = as_floats(values)
        check_finite(kept, references, source)
    known = None if labels is None else as_labels(labels, source=source)
    report = {found if key == "x" else key: name for key, name in (columns or {}).items()}
    return Items(found, kept, references, source, known, report)


def load_npy(path: Path) -> Array:
    """The array of an ``.npy`` file, or one clear error."""
    with _loading(path) as loaded:
        if not isinstance(loaded, np.ndarray):
            raise InputError(f"{path} holds several arrays; name it .npz.")
        return loaded


def load_npz(path: Path, names: Sequence[str], *, maybe: Sequence[str] = ()) -> dict[str, Array]:
    """These arrays of an ``.npz`` file, and those of ``maybe`` that it has, or one clear error."""
    with _loading(path) as loaded:
        if isinstance(loaded, np.ndarray):
            raise InputError(f"{path} holds one array; name it .npy.")
        for name in names:
            if name not in loaded.files:
                raise InputError(_no_array(path, name, loaded.files))
        return {name: loaded[name] for name in loaded.files if name in (*names, *maybe)}


@contextmanager
def _loading(path: Path) -> Iterator[Any]:
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty; write it again.")
    try:
        # Opened here, because NumPy leaves a broken archive open.
        with path.open("rb") as file:
            yield np.load(file, allow_pickle=False)
    except InputError:
        raise
    except Exception as error:  # a damaged header can fail in any way, in its tokens too
        raise _broken(path, error) from None


def _broken(path: Path, error: Exception) -> InputError:
    text = str(error)
    if "allow_pickle" in text or "pickle" in text.lower():
        return InputError(
            f"{path} holds pickled objects or is no NumPy file; pickles can run code and are never loaded. "
            "Save arrays of numbers or strings."
        )
    return InputError(f"{path} is not a complete NumPy file ({text}); write it again.")


def _kind(values: Array, source: str) -> str:
    shape, letter = values.shape, values.dtype.kind
    if len(shape) and not all(shape):
        raise InputError(f"{source} holds an array of shape {shape}: there is nothing in it.")
    if values.dtype == np.uint8 and len(shape) == 4 and shape[3] == 3:
        return "image"
    if letter in "fiu" and len(shape) == 2:
        return "embedding"
    if letter == "U" and len(shape) == 1:
        return "text"
    raise InputError(
        f"{source} holds an array of shape {shape} and type {values.dtype}; allowed are embeddings (N, d) of "
        "numbers, pictures (N, H, W, 3) of uint8 and texts (N,) of strings."
    )


def _references(ids: Array, source: str) -> list[str]:
    names = [str(value) for value in ids.ravel().tolist()]
    if len(set(names)) < len(names):
        raise InputError(f"The ids of {source} are not all different.")
    return names


def _no_array(path: Path, name: str, arrays: Sequence[str]) -> str:
    hint = ""
    if name == "x" and "train_x" in arrays:
        hint = " It is a dataset of two parts; choose one: embedding='train_x', label='train_y'."
    return f"{path} has no array {name!r}, it has {', '.join(sorted(arrays)) or 'none'}.{hint}"
