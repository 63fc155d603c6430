"""From a dataset on disk to one file of embeddings, ``.npz`` or Parquet."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.archive import atomic_file
from vbcgcd.embed.parquet import write_embedded
from vbcgcd.embed.protocol import Embedder
from vbcgcd.embed.registry import embedder as make_embedder
from vbcgcd.embed.result import EmbedResult
from vbcgcd.embed.run import embed_items
from vbcgcd.errors import DiskError, InputError, MissingFileError
from vbcgcd.items import Items, read_items
from vbcgcd.items.parquet import pyarrow_module

Array = NDArray[Any]

__all__ = ["EmbeddedFile", "embed_file", "embed_parts", "write_arrays"]


@dataclass(frozen=True, eq=False)
class EmbeddedFile:
    """The file that ``embed_file`` or ``embed_parts`` wrote.

    Parameters
    ----------
    path : Path
    embedder, fingerprint : str
        Name and fingerprint of the embedder.
    parts : dict of str to EmbedResult
        ``{"": ...}``, or ``{"train": ..., "test": ...}`` for a dataset of two parts.
    """

    path: Path
    embedder: str
    fingerprint: str
    parts: dict[str, EmbedResult]

    @property
    def n_embedded(self) -> int:
        """Items in the file."""
        return sum(len(part.rows) for part in self.parts.values())

    def summary(self) -> str:
        """Everything that went wrong, part by part; empty if nothing did."""
        texts = {name: part.summary() for name, part in self.parts.items()}
        return "\n".join(f"{name}: {text}" if name else text for name, text in texts.items() if text)


def embed_file(
    data_path: str | os.PathLike[str],
    out_path: str | os.PathLike[str],
    *,
    embedder: Embedder | str | os.PathLike[str] | None = None,
    options: dict[str, Any] | None = None,
    cache: bool | str | os.PathLike[str] | None = True,
    progress: Any = None,
    workers: int | None = None,
    **columns: Any,
) -> EmbeddedFile:
    """Embed a table, a folder of pictures or a NumPy file into an ``.npz`` or Parquet file.

    The ``.npz`` holds ``x`` float32 (n, D), ``y`` (n,) where there are labels, and ``references`` (n,).
    ``embedder`` and ``fingerprint`` identify what computed the vectors. A ``.parquet`` has the columns
    ``id``, ``text`` or ``image``, ``label`` and ``embedding``, so that texts and pictures stay with their
    vectors. The file appears complete or not at all.

    Parameters
    ----------
    data_path : str or Path
        The table, folder or NumPy file; see ``vbcgcd.items.read_items``.
    out_path : str or Path
        Where to write; ends in ``.npz`` or ``.parquet``.
    embedder, options, cache, progress, workers
        How to embed; see ``embed_parts``.
    **columns
        ``kind``, ``text``, ``image``, ``label``, ``embedding`` and ``id`` of ``vbcgcd.items.read_items``.

    Returns
    -------
    EmbeddedFile

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> data, out = pathlib.Path(folder.name, "data.npy"), pathlib.Path(folder.name, "out.npz")
    >>> np.save(data, np.eye(3))
    >>> embed_file(data, out).n_embedded
    3
    >>> folder.cleanup()
    """
    target = _check_target(Path(out_path), Path(data_path))
    return embed_parts(
        {"": read_items(data_path, **columns)},
        target,
        embedder=embedder,
        options=options,
        cache=cache,
        progress=progress,
        workers=workers,
    )


def embed_parts(
    parts: dict[str, Items],
    out_path: str | os.PathLike[str],
    *,
    names: Sequence[str] | None = None,
    embedder: Embedder | str | os.PathLike[str] | None = None,
    options: dict[str, Any] | None = None,
    cache: bool | str | os.PathLike[str] | None = True,
    progress: Any = None,
    workers: int | None = None,
) -> EmbeddedFile:
    """Embed the parts of a dataset into one ``.npz`` or Parquet file.

    ``{"": items}`` gives ``x``, ``y`` and ``references``; ``{"train": ..., "test": ...}`` gives ``train_x``,
    ``train_y``, ``train_references``, the same for ``test``, and ``names``. In Parquet, a column ``split``
    holds the name of the part.

    Parameters
    ----------
    parts : dict of str to Items
        The items of each part.
    out_path : str or Path
        Where to write; ends in ``.npz`` or ``.parquet``.
    names : sequence of str, optional
        Names of the categories, if labels are indices into them.
    embedder : Embedder, str or Path, optional
        An embedder, or a name or path for ``vbcgcd.embed.embedder``; None takes the offline default.
    options : dict, optional
        Further options for ``vbcgcd.embed.embedder``, such as ``{"device": "cuda"}``.
    cache, progress, workers
        Where to cache vectors, how to show progress, and how many threads prepare items; see ``embed_items``.

    Returns
    -------
    EmbeddedFile

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> train = Items("embedding", np.eye(2), ["0", "1"], "memory", np.array([1, 0]))
    >>> file = embed_parts({"train": train}, pathlib.Path(folder.name, "out.npz"), names=["cat", "dog"])
    >>> sorted(np.load(file.path))
    ['embedder', 'fingerprint', 'names', 'train_references', 'train_x', 'train_y']
    >>> folder.cleanup()
    """
    target = _check_target(Path(out_path))
    kind = next(iter(parts.values())).kind
    model: Any = embedder
    if embedder is None or isinstance(embedder, str | os.PathLike):
        model = make_embedder(embedder, kind=kind, **(options or {}))
    results = {
        name: embed_items(items, model, cache=cache, progress=progress, workers=workers)
        for name, items in parts.items()
    }
    for name, result in results.items():
        if not len(result.rows):
            raise InputError(f"No item of {parts[name].source} could be embedded. {result.summary()}")
    if target.suffix.lower() == ".parquet":
        rows = [(name, parts[name].take(result.rows), result.vectors) for name, result in results.items()]
        write_embedded(target, rows, names, (model.name, model.fingerprint))
        return EmbeddedFile(target, model.name, model.fingerprint, results)
    arrays = _arrays(parts, results)
    if names is not None:
        arrays["names"] = np.array(names, dtype=np.str_)
    arrays |= {"embedder": np.array(model.name), "fingerprint": np.array(model.fingerprint)}
    write_arrays(target, arrays)
    return EmbeddedFile(target, model.name, model.fingerprint, results)


def _check_target(target: Path, source: Path | None = None) -> Path:
    """Raise before hours of work if the file could not be written in the end."""
    if target.suffix.lower() not in (".npz", ".parquet"):
        raise InputError(f"The output must end in .npz or .parquet, got {target}.", option="out_path")
    if target.suffix.lower() == ".parquet":
        pyarrow_module()
    if not target.parent.is_dir():
        raise MissingFileError(
            f"Cannot write {target}: there is no folder {target.parent}; create it first.", option="out_path"
        )
    if not os.access(target.parent, os.W_OK) or target.is_dir():
        raise InputError(f"Cannot write {target}; choose a folder that can be written.", option="out_path")
    if source is not None and target.exists() and source.exists() and target.samefile(source):
        raise InputError(
            f"{target} is the data itself; choose another name for the embeddings.", option="out_path"
        )
    return target


def _arrays(parts: dict[str, Items], results: dict[str, EmbedResult]) -> dict[str, Array]:
    arrays: dict[str, Array] = {}
    for name, result in results.items():
        items, prefix = parts[name].take(result.rows), f"{name}_" if name else ""
        arrays[f"{prefix}x"] = result.vectors
        arrays[f"{prefix}references"] = np.array(items.references, dtype=np.str_)
        if items.labels is not None:
            arrays[f"{prefix}y"] = _plain_labels(items.labels)
    return arrays


def _plain_labels(labels: Any) -> Array:
    """Labels without objects: a missing one is "" among strings and NaN among numbers."""
    if labels.dtype != object:
        return np.asarray(labels)
    if all(isinstance(label, str | None) for label in labels):
        return np.array(["" if label is None else label for label in labels], dtype=np.str_)
    return np.array([np.nan if label is None else label for label in labels], dtype=np.float64)


def write_arrays(target: Path, arrays: dict[str, Array]) -> None:
    """Write an ``.npz`` file atomically; after an error, an existing file is unchanged."""
    try:
        with atomic_file(target) as out:
            np.savez(out, allow_pickle=False, **arrays)
    except OSError as error:
        raise DiskError(
            f"Cannot write {target}: {error.strerror or error}; the embeddings are in the cache, so make "
            "room and run the same command again, which will be quick.",
            cause=error,
        ) from None
