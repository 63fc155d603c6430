"""Embeddings on disk, so that nothing is computed twice: append-only shards in a folder for each embedder."""

from __future__ import annotations

import contextlib
import json
import os
import time
import uuid
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from vbcgcd.archive import META, write_archive
from vbcgcd.embed.hashing import KEY_BYTES
from vbcgcd.errors import InputError

Array = NDArray[Any]
KIND, VERSION = "embeddings", 1
_A_DAY = 86_400

__all__ = ["VectorCache", "cache_folder"]


def cache_folder(folder: str | os.PathLike[str] | None = None) -> Path:
    """``folder``, else the environment variable VBCGCD_CACHE, else ``~/.cache/vbcgcd``.

    ``XDG_CACHE_HOME`` takes the place of ``~/.cache`` where it is set.
    """
    if folder is not None:
        return Path(folder).expanduser()
    if named := os.environ.get("VBCGCD_CACHE"):
        return Path(named).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "vbcgcd"


class VectorCache:
    """The kept vectors of one embedder.

    Every ``put`` writes one shard (a safetensors file with keys and vectors) aside, syncs it and renames it
    to a name that no other process uses; readers see whole shards or none. ``close`` joins the shards of this
    process into one. A shard that is cut off or of another embedder is passed over with a warning. Where
    nothing can be written (a full disk, no permission), ``problem`` says so and embedding goes on without.

    Parameters
    ----------
    folder : path
        As given by ``cache_folder``.
    fingerprint : str
    dimension : int
    name : str
        Of the embedder, noted for people.
    """

    def __init__(self, folder: Path, fingerprint: str, dimension: int, *, name: str = "") -> None:
        self.folder = folder / "embeddings" / fingerprint
        self.fingerprint = fingerprint
        self.dimension = dimension
        self.problem: str | None = None
        self._where: dict[bytes, tuple[Path, int]] = {}
        self._mine: list[Path] = []
        self._known: set[Path] = set()
        self._open(name)

    def __contains__(self, key: bytes) -> bool:
        return key in self._where

    def __len__(self) -> int:
        return len(self._where)

    def get(self, keys: list[bytes]) -> tuple[Array, Array]:
        """Vectors (N, D) and a mask (N,) of the keys that were found; rows not found are zero."""
        vectors = np.zeros((len(keys), self.dimension), dtype=np.float32)
        found = self._fill(keys, vectors, np.zeros(len(keys), dtype=bool))
        if not found.all():
            # Another process may have joined its shards since: their vectors are in a new file.
            self._scan()
            found = self._fill(keys, vectors, found)
        return vectors, found

    def put(self, keys: list[bytes], vectors: Array) -> None:
        """Keep vectors (N, D) under their keys."""
        if self.problem is not None or not keys:
            return
        path = self.folder / f"{time.time_ns():020d}-{uuid.uuid4().hex}.safetensors"
        table = np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(-1, KEY_BYTES)
        arrays: dict[str, Array] = {"keys": table, "vectors": np.asarray(vectors, dtype=np.float32)}
        try:
            write_archive(path, KIND, VERSION, arrays, {"fingerprint": self.fingerprint})
        except (OSError, InputError) as error:
            self.problem = f"embeddings are no longer kept in {self.folder}: {error}"
            return
        self._mine.append(path)
        self._known.add(path)
        self._where.update({key: (path, row) for row, key in enumerate(keys)})

    def close(self) -> None:
        """Join the shards that this object wrote into one."""
        if len(self._mine) < 2 or self.problem is not None:
            return
        old, self._mine = self._mine, []
        keys = [key for key, (path, _) in self._where.items() if path in set(old)]
        vectors, found = self.get(keys)
        self.put([key for key, ok in zip(keys, found, strict=True) if ok], vectors[found])
        if self.problem is None:
            for path in old:
                path.unlink(missing_ok=True)

    def _open(self, name: str) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            about = self.folder / "about.json"
            if not about.exists():
                about.write_text(json.dumps({"embedder": name, "dimension": self.dimension}) + "\n")
            self._sweep()
        except OSError as error:
            self.problem = f"embeddings are not kept: {error}"
        self._scan()

    def _sweep(self) -> None:
        """Remove what a killed process left half-written a day ago or earlier."""
        for path in self.folder.glob(".*.safetensors.*"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > _A_DAY:
                    path.unlink()

    def _scan(self) -> None:
        """Note the keys of shards not seen before."""
        present = sorted(self.folder.glob("*.safetensors")) if self.folder.is_dir() else []
        bad: list[str] = []
        for path in present:
            if path in self._known:
                continue
            self._known.add(path)
            try:
                keys = self._keys(path)
            except (SafetensorError, OSError, KeyError, ValueError) as error:
                if path.exists():
                    bad.append(f"{path.name} ({str(error).splitlines()[0][:80]})")
                continue
            self._where.update({key: (path, row) for row, key in enumerate(keys)})
        if bad:
            warnings.warn(
                f"{len(bad)} files in {self.folder} are cut off or foreign and were passed over: "
                f"{', '.join(bad[:3])}. They can be deleted.",
                stacklevel=4,
            )

    def _keys(self, path: Path) -> list[bytes]:
        with safe_open(str(path), framework="numpy") as shard:
            said = json.loads((shard.metadata() or {}).get(META, "{}"))
            if said.get("kind") != KIND or said.get("values", {}).get("fingerprint") != self.fingerprint:
                raise ValueError("of another embedder")
            if said["version"] > VERSION:
                raise ValueError("of a later release")
            table = shard.get_tensor("keys")
            shape = shard.get_slice("vectors").get_shape()
        if table.shape != (shape[0], KEY_BYTES) or shape[1] != self.dimension:
            raise ValueError("of another shape")
        data = table.tobytes()
        return [data[i : i + KEY_BYTES] for i in range(0, len(data), KEY_BYTES)]

    def _fill(self, keys: list[bytes], vectors: Array, found: Array) -> Array:
        """Read each shard that is needed once."""
        wanted: dict[Path, list[tuple[int, int]]] = {}
        for place, key in enumerate(keys):
            if not found[place] and key in self._where:
                path, row = self._where[key]
                wanted.setdefault(path, []).append((place, row))
        for path, pairs in wanted.items():
            places, rows = (np.array(part) for part in zip(*pairs, strict=True))
            try:
                with safe_open(str(path), framework="numpy") as shard:
                    vectors[places] = shard.get_tensor("vectors")[rows]
                found[places] = True
            except (SafetensorError, OSError):
                for place in places:
                    self._where.pop(keys[place], None)
        return found
