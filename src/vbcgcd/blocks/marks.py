"""The files that say whether a folder of shards is whole: one while work is under way, another at its end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from vbcgcd.archive import atomic_file
from vbcgcd.errors import DiskError, InputError

#: Written first, and removed when all is done.
UNFINISHED = "_unfinished.json"
#: Written last: what it lists is all there is.
MANIFEST = "_manifest.json"
FORMAT = 1

__all__ = ["FORMAT", "MANIFEST", "UNFINISHED", "check_whole", "read_mark", "write_mark"]


def check_whole(folder: Path) -> None:
    """Raise if a folder holds a part of what a command was to write into it."""
    if (folder / UNFINISHED).exists() and not (folder / MANIFEST).exists():
        command = (read_mark(folder / UNFINISHED).get("job") or {}).get("command", "a command")
        raise InputError(
            f"{folder} holds the unfinished output of vbcgcd {command}; run that command again to finish it, "
            "or delete the folder."
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
