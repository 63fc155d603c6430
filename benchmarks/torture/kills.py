"""Kills: before every single call that touches the disk, and by SIGKILL at random moments."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from torture.disk import Disk, Killed
from torture.judge import goes_on, state
from torture.table import DONE, UNCHANGED, Counts, attack
from torture.world import Command, World, scratch, small_packs, world


@attack("kill before every disk call", long=1000, short=60)
def every_call(rng: np.random.Generator, n: int) -> Counts:
    """A kill before each call of each command; of more than ``n``, a random choice."""
    here, counts = world(), Counter[str]()
    with small_packs(), scratch() as folder:
        target = folder / "w"
        every = [(c, step) for c in here.commands for step in range(number_of_calls(here, c, target))]
        chosen = rng.permutation(len(every))[:n] if n < len(every) else range(len(every))
        for command, step in (every[i] for i in chosen):
            counts[_killed_before(here, command, step, target)] += 1
    return counts


def number_of_calls(here: World, command: Command, target: Path) -> int:
    """Calls that touch the disk when nothing goes wrong."""
    here.copy(command.template, target)
    with Disk(target.parent).between() as disk:
        command.action(target)
    return disk.calls.total()


def _killed_before(here: World, command: Command, step: int, target: Path) -> str:
    here.copy(command.template, target)
    with Disk(target.parent, kill_at=step).between() as disk, contextlib.suppress(Killed):
        command.action(target)
    disk.bury()
    where = f"{command.name} killed before call {step}"
    now = state(command, target, where)
    if not disk.dead or now not in (UNCHANGED, DONE):
        return now
    return goes_on(command, target, now, where)


@attack("kill -9 at random moments", long=400, short=20)
def random_moments(rng: np.random.Generator, n: int) -> Counts:
    """SIGKILL, half of the time anywhere, half of the time around the end, where the disk is written."""
    here, counts = world(), Counter[str]()
    with small_packs(), scratch() as folder:
        target = folder / "w"
        seconds = {command.name: _seconds(here, command, target) for command in here.commands}
        while counts.total() < n:
            command = here.commands[counts.total() % len(here.commands)]
            share = rng.uniform(0, 1.2) if rng.random() < 0.5 else rng.uniform(0.7, 1.4)
            here.copy(command.template, target)
            if not killed_child(lambda c=command: c.action(target), share * seconds[command.name]):  # type: ignore[misc]
                continue  # it was quicker
            where = f"{command.name} killed after {share:.2f} of its time"
            now = state(command, target, where)
            counts[goes_on(command, target, now, where) if now in (UNCHANGED, DONE) else now] += 1
    return counts


def _seconds(here: World, command: Command, target: Path) -> float:
    here.copy(command.template, target)
    start = time.perf_counter()
    killed_child(lambda: command.action(target))
    return time.perf_counter() - start


def killed_child(action: Callable[[], object], after: float | None = None) -> bool:
    """Run ``action`` in a child and kill it after some seconds; whether it was still running."""
    pid = os.fork()
    if pid == 0:
        try:
            action()
        finally:
            os._exit(0)
    if after is not None:
        time.sleep(after)
        os.kill(pid, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(pid, 0)[1])
