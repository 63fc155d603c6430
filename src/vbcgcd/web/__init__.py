"""The workspace in a browser: a thin skin over `vbcgcd.workspace`, like the command line."""

from typing import TYPE_CHECKING

from vbcgcd.lazy import lazy_names

if TYPE_CHECKING:
    from vbcgcd.web.app import create_app
    from vbcgcd.web.server import serve

__all__ = ["create_app", "serve"]

__getattr__, __dir__ = lazy_names(
    __name__, {"vbcgcd.web.app": ("create_app",), "vbcgcd.web.server": ("serve",)}
)
