"""The cache of embeddings: digests of items and embedders, and append-only shards on disk under them."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
import uuid
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from vbcgcd.archive import META, atomic_file, write_archive
from vbcgcd.embed.pictures import check_picture_file
from vbcgcd.embed.protocol import ItemError
from vbcgcd.errors import DiskError, InputError

Array = NDArray[Any]
KIND, VERSION = "embeddings", 1
#: Folder of the shards. Earlier releases wrote shards without checksums, in "embeddings".
FOLDER = "embeddings-2"
KEY_BYTES = 16
#: Bytes of the checksum of an entry.
SUM_BYTES = 8
_DAY_SECONDS = 86_400

__all__ = [
    "KEY_BYTES",
    "VectorCache",
    "cache_folder",
    "digest_of",
    "item_key",
    "state_digest",
    "view_key",
]


def item_key(value: Any) -> bytes:
    """Digest of a text, of the bytes of a picture's file, or of an array with its shape and type."""
    digest = hashlib.blake2b(digest_size=KEY_BYTES)
    if isinstance(value, str):
        digest.update(b"text:" + value.encode("utf-8", "surrogatepass"))
    elif isinstance(value, Path):
        check_picture_file(value)
        digest.update(b"file:")
        try:
            with value.open("rb") as file:
                while block := file.read(1 << 20):
                    digest.update(block)
        except OSError as error:
            raise ItemError(f"cannot be read: {error.strerror or error}") from None
    else:
        array = np.ascontiguousarray(value)
        digest.update(f"array:{array.dtype.str}:{array.shape}:".encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.digest()


def view_key(key: bytes, view: int, seed: int, recipe: Mapping[str, Any]) -> bytes:
    """Digest of one random view of an item."""
    text = json.dumps([view, seed, recipe], sort_keys=True).encode()
    return hashlib.blake2b(key + text, digest_size=KEY_BYTES).digest()


def state_digest(tensors: Mapping[str, Any]) -> str:
    """Digest of the names, types, shapes and values of a torch state dict."""
    import torch

    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(tensors):
        array = tensors[name].detach().cpu()
        digest.update(f"{name}:{array.dtype}:{tuple(array.shape)}:".encode())
        # A scalar has no dimension to view as bytes, bfloat16 has no NumPy type: flatten, then view.
        flat = array.contiguous().reshape(-1)
        digest.update(flat.view(torch.uint8).numpy().data)
    return digest.hexdigest()


def digest_of(values: Mapping[str, Any]) -> str:
    """Digest of JSON values, independent of the order of their keys."""
    text = json.dumps(values, sort_keys=True, default=list).encode()
    return hashlib.blake2b(text, digest_size=16).hexdigest()


def cache_folder(folder: str | os.PathLike[str] | None = None) -> Path:
    """``folder``, else the environment variable VBCGCD_CACHE, else ``~/.cache/vbcgcd``.

    ``XDG_CACHE_HOME`` replaces ``~/.cache`` where it is set.

    Examples
    --------
    >>> cache_folder("vectors").name
    'vectors'
    """
    if folder is not None:
        return Path(folder).expanduser()
    if variable := os.environ.get("VBCGCD_CACHE"):
        return Path(variable).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "vbcgcd"


class VectorCache:
    """The cached vectors of one embedder.

    Every ``put`` atomically writes one shard (a safetensors file of keys, vectors and checksums) under a name
    that no other process uses; readers see complete shards or none. ``close`` joins the shards of this
    process into one. A shard that is truncated, belongs to another embedder or has no checksums is ignored
    with a warning, and so is an entry that no longer has its checksum: it counts as not cached. Where nothing
    can be written (a full disk, no permission), ``problem`` says so and embedding goes on without the cache.

    Parameters
    ----------
    folder : path
        The folder of all caches; see ``cache_folder``.
    fingerprint : str
        Of the embedder; its shards are in a subfolder of this name.
    dimension : int
        Length of a vector.
    name : str
        Of the embedder; written beside the shards for people to read.
    """

    def __init__(self, folder: Path, fingerprint: str, dimension: int, *, name: str = "") -> None:
        self.folder = folder / FOLDER / fingerprint
        self.fingerprint = fingerprint
        self.dimension = dimension
        self.problem: str | None = None
        self._locations: dict[bytes, tuple[Path, int]] = {}
        self._own_shards: list[Path] = []
        self._scanned: set[Path] = set()
        self._open(name)

    def __contains__(self, key: bytes) -> bool:
        return key in self._locations

    def __len__(self) -> int:
        return len(self._locations)

    def get(self, keys: list[bytes]) -> tuple[Array, Array]:
        """Vectors (N, D) and a mask (N,) of the keys that are cached; the other rows are zero."""
        vectors = np.zeros((len(keys), self.dimension), dtype=np.float32)
        hits = self._fill(keys, vectors, np.zeros(len(keys), dtype=bool))
        if not hits.all():
            # Another process may have joined its shards since: their vectors are in a new file.
            self._scan()
            hits = self._fill(keys, vectors, hits)
        return vectors, hits

    def put(self, keys: list[bytes], vectors: Array) -> None:
        """Store vectors (N, D) under their keys."""
        if self.problem is not None or not keys:
            return
        path = self.folder / f"{time.time_ns():020d}-{uuid.uuid4().hex}.safetensors"
        table = np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(-1, KEY_BYTES)
        rows = np.ascontiguousarray(vectors, dtype=np.float32)
        arrays: dict[str, Array] = {"keys": table, "vectors": rows, "checksums": _checksums(keys, rows)}
        try:
            write_archive(path, KIND, VERSION, arrays, {"fingerprint": self.fingerprint})
        except (DiskError, InputError) as error:
            self.problem = f"Embeddings are no longer cached in {self.folder}: {error}"
            return
        self._own_shards.append(path)
        self._scanned.add(path)
        self._locations.update({key: (path, row) for row, key in enumerate(keys)})

    def close(self) -> None:
        """Join the shards written by this object into one."""
        if len(self._own_shards) < 2 or self.problem is not None:
            return
        old, self._own_shards = self._own_shards, []
        keys = [key for key, (path, _) in self._locations.items() if path in set(old)]
        vectors, hits = self.get(keys)
        self.put([key for key, hit in zip(keys, hits, strict=True) if hit], vectors[hits])
        if self.problem is None:
            for path in old:
                path.unlink(missing_ok=True)

    def _open(self, name: str) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            about = self.folder / "about.json"
            if not about.exists():
                text = json.dumps({"embedder": name, "dimension": self.dimension}) + "\n"
                with atomic_file(about) as out:
                    out.write(text.encode())
            self._sweep()
        except OSError as error:
            self.problem = f"Embeddings are not cached: {error}"
        self._scan()

    def _sweep(self) -> None:
        """Remove files that a killed process left half-written more than a day ago."""
        for path in self.folder.glob(".*.safetensors.*"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > _DAY_SECONDS:
                    path.unlink()

    def _scan(self) -> None:
        """Index the keys of shards not scanned before."""
        present = sorted(self.folder.glob("*.safetensors")) if self.folder.is_dir() else []
        bad: list[str] = []
        for path in present:
            if path in self._scanned:
                continue
            self._scanned.add(path)
            try:
                keys = self._keys(path)
            except (SafetensorError, OSError, KeyError, ValueError) as error:
                if path.exists():
                    bad.append(f"{path.name} ({str(error).splitlines()[0][:80]})")
                continue
            self._locations.update({key: (path, row) for row, key in enumerate(keys)})
        if bad:
            warnings.warn(
                f"{len(bad)} files in {self.folder} are damaged or from another embedder: "
                f"{', '.join(bad[:3])}; they were ignored and can be deleted.",
                stacklevel=4,
            )

    def _keys(self, path: Path) -> list[bytes]:
        with safe_open(str(path), framework="numpy") as shard:
            meta = json.loads((shard.metadata() or {}).get(META, "{}"))
            if meta.get("kind") != KIND or meta.get("values", {}).get("fingerprint") != self.fingerprint:
                raise ValueError("of another embedder")
            if meta["version"] > VERSION:
                raise ValueError("of a later release")
            if "checksums" not in shard.keys():  # noqa: SIM118
                raise ValueError("without checksums")
            table = shard.get_tensor("keys")
            shape, marks = (shard.get_slice(name).get_shape() for name in ("vectors", "checksums"))
        if shape != [len(table), self.dimension] or marks != [len(table), SUM_BYTES]:
            raise ValueError("of another shape")
        if table.shape[1:] != (KEY_BYTES,) or table.dtype != np.uint8:
            raise ValueError("of another shape")
        data = table.tobytes()
        return [data[i : i + KEY_BYTES] for i in range(0, len(data), KEY_BYTES)]

    def _fill(self, keys: list[bytes], vectors: Array, hits: Array) -> Array:
        """Fill in the vectors that are cached, reading each shard once; the mask (N,) of all hits."""
        by_file: dict[Path, list[tuple[int, int]]] = {}
        for place, key in enumerate(keys):
            if not hits[place] and key in self._locations:
                path, row = self._locations[key]
                by_file.setdefault(path, []).append((place, row))
        damaged = 0
        for path, pairs in by_file.items():
            places, rows = (np.array(part) for part in zip(*pairs, strict=True))
            try:
                with safe_open(str(path), framework="numpy") as shard:
                    found, marks = shard.get_tensor("vectors")[rows], shard.get_tensor("checksums")[rows]
                whole = _whole([keys[place] for place in places], found, marks)
                damaged += int((~whole).sum())
            except (SafetensorError, OSError, IndexError):  # another process joined its shards since
                found, whole = vectors[places], np.zeros(len(places), dtype=bool)
            vectors[places[whole]], hits[places[whole]] = found[whole], True
            for place in places[~whole]:
                self._locations.pop(keys[place], None)
        if damaged:
            warnings.warn(
                f"{damaged} cached embeddings in {self.folder} were damaged on the disk; they are computed "
                "again.",
                stacklevel=4,
            )
        return hits


def _checksums(keys: Sequence[bytes], vectors: Array) -> Array:
    """Checksum of each entry, its key included, uint8 array (N, 8)."""
    marks = [
        hashlib.blake2b(key + vector.tobytes(), digest_size=SUM_BYTES).digest()
        for key, vector in zip(keys, vectors, strict=True)
    ]
    return np.frombuffer(b"".join(marks), dtype=np.uint8).reshape(-1, SUM_BYTES)


def _whole(keys: Sequence[bytes], vectors: Array, marks: Array) -> Array:
    """Which entries are as they were written, boolean array (N,)."""
    if vectors.dtype != np.float32 or marks.dtype != np.uint8:
        return np.zeros(len(keys), dtype=bool)
    return np.asarray((_checksums(keys, vectors) == marks).all(axis=1))
