"""The members of an exported zip file: exactly those of an export, stored as they are, no bomb among them."""

from __future__ import annotations

import re
import zipfile

from vbcgcd.errors import InputError
from vbcgcd.workspace.log.commits import ABOUT, COMMITS, HEAD, RECORD
from vbcgcd.workspace.log.files import (
    BLOCKS,
    CORRECTIONS,
    EXCERPTS,
    LESSONS,
    MODEL,
    SAMPLE,
    SEEDLINGS,
    SEGMENT,
    TABLE,
    TRACES,
)

#: Files that a commit can have.
FILES = frozenset({TABLE, SAMPLE, EXCERPTS, MODEL, SEGMENT, SEEDLINGS, LESSONS, CORRECTIONS, TRACES, BLOCKS})
#: Bytes of the largest record, and of the two small files beside the commits.
LARGEST_RECORD, LARGEST_NOTE = 2**26, 2**16
#: Commits of the longest history.
MOST_COMMITS = 999_999
#: How the error for a file of another kind begins.
NO_EXPORT = "it is not an export of a workspace"
_MEMBER = re.compile(rf"{COMMITS}/([0-9]{{6}})/([a-z.]+)")

__all__ = ["FILES", "MOST_COMMITS", "NO_EXPORT", "check_members"]


def check_members(archive: zipfile.ZipFile, size: int) -> None:
    """Raise `InputError` unless the archive has the members of an export and nothing else.

    Parameters
    ----------
    archive : ZipFile
    size : int
        Bytes of the file: members are stored without compression, so together they are smaller.
    """
    infos = archive.infolist()
    if len({info.filename for info in infos}) < len(infos):
        raise InputError(f"{NO_EXPORT}: a part is there twice")
    for info in infos:
        _check_member(info)
    names = {info.filename for info in infos}
    commits = {name.split("/")[1] for name in names if "/" in name}
    records = {f"{COMMITS}/{commit}/{RECORD}" for commit in commits}
    if not {ABOUT, HEAD} <= names or not commits or not records <= names:
        raise InputError(f"{NO_EXPORT}: parts are missing")
    if sum(info.file_size for info in infos) > size:
        raise InputError(f"{NO_EXPORT}: its parts are larger than the file")


def _check_member(info: zipfile.ZipInfo) -> None:
    name = info.filename
    match = _MEMBER.fullmatch(name)
    if name not in (ABOUT, HEAD) and (match is None or match[2] not in {RECORD, *FILES}):
        raise InputError(f"{NO_EXPORT}: it holds {name[:80]!r}")
    if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
        raise InputError(f"{name} is compressed, which an export is not; it could unpack to any size")
    if info.flag_bits & 0x1:
        raise InputError(f"{name} is encrypted, which an export is not")
    largest = LARGEST_NOTE if match is None else LARGEST_RECORD if match[2] == RECORD else None
    if largest is not None and info.file_size > largest:
        raise InputError(f"{name} has {info.file_size:,} bytes, at most {largest:,} are allowed")
