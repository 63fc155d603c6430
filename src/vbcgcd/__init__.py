"""Continual generalized category discovery with Gaussian categories and variational Bayes."""

from typing import TYPE_CHECKING

from vbcgcd.lazy import lazy_names

if TYPE_CHECKING:
    from vbcgcd.errors import InputError, NotFittedError, VbcgcdError
    from vbcgcd.model import CategoryDiscoverer
    from vbcgcd.workspace import Workspace

__version__ = "0.1.0"

__all__ = ["CategoryDiscoverer", "InputError", "NotFittedError", "VbcgcdError", "Workspace", "__version__"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "vbcgcd.errors": ("InputError", "NotFittedError", "VbcgcdError"),
        "vbcgcd.model": ("CategoryDiscoverer",),
        "vbcgcd.workspace": ("Workspace",),
    },
)
