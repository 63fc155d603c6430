"""The register of attacks, the words in which they count, and the table."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

#: What may happen: nothing, the whole command, or one clear error that says which of both.
UNCHANGED, DONE, REFUSED = "unchanged", "done", "clear error"
#: What must never happen: acknowledged work is gone, an answer or a message is wrong, an error is not clear.
LOSS, WRONG, TRACEBACK = "loss", "wrong answer", "traceback"
GOOD, BAD = (UNCHANGED, DONE, REFUSED), (LOSS, WRONG, TRACEBACK)

Counts = Counter[str]
Attack = Callable[[np.random.Generator, int], Counts]


@dataclass(frozen=True)
class Entry:
    """An attack, and how often it tries in the long and in the short version."""

    attack: Attack
    long: int
    short: int


#: All attacks by name, in the order of the table.
ATTACKS: dict[str, Entry] = {}
#: The last things that must never happen, in words.
FINDINGS: list[str] = []


def attack(name: str, *, long: int, short: int) -> Callable[[Attack], Attack]:
    """Register an attack.

    Parameters
    ----------
    name : str
        Its line in the table.
    long, short : int
        Number of tries with ``make torture`` and in the tests.
    """

    def register(function: Attack) -> Attack:
        ATTACKS[name] = Entry(function, long, short)
        return function

    return register


def finding(kind: str, what: str) -> str:
    """Note something that must never happen; returns its kind."""
    FINDINGS.append(f"{kind}: {what}")
    return kind


def run(name: str, *, short: bool = False, tries: int | None = None, seed: int = 0) -> tuple[Counts, float]:
    """Run one attack: what it counted, and seconds."""
    entry = ATTACKS[name]
    n = tries or (entry.short if short else entry.long)
    start = time.perf_counter()
    counts = entry.attack(np.random.default_rng(seed), n)
    unknown = set(counts) - {*GOOD, *BAD}
    if unknown:
        raise ValueError(f"{name} counts {sorted(unknown)}; the words are {', '.join((*GOOD, *BAD))}.")
    return counts, time.perf_counter() - start


HEADER = f"{'attack':34s} {'tries':>6s} " + " ".join(f"{word:>12s}" for word in (*GOOD, *BAD)) + "  seconds"


def line(name: str, counts: Counts, seconds: float) -> str:
    """One line of the table."""
    numbers = " ".join(f"{counts[word]:12d}" for word in (*GOOD, *BAD))
    return f"{name:34s} {counts.total():6d} {numbers} {seconds:8.0f}"
