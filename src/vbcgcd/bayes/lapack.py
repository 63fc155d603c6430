"""The routines of BLAS and LAPACK on which nearly all time is spent, without the interpreter lock.

SciPy's own wrappers hold the lock, so that two threads would compute one after the other. These call the same
routines, of the same library, through the pointers that SciPy publishes for Cython; `ctypes` lets go of the
lock meanwhile. Matrices are in Fortran order, and one dimension of a block may be longer than the block.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
DType = np.dtype[Any]

__all__ = ["factor_upper", "solve_transposed", "subtract_products"]

_name = ctypes.pythonapi.PyCapsule_GetName
_name.restype, _name.argtypes = ctypes.c_char_p, [ctypes.py_object]
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


@cache
def _routine(library: str, name: str, n_arguments: int, dtype: DType) -> Callable[..., None]:
    """A routine of ``cython_blas`` or ``cython_lapack``; they are imported when the first is called."""
    module = import_module(f"scipy.linalg.{library}")
    capsule = module.__pyx_capi__[("s" if dtype == np.float32 else "d") + name]
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * n_arguments)
    return kind(_pointer(capsule, _name(capsule)))


_NUMBER = {np.dtype(np.float32): ctypes.c_float, np.dtype(np.float64): ctypes.c_double}


def factor_upper(matrix: Array) -> int:
    """Cholesky factor U of a symmetric matrix U^T U, in place, with zeros below the diagonal.

    Parameters
    ----------
    matrix : array (D, D) in Fortran order, float32 or float64
        Only its upper triangle is read.

    Returns
    -------
    int
        0, or the first pivot that is not positive.
    """
    dim, kind = len(matrix), matrix.dtype
    info, leading = ctypes.c_int64(0), _leading(matrix)
    _routine("cython_lapack", "potrf", 5, kind)(
        b"U", _int(dim), matrix.ctypes.data, leading, ctypes.byref(info)
    )
    if dim > 1:
        below, zero = matrix.ctypes.data + kind.itemsize, ctypes.byref(_NUMBER[kind](0.0))
        _routine("cython_lapack", "laset", 7, kind)(
            b"L", _int(dim - 1), _int(dim - 1), zero, zero, below, leading
        )
    return int(info.value)


def solve_transposed(upper: Array, columns: Array) -> None:
    """Solve U^T x = c for each column c, in place.

    Parameters
    ----------
    upper : array (D, D) in Fortran order, or a block of one
    columns : array (D, M) in Fortran order, of the same type
    """
    kind, (dim, n) = columns.dtype, columns.shape
    one = ctypes.byref(_NUMBER[kind](1.0))
    where = upper.ctypes.data, _leading(upper), columns.ctypes.data, _leading(columns)
    _routine("cython_blas", "trsm", 11, kind)(b"L", b"U", b"T", b"N", _int(dim), _int(n), one, *where)


def subtract_products(out: Array, left: Array, right: Array) -> None:
    """``out -= left^T right``, in place.

    Parameters
    ----------
    out : array (P, M) in Fortran order
    left : array (Q, P) in Fortran order, or a block of one, of the same type
    right : array (Q, M) in Fortran order, of the same type
    """
    kind, (n_rows, n_columns) = out.dtype, out.shape
    minus, one = ctypes.byref(_NUMBER[kind](-1.0)), ctypes.byref(_NUMBER[kind](1.0))
    sizes = _int(n_rows), _int(n_columns), _int(len(right))
    factors = left.ctypes.data, _leading(left), right.ctypes.data, _leading(right)
    _routine("cython_blas", "gemm", 13, kind)(
        b"T", b"N", *sizes, minus, *factors, one, out.ctypes.data, _leading(out)
    )


def _leading(matrix: Array) -> Any:
    """Entries from one column to the next."""
    return _int(max(matrix.strides[1] // matrix.itemsize, len(matrix), 1))


def _int(value: int) -> Any:
    # Eight bytes, whether the library reads eight of them or the first four.
    return ctypes.byref(ctypes.c_int64(value))
