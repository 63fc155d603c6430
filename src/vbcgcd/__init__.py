"""Continual generalized category discovery with Gaussian categories and variational Bayes."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vbcgcd.errors import InputError, NotFittedError, VbcgcdError
    from vbcgcd.model import CategoryDiscoverer
    from vbcgcd.workspace import Workspace

__version__ = "0.1.0"

__all__ = ["CategoryDiscoverer", "InputError", "NotFittedError", "VbcgcdError", "Workspace", "__version__"]

_HOME = {
    "CategoryDiscoverer": "vbcgcd.model",
    "InputError": "vbcgcd.errors",
    "NotFittedError": "vbcgcd.errors",
    "VbcgcdError": "vbcgcd.errors",
    "Workspace": "vbcgcd.workspace",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: ``import vbcgcd`` itself stays instant."""
    if name not in _HOME:
        raise AttributeError(f"module 'vbcgcd' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
