"""A Ray cluster: actors that keep what they have loaded; a block whose node is lost goes to another."""

from __future__ import annotations

import logging
import os
import pickle
import platform
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import ray

import vbcgcd
from vbcgcd.engine.ordering import Outcome, in_order
from vbcgcd.engine.processes import attempt, failure_bytes, pickled, processors
from vbcgcd.engine.protocol import Work, WorkersLost
from vbcgcd.errors import InputError, reason_of

#: Seconds to wait for the head of a cluster to answer.
REACH = 5.0
#: Seconds without any worker until the cluster counts as lost.
PATIENCE = 120.0
#: How Ray is started on this machine, and joined elsewhere: quietly.
QUIET: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}

__all__ = ["RayEngine"]


class RayEngine:
    """Actors of one processor each on the nodes of a Ray cluster.

    Every node needs the same versions of vbcgcd, Ray and Python, and the same paths of shards and models.

    Parameters
    ----------
    workers : int, optional
        Number of actors; None takes one for each processor of the cluster.
    address : str, optional
        ``HOST:PORT`` of the head, or ``"auto"`` on a node of the cluster; None takes ``RAY_ADDRESS`` from the
        environment, or starts Ray on this machine and ends it with the engine.
    patience : float
        Seconds without any worker until the cluster counts as lost.
    object_store_memory : int, optional
        Bytes of shared memory of a Ray that is started on this machine.
    """

    name = "ray"

    def __init__(
        self,
        workers: int | None = None,
        address: str | None = None,
        *,
        patience: float = PATIENCE,
        object_store_memory: int | None = None,
    ) -> None:
        self._joined = ray.is_initialized()
        if not self._joined:
            _connect(workers, address, object_store_memory)
        self.workers = workers or max(int(ray.cluster_resources().get("CPU", 1)), 1)
        self._patience = patience
        self._starting: dict[Any, Any] = {}  # the answer of each actor to the first question -> the actor
        self._idle: list[Any] = []
        self._busy: dict[Any, tuple[Any, int]] = {}  # the result under way -> its actor and block
        self._round = 0

    def map(self, work: Work, blocks: Sequence[Any]) -> Iterator[Any]:
        """See `vbcgcd.engine.Engine.map`."""
        if not blocks:
            return
        self._round += 1
        # In a list, so that Ray hands on the reference: an actor fetches the work once, not with each block.
        self._work = [ray.put(_by_value(work))]
        yield from in_order(self, blocks, self.workers)

    def sweep(self, work: Work, blocks: Sequence[Any]) -> Iterator[Any]:
        """As `map`, for one long pass with much to load, such as embedding: by Ray Data.

        Its pool of actors grows as far as the cluster does; results come as they are ready.
        """
        if not blocks:
            return
        import ray.data

        _check_versions(_versions_there())
        self._let_go()  # the processors are for the other pool now
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        items = [{"block": pickled(block)} for block in blocks]
        answers = ray.data.from_items(items, override_num_blocks=len(items)).map_batches(
            _Batches,
            batch_size=None,
            compute=ray.data.ActorPoolStrategy(min_size=1, max_size=self.workers),
            fn_constructor_args=(_by_value(work),),
            num_cpus=1,
        )
        for answer in answers.iter_rows():
            if answer["failure"]:
                raise pickle.loads(answer["failure"])
            yield pickle.loads(answer["result"])

    def free(self) -> int:
        """See `vbcgcd.engine.ordering.Pool`."""
        missing = self.workers - len(self._starting) - len(self._idle) - len(self._busy)
        for _ in range(missing):
            actor = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(_Worker).remote()
            self._starting[actor.versions.remote()] = actor
        return len(self._idle)

    def submit(self, place: int, block: Any) -> None:
        """See `vbcgcd.engine.ordering.Pool`."""
        actor = self._idle.pop()
        self._busy[actor.run.remote(self._round, self._work, pickled(block))] = (actor, place)

    def wait(self) -> list[Outcome]:
        """See `vbcgcd.engine.ordering.Pool`."""
        since = time.monotonic()
        while True:
            handles = [*self._starting, *self._busy]
            done, _ = ray.wait(handles, num_returns=1, timeout=1.0)
            if done:
                more, _ = ray.wait(handles, num_returns=len(handles), timeout=0)
                return [outcome for ref in more or done for outcome in self._hear(ref)]
            if not self._busy and not self._idle and time.monotonic() - since > self._patience:
                raise WorkersLost(
                    f"No processor of the Ray cluster was free for {self._patience:g} seconds: its nodes are "
                    "lost, or others use them. What is finished is kept; run the command again when the "
                    "cluster is back."
                )

    def drop(self) -> None:
        """See `vbcgcd.engine.ordering.Pool`."""
        for actor, _ in self._busy.values():
            _end(actor)  # nobody waits for its answer any more
        self._busy.clear()

    def close(self) -> None:
        """End the actors, and Ray itself where it was started here."""
        self._let_go()
        if not self._joined:
            ray.shutdown()

    def __enter__(self) -> RayEngine:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _let_go(self) -> None:
        self.drop()
        for actor in (*self._idle, *self._starting.values()):
            _end(actor)
        self._idle.clear()
        self._starting.clear()

    def _hear(self, ref: Any) -> list[Outcome]:
        """What an answer means: a new worker, a result, or the loss of one."""
        actor, place = self._busy.pop(ref, (None, -1))
        if actor is None:
            actor = self._starting.pop(ref)
        try:
            value = ray.get(ref)
        except ray.exceptions.RayTaskError as error:
            return [Outcome(place, error=error.cause if isinstance(error.cause, Exception) else error)]
        except ray.exceptions.RayError as error:
            _end(actor)
            if place < 0:
                _check_started(error)
                return []
            return [Outcome(place, lost=reason_of(error))]
        self._idle.append(actor)
        if place < 0:
            _check_versions(value)
            return []
        result, failure = value
        return [Outcome(place, result, None if failure is None else pickle.loads(failure))]


