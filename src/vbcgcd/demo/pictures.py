"""The pictures of the demo and their folder: five digits are labelled, the others arrive on three days."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.errors import DiskError, InputError

Array = NDArray[Any]
NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
LABELLED = (0, 1, 2, 3, 4)
#: Each day and the digits that are novel on it.
DAYS = {"monday": (5, 6), "tuesday": (7, 8), "wednesday": (9,)}
#: Pictures of each digit that are held out, and of each known digit on each day.
HELD_OUT, KNOWN = 50, 15
MARKER, MARK = ".vbcgcd-demo", "made by vbcgcd demo\n"
#: What the demo writes beside its marker; it never touches anything else in the folder.
PICTURES, WORKSPACE, REPORT = "pictures", "digits", "report.html"
#: Side of a picture, in pixels.
SIDE = 32

__all__ = [
    "DAYS",
    "LABELLED",
    "MARKER",
    "NAMES",
    "PICTURES",
    "REPORT",
    "WORKSPACE",
    "DigitPlan",
    "digit_plan",
    "prepare_folder",
    "write_pictures",
]


@dataclass(frozen=True, eq=False)
class DigitPlan:
    """Rows of the digits for each folder; no row is in two.

    Parameters
    ----------
    labelled : int array
        Digits zero to four.
    days : mapping of str -> int array
        Shuffled, so that the order gives nothing away.
    held_out : int array
        All digits; the workspace never learns from them.
    """

    labelled: Array
    days: Mapping[str, Array]
    held_out: Array

    @property
    def folders(self) -> dict[str, Array]:
        """Rows of each folder."""
        return {"labelled": self.labelled, **self.days, "held-out": self.held_out}


def digit_plan(y: Array, *, seed: int = 0) -> DigitPlan:
    """Distribute the rows of the digits ``y``, int array (N,), over the folders.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> plan = digit_plan(load_digits().target)
    >>> len(plan.labelled), {day: len(rows) for day, rows in plan.days.items()}, len(plan.held_out)
    (426, {'monday': 248, 'tuesday': 268, 'wednesday': 220}, 500)
    """
    rng = np.random.default_rng(seed)
    stacks = {digit: rng.permutation(np.flatnonzero(y == digit)) for digit in range(len(NAMES))}

    def take(digit: int, n: int) -> Array:
        rows, stacks[digit] = stacks[digit][:n], stacks[digit][n:]
        return rows

    held_out = np.concatenate([take(digit, HELD_OUT) for digit in stacks])
    returning = {digit: take(digit, KNOWN * len(DAYS)) for digit in stacks}
    labelled = np.concatenate([stacks[digit] for digit in LABELLED])
    days, known = {}, list(LABELLED)
    for number, (day, novel) in enumerate(DAYS.items()):
        place = slice(KNOWN * number, KNOWN * (number + 1))
        old = [returning[digit][place] for digit in known]
        days[day] = rng.permutation(np.concatenate([*old, *(stacks[digit] for digit in novel)]))
        known += novel
    return DigitPlan(labelled, days, rng.permutation(held_out))


def prepare_folder(folder: Path) -> Path:
    """An empty place for the demo.

    A folder that an earlier demo made is cleared of what the demo writes; any other folder that is not empty
    is refused and left alone.
    """
    marker = folder / MARKER
    try:
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{folder} is a file; choose a folder for the demo.", option="folder")
        ours = marker.is_file() and marker.read_bytes() == MARK.encode()
        if folder.is_dir() and any(folder.iterdir()) and not ours:
            raise InputError(
                f"{folder} contains files that the demo did not write; choose a folder that is empty or does "
                "not exist.",
                option="folder",
            )
        folder.mkdir(parents=True, exist_ok=True)
        marker.write_bytes(MARK.encode())
        for name in (PICTURES, WORKSPACE, REPORT):
            _remove(folder / name)
    except OSError as error:
        raise DiskError.writing(folder, error) from None
    return folder


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def write_pictures(root: Path, images: Array, y: Array, plan: DigitPlan) -> dict[str, dict[str, str]]:
    """Write digits as PNG files, dark on white.

    Parameters
    ----------
    root : Path
        Where the folders are created.
    images : array (N, 8, 8)
        Ink from 0 to 16.
    y : int array (N,)
        The digit of each image.
    plan : DigitPlan

    Returns
    -------
    dict of str -> dict
        For each folder the digit of each picture in it, by relative path.
    """
    truth = {name: dict(_paths(name, rows, y)) for name, rows in plan.folders.items()}
    try:
        for name, rows in plan.folders.items():
            for path, row in zip(truth[name], rows.tolist(), strict=True):
                _draw(root / name / path, images[row])
    except OSError as error:
        raise DiskError.writing(root, error) from None
    return truth


def _paths(name: str, rows: Array, y: Array) -> Iterator[tuple[str, str]]:
    """Path and digit of each picture; only the paths of labelled ones name the digit."""
    for number, digit in enumerate(y[rows].tolist(), start=1):
        label = NAMES[digit]
        yield f"{label}/{number:03d}.png" if name == "labelled" else f"{number:03d}.png", label


def _draw(path: Path, ink: Array) -> None:
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    grey = np.round(255 * (1 - ink / 16)).astype(np.uint8)
    Image.fromarray(grey).resize((SIDE, SIDE), Image.Resampling.BICUBIC).save(path)
