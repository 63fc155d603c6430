"""The errors a user can meet. Each message says what was passed, what is allowed and what to do.

They are data: a class for each kind of trouble, and the option at fault by its name, so that a command line
or a page can point at its own form of that option without reading the message.
"""

from __future__ import annotations

import errno
import os

#: What the system says when it is short of something, or a network is slow: no file is at fault.
PASSING = frozenset(
    getattr(errno, name)
    for name in ("EMFILE", "ENFILE", "ENOMEM", "ENOBUFS", "EAGAIN", "EINTR", "EBUSY", "ETIMEDOUT", "ESTALE")
    if hasattr(errno, name)
)

__all__ = [
    "PASSING",
    "DiskError",
    "InputError",
    "MissingFileError",
    "NotFittedError",
    "NothingToDo",
    "NumericalError",
    "VbcgcdError",
    "WorkspaceBusy",
    "WorkspaceDamaged",
    "WorkspaceWarning",
    "reason_of",
]


def reason_of(error: BaseException, longest: int = 200) -> str:
    r"""What another library said, in one line for our own message; its class where it said nothing.

    Examples
    --------
    >>> reason_of(ValueError("bad header\nin file.c:17")), reason_of(KeyError())
    ('bad header', 'KeyError')
    """
    lines = str(error).strip().splitlines()
    return lines[0].strip()[:longest].rstrip(".") if lines else type(error).__name__


class VbcgcdError(Exception):
    """Base class of every error that vbcgcd raises on purpose.

    Examples
    --------
    >>> from vbcgcd import CategoryDiscoverer, VbcgcdError
    >>> try:
    ...     CategoryDiscoverer(covariance="round").fit([[0.0], [1.0]], ["a", "b"])
    ... except VbcgcdError as error:
    ...     print(error.option)
    covariance
    """

    #: Name of the option at fault, as Python spells it; None where no single option is.
    option: str | None = None


class InputError(VbcgcdError, ValueError):
    """An argument, an array or a file that cannot be used.

    Parameters
    ----------
    message : str
    option : str, optional
        Name of the option at fault, as Python spells it.

    Examples
    --------
    >>> InputError("n_novel must be at most 10, got 12.", option="n_novel").option
    'n_novel'
    """

    def __init__(self, message: str = "", *, option: str | None = None) -> None:
        super().__init__(message)
        self.option = option


class MissingFileError(InputError):
    """A file or folder that does not exist.

    Examples
    --------
    >>> issubclass(MissingFileError, ValueError)
    True
    """


class NothingToDo(InputError):
    """Nothing is wrong, but there is nothing to do either: an empty batch, nothing to undo.

    Examples
    --------
    >>> issubclass(NothingToDo, InputError)
    True
    """


class NotFittedError(VbcgcdError, ValueError, AttributeError):
    """The model was used before ``fit``.

    Examples
    --------
    >>> from vbcgcd import CategoryDiscoverer
    >>> try:
    ...     CategoryDiscoverer().predict([[0.0]])
    ... except NotFittedError as error:
    ...     print(error)
    This CategoryDiscoverer is not fitted yet; call fit(X, y) with labelled rows first.
    """


class NumericalError(VbcgcdError, ArithmeticError):
    """A matrix that should be positive definite is not.

    Examples
    --------
    >>> issubclass(NumericalError, ArithmeticError)
    True
    """


class DiskError(VbcgcdError):
    """Something could not be written or read: the disk is full, read-only or failing, or the system busy.

    Parameters
    ----------
    message : str
    cause : OSError, optional
        What the operating system said; its ``errno`` tells the kinds apart.
    done : bool
        Whether what was asked for was done nevertheless: it can be seen, but the disk has not confirmed it.

    Examples
    --------
    >>> print(DiskError.writing("model.safetensors", OSError(28, "No space left on device")))
    Cannot write model.safetensors: No space left on device.
    """

    def __init__(self, message: str = "", *, cause: OSError | None = None, done: bool = False) -> None:
        super().__init__(message)
        self.cause, self.done = cause, done

    @classmethod
    def writing(cls, path: str | os.PathLike[str], cause: OSError) -> DiskError:
        """The error for a file that could not be written."""
        return cls(f"Cannot write {os.fspath(path)}: {cause.strerror or cause}.", cause=cause)

    @classmethod
    def reading(cls, path: str | os.PathLike[str], cause: OSError) -> DiskError:
        """The error for a file that is there but could not be read."""
        reason = f"Cannot read {os.fspath(path)}: {cause.strerror or cause}."
        if cause.errno in PASSING:
            advice = "This passes: close other programs or wait a little, then run the command again."
        elif isinstance(cause, PermissionError):
            advice = "Make sure that you may read it."
        else:
            advice = "The disk or the connection to it may be failing; run the command again."
        return cls(f"{reason} {advice}", cause=cause)

    @classmethod
    def unconfirmed(cls, what: str, cause: OSError) -> DiskError:
        """The error for something that was done, but that may not survive a loss of power."""
        return cls(
            f"{what}, but the disk has not confirmed it ({cause.strerror or cause}): it may be lost if the "
            "machine loses power. Check the disk; do not run the command again.",
            cause=cause,
            done=True,
        )


class WorkspaceBusy(VbcgcdError):
    """Another process is writing to the workspace.

    Examples
    --------
    >>> issubclass(WorkspaceBusy, VbcgcdError)
    True
    """


class WorkspaceDamaged(VbcgcdError):
    """A file of the workspace is missing or is not what was written.

    Examples
    --------
    >>> issubclass(WorkspaceDamaged, VbcgcdError)
    True
    """


class WorkspaceWarning(UserWarning):
    """Something about a workspace that its owner should know, and that stops nothing.

    Examples
    --------
    >>> issubclass(WorkspaceWarning, Warning)
    True
    """
