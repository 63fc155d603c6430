"""What a layout is: how it is recognised, how it is read, what it expects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vbcgcd.errors import InputError

__all__ = ["Layout", "lines_of", "root_of"]


@dataclass(frozen=True)
class Layout:
    """One way in which a labelled dataset lies on disk.

    Parameters
    ----------
    name : str
    description : str
        One line for a listing.
    expects : str
        The files of the layout; part of every error about it.
    detect : callable (Path) -> bool
        Recognises an existing path.
    load : callable (Path, **options) -> LabelledItems
        Takes ``name`` and the options below.
    options : tuple of str
        Options that it understands.
    """

    name: str
    description: str
    expects: str
    detect: Callable[[Path], bool]
    load: Callable[..., Any]
    options: tuple[str, ...] = ()


def root_of(path: Path, usual: str) -> Path:
    """The folder of the dataset: ``path``, or the folder of the usual name in it."""
    return path / usual if (path / usual).is_dir() else path


def lines_of(path: Path, expects: str) -> list[str]:
    """Lines of a text file that are not blank, or an error that says what the layout expects."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{path} is missing. Expected: {expects}.") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text. Expected: {expects}.") from None
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        raise InputError(f"{path} is empty. Expected: {expects}.")
    return lines
