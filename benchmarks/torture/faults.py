"""Faults: the n-th call of each kind fails, in commands that write and in questions."""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from torture.disk import KINDS, Disk
from torture.judge import failure, state
from torture.table import DONE, REFUSED, TRACEBACK, UNCHANGED, WRONG, Counts, attack, finding
from torture.world import PROBE, Command, World, answers, opened, scratch, small_packs, world
from vbcgcd.errors import PASSING, VbcgcdError

FAULTS = (errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EMFILE)
#: Words that must not be said when nothing is wrong with the workspace.
ALARMS = ("damaged", "restore", "repair", "create one")


@attack("faults while writing", long=4000, short=80)
def writing(rng: np.random.Generator, n: int) -> Counts:
    """Each call of each kind of each command fails with each error; of more than ``n``, a random choice."""
    here, counts = world(), Counter[str]()
    with small_packs(), scratch() as folder:
        target = folder / "w"
        every = [
            (command, kind, number, error)
            for command in here.commands
            for kind, calls in _calls(here, command, target).items()
            for number in range(calls)
            for error in FAULTS
        ]
        for i in rng.permutation(len(every))[:n] if n < len(every) else range(len(every)):
            command, *fault = every[i]
            counts[_attacked(here, command, tuple(fault), target)] += 1
    return counts


def _calls(here: World, command: Command, target: Path) -> dict[str, int]:
    here.copy(command.template, target)
    with Disk(target.parent).between() as disk:
        command.action(target)
    return {kind: disk.calls[kind] for kind in KINDS}


def _attacked(here: World, command: Command, fault: tuple[str, int, int], target: Path) -> str:
    here.copy(command.template, target)
    kind, number, error = fault
    where = f"{command.name}, {kind} {number}, {errno.errorcode[error]}"
    raised: Exception | None = None
    with Disk(target.parent, fault=fault).between():
        try:
            command.action(target)
        except Exception as caught:
            raised = caught
    if raised is None:
        now = state(command, target, where)
        return finding(WRONG, f"{where}: no error, but nothing was done") if now == UNCHANGED else now
    if error in PASSING and any(word in str(raised) for word in ALARMS):
        return finding(WRONG, f"{where}: it passes, but the error says: {raised}")
    return failure(command, target, raised, where)


QUESTIONS: dict[str, Callable[[Path], object]] = {
    "answers": lambda path: answers(path, times=True),
    "verify": lambda path: opened(path).verify(),
    "report": lambda path: opened(path).report(path.parent / "report.html"),
    "export": lambda path: opened(path).export(path.parent / "export.zip"),
    "predict": lambda path: opened(path).predict(PROBE).name,
}


@attack("faults while reading", long=500, short=40)
def reading(rng: np.random.Generator, n: int) -> Counts:
    """The same for questions: the answer is the same, or there is one clear error, and nothing changes."""
    here, counts = world(), Counter[str]()
    errors = (*FAULTS, errno.ENFILE, errno.ENOMEM)
    with small_packs(), scratch() as folder:
        target = here.copy("rich", folder / "w")
        expected = answers(target, times=True)
        every = []
        for name, question in QUESTIONS.items():
            with Disk(folder).between() as disk:
                question(target)
            every += [
                (name, k, i, e)
                for k in ("open", "write", "fsync")
                for i in range(disk.calls[k])
                for e in errors
            ]
        for i in rng.permutation(len(every))[:n] if n < len(every) else range(len(every)):
            name, *fault = every[i]
            counts[_asked(name, tuple(fault), target, expected)] += 1
    return counts


def _asked(name: str, fault: tuple[str, int, int], target: Path, expected: str) -> str:
    where = f"{name}, {fault[0]} {fault[1]}, {errno.errorcode[fault[2]]}"
    outcome = UNCHANGED
    with Disk(target.parent, fault=fault).between():
        try:
            answer = QUESTIONS[name](target)
            if name == "answers" and answer != expected:
                return finding(WRONG, f"{where}: another answer")
            outcome = UNCHANGED if name in ("answers", "predict", "verify") else DONE
        except VbcgcdError as error:
            outcome = REFUSED
            if fault[2] in PASSING and any(word in str(error) for word in ALARMS):
                return finding(WRONG, f"{where}: it passes, but the error says: {error}")
        except Exception as error:
            return finding(TRACEBACK, f"{where}: {type(error).__name__}: {error}")
    for name_of_file in ("report.html", "export.zip"):
        (target.parent / name_of_file).unlink(missing_ok=True)
    left = [name for name in os.listdir(target.parent) if name != target.name]
    if left:
        return finding(WRONG, f"{where}: left behind: {left}")
    return outcome
