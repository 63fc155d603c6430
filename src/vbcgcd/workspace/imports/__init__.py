"""Importing an exported file that anybody may have written.

Digests say that a file is as it was written; whoever wrote it can compute them too. So everything is checked
before a folder appears: the list of members and their sizes (`members`), each record and the history that the
records tell (`records`), and what the files hold (`contents`). What an import names is not trusted either:
see `vbcgcd.workspace.trust`.
"""

from typing import TYPE_CHECKING

from vbcgcd.lazy import lazy_names

if TYPE_CHECKING:
    from vbcgcd.workspace.imports.importing import import_workspace

__all__ = ["import_workspace"]

__getattr__, __dir__ = lazy_names(__name__, {"vbcgcd.workspace.imports.importing": ("import_workspace",)})
