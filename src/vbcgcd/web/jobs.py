"""Long work that visitors ask for: one process each, with progress, a time limit, and a way to stop it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from vbcgcd.errors import InputError

Status = Literal["waiting", "running", "done", "failed", "cancelled"]
#: Jobs that run at the same time, that wait, and that are remembered after they have ended.
AT_ONCE, WAITING, REMEMBERED = 1, 8, 50
#: Bytes of one line of a worker.
LONGEST_LINE = 64 * 2**20

__all__ = ["Job", "Jobs"]


@dataclass
class Job:
    """One piece of long work.

    Parameters
    ----------
    id : str
    task : dict
        What the worker is told.
    title : str
        The name of the file, for people.
    upload : str
        Id of the upload that it uses.
    """

    id: str
    task: dict[str, Any]
    title: str
    upload: str
    by: str | None = None
    status: Status = "waiting"
    step: str = ""
    done: int = 0
    total: int = 0
    started: float = 0.0
    seconds: float = 0.0
    result: dict[str, Any] | None = None
    error: str = ""
    accepted: bool = False
    _process: asyncio.subprocess.Process | None = field(default=None, repr=False)

    def as_json(self, *, result: bool = True) -> dict[str, Any]:
        """Plain values."""
        seconds = time.monotonic() - self.started if self.status == "running" else self.seconds
        return {
            "id": self.id,
            "task": self.task["task"],
            "title": self.title,
            "by": self.by,
            "status": self.status,
            "step": self.step,
            "done": self.done,
            "total": self.total,
            "seconds": round(seconds, 1),
            "error": self.error,
            "accepted": self.accepted,
            "head": self.task.get("head"),
            **({"result": self.result} if result else {}),
        }


class Jobs:
    """All jobs of a server.

    Parameters
    ----------
    publish : callable
        Called with an event whenever something moves.
    most_seconds : float
        After which a job is stopped.
    memory : int or None
        Bytes that a job may use.
    """

    def __init__(
        self, publish: Callable[[dict[str, Any]], None], *, most_seconds: float, memory: int | None
    ) -> None:
        self._publish, self._most_seconds, self._memory = publish, most_seconds, memory
        self._jobs: dict[str, Job] = {}
        self._places = asyncio.Semaphore(AT_ONCE)
        self._tasks: set[asyncio.Task[None]] = set()

    def start(
        self, task: dict[str, Any], title: str, upload: str, by: str | None, then: Callable[[Job], None]
    ) -> Job:
        """Begin a job, or let it wait for its turn; ``then`` is called when it has ended."""
        if sum(job.status == "waiting" for job in self._jobs.values()) >= WAITING:
            raise InputError("Too much is waiting already; try again when some of it has finished.")
        job = Job(secrets.token_hex(8), {**task, "memory": self._memory, "by": by}, title, upload, by)
        self._jobs[job.id] = job
        for old in [j for j in self._jobs.values() if j.status not in ("waiting", "running")][:-REMEMBERED]:
            del self._jobs[old.id]
        running = asyncio.get_running_loop().create_task(self._run(job, then))
        self._tasks.add(running)
        running.add_done_callback(self._tasks.discard)
        return job

    def get(self, name: str) -> Job:
        """A job by its id."""
        if name not in self._jobs:
            raise InputError("There is no such job any more.")
        return self._jobs[name]

    def all(self) -> list[Job]:
        """All jobs that are remembered, the last one first."""
        return list(self._jobs.values())[::-1]

    def cancel(self, job: Job) -> None:
        """Stop a job; a session that it was writing is there whole or not at all."""
        if job.status in ("waiting", "running"):
            job.status = "cancelled"
            self._kill(job)
            self._tell(job)

    async def close(self) -> None:
        """Stop everything."""
        for job in self._jobs.values():
            self.cancel(job)
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _run(self, job: Job, then: Callable[[Job], None]) -> None:
        try:
            async with self._places:
                if job.status == "waiting":
                    await self._work(job)
        except asyncio.CancelledError:
            self._kill(job)
            raise
        except (OSError, ValueError) as error:  # no process, a broken pipe, or a line that is none of ours
            self._fail(job, f"The work could not be done ({error}); try again, or use the command line.")
        finally:
            job.seconds = time.monotonic() - job.started if job.started else 0.0
            self._tell(job)
            then(job)

    async def _work(self, job: Job) -> None:
        job.status, job.started = "running", time.monotonic()
        self._tell(job)
        job._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "vbcgcd.web.worker",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            limit=LONGEST_LINE,
            start_new_session=True,
        )
        try:
            await asyncio.wait_for(self._listen(job, job._process), self._most_seconds)
        except TimeoutError:
            self._fail(job, f"This took longer than {self._most_seconds:g} seconds and was stopped.")
        finally:
            self._kill(job)
            await _ended(job._process)
        if job.status == "running":
            self._fail(job, "The work ended without a result; it may have needed too much memory.")

    async def _listen(self, job: Job, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(job.task).encode() + b"\n")
        await process.stdin.drain()
        async for line in process.stdout:
            self._take(job, json.loads(line))
            if job.status != "running":
                return

    def _take(self, job: Job, line: dict[str, Any]) -> None:
        kind = line.pop("type")
        if kind == "step":
            job.step, job.done, job.total = line["step"], 0, 0
        elif kind == "embedding":
            job.step, job.done, job.total = "embedding", line["done"], line["total"]
        elif kind == "error":
            self._fail(job, line["error"])
            return
        elif kind == "result":
            job.result, job.status = line, "done"
        self._tell(job)

    def _fail(self, job: Job, reason: str) -> None:
        if job.status == "running":
            job.status, job.error = "failed", reason
            self._tell(job)

    def _kill(self, job: Job) -> None:
        process = job._process
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if sys.platform == "win32":
                    process.kill()
                else:
                    os.killpg(process.pid, signal.SIGKILL)

    def _tell(self, job: Job) -> None:
        self._publish({"type": "job", "job": job.as_json(result=False)})


async def _ended(process: asyncio.subprocess.Process) -> None:
    """Wait until a process is gone, and let go of its pipes."""
    if process.stdin is not None:
        process.stdin.close()
        with contextlib.suppress(OSError):
            await process.stdin.wait_closed()
    await process.wait()
    if process.stdout is not None:  # what it said last is not wanted, but the pipe must be at its end
        await process.stdout.read()
