"""One BLAS thread for each matrix, and independent matrices side by side.

Matrices here are small and many. Two BLAS threads that share one of them wait for each other, and on a busy
machine that takes hundreds of times longer than the work itself. They also round differently from one thread,
and a search that compares nearly equal numbers then finds other categories. So all computation runs on one
BLAS thread (`one_thread`), and where there is much of it, the categories or blocks of rows are spread over
threads of our own (`in_parallel`). The blocks do not depend on the number of threads, and so neither does any
bit of the results.
"""

from __future__ import annotations

import functools
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ContextDecorator
from typing import Any, TypeVar

import threadpoolctl

Item = TypeVar("Item")
Result = TypeVar("Result")

#: From so many multiplications on, a piece of work is worth a thread of its own: about a tenth of a
#: millisecond, ten times what handing it over takes.
WORTH_A_THREAD = 2_000_000
#: Pieces of work that are under way or wait to be fetched, for each thread: bounds the memory.
AHEAD = 4

__all__ = ["WORTH_A_THREAD", "in_parallel", "one_thread"]


class _Blas:
    """BLAS has one limit for the whole process: the first who needs it sets it, the last restores it."""

    def __init__(self) -> None:
        self.lock, self.depth, self.workers = threading.Lock(), 0, 1
        self.before: list[int] = []

    def enter(self) -> None:
        with self.lock:
            self.depth += 1
            if self.depth == 1:
                self.before = [library.num_threads or 1 for library in _libraries("blas")]
                self.workers = max(1, min(max(self.before, default=1), _processors()))
                _set_threads([1] * len(self.before))

    def leave(self) -> None:
        with self.lock:
            self.depth -= 1
            if self.depth == 0:
                _set_threads(self.before)
                self.workers = 1


class _OpenMP(threading.local):
    """OpenMP, with which k-means runs, has one limit for each thread."""

    depth = 0
    before: tuple[int, ...] = ()
    #: Whether this is a thread of `in_parallel`: its work is not divided any further.
    worker = False

    def enter(self) -> None:
        self.depth += 1
        if self.depth == 1:
            self.before = tuple(library.num_threads for library in _libraries("openmp"))
            for library in _libraries("openmp"):
                library.set_num_threads(1)

    def leave(self) -> None:
        self.depth -= 1
        if self.depth == 0:
            for library, threads in zip(_libraries("openmp"), self.before, strict=True):
                library.set_num_threads(threads)

    def become_worker(self) -> None:
        self.worker = True


_blas, _openmp = _Blas(), _OpenMP()


class one_thread(ContextDecorator):
    """Limit BLAS and OpenMP to one thread; what was allowed before is restored in the end.

    It may be nested, and entered by several threads at a time.

    Examples
    --------
    >>> import numpy as np
    >>> with one_thread():
    ...     np.eye(2) @ np.ones(2)
    array([1., 1.])
    """

    def __enter__(self) -> one_thread:
        _openmp.enter()
        _blas.enter()
        return self

    def __exit__(self, *error: object) -> None:
        _blas.leave()
        _openmp.leave()


def in_parallel(
    function: Callable[[Item], Result], items: Iterable[Item], *, work: float
) -> Iterator[Result]:
    """Results of a function for each item, in order; several at a time where that pays.

    Inside `one_thread` as many threads are used as BLAS had before it, so that ``OMP_NUM_THREADS`` and
    threadpoolctl hold here as well. Only a few items are taken ahead of the results that are fetched.

    Parameters
    ----------
    function : callable
        It must release the interpreter lock for most of its time, as NumPy and `vbcgcd.bayes.lapack` do.
    items : iterable
    work : float
        Multiplications for each item, roughly.

    Examples
    --------
    >>> list(in_parallel(abs, [-1, 2, -3], work=1))
    [1, 2, 3]
    """
    workers = _blas.workers
    if workers == 1 or work < WORTH_A_THREAD or _openmp.worker:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(workers, initializer=_openmp.become_worker) as pool:
        under_way: deque[Future[Result]] = deque()
        try:
            for item in items:
                under_way.append(pool.submit(function, item))
                if len(under_way) >= AHEAD * workers:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        finally:
            for future in under_way:
                future.cancel()


@functools.cache
def _libraries(user_api: str) -> tuple[Any, ...]:
    # Looked for once, at the first use: by then every library that this package computes with is loaded.
    return tuple(threadpoolctl.ThreadpoolController().select(user_api=user_api).lib_controllers)


def _set_threads(numbers: list[int]) -> None:
    """Set the threads of each BLAS, whichever thread of the program set them before.

    Since threadpoolctl 3.8 the thread that limits OpenBLAS keeps others from changing it until it lets go.
    """
    release = getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", lambda force: None)
    release(force=True)
    for library, threads in zip(_libraries("blas"), numbers, strict=True):
        library.set_num_threads(threads)
    release(force=True)


def _processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
