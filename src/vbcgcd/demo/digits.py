"""Which digits are in which folder: five are labelled, the others come on three days among known ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
LABELLED = (0, 1, 2, 3, 4)
#: Each day and the digits that are new on it.
DAYS = {"monday": (5, 6), "tuesday": (7, 8), "wednesday": (9,)}
#: Pictures of each digit that are held out, and of each known digit on each day.
HELD_OUT, KNOWN = 50, 15

__all__ = ["DAYS", "HELD_OUT", "KNOWN", "LABELLED", "NAMES", "DigitPlan", "digit_plan"]


@dataclass(frozen=True, eq=False)
class DigitPlan:
    """Rows of the digits for each folder; no row is in two.

    Parameters
    ----------
    labelled : int array
        Digits zero to four.
    days : dict of str to int array
        In an order that tells nothing.
    held_out : int array
        All digits, never learned.
    """

    labelled: Array
    days: dict[str, Array]
    held_out: Array


def digit_plan(y: Array, *, seed: int = 0) -> DigitPlan:
    """Deal the rows of the digits ``y``, int array (N,), to the folders.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> plan = digit_plan(load_digits().target)
    >>> len(plan.labelled), {day: len(rows) for day, rows in plan.days.items()}, len(plan.held_out)
    (426, {'monday': 248, 'tuesday': 268, 'wednesday': 220}, 500)
    """
    rng = np.random.default_rng(seed)
    stacks = {digit: rng.permutation(np.flatnonzero(y == digit)) for digit in range(len(NAMES))}

    def taken(digit: int, n: int) -> Array:
        rows, stacks[digit] = stacks[digit][:n], stacks[digit][n:]
        return rows

    held_out = np.concatenate([taken(digit, HELD_OUT) for digit in stacks])
    kept = {digit: taken(digit, KNOWN * len(DAYS)) for digit in stacks}
    labelled = np.concatenate([stacks[digit] for digit in LABELLED])
    days, known = {}, list(LABELLED)
    for number, (day, novel) in enumerate(DAYS.items()):
        place = slice(KNOWN * number, KNOWN * (number + 1))
        old = [kept[digit][place] for digit in known]
        days[day] = rng.permutation(np.concatenate([*old, *(stacks[digit] for digit in novel)]))
        known += novel
    return DigitPlan(labelled, days, rng.permutation(held_out))
