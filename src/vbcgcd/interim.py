"""Session records until the workspace returns them itself."""

from __future__ import annotations

from typing import Any

from vbcgcd.record import SessionRecord


def as_record(info: Any, failures: Any = ()) -> SessionRecord:
    """A record of what the workspace tells about a session."""
    values = {**info.summary, **info.as_dict(), "flagged": info.unfamiliar}
    values.pop("failures")
    record = SessionRecord.from_json(values)
    return record if not failures else __import__("dataclasses").replace(record, failures=tuple(failures))
