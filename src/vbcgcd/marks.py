"""What says whether files are whole and the same: two files in a folder of shards, and marks of each file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from vbcgcd.archive import atomic_file
from vbcgcd.errors import DiskError, InputError, MissingFileError

#: Written first, and removed when all is done.
UNFINISHED = "_unfinished.json"
#: Written last: what it lists is all there is.
MANIFEST = "_manifest.json"
FORMAT = 1

__all__ = [
    "FORMAT",
    "MANIFEST",
    "UNFINISHED",
    "check_unchanged",
    "check_whole",
    "file_mark",
    "read_mark",
    "write_mark",
]


def file_mark(path: Path) -> tuple[int, int]:
    """Size and time of change of a file: another mark is another file."""
    try:
        stat = path.stat()
    except FileNotFoundError:
        raise MissingFileError(
            f"{path} has vanished while it was being read; put it back and run it again."
        ) from None
    except OSError as error:
        raise DiskError.reading(path, error) from None
    return stat.st_size, stat.st_mtime_ns


def check_unchanged(path: Path, mark: tuple[int, int]) -> None:
    """Raise if a file is not the one that had this mark: passes over its rows would not agree."""
    if file_mark(path) != mark:
        raise InputError(
            f"{path} was changed while it was being read; run it again once the file is complete."
        )


def check_whole(folder: Path) -> None:
    """Raise if a folder holds only a part of what a command was to write, or has written, into it."""
    if (folder / UNFINISHED).exists() and not (folder / MANIFEST).exists():
        command = (read_mark(folder / UNFINISHED).get("job") or {}).get("command", "a command")
        raise InputError(
            f"{folder} holds the unfinished output of vbcgcd {command}; run that command again to finish it, "
            "or delete the folder."
        )
    if (folder / MANIFEST).exists():
        _check_listed(folder)


def _check_listed(folder: Path) -> None:
    """Raise if a shard that the manifest lists is missing or has changed."""
    for shard in read_mark(folder / MANIFEST)["shards"]:
        path = folder / shard["name"]
        if not path.is_file() or path.stat().st_size != shard["bytes"]:
            state = "has another size" if path.is_file() else "is missing"
            raise InputError(
                f"{folder} is not whole: {shard['name']} {state}. Run the command that wrote it again."
            )


def read_mark(path: Path) -> dict[str, Any]:
    """What such a file says, or one clear error."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        value = None
    if not isinstance(value, dict) or type(value.get("format")) is not int:
        raise InputError(f"{path} is damaged; delete the folder {path.parent} and run the command again.")
    if value["format"] > FORMAT:
        raise InputError(f"{path} was written by a newer release of vbcgcd; update vbcgcd.")
    return value


def write_mark(path: Path, value: dict[str, Any]) -> None:
    """Write such a file; it appears complete or not at all."""
    try:
        with atomic_file(path) as out:
            out.write(json.dumps({"format": FORMAT, **value}, indent=1).encode())
    except OSError as error:
        raise DiskError.writing(path, error) from None
