"""The folder of the demo: it is made anew each time, and a folder of anybody else is left alone."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.demo.digits import NAMES, DigitPlan
from vbcgcd.errors import InputError

Array = NDArray[Any]
MARKER, MARK = ".vbcgcd-demo", "made by vbcgcd demo\n"
#: What the demo writes beside its marker; nothing else in the folder is ever touched.
PICTURES, WORKSPACE, REPORT = "pictures", "digits", "report.html"
SIDE = 32

__all__ = ["MARKER", "PICTURES", "REPORT", "WORKSPACE", "prepared_folder", "write_pictures"]


def prepared_folder(folder: Path) -> Path:
    """An empty place for the demo, or one clear error.

    A folder that a demo made before is cleared of what the demo writes; any other that is not empty is
    refused as it is.
    """
    marker = folder / MARKER
    try:
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{folder} is no folder; choose another one for the demo.")
        ours = marker.is_file() and marker.read_bytes() == MARK.encode()
        if folder.is_dir() and any(folder.iterdir()) and not ours:
            raise InputError(
                f"{folder} holds files that are not of the demo, which would write beside them; choose a "
                "folder that is empty or does not exist."
            )
        folder.mkdir(parents=True, exist_ok=True)
        marker.write_bytes(MARK.encode())
        for name in (PICTURES, WORKSPACE, REPORT):
            _remove(folder / name)
    except OSError as error:
        raise InputError(
            f"The demo cannot write in {folder}: {error.strerror or error}; choose another folder."
        ) from None
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
        Where the folders are made.
    images : array (N, 8, 8)
        Ink from 0 to 16.
    y : int array (N,)
    plan : DigitPlan

    Returns
    -------
    dict of str to dict
        For each folder the digit of each picture in it, by relative path.
    """
    truth = {name: dict(_placed(name, rows, y)) for name, rows in _folders(plan).items()}
    try:
        for name, rows in _folders(plan).items():
            for path, row in zip(truth[name], rows.tolist(), strict=True):
                _draw(root / name / path, images[row])
    except OSError as error:
        raise InputError(f"The pictures cannot be written in {root}: {error.strerror or error}.") from None
    return truth


def _folders(plan: DigitPlan) -> Mapping[str, Array]:
    return {"labelled": plan.labelled, **plan.days, "held-out": plan.held_out}


def _placed(name: str, rows: Array, y: Array) -> Iterator[tuple[str, str]]:
    """Path and digit of each picture; only labelled ones tell the digit in their path."""
    for number, digit in enumerate(y[rows].tolist(), start=1):
        label = NAMES[digit]
        yield f"{label}/{number:03d}.png" if name == "labelled" else f"{number:03d}.png", label


def _draw(path: Path, ink: Array) -> None:
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    grey = np.round(255 * (1 - ink / 16)).astype(np.uint8)
    Image.fromarray(grey).resize((SIDE, SIDE), Image.Resampling.BICUBIC).save(path)
