"""`import_workspace`: from an exported file to a folder, or to one clear error."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vbcgcd.errors import DiskError, InputError, MissingFileError, VbcgcdError, WorkspaceDamaged, reason_of
from vbcgcd.workspace.imports.contents import check_contents
from vbcgcd.workspace.imports.members import NO_EXPORT, check_members
from vbcgcd.workspace.imports.records import check_records, check_shapes
from vbcgcd.workspace.log.disk import RESTORE
from vbcgcd.workspace.log.folder import check_vacant
from vbcgcd.workspace.log.store import Store
from vbcgcd.workspace.log.transfer import import_from
from vbcgcd.workspace.trust import Trust, add_trust

__all__ = ["import_workspace"]


def import_workspace(file: Path, path: Path, *, trust: bool = False) -> None:
    """Make a workspace at ``path`` from an exported file; it appears complete and checked, or not at all.

    Parameters
    ----------
    file, path : Path
    trust : bool
        Whether the file is the user's own: what it names may be opened. Otherwise sources are opened only
        where the user relocates them, and an embedder that is not installed with the package only once it is
        confirmed.

    Raises
    ------
    WorkspaceDamaged
        The file is not what an export writes.
    """

    def check_archive(archive: zipfile.ZipFile) -> None:
        check_members(archive, file.stat().st_size)
        check_shapes(archive)

    def check_store(store: Store) -> None:
        snapshot = check_records(store)
        check_contents(snapshot)
        if not trust:
            add_trust(store.path, Trust(imported=snapshot.head.number))

    if not file.is_file():
        raise MissingFileError(f"There is no file {file}.")
    check_vacant(path)
    with _one_clear_error(file):
        import_from(file, path, check_archive=check_archive, check_store=check_store)


@contextmanager
def _one_clear_error(file: Path) -> Iterator[None]:
    try:
        yield
    except (DiskError, MemoryError):
        raise
    except VbcgcdError as error:
        if os.fspath(file) in str(error):
            raise
        if str(error).startswith(NO_EXPORT):
            raise InputError(f"{file}: {error}.") from None
        raise WorkspaceDamaged(_refusal(file, str(error))) from None
    except Exception as error:  # a zip file that is damaged, or was made to be, fails in any way
        raise WorkspaceDamaged(_refusal(file, reason_of(error))) from None


def _refusal(file: Path, reason: str) -> str:
    # Paths of the folder that was being built, and advice for a workspace that is there, would mislead.
    reason = re.sub(r"\S*\.new-[0-9a-f]{32}/?", "", reason).replace(f"; {RESTORE}", "")
    reason = " ".join(reason.split())[:400].rstrip(".")
    return f"{file} is not a complete export ({reason}); nothing was created. Export the workspace again."
