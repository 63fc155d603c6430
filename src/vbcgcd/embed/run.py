"""From items to vectors: reuse what is cached, report broken items, compute and cache the rest."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.checks import check_number
from vbcgcd.embed.cache import VectorCache, cache_folder, item_key, view_key
from vbcgcd.embed.deferred import DeferredEmbedder
from vbcgcd.embed.pictures import Augmentation, open_picture
from vbcgcd.embed.protocol import Embedder, ItemError
from vbcgcd.embed.result import EmbedResult, Report, open_report
from vbcgcd.errors import InputError
from vbcgcd.items import Failure

Array = NDArray[Any]

#: Batches that worker threads prepare ahead of the one being computed.
AHEAD = 3

__all__ = ["embed_items"]


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
    """Embed items; broken ones are reported and left out.

    Parameters
    ----------
    items : Items
        Anything with ``kind``, ``values`` and ``references`` as in ``vbcgcd.items.Items``.
    embedder : Embedder
        For items of this kind.
    cache : bool, path or None
        True caches vectors in the default folder (``cache_folder``), a path in that folder, False or None
        nowhere. Every finished batch is saved at once, so that a call after an interruption continues there.
    progress : bool, callable or None
        True draws a progress bar; a function is called as ``progress(finished, total)``.
    workers : int, optional
        Threads that read and prepare items ahead; None takes the number of processors, at most 8.
    views : int
        Number of random views of each picture to embed as well (``EmbedResult.views``). A view depends only
        on the picture, ``random_state`` and its number, so it is the same in every call.
    random_state : int
        Seed of the views.
    augmentation : Augmentation, optional
        How views are drawn; None takes the defaults of ``Augmentation``.

    Returns
    -------
    EmbedResult

    Examples
    --------
    >>> import numpy as np
    >>> from vbcgcd.embed import embedder
    >>> from vbcgcd.items import Items
    >>> items = Items("embedding", np.array([[1.0, 2.0], [np.nan, 0.0]]), ["a", "b"], "memory")
    >>> result = embed_items(items, embedder(kind="embedding"))
    >>> result.vectors, result.failures
    (array([[1., 2.]]), (Failure(reference='b', reason='contains NaN or infinity'),))
    """
    check_number("views", views, low=0, whole=True)
    check_number("random_state", random_state, low=0, whole=True)
    check_number("workers", workers, low=1, whole=True, words=(None,))
    if items.kind != embedder.kind:
        raise InputError(
            f"The items are {items.kind}s, but the embedder {embedder.name} is for {embedder.kind}s; choose "
            f"an embedder for {items.kind}s.",
            option="embedder",
        )
    if views and not hasattr(embedder, "prepare_view"):
        raise InputError(
            f"views are for pictures and the image embedders of vbcgcd; {embedder.name} cannot embed them.",
            option="views",
        )
    run = _Run(items, embedder, cache, workers, views, random_state, augmentation)
    with open_report(progress, f"embedding with {embedder.name}") as report:
        return run(report)


@dataclass(frozen=True)
class _Task:
    """One vector to compute: of an item, or of one view of it."""

    row: int
    view: int | None
    key: bytes


class _Run:
    """One call of ``embed_items``: keys, then the vectors that are missing, then the result."""

    def __init__(
        self,
        items: Any,
        embedder: Embedder,
        cache: bool | str | os.PathLike[str] | None,
        workers: int | None,
        views: int,
        seed: int,
        augmentation: Augmentation | None,
    ) -> None:
        self.items, self.embedder, self.seed, self.views = items, embedder, seed, views
        self.augmentation = augmentation or Augmentation() if views else None
        self.workers = workers or min(os.cpu_count() or 1, 8)
        self.dtype = None if embedder.kind == "embedding" else np.float32
        self.reasons: dict[int, str] = {}
        self.vectors: dict[bytes, Array] = {}
        self.computed = self.reused = 0
        self.cache = self._open_cache(cache)

    def _open_cache(self, cache: bool | str | os.PathLike[str] | None) -> VectorCache | None:
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
                if missing and isinstance(self.embedder, DeferredEmbedder):
                    self.embedder = self.embedder.loaded
                self._compute(pool, missing, report, len(tasks))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
            finally:
                if self.cache is not None:
                    self.writer.submit(self.cache.close).result()
        return self._result(tasks)

    @property
    def stages(self) -> Any:
        """The embedder, if it prepares items and embeds prepared ones; else None."""
        both = hasattr(self.embedder, "prepare") and hasattr(self.embedder, "forward")
        return self.embedder if both else None

    def _tasks(self, pool: ThreadPoolExecutor) -> list[_Task]:
        """Every vector to compute, with its key; items that cannot be read fail here."""
        tasks: list[_Task] = []
        recipe = self.augmentation.describe() if self.augmentation else {}
        for row, key in enumerate(pool.map(_key_or_reason, self.items.values)):
            if isinstance(key, str):
                self.reasons[row] = key
                continue
            tasks.append(_Task(row, None, key))
            for view in range(self.views):
                tasks.append(_Task(row, view, view_key(key, view, self.seed, recipe)))
        return tasks

    def _reuse(self, tasks: list[_Task]) -> list[_Task]:
        """Load the vectors that are cached; return one task for each key that is not."""
        unique = {task.key: task for task in tasks}
        if self.cache is not None:
            keys = [key for key in unique if key in self.cache]
            vectors, hits = self.cache.get(keys)
            self.vectors = {key: v for key, v, hit in zip(keys, vectors, hits, strict=True) if hit}
            self.reused = len(self.vectors)
        return [task for key, task in unique.items() if key not in self.vectors]

    def _compute(self, pool: ThreadPoolExecutor, missing: list[_Task], report: Report, total: int) -> None:
        """Compute batch after batch, while threads prepare the next ones."""
        finished = total - len(missing)
        report(finished, total)
        if not missing:
            return  # nothing may be asked of an embedder that is not loaded
        for batch, inputs in self._batches(pool, missing):
            finished += len(batch)
            ready: list[tuple[_Task, Any]] = []
            for task, value in zip(batch, inputs, strict=True):
                if isinstance(value, ItemError):
                    self.reasons.setdefault(task.row, str(value))
                else:
                    ready.append((task, value))
            vectors = self._forward(ready)
            self.vectors.update(vectors)
            self.computed += len(vectors)
            if self.cache is not None and vectors:
                self.writer.submit(self.cache.put, list(vectors), np.stack(list(vectors.values())))
            report(finished, total)

    def _batches(
        self, pool: ThreadPoolExecutor, tasks: list[_Task]
    ) -> Iterator[tuple[list[_Task], list[Any]]]:
        """Batches of tasks with their prepared inputs, in order."""
        size = max(self.embedder.batch_size, 1)
        waiting: deque[tuple[list[_Task], list[Future[Any]]]] = deque()
        for first in range(0, len(tasks), size):
            batch = tasks[first : first + size]
            waiting.append((batch, [pool.submit(self._prepare, task) for task in batch]))
            if len(waiting) > AHEAD:
                ready, futures = waiting.popleft()
                yield ready, [future.result() for future in futures]
        while waiting:
            ready, futures = waiting.popleft()
            yield ready, [future.result() for future in futures]

    def _prepare(self, task: _Task) -> Any:
        """The input of ``forward``, or the error of this item."""
        value = self.items.values[task.row]
        try:
            if task.view is not None:
                return self._draw_view(task, value)
            prepared = self._prepare_item(value)
            if isinstance(value, Path) and item_key(value) != task.key:
                return ItemError("changed while it was being embedded")
            return prepared
        except ItemError as error:
            return error

    def _prepare_item(self, value: Any) -> Any:
        if self.stages is not None:
            return self.stages.prepare(value)
        if self.embedder.kind == "image":
            return open_picture(value)
        if isinstance(value, str) and not value.strip():
            raise ItemError("empty text")
        return value

    def _draw_view(self, task: _Task, value: Any) -> Any:
        # Seeded by the view's own key: the same view in whatever order the items come.
        rng = np.random.default_rng(np.frombuffer(task.key, dtype=np.uint32))
        augmentation: Any = self.augmentation
        embedder: Any = self.embedder
        return embedder.prepare_view(value, lambda image, size: augmentation(image, size, rng))

    def _forward(self, ready: Sequence[tuple[_Task, Any]]) -> dict[bytes, Array]:
        """Vectors by key; if a whole batch fails, its items are tried one by one."""
        if not ready:
            return {}
        stage = self.embedder.embed if self.stages is None else self.stages.forward
        try:
            vectors = np.asarray(stage([value for _, value in ready]), dtype=self.dtype)
        except (MemoryError, KeyboardInterrupt):
            raise
        except Exception as error:
            return self._forward_singly(ready, error)
        self._check_shape(vectors, len(ready))
        finite = {}
        for (task, _), vector in zip(ready, vectors, strict=True):
            if np.isfinite(vector).all():
                finite[task.key] = vector
            else:
                self.reasons.setdefault(task.row, "its embedding is not finite; try precision float32")
        return finite

    def _forward_singly(self, ready: Sequence[tuple[_Task, Any]], error: Exception) -> dict[bytes, Array]:
        if len(ready) == 1:
            self.reasons.setdefault(ready[0][0].row, f"the embedder failed: {_first_line(error)}")
            return {}
        parts = [self._forward([one]) for one in ready]
        vectors = {key: vector for part in parts for key, vector in part.items()}
        if not vectors and not self.vectors:
            raise InputError(
                f"The embedder {self.embedder.name} failed on a whole batch: {_first_line(error)}."
            ) from error
        return vectors

    def _check_shape(self, vectors: Array, n: int) -> None:
        width = self.embedder.dimension or vectors.shape[-1]
        if vectors.shape != (n, width):
            raise InputError(
                f"The embedder {self.embedder.name} returned an array {vectors.shape} for {n} items, "
                f"expected ({n}, {width})."
            )

    def _result(self, tasks: list[_Task]) -> EmbedResult:
        for task in tasks:
            if task.key not in self.vectors:
                self.reasons.setdefault(task.row, "an identical item failed")
        good = [t for t in tasks if t.row not in self.reasons]
        plain = [t for t in good if t.view is None]
        width = self.embedder.dimension or (len(next(iter(self.vectors.values()))) if self.vectors else 0)
        views = None
        if self.views:
            rows = [self.vectors[t.key] for t in good if t.view is not None]
            views = np.array(rows, dtype=np.float32).reshape(len(plain), self.views, width)
        references = self.items.references
        return EmbedResult(
            vectors=np.array([self.vectors[t.key] for t in plain], dtype=self.dtype).reshape(-1, width),
            rows=np.array([t.row for t in plain], dtype=np.int64),
            failures=tuple(Failure(str(references[row]), self.reasons[row]) for row in sorted(self.reasons)),
            computed=self.computed,
            reused=self.reused,
            views=views,
            problem=None if self.cache is None else self.cache.problem,
        )


def _key_or_reason(value: Any) -> bytes | str:
    """The key of an item, or why it cannot be read."""
    try:
        return item_key(value)
    except ItemError as error:
        return str(error)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
