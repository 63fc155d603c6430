"""Data as users bring it -> embeddings that fit the workspace, or one clear error."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.embed import Embedder, Failure, embed_items
from vbcgcd.embed import embedder as make_embedder
from vbcgcd.errors import InputError
from vbcgcd.items import Items, read_items
from vbcgcd.items.arrays import array_items, load_npz
from vbcgcd.workspace.origin import NOWHERE, Origin

Array = NDArray[Any]
Check = Callable[[Items], None]
#: Fingerprint of vectors that do not tell what made them.
UNKNOWN = "array"

__all__ = ["Batch", "EmbedderMark", "Reader", "from_path", "storable"]


@dataclass(frozen=True)
class EmbedderMark:
    """What made the embeddings of a workspace.

    Parameters
    ----------
    name : str
    kind : {"image", "text", "embedding"}
        Of the items that were given.
    fingerprint : str
        ``"array"`` for vectors that do not tell.
    dimension : int
    """

    name: str
    kind: str
    fingerprint: str
    dimension: int

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Batch:
    """Items with their embeddings.

    Parameters
    ----------
    items : Items
        Those that have an embedding.
    vectors : float array (N, d)
    mark : EmbedderMark
    failures : tuple of Failure
        Items that could not be embedded.
    origin : Origin
        Where the items can be found again.
    """

    items: Items
    vectors: Array
    mark: EmbedderMark
    failures: tuple[Failure, ...] = ()
    origin: Origin = NOWHERE

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def references(self) -> list[str]:
        """Names of the items, as UTF-8 can hold them."""
        return [storable(reference) for reference in self.items.references]

    def take(self, rows: Array) -> Batch:
        """Some of the items."""
        return Batch(self.items.take(rows), self.vectors[rows], self.mark, self.failures, self.origin)


@dataclass(frozen=True)
class Reader:
    """Reads and embeds data for a workspace.

    Parameters
    ----------
    config : dict
        Settings of the workspace.
    mark : dict or None
        What made the embeddings so far; None before the base session.
    embedder : Embedder, optional
        One that is given, in place of the one that the settings name.
    cache : bool or path
        As in ``vbcgcd.embed.embed_items``.
    """

    config: Mapping[str, Any]
    mark: Mapping[str, Any] | None
    embedder: Embedder | None = None
    cache: bool | str | os.PathLike[str] = True

    def read(
        self,
        data: Any,
        labels: Any = None,
        *,
        progress: bool | Callable[[int, int], None] | None = None,
        origin: Origin = NOWHERE,
        check: Check | None = None,
        **columns: Any,
    ) -> Batch:
        """Items, a path or an array, embedded and checked against what the workspace was made with.

        ``origin`` goes into the batch; ``check`` may raise, and is called before anything is embedded.
        """
        items, maker = self.items(data, columns, labels)
        return replace(self.embedded(items, maker, progress, check), origin=origin)

    def embedded(
        self, items: Items, maker: tuple[str, str], progress: Any = None, check: Check | None = None
    ) -> Batch:
        """Items with embeddings that fit the workspace; ``maker`` as `items` gives it."""
        if len(items) == 0:
            raise InputError(f"There are no items in {items.source}.")
        self._check_kind(items, maker)
        if check is not None:
            check(items)
        batch = (
            _passed_through(items, maker) if items.kind == "embedding" else self._embedded(items, progress)
        )
        self._check_mark(batch)
        return batch

    def items(
        self, data: Any, columns: Mapping[str, Any], labels: Any = None
    ) -> tuple[Items, tuple[str, str]]:
        """The items, and name and fingerprint of what made them, where the file tells."""
        unknown = (UNKNOWN, UNKNOWN)
        if isinstance(data, str | os.PathLike):
            if labels is not None:
                raise InputError("labels are for arrays; in a file they are a column, chosen with label=.")
            return from_path(Path(data), {k: v for k, v in columns.items() if v is not None})
        given = [name for name, value in columns.items() if value is not None]
        if given:
            raise InputError(f"{', '.join(given)} choose columns of a file, and the data is no file.")
        if isinstance(data, Items):
            if labels is not None:
                raise InputError("These items carry their own labels; give labels with arrays only.")
            return data, unknown
        try:
            values = np.asarray(data)
            known = None if labels is None else np.asarray(labels)
        except ValueError as error:
            raise InputError(f"The data cannot be made an array: {error}.") from None
        return array_items(values, source="array", labels=known), unknown

    def _check_kind(self, items: Items, maker: tuple[str, str]) -> None:
        kind = self.config.get("kind") if self.mark is None else self.mark["kind"]
        if kind is None or items.kind == kind:
            return
        if self.mark is not None and items.kind == "embedding" and maker[1] == self.mark["fingerprint"]:
            return  # embedded beforehand by the same embedder
        if self.mark is not None and kind == "embedding" and self.mark["fingerprint"] != UNKNOWN:
            return  # the workspace was made from vectors of an embedder; the fingerprint decides
        raise InputError(
            f"This workspace is for {kind}s, {items.source} holds {items.kind}s; give it {kind}s, or make "
            "another workspace."
        )

    def _embedded(self, items: Items, progress: Any) -> Batch:
        made = self.embedder
        if made is None:
            options = dict(self.config.get("embedder_options") or {})
            made = make_embedder(self.config.get("embedder"), kind=items.kind, **options)
        mark = EmbedderMark(made.name, items.kind, made.fingerprint, made.dimension)
        self._check_fingerprint(mark)
        done = embed_items(items, made, cache=self.cache, progress=progress)
        if not len(done.rows):
            raise InputError(f"Nothing of {items.source} could be embedded. {done.summary()}")
        mark = EmbedderMark(mark.name, mark.kind, mark.fingerprint, done.vectors.shape[1])
        return Batch(items.take(done.rows), done.vectors, mark, done.failures)

    def _check_mark(self, batch: Batch) -> None:
        self._check_fingerprint(batch.mark)
        if self.mark is not None and batch.mark.dimension != self.mark["dimension"]:
            named = self.mark["fingerprint"] != UNKNOWN
            raise InputError(
                f"Embeddings of this workspace have {self.mark['dimension']} numbers, those of "
                f"{batch.items.source} have {batch.mark.dimension}; use "
                + (f"the embedder {self.mark['name']!r}." if named else "what made the first ones.")
            )

    def _check_fingerprint(self, mark: EmbedderMark) -> None:
        """Before the work and after it; vectors of unknown making pass, only their width can be checked."""
        if self.mark is None or UNKNOWN in (mark.fingerprint, self.mark["fingerprint"]):
            return
        if mark.fingerprint != self.mark["fingerprint"]:
            raise InputError(
                f"This workspace was made with the embedder {self.mark['name']!r} (fingerprint "
                f"{self.mark['fingerprint'][:12]}), these embeddings are of {mark.name!r} "
                f"({mark.fingerprint[:12]}) and cannot be compared; use the same embedder, or make another "
                "workspace."
            )


def storable(text: str) -> str:
    """Text as UTF-8 can hold it."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def from_path(path: Path, columns: dict[str, Any]) -> tuple[Items, tuple[str, str]]:
    """Items of a file or folder, and name and fingerprint of what made its embeddings, where it tells."""
    if path.suffix.lower() != ".npz" or not path.is_file():
        return read_items(path, **columns), (UNKNOWN, UNKNOWN)
    # Files of embeddings say what made them, and how the items are called.
    arrays = load_npz(path, [], maybe=["embedder", "fingerprint", "references"])
    plain = all(name in ("label", "kind") for name in columns)
    if "references" in arrays and plain:
        columns = {**columns, "id": "references"}
    maker = tuple(str(arrays[name]) if name in arrays else UNKNOWN for name in ("embedder", "fingerprint"))
    return read_items(path, **columns), (maker[0], maker[1])


def _passed_through(items: Items, maker: tuple[str, str]) -> Batch:
    vectors = np.asarray(items.values)
    if not np.isfinite(vectors).all():
        row = int(np.flatnonzero(~np.isfinite(vectors).all(axis=1))[0])
        raise InputError(
            f"Item {items.references[row]!r} of {items.source} contains NaN or infinity; remove or fill it."
        )
    return Batch(items, vectors, EmbedderMark(maker[0], "embedding", maker[1], int(vectors.shape[1])))
