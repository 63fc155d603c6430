"""The shapes of the records of a workspace: which fields there are, of which type, in which range."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from vbcgcd.errors import InputError
from vbcgcd.items.items import KINDS
from vbcgcd.workspace.imports.members import FILES, MOST_COMMITS
from vbcgcd.workspace.imports.shapes import (
    Check,
    choice,
    list_of,
    mapping_of,
    number,
    optional,
    record,
    text,
    truth,
    whole,
)
from vbcgcd.workspace.ledger import CORRECTING
from vbcgcd.workspace.log.commits import FORMAT, SESSIONS, VERSION

COMMANDS = (
    "init",
    *SESSIONS,
    *("rename", "merge", "split", "drop", "undo", "redo", "configure", "dismiss"),
    *CORRECTING,
)
#: Dimensions of the widest embedding.
WIDEST = 100_000
#: Levels to which lists and objects may be nested.
DEEPEST = 20

__all__ = ["COMMIT_SHAPE", "HEAD_SHAPE", "SESSION_SUMMARY", "check_about"]

_NAME, _ID, _SHARE = text(1000, shortest=1), whole(), optional(number(0, 1.001))


def _count_key(where: str, value: Any) -> None:
    if not (isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 17):
        raise InputError(f"{where} must be by category, got {repr(value)[:60]}")


def _time(where: str, value: Any) -> None:
    text(40)(where, value)
    try:
        datetime.fromisoformat(value)
    except ValueError:
        raise InputError(f"{where} must be a time, got {value[:40]!r}") from None


def _version(where: str, value: Any) -> None:
    whole(1)(where, value)
    if value > VERSION:
        raise InputError(f"{where} is {value}, this release reads up to {VERSION}: update vbcgcd")


def _plain(where: str, value: Any, depth: int = 0) -> None:
    """Any JSON value that is not nested too deeply and holds no infinite number."""
    if depth > DEEPEST:
        raise InputError(f"{where} is nested more than {DEEPEST} deep")
    if isinstance(value, dict):
        for name, part in value.items():
            text()(where, name)
            _plain(where, part, depth + 1)
    elif isinstance(value, list):
        for part in value:
            _plain(where, part, depth + 1)
    elif isinstance(value, str):
        text(1_000_000)(where, value)
    elif isinstance(value, float):
        number()(where, value)


def _object(where: str, value: Any) -> None:
    record({})(where, value)
    _plain(where, value)


_SHA256 = text(64, shortest=64)
_ABOUT = record(
    {
        "format": choice(FORMAT),
        "version": _version,
        "created": _time,
        "release": text(40),
        "id": text(64),
    },
    required=("format", "version", "created", "release"),
)


def check_about(where: str, value: Any) -> None:
    """The shape of workspace.json; other releases may have more to say."""
    _object(where, value)
    _ABOUT(where, value)


HEAD_SHAPE = record({"commit": whole(1, MOST_COMMITS), "sha256": _SHA256}, required=("commit", "sha256"))
_CATEGORY = record(
    {
        "id": _ID,
        "name": _NAME,
        "named_by": choice("label", "user", "terms", "likeness", "number"),
        "birth": _ID,
        "status": choice("live", "merged", "split", "dropped"),
        "into": list_of(_ID),
        "parents": list_of(_ID),
        "reliability": number(0, 1),
    },
    required=("id", "name", "named_by", "birth", "status", "into", "parents"),
    closed=True,
)
_CHANGES = record(
    {
        "config": _object,
        "embedder": record(
            {
                "name": text(1000),
                "kind": choice(*KINDS),
                "fingerprint": text(200, shortest=1),
                "dimension": whole(1, WIDEST),
            },
            required=("name", "kind", "fingerprint", "dimension"),
            closed=True,
        ),
        "model": truth,
        "categories": list_of(_CATEGORY),
        "posteriors": list_of(_ID),
        "session": _ID,
        "seedlings": whole(0, 1_000_000),
        "lineage": record(
            {"seedlings": list_of(whole(-1)), "grown": mapping_of(_count_key, _ID)},
            required=("seedlings", "grown"),
            closed=True,
        ),
        "bed": list_of(_ID),
        "dismissed": record(
            {
                "question": text(100, shortest=1),
                "categories": list_of(_ID),
                "probability": number(0, 1),
                "affected": number(0),
            },
            required=("question", "categories", "probability", "affected"),
            closed=True,
        ),
        "goto": whole(1, MOST_COMMITS),
    },
    closed=True,
)
_COUNTS = mapping_of(_count_key, _ID)
_FAILURE = record({"reference": text(), "reason": text()}, required=("reference", "reason"), closed=True)
_SUMMARY_FIELDS: dict[str, Check] = {
    "rows": _ID,
    "counts": _COUNTS,
    "grown": _COUNTS,
    "returned": _COUNTS,
    "novel": list_of(_ID),
    "seconds": number(0),
    "mean_probability": _SHARE,
    "flagged": _SHARE,
    "unfamiliar": _SHARE,
    "novel_share": _SHARE,
    "estimated": optional(truth),
    "unassigned": _ID,
    "seedlings": list_of(_ID),
    "warnings": list_of(text()),
    "evidence": optional(number()),
    "ratio_before": list_of(optional(number())),
    "ratio_after": list_of(optional(number())),
    "count": optional(
        record(
            {
                "method": text(100),
                "candidates": list_of(_ID),
                "scores": list_of(optional(number())),
                "chosen": _ID,
            },
            required=("method", "candidates", "scores", "chosen"),
        )
    ),
    "steps": list_of(record({"name": text(100), "seconds": number(0)}, required=("name", "seconds"))),
    "unlabelled": _ID,
    "failures": list_of(_FAILURE),
    "n_failures": _ID,
    "source": text(),
    "kind": choice("", *KINDS),
    "columns": _object,
    "model": _object,
    "prior": _object,
    "source_path": text(),
    "source_digest": text(200),
    "source_read": number(),
    "before": text(1000),
}
_SUMMARY = record(_SUMMARY_FIELDS)


def _any_summary(where: str, value: Any) -> None:
    _object(where, value)  # fields of other releases too
    _SUMMARY(where, value)


SESSION_SUMMARY = record(_SUMMARY_FIELDS, required=("rows", "counts", "novel"))
COMMIT_SHAPE = record(
    {
        "number": whole(1, MOST_COMMITS),
        "command": choice(*COMMANDS),
        "time": _time,
        "parent": optional(_SHA256),
        "parameters": _object,
        "changes": _CHANGES,
        "summary": _any_summary,
        "files": mapping_of(
            choice(*FILES),
            record(
                {"bytes": _ID, "sha256": text(64, shortest=64)}, required=("bytes", "sha256"), closed=True
            ),
        ),
        "release": text(40),
        "version": _version,
    },
    required=("number", "command", "time", "parent", "parameters", "changes", "summary", "files", "release"),
    closed=True,
)
