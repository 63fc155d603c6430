"""Data in any accepted form -> embeddings that fit the workspace, or one clear error."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbcgcd.checks import check_number
from vbcgcd.errors import InputError, MissingFileError, NothingToDo
from vbcgcd.items import Failure, Items, read_items
from vbcgcd.items.cells import is_picture
from vbcgcd.items.frames import is_series, list_of
from vbcgcd.items.from_table import table_items
from vbcgcd.items.memory import list_items, table_in_memory
from vbcgcd.items.read import ARRAYS, array_items, load_npz
from vbcgcd.items.tables import TABLES
from vbcgcd.workspace.snapshot import State

if TYPE_CHECKING:
    from vbcgcd.embed import Embedder

Array = NDArray[Any]
Progress = bool | Callable[[int, int], None] | None
PathLike = str | os.PathLike[str]
#: Name and fingerprint of what made vectors that do not say.
UNKNOWN = "array"

__all__ = [
    "UNKNOWN",
    "Batch",
    "EmbedderMark",
    "Embedding",
    "Maker",
    "Progress",
    "check_embedder",
    "items_of_path",
    "load_items",
    "single_item",
    "storable",
]


class Maker(NamedTuple):
    """Name and fingerprint of the embedder that made the vectors of a file."""

    name: str = UNKNOWN
    fingerprint: str = UNKNOWN


UNKNOWN_MAKER = Maker()


@dataclass(frozen=True)
class EmbedderMark:
    """The embedder of a workspace.

    Parameters
    ----------
    name : str
    kind : {"image", "text", "embedding"}
        What the items are.
    fingerprint : str
        ``"array"`` for vectors that do not say what made them.
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
    """

    items: Items
    vectors: Array
    mark: EmbedderMark
    failures: tuple[Failure, ...] = ()

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def references(self) -> list[str]:
        """Names of the items, as UTF-8 can hold them."""
        return [storable(reference) for reference in self.items.references]

    def take(self, rows: Array) -> Batch:
        """Some of the items."""
        return replace(self, items=self.items.take(rows), vectors=self.vectors[rows])


@dataclass(frozen=True)
class Embedding:
    """How the items of a workspace become vectors.

    Parameters
    ----------
    state : State
        Its settings and what made the embeddings so far.
    embedder : Embedder, optional
        Used instead of the one that the settings name.
    cache : bool or path
        Whether and where embeddings are cached, as in ``vbcgcd.embed.embed_items``.
    progress : bool or callable, optional
        As in ``vbcgcd.embed.embed_items``.
    check_setting : callable
        Called before the embedder that the settings name is made; it may raise.
    loaded : dict
        Embedders that were loaded before, which is slow, by what names them; more are added to it.
    prefer : dict
        Columns that the workspace remembers, as ``prefer`` of ``vbcgcd.items.read_items``.
    """

    state: State
    embedder: Embedder | None = None
    cache: bool | PathLike = True
    progress: Progress = None
    check_setting: Callable[[], object] = lambda: None
    loaded: dict[str, Embedder] = field(default_factory=dict)
    prefer: Mapping[str, Any] = field(default_factory=dict)

    def load(
        self,
        data: Any,
        columns: Mapping[str, Any],
        *,
        labels: Any = None,
        row: int | None = None,
        check: Callable[[Items], object] | None = None,
    ) -> Batch:
        """Data in any accepted form as a batch.

        Parameters
        ----------
        data, columns, labels
            As for `load_items`.
        row : int, optional
            Take only this item.
        check : callable, optional
            Called with the items before anything is embedded; it may raise.
        """
        items, maker = load_items(data, columns, labels, self.prefer)
        if row is not None:
            check_number("row", row, low=0, high=len(items) - 1, whole=True)
            items = items.take([row])
        return self.embed(items, maker, check)

    def read(self, data: Any, columns: Mapping[str, Any]) -> Items:
        """Data in any accepted form as items, not embedded."""
        return load_items(data, columns, None, self.prefer)[0]

    def embed(
        self, items: Items, maker: Maker = UNKNOWN_MAKER, check: Callable[[Items], object] | None = None
    ) -> Batch:
        """Items with embeddings that fit the workspace.

        Parameters
        ----------
        items : Items
        maker : Maker
            What made the vectors, for items that are vectors already.
        check : callable, optional
            Called with the items before anything is embedded; it may raise.
        """
        if len(items) == 0:
            raise NothingToDo(f"There are no items in {items.source}.")
        self._check_kind(items, maker)
        if check is not None:
            check(items)
        batch = _vectors_of(items, maker) if items.kind == "embedding" else self._embed(items)
        self._check_mark(batch)
        return batch

    def _check_kind(self, items: Items, maker: Maker) -> None:
        mark = self.state.embedder
        kind = self.state.config.get("kind") if mark is None else mark["kind"]
        if kind is None or items.kind == kind:
            return
        if mark is not None and items.kind == "embedding" and maker.fingerprint == mark["fingerprint"]:
            return  # embedded beforehand by the same embedder
        if mark is not None and kind == "embedding" and mark["fingerprint"] != UNKNOWN:
            return  # the workspace was made from vectors of an embedder; the fingerprint decides
        raise InputError(
            f"This workspace is for {kind}s, but {items.source} holds {items.kind}s; use {kind}s, or create "
            "a new workspace."
        )

    def _embed(self, items: Items) -> Batch:
        from vbcgcd.embed import embed_items

        embedder = self.embedder or self._named(items.kind)
        mark = EmbedderMark(embedder.name, items.kind, embedder.fingerprint, embedder.dimension)
        self._check_fingerprint(mark)
        result = embed_items(items, embedder, cache=self.cache, progress=self.progress)
        if not len(result.rows):
            if len(items) == 1:
                raise InputError(f"{items.references[0]} could not be embedded: {result.failures[0].reason}.")
            raise InputError(f"None of the items in {items.source} could be embedded. {result.summary()}")
        mark = replace(mark, dimension=result.vectors.shape[1])
        return Batch(items.take(result.rows), result.vectors, mark, result.failures)

    def _named(self, kind: str) -> Embedder:
        """The embedder of the settings; one that has made vectors before is loaded for missing ones only."""
        from vbcgcd.embed.deferred import DeferredEmbedder

        self.check_setting()
        known = self.state.embedder
        if known is None or known["fingerprint"] == UNKNOWN:
            return self.load_embedder(kind)
        return DeferredEmbedder(
            known["name"],
            kind,
            known["fingerprint"],
            known["dimension"],
            load=lambda: self.load_embedder(kind),
        )

    def warm_up(self) -> None:
        """Load the embedder of the settings, if the items of the workspace need one."""
        known = self.state.embedder
        if self.embedder is None and known is not None and known["kind"] != "embedding":
            self.load_embedder(known["kind"])

    def ready(self, kind: str) -> Embedder:
        """The embedder itself, loaded."""
        return self.embedder or self.load_embedder(kind)

    def load_embedder(self, kind: str) -> Embedder:
        """The embedder that the settings name; raises if it is not the one of this workspace."""
        self.check_setting()
        config = self.state.config
        options = dict(config.get("embedder_options") or {})
        key = json.dumps([config.get("embedder"), kind, options], sort_keys=True)
        if key not in self.loaded:
            self.loaded[key] = make_embedder(config.get("embedder"), kind=kind, **options)
        made = self.loaded[key]
        self._check_fingerprint(EmbedderMark(made.name, kind, made.fingerprint, made.dimension))
        return made

    def _check_mark(self, batch: Batch) -> None:
        self._check_fingerprint(batch.mark)
        known = self.state.embedder
        if known is not None and batch.mark.dimension != known["dimension"]:
            embedder = (
                f"the embedder {known['name']!r}" if known["fingerprint"] != UNKNOWN else "the same embedder"
            )
            raise InputError(
                f"This workspace uses embeddings of {known['dimension']} dimensions, but "
                f"{batch.items.source} has {batch.mark.dimension}; use {embedder}."
            )

    def _check_fingerprint(self, mark: EmbedderMark) -> None:
        """Before the work and after it; vectors that do not say what made them pass."""
        known = self.state.embedder
        if known is None or UNKNOWN in (mark.fingerprint, known["fingerprint"]):
            return
        if mark.fingerprint != known["fingerprint"]:
            raise InputError(
                f"This workspace was made with the embedder {known['name']!r} (fingerprint "
                f"{known['fingerprint'][:12]}), these embeddings come from {mark.name!r} "
                f"({mark.fingerprint[:12]}) and cannot be compared; use the same embedder, or create another "
                "workspace."
            )


def load_items(
    data: Any, columns: Mapping[str, Any], labels: Any = None, prefer: Mapping[str, Any] | None = None
) -> tuple[Items, Maker]:
    """Items from a path, a table, an array or Items, and what made their vectors, where a file says so.

    Parameters
    ----------
    data : path, Items, array, list of texts, paths of pictures or dicts, or a frame, Series or dataset of
        pandas, polars, Arrow or Hugging Face
    columns : dict
        Options of ``vbcgcd.items.read_items``; only for a path or a table.
    labels : array-like (N,), optional
        Only for an array or a list.
    prefer : mapping, optional
        As for ``vbcgcd.items.read_items``.
    """
    chosen = {name: value for name, value in columns.items() if value is not None}
    if isinstance(data, str | os.PathLike):
        if labels is not None:
            raise InputError(
                "labels can only be passed with an array; for a file, name the label column with the option "
                "'label'.",
                option="labels",
            )
        return items_of_path(Path(data), chosen, prefer)
    table = table_in_memory(data) if labels is None or chosen else None
    if table is not None:
        if labels is not None:
            raise InputError(
                "labels and names of columns cannot be passed together; name the label column with the "
                "option 'label'.",
                option="labels",
            )
        return table_items(table, prefer=prefer, **chosen), UNKNOWN_MAKER
    if chosen:
        raise InputError(
            f"{', '.join(chosen)} can only be used with a file or a table, got {type(data).__name__}.",
            option=next(iter(chosen)),
        )
    if isinstance(data, Items):
        if labels is not None:
            raise InputError(
                "labels can only be passed with an array; Items have their own.", option="labels"
            )
        return data, _maker_of(data)
    try:
        known = None if labels is None else np.asarray(labels)
        values = list_of(data) if is_series(data) else data
        listed = _listed(values)
        array = None if listed is not None else np.asarray(values)
    except ValueError as error:
        raise InputError(f"The data cannot be turned into an array: {error}.") from None
    if listed is not None:
        return list_items(listed, source="the list", labels=known), UNKNOWN_MAKER
    assert array is not None
    return array_items(array, source="the array", labels=known), UNKNOWN_MAKER


def _listed(values: Any) -> list[Any] | None:
    """Texts or paths of a list, as they are: an array of texts is as wide as the longest."""
    if not isinstance(values, list | tuple) or not values:
        return None
    if all(isinstance(value, os.PathLike) for value in values):
        return [Path(value).absolute() for value in values]
    texts = all(isinstance(value, str | None) for value in values)
    # A missing text is an empty one, which is reported and left out.
    return ["" if value is None else str(value) for value in values] if texts else None


def items_of_path(
    path: Path, columns: dict[str, Any], prefer: Mapping[str, Any] | None = None
) -> tuple[Items, Maker]:
    """Items of a file or folder, and what made their vectors, where the file says so."""
    if path.suffix.lower() == ".npz" and path.is_file() and not columns.get("format"):
        # Files of embeddings name their embedder and their items.
        arrays = load_npz(path, [], maybe=["embedder", "fingerprint", "references"])
        if "references" in arrays and all(name in ("label", "kind") for name in columns):
            columns = {**columns, "id": "references"}
        items = read_items(path, **columns)
        if "embedder" in arrays:
            fingerprint = str(arrays.get("fingerprint", UNKNOWN))
            items = replace(items, made_by=(str(arrays["embedder"]), fingerprint))
    else:
        items = read_items(path, prefer=prefer, **columns)
    return items, _maker_of(items)


def _maker_of(items: Items) -> Maker:
    return UNKNOWN_MAKER if items.made_by is None else Maker(*items.made_by)


def single_item(item: str, kind: str | None) -> Items | None:
    """An item given as a string: a picture, or a text if there is no such file; None for data."""
    if os.path.isfile(item) and is_picture(item):
        return Items("image", [Path(item).absolute()], [item], item)
    endings = (*ARRAYS, *TABLES)
    looks_like_a_file = len(item.split()) == 1 and (
        item.lower().endswith(endings) or is_picture(item) or item.startswith("hf:")
    )
    if os.path.exists(item) or looks_like_a_file:
        return None
    if kind not in ("text", None):  # None: nothing was learned, which is what the error should say
        raise MissingFileError(
            f"There is no file {item[:200]!r}. This workspace holds {kind}s: give a file, and --row if it "
            "has more than one item."
        )
    return Items("text", [item], ["this text"], "this text")


def storable(text: str) -> str:
    """Text as UTF-8 can hold it."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def check_embedder(embedder: Any) -> None:
    """Raise unless this is an embedder or None."""
    from vbcgcd.embed import Embedder

    if embedder is not None and not isinstance(embedder, Embedder):
        raise InputError(
            f"embedder must be a vbcgcd.embed.Embedder, got {embedder!r}; init and configure also accept a "
            "name or path.",
            option="embedder",
        )


def make_embedder(name: str | None, *, kind: str, **options: Any) -> Embedder:
    """``vbcgcd.embed.embedder``, which most commands need not wait for."""
    from vbcgcd.embed import embedder

    return embedder(name, kind=kind, **options)


def _vectors_of(items: Items, maker: Maker) -> Batch:
    vectors = np.asarray(items.values)
    if vectors.dtype not in (np.float32, np.float64):
        vectors = vectors.astype(np.float32 if vectors.dtype == np.float16 else np.float64)
    if not np.isfinite(vectors).all():
        row = int(np.flatnonzero(~np.isfinite(vectors).all(axis=1))[0])
        raise InputError(
            f"Item {items.references[row]!r} of {items.source} contains NaN or infinity; remove the item "
            "or replace the value."
        )
    mark = EmbedderMark(maker.name, "embedding", maker.fingerprint, int(vectors.shape[1]))
    return Batch(items, vectors, mark)
