"""The errors a user can meet. Each says what was given, what is allowed and what to do."""

from __future__ import annotations

from sklearn.exceptions import NotFittedError as _SklearnNotFittedError

__all__ = ["InputError", "NotFittedError", "NumericalError", "VbcgcdError"]


class VbcgcdError(Exception):
    """Base class of every error raised on purpose by vbcgcd."""


class InputError(VbcgcdError, ValueError):
    """An argument or an array that cannot be used as given."""


class NotFittedError(VbcgcdError, _SklearnNotFittedError):  # type: ignore[misc]
    """The model is asked for an answer before ``fit``."""


class NumericalError(VbcgcdError, ArithmeticError):
    """A matrix that should be positive definite is not."""
