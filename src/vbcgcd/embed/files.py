"""A dataset on disk -> one ``.npz`` file of embeddings."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.archive import written_whole
from vbcgcd.embed.protocol import Embedder
from vbcgcd.embed.registry import embedder as make_embedder
from vbcgcd.embed.result import EmbedResult
from vbcgcd.embed.run import embed_items
from vbcgcd.errors import InputError
from vbcgcd.items import Items, read_items

Array = NDArray[Any]

__all__ = ["EmbeddedFile", "embed_file", "embed_parts", "write_arrays"]


@dataclass(frozen=True, eq=False)
class EmbeddedFile:
    """What ``embed_file`` wrote.

    Parameters
    ----------
    path : Path
    embedder, fingerprint : str
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
        """All that went wrong, part by part; empty if nothing did."""
        said = {name: part.summary() for name, part in self.parts.items()}
        return "\n".join(f"{name}: {text}" if name else text for name, text in said.items() if text)


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
    """Embed a table, a folder of pictures or a NumPy file into an ``.npz`` file.

    The file holds ``x`` float32 (n, D), ``y`` (n,) where there are labels, and ``references`` (n,).
    ``embedder`` and ``fingerprint`` say what made the vectors. It appears complete or not at all.

    Parameters
    ----------
    data_path : str or Path
        As in ``vbcgcd.items.read_items``.
    out_path : str or Path
        Ends in ``.npz``.
    embedder, options, cache, progress, workers
        As in ``embed_parts``.
    **columns
        ``kind``, ``text``, ``image``, ``label``, ``embedding``, ``id`` of ``vbcgcd.items.read_items``.

    Returns
    -------
    EmbeddedFile
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
    """Embed the parts of a dataset into one ``.npz`` file.

    ``{"": items}`` gives ``x``, ``y`` and ``references``; ``{"train": ..., "test": ...}`` gives ``train_x``,
    ``train_y``, ``train_references``, the same for ``test``, and ``names``.

    Parameters
    ----------
    parts : dict of str to Items
    out_path : str or Path
        Ends in ``.npz``.
    names : sequence of str, optional
        Names of the categories, where labels are numbers into it.
    embedder : Embedder, str or Path, optional
        An embedder, or what ``vbcgcd.embed.embedder`` makes one from.
    options : dict, optional
        For ``vbcgcd.embed.embedder``, where it makes one.
    cache, progress, workers
        As in ``embed_items``.

    Returns
    -------
    EmbeddedFile
    """
    target = _check_target(Path(out_path))
    kind = next(iter(parts.values())).kind
    made: Any = embedder
    if embedder is None or isinstance(embedder, str | os.PathLike):
        made = make_embedder(embedder, kind=kind, **(options or {}))
    done = {
        name: embed_items(items, made, cache=cache, progress=progress, workers=workers)
        for name, items in parts.items()
    }
    for name, result in done.items():
        if not len(result.rows):
            raise InputError(f"Nothing of {parts[name].source} could be embedded. {result.summary()}")
    arrays = _arrays(parts, done)
    if names is not None:
        arrays["names"] = np.array(names, dtype=np.str_)
    arrays |= {"embedder": np.array(made.name), "fingerprint": np.array(made.fingerprint)}
    write_arrays(target, arrays)
    return EmbeddedFile(target, made.name, made.fingerprint, done)


def _check_target(target: Path, source: Path | None = None) -> Path:
    """Raise before hours of work if the file cannot be written in the end."""
    if target.suffix.lower() != ".npz":
        raise InputError(f"The output must end in .npz, got {target}.")
    if not target.parent.is_dir():
        raise InputError(f"Cannot write {target}: there is no folder {target.parent}; make it first.")
    if not os.access(target.parent, os.W_OK) or target.is_dir():
        raise InputError(f"Cannot write {target}; choose a folder that can be written.")
    if source is not None and target.exists() and source.exists() and target.samefile(source):
        raise InputError(f"{target} is the data itself; choose another name for the embeddings.")
    return target


def _arrays(parts: dict[str, Items], done: dict[str, EmbedResult]) -> dict[str, Array]:
    arrays: dict[str, Array] = {}
    for name, items in parts.items():
        kept, prefix = items.take(done[name].rows), f"{name}_" if name else ""
        arrays[f"{prefix}x"] = done[name].vectors
        arrays[f"{prefix}references"] = np.array(kept.references, dtype=np.str_)
        if kept.labels is not None:
            arrays[f"{prefix}y"] = _plain_labels(kept.labels)
    return arrays


def _plain_labels(labels: Any) -> Array:
    """Labels without objects: a missing one is "" among strings and NaN among numbers."""
    if labels.dtype != object:
        return np.asarray(labels)
    if all(isinstance(label, str | None) for label in labels):
        return np.array(["" if label is None else label for label in labels], dtype=np.str_)
    return np.array([np.nan if label is None else label for label in labels], dtype=np.float64)


def write_arrays(target: Path, arrays: dict[str, Array]) -> None:
    """Write an ``.npz`` file aside, sync it, rename it; on an error the target stays as it was."""
    try:
        with written_whole(target) as out:
            np.savez(out, allow_pickle=False, **arrays)
    except OSError as error:
        raise InputError(
            f"Cannot write {target}: {error.strerror or error}; the embeddings are in the cache, so after "
            "making room the same command is quick."
        ) from None
