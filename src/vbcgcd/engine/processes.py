"""Processes of this machine, each on one BLAS thread: a worker that dies is replaced."""

from __future__ import annotations

import io
import multiprocessing
import os
import pickle
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import Any

from vbcgcd.engine.ordering import Outcome, in_order
from vbcgcd.engine.protocol import Work
from vbcgcd.errors import InputError

#: One thread for each process: threads of several processes would wait for each other.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
#: First byte of what a worker receives: work to load, or a block.
LOAD, RUN = b"L", b"R"

__all__ = ["ONE_THREAD", "Processes", "attempt", "failure_bytes", "pickled", "processors"]


class Processes:
    """Worker processes that are started afresh (not forked) and keep what they have loaded.

    A script that uses it has to guard its own start with ``if __name__ == "__main__":``, as Python's
    multiprocessing asks for.

    Parameters
    ----------
    workers : int, optional
        Number of processes; None takes that of the processors.
    """

    name = "processes"

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or processors()
        self._context = multiprocessing.get_context("spawn")
        self._workers: list[_Worker] = []
        self._round = 0

    def map(self, work: Work, blocks: Sequence[Any]) -> Iterator[Any]:
        """See `vbcgcd.engine.Engine.map`."""
        if not blocks:
            return
        self._round += 1
        self._load = LOAD + pickled(work)
        yield from in_order(self, blocks, self.workers)

    def free(self) -> int:
        """See `vbcgcd.engine.ordering.Pool`."""
        return self.workers - sum(worker.busy is not None for worker in self._workers)

    def submit(self, place: int, block: Any) -> None:
        """See `vbcgcd.engine.ordering.Pool`."""
        worker = next((w for w in self._workers if w.busy is None and w.process.is_alive()), None)
        if worker is None:
            worker = _Worker(self._context)
            self._workers.append(worker)
        worker.busy = place
        with suppress(OSError):  # it has just died, as `wait` will see
            if worker.round != self._round:
                worker.round = self._round
                worker.pipe.send_bytes(self._load)
            worker.pipe.send_bytes(RUN + pickled((self._round, place)) + pickled(block))

    def wait(self) -> list[Outcome]:
        """See `vbcgcd.engine.ordering.Pool`."""
        handles: list[Any] = [w.pipe for w in self._workers] + [w.process.sentinel for w in self._workers]
        fired = wait(handles)
        outcomes = []
        for worker in list(self._workers):
            try:
                while worker.pipe.poll():
                    number, place, value, failure = pickle.loads(worker.pipe.recv_bytes())
                    if number == self._round:
                        worker.busy = None
                        error = None if failure is None else pickle.loads(failure)
                        outcomes.append(Outcome(place, value, error))
            except (EOFError, OSError):
                self._bury(worker, outcomes)
                continue
            if worker.process.sentinel in fired and not worker.process.is_alive():
                self._bury(worker, outcomes)
        return outcomes

    def drop(self) -> None:
        """See `vbcgcd.engine.ordering.Pool`."""
        for worker in [w for w in self._workers if w.busy is not None]:
            worker.stop()  # nobody waits for its answer any more
            self._workers.remove(worker)

    def close(self) -> None:
        """End the processes."""
        for worker in self._workers:
            worker.stop()
        self._workers.clear()

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _bury(self, worker: _Worker, outcomes: list[Outcome]) -> None:
        worker.stop()
        self._workers.remove(worker)
        if worker.busy is not None:
            outcomes.append(Outcome(worker.busy, lost=_cause(worker.process.exitcode)))


class _Worker:
    """One process, its pipe, and the block that it works on."""

    def __init__(self, context: Any) -> None:
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(other,), daemon=True)
        with _environment(ONE_THREAD):
            self.process.start()
        other.close()
        self.busy: int | None = None
        self.round = 0

    def stop(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _serve(pipe: Connection) -> None:
    """What a worker process does until the pipe closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that gives the work
    function: Callable[[Any], Any] | None = None
    unloaded: BaseException | None = None
    with suppress(EOFError, OSError):
        while True:
            kind, content = _parted(pipe.recv_bytes())
            if kind == LOAD:
                function, unloaded = attempt(partial(_loaded, content))
                continue
            number, place = pickle.load(content)
            value, error = None, unloaded
            if function is not None:
                value, error = attempt(partial(_run, function, content))
            failure = None if error is None else failure_bytes(error)
            pipe.send_bytes(pickle.dumps((number, place, value, failure), protocol=5))


def _loaded(content: io.BytesIO) -> Callable[[Any], Any]:
    work: Work = pickle.load(content)
    return work.load()


def _run(function: Callable[[Any], Any], content: io.BytesIO) -> Any:
    return function(pickle.load(content))


def _parted(message: bytes) -> tuple[bytes, io.BytesIO]:
    return message[:1], io.BytesIO(message[1:])


def attempt(call: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    """The result of a call and None, or None and the error that it raised."""
    try:
        return call(), None
    except Exception as error:
        return None, error


def failure_bytes(error: BaseException) -> bytes:
    """An error of a worker as it is sent back, with its traceback as a note."""
    trace = "".join(traceback.format_exception(error))
    error.add_note(trace)
    try:
        content = pickle.dumps(error, protocol=5)
        pickle.loads(content)
    except Exception:  # some errors of other libraries can be pickled but not read back
        return pickle.dumps(RuntimeError(trace), protocol=5)
    return content


def pickled(value: Any, dumps: Callable[..., bytes] = pickle.dumps) -> bytes:
    """A value as workers receive it, or one clear error."""
    try:
        return dumps(value, protocol=5)
    except Exception as error:
        raise InputError(
            f"{type(value).__name__} cannot be sent to workers ({error}); use the engine 'here'.",
            option="engine",
        ) from None


def _cause(code: int | None) -> str:
    if code is not None and code < 0:
        with suppress(ValueError):
            return f"the process was ended by {signal.Signals(-code).name}"
    return f"the process ended with exit code {code}"


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