def _by_value(work: Work) -> bytes:
    """Work as it is sent, with what is defined in a script or a notebook, which workers cannot import."""
    return pickled(work, ray.cloudpickle.dumps)


def _nothing(block: Any) -> Any:
    raise AssertionError("no work is loaded")


class _Worker:
    """One worker: the last work that it has loaded."""

    def __init__(self) -> None:
        self.round = 0
        self.function: Callable[[Any], Any] = _nothing

    def versions(self) -> dict[str, str]:
        return _versions()

    def run(self, number: int, work: list[Any], block: bytes) -> tuple[Any, bytes | None]:
        try:
            if number != self.round:
                self.function = pickle.loads(ray.get(work[0])).load()
                self.round = number
            return self.function(pickle.loads(block)), None
        except ray.exceptions.RayError:
            raise
        except Exception as error:
            return None, failure_bytes(error)


class _Batches:
    """One worker of Ray Data, with the work that it has loaded."""

    def __init__(self, work: bytes) -> None:
        self.function, self.failure = attempt(lambda: pickle.loads(work).load())

    def _run(self, block: bytes) -> Any:
        return self.function(pickle.loads(block))

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        results, failures = [], []
        for block in batch["block"]:
            value, error = None, self.failure
            if error is None:
                value, error = attempt(partial(self._run, block))
            results.append(pickle.dumps(value, protocol=5))
            failures.append(b"" if error is None else failure_bytes(error))
        return {"result": results, "failure": failures}


def _connect(workers: int | None, address: str | None, memory: int | None) -> None:
    address = address or os.environ.get("RAY_ADDRESS") or None
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # it is Ray that speaks there, to its developers
    if address is None:
        cpus = workers or processors()
        ray.init("local", num_cpus=cpus, include_dashboard=False, object_store_memory=memory, **QUIET)
        return
    _check_reachable(address)
    try:
        ray.init(address=address, **QUIET)
    except (ConnectionError, TimeoutError, ValueError) as error:
        raise InputError(
            f"The Ray cluster at {address} cannot be reached ({reason_of(error)}); start one with 'ray start "
            "--head' or check the address.",
            option="address",
        ) from None
    except RuntimeError as error:
        if "ersion mismatch" in str(error):
            raise InputError(
                f"The Ray cluster at {address} runs other versions: {' '.join(str(error).split())[:300]} "
                "Install the same versions of Ray and Python here and there.",
                option="address",
            ) from None
        raise


def _check_reachable(address: str) -> None:
    """Raise where nobody listens: Ray itself would try for minutes."""
    if address.startswith("ray://"):
        raise InputError(
            f"{address} is an address of the Ray Client, which cannot run this; give HOST:PORT of the head "
            "on a node of the cluster, or submit the command with 'ray job submit'.",
            option="address",
        )
    if address == "auto":
        return
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise InputError(f"The address must be HOST:PORT or 'auto', got {address!r}.", option="address")
    try:
        socket.create_connection((host, int(port)), timeout=REACH).close()
    except (OSError, OverflowError) as error:
        raise InputError(
            f"The Ray cluster at {address} cannot be reached ({reason_of(error)}); start one with 'ray start "
            "--head' or check the address.",
            option="address",
        ) from None


def _versions() -> dict[str, str]:
    """Versions that have to be the same everywhere, for the same answers."""
    return {"vbcgcd": vbcgcd.__version__, "Python": platform.python_version(), "Ray": ray.__version__}


def _versions_there() -> dict[str, str]:
    """Versions of any node that is free."""
    there: dict[str, str] = ray.get(ray.remote(num_cpus=0)(_versions).remote())
    return there


def _check_versions(there: dict[str, str]) -> None:
    here = _versions()
    for name, version in here.items():
        if there.get(name) != version:
            raise InputError(
                f"A node of the Ray cluster has {name} {there.get(name)}, but here it is {version}; install "
                "the same version everywhere.",
                option="address",
            )


def _check_started(error: Exception) -> None:
    """Raise where a worker cannot start on its node; say nothing where the node is lost."""
    text = str(error)
    if "creation task" in text or "ModuleNotFoundError" in text or "ImportError" in text:
        last = next((line for line in reversed(text.splitlines()) if line.strip()), "")
        raise InputError(
            f"A node of the Ray cluster cannot run vbcgcd {vbcgcd.__version__} ({last.strip()[:200]}); "
            "install the same version there.",
            option="address",
        )


def _end(actor: Any) -> None:
    with suppress(Exception):  # it may be gone already
        ray.kill(actor)
