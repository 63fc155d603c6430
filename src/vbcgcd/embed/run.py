"""Items -> vectors: what is kept is reused, what is broken is named, the rest is computed and kept."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.embed.augment import Augmentation
from vbcgcd.embed.cache import VectorCache, cache_folder
from vbcgcd.embed.hashing import item_key, view_key
from vbcgcd.embed.pictures import open_picture
from vbcgcd.embed.progress import Report, reporting
from vbcgcd.embed.protocol import Embedder, ItemError
from vbcgcd.embed.result import EmbedResult, Failure
from vbcgcd.errors import InputError
from vbcgcd.validation import check_number

Array = NDArray[Any]

#: Batches that worker threads prepare ahead of the one being computed.
AHEAD = 3

__all__ = ["embed_items"]


@dataclass(frozen=True)
class _Task:
    """One vector to have: of an item, or of one view of it."""

    row: int
    view: int | None
    key: bytes


def embed_items(
    items: Any,
    embedder: Embedder,
    *,
    cache: bool | str | os.PathLike[str] | None = True,
    progress: bool | Report | None = None,
    workers: int | None = None,
    views: int = 0,
    random_state: int = 0,
    augmentation: Augmentation | None = None,
) -> EmbedResult:
    """Embed items; broken ones are named and left out.

    Parameters
    ----------
    items : Items
        Anything with ``kind``, ``values`` and ``references`` as in ``vbcgcd.items.Items``.
    embedder : Embedder
    cache : bool, path or None
        True keeps vectors in the usual folder (``cache_folder``), a path in that one, False or None nowhere.
        Every finished batch is kept at once: after an interruption the next call goes on from there.
    progress : bool, callable or None
        True draws a bar; a function is called as ``progress(done, total)``.
    workers : int, optional
        Threads that read and prepare items ahead. None: the number of processors, at most 8.
    views : int
        Random views of each picture to embed besides it (``EmbedResult.views``). A view depends on the
        picture, ``random_state`` and its number alone, so it is the same in every call.
    random_state : int
    augmentation : Augmentation, optional
        How views are made.

    Returns
    -------
    EmbedResult
    """
    check_number("views", views, low=0, whole=True)
    check_number("random_state", random_state, low=0, whole=True)
    check_number("workers", workers, low=1, whole=True, words=(None,))
    if items.kind != embedder.kind:
        raise InputError(
            f"The items are of kind {items.kind!r}, the embedder {embedder.name} is for {embedder.kind!r}; "
            "choose an embedder of the items' kind."
        )
    if views and not hasattr(embedder, "prepare_view"):
        raise InputError(f"views are for pictures and embedders made by vbcgcd; {embedder.name} has none.")
    run = _Run(items, embedder, cache, workers, views, random_state, augmentation or Augmentation())
    with reporting(progress, f"embedding with {embedder.name}") as report:
        return run(report)


class _Run:
    """One call of ``embed_items``: keys, then what is missing, then the result."""

    def __init__(
        self,
        items: Any,
        embedder: Embedder,
        cache: bool | str | os.PathLike[str] | None,
        workers: int | None,
        views: int,
        seed: int,
        augmentation: Augmentation,
    ) -> None:
        self.items, self.embedder, self.seed, self.views = items, embedder, seed, views
        self.augmentation = augmentation
        self.workers = workers or min(os.cpu_count() or 1, 8)
        self.stages: Any = embedder if hasattr(embedder, "prepare") and hasattr(embedder, "forward") else None
        self.dtype = None if embedder.kind == "embedding" else np.float32
        self.broken: dict[int, str] = {}
        self.vectors: dict[bytes, Array] = {}
        self.computed = self.reused = 0
        self.cache = self._cache(cache)

    def _cache(self, cache: bool | str | os.PathLike[str] | None) -> VectorCache | None:
        if not cache or self.embedder.kind == "embedding":
            return None
        folder = cache_folder(None if cache is True else cache)
        return VectorCache(
            folder, self.embedder.fingerprint, self.embedder.dimension, name=self.embedder.name
        )

    def __call__(self, report: Report) -> EmbedResult:
        # Syncing a shard waits for the disk, the next batch need not; leaving the block waits for all shards.
        with ThreadPoolExecutor(self.workers) as pool, ThreadPoolExecutor(1) as self.writer:
            try:
                tasks = self._tasks(pool)
                missing = self._reuse(tasks)
                self._compute(pool, missing, report, len(tasks))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
            finally:
                if self.cache is not None:
                    self.writer.submit(self.cache.close).result()
        return self._result(tasks)

    def _tasks(self, pool: ThreadPoolExecutor) -> list[_Task]:
        """Every vector to have, with its key; items that cannot be read fail here."""
        tasks: list[_Task] = []
        recipe = self.augmentation.describe()
        for row, key in enumerate(pool.map(self._key, self.items.values)):
            if isinstance(key, str):
                self.broken[row] = key
                continue
            tasks.append(_Task(row, None, key))
            for view in range(self.views):
                tasks.append(_Task(row, view, view_key(key, view, self.seed, recipe)))
        return tasks

    @staticmethod
    def _key(value: Any) -> bytes | str:
        try:
            return item_key(value)
        except ItemError as error:
            return str(error)

    def _reuse(self, tasks: list[_Task]) -> list[_Task]:
        """Take what the cache has; return one task for each key that it has not."""
        unique = {task.key: task for task in tasks}
        if self.cache is not None:
            kept = [key for key in unique if key in self.cache]
            vectors, found = self.cache.get(kept)
            self.vectors = {key: v for key, v, ok in zip(kept, vectors, found, strict=True) if ok}
            self.reused = len(self.vectors)
        return [task for key, task in unique.items() if key not in self.vectors]

    def _compute(self, pool: ThreadPoolExecutor, missing: list[_Task], report: Report, total: int) -> None:
        """Batches in order; threads prepare the next ones meanwhile."""
        done = total - len(missing)
        report(done, total)
        for batch, prepared in self._prepared(pool, missing):
            done += len(batch)
            ready = [(t, p) for t, p in zip(batch, prepared, strict=True) if not isinstance(p, ItemError)]
            for task, value in zip(batch, prepared, strict=True):
                if isinstance(value, ItemError):
                    self.broken.setdefault(task.row, str(value))
            good = self._forward(ready)
            self.vectors.update(good)
            self.computed += len(good)
            if self.cache is not None and good:
                self.writer.submit(self.cache.put, list(good), np.stack(list(good.values())))
            report(done, total)

    def _prepared(
        self, pool: ThreadPoolExecutor, tasks: list[_Task]
    ) -> Iterator[tuple[list[_Task], list[Any]]]:
        size = max(self.embedder.batch_size, 1)
        batches = [tasks[i : i + size] for i in range(0, len(tasks), size)]
        waiting: deque[tuple[list[_Task], list[Future[Any]]]] = deque()
        for batch in batches:
            waiting.append((batch, [pool.submit(self._prepare, task) for task in batch]))
            if len(waiting) > AHEAD:
                ready, futures = waiting.popleft()
                yield ready, [future.result() for future in futures]
        while waiting:
            ready, futures = waiting.popleft()
            yield ready, [future.result() for future in futures]

    def _prepare(self, task: _Task) -> Any:
        """What ``forward`` takes, or the error of this item."""
        value = self.items.values[task.row]
        try:
            if task.view is not None:
                return self._view(task, value)
            prepared = self._plain(value)
            if isinstance(value, Path) and item_key(value) != task.key:
                return ItemError("changed while it was being embedded")
            return prepared
        except ItemError as error:
            return error

    def _plain(self, value: Any) -> Any:
        if self.stages is not None:
            return self.stages.prepare(value)
        if self.embedder.kind == "image":
            return open_picture(value)
        if isinstance(value, str) and not value.strip():
            raise ItemError("is an empty text")
        return value

    def _view(self, task: _Task, value: Any) -> Any:
        # Seeded by the view's own key: the same view in whatever order the items come.
        rng = np.random.default_rng(np.frombuffer(task.key, dtype=np.uint32))
        make: Callable[..., Any] = lambda image, size: self.augmentation(image, size, rng)  # noqa: E731
        embedder: Any = self.embedder
        return embedder.prepare_view(value, make)

    def _forward(self, ready: Sequence[tuple[_Task, Any]]) -> dict[bytes, Array]:
        """Vectors by key; where a whole batch fails, its items are tried one by one."""
        if not ready:
            return {}
        stage = self.embedder.embed if self.stages is None else self.stages.forward
        try:
            vectors = np.asarray(stage([value for _, value in ready]), dtype=self.dtype)
        except (MemoryError, KeyboardInterrupt):
            raise
        except Exception as error:
            if len(ready) == 1:
                self.broken.setdefault(ready[0][0].row, f"the embedder failed: {_first_line(error)}")
                return {}
            parts = [self._forward([one]) for one in ready]
            good = {key: vector for part in parts for key, vector in part.items()}
            if not good and not self.vectors:
                raise InputError(
                    f"The embedder {self.embedder.name} failed on a whole batch: {_first_line(error)}."
                ) from error
            return good
        self._check_shape(vectors, len(ready))
        good = {}
        for (task, _), vector in zip(ready, vectors, strict=True):
            if np.isfinite(vector).all():
                good[task.key] = vector
            else:
                self.broken.setdefault(task.row, "its embedding is not finite; try precision='float32'")
        return good

    def _check_shape(self, vectors: Array, n: int) -> None:
        width = self.embedder.dimension or vectors.shape[-1]
        if vectors.shape != (n, width):
            raise InputError(
                f"The embedder {self.embedder.name} gave an array {vectors.shape} for {n} items, expected "
                f"({n}, {width})."
            )

    def _result(self, tasks: list[_Task]) -> EmbedResult:
        for task in tasks:
            if task.key not in self.vectors:
                self.broken.setdefault(task.row, "was left out with an equal item that failed")
        plain = [t for t in tasks if t.view is None and t.row not in self.broken]
        width = self.embedder.dimension or (len(next(iter(self.vectors.values()))) if self.vectors else 0)
        views = None
        if self.views:
            kept = [self.vectors[t.key] for t in tasks if t.view is not None and t.row not in self.broken]
            views = np.array(kept, dtype=np.float32).reshape(len(plain), self.views, width)
        references = self.items.references
        return EmbedResult(
            vectors=np.array([self.vectors[t.key] for t in plain], dtype=self.dtype).reshape(-1, width),
            rows=np.array([t.row for t in plain], dtype=np.int64),
            failures=tuple(Failure(str(references[row]), self.broken[row]) for row in sorted(self.broken)),
            computed=self.computed,
            reused=self.reused,
            views=views,
            problem=None if self.cache is None else self.cache.problem,
        )


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
