"""Power failures: the process dies, and what was not synced is lost in part: renames, and ends of files."""

from __future__ import annotations

import contextlib
from collections import Counter

import numpy as np

from torture.disk import Disk, Killed
from torture.judge import goes_on, state
from torture.kills import number_of_calls
from torture.table import DONE, LOSS, UNCHANGED, Counts, attack, finding
from torture.world import scratch, small_packs, world


@attack("power failures, lost renames", long=500, short=40)
def power_failures(rng: np.random.Generator, n: int) -> Counts:
    """A kill before a random call of a random command; then half of the renames that nobody synced are lost.

    A command that had ended was acknowledged: it must still be there.
    """
    here, counts = world(), Counter[str]()
    with small_packs(), scratch() as folder:
        target = folder / "w"
        calls = {command.name: number_of_calls(here, command, target) for command in here.commands}
        for _ in range(n):
            command = here.commands[int(rng.integers(len(here.commands)))]
            step = int(rng.integers(calls[command.name] + 1))
            here.copy(command.template, target)
            with Disk(target.parent, kill_at=step).between() as disk, contextlib.suppress(Killed):
                command.action(target)
            disk.lose_power(rng)
            disk.bury()
            where = f"{command.name}, power lost before call {step} of {calls[command.name]}"
            now = state(command, target, where)
            if now == UNCHANGED and not disk.dead:
                now = finding(LOSS, f"{where}: it was acknowledged, and it is gone")
            counts[goes_on(command, target, now, where) if now in (UNCHANGED, DONE) else now] += 1
    return counts
