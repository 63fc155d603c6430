"""The pickles of CIFAR, read without running them: dictionaries, lists, strings and arrays of bytes only.

Nothing that a pickle names is imported. Names of NumPy that these files use resolve to stand-ins, which only
record their arguments.
"""

from __future__ import annotations

import io
import math
import pickle
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["read_pickle"]


class _Dtype:
    """Records the code of a NumPy type."""

    def __init__(self, code: Any, *_: Any) -> None:
        self.code = _text(code)

    def __setstate__(self, state: Any) -> None:
        pass


class _Array:
    """Records the state of a NumPy array."""

    state: Any = None

    def __init__(self, *_: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def value(self) -> NDArray[np.uint8]:
        """The array, if its values are bytes."""
        _, shape, kind, fortran, data = self.state
        if not isinstance(kind, _Dtype) or kind.code != "u1":
            raise pickle.UnpicklingError("an array with values that are not bytes")
        if not isinstance(data, bytes) or len(data) != math.prod(shape):
            raise pickle.UnpicklingError("an array whose size does not fit its shape")
        return np.frombuffer(data, dtype=np.uint8).reshape(shape, order="F" if fortran else "C")


def _reconstruct(*_: Any) -> _Array:
    return _Array()


def _encode(text: str, encoding: Any = "latin1") -> bytes:
    return text.encode("latin1")


_ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy._core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Dtype,
    ("_codecs", "encode"): _encode,
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """A stand-in; any other name is rejected."""
        try:
            return _ALLOWED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"it uses {module}.{name}, which is not allowed") from None


def read_pickle(data: bytes) -> dict[str, Any]:
    """The dictionary of a CIFAR file.

    Parameters
    ----------
    data : bytes

    Returns
    -------
    dict
        With string keys; arrays are uint8, and byte strings in lists become strings.

    Raises
    ------
    pickle.UnpicklingError
        For a broken pickle, a forbidden name or unexpected content.
    """
    try:
        content = _Unpickler(io.BytesIO(data), encoding="bytes").load()
        if not isinstance(content, dict):
            raise pickle.UnpicklingError(f"a {type(content).__name__} instead of a dictionary")
        return {_text(key): _plain(value) for key, value in content.items()}
    except pickle.UnpicklingError:
        raise
    except Exception as error:  # a damaged pickle can fail in any way
        raise pickle.UnpicklingError(f"{type(error).__name__}: {error}") from None


def _plain(value: Any) -> Any:
    if isinstance(value, _Array):
        return value.value()
    if isinstance(value, list):
        return [_text(v) if isinstance(v, bytes) else v for v in value]
    return _text(value) if isinstance(value, bytes) else value


def _text(value: Any) -> Any:
    return value.decode("latin1") if isinstance(value, bytes) else value
