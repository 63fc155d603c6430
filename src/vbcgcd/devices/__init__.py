"""The heavy steps on another device, through torch: distances, statistics and the likeness of a mixture.

Torch is imported only where a device is asked for; NumPy computes everything else.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any, Protocol

from numpy.typing import NDArray

from vbcgcd.errors import InputError

Array = NDArray[Any]

__all__ = ["HeldRows", "hold", "is_here", "on_device", "resolve"]


class HeldRows(Protocol):
    """Rows that were moved to a device once, and stay there for many steps."""

    def part(self, chosen: Array) -> HeldRows:
        """Some of the rows, int or bool array; they do not leave the device."""

    def others_of_each_row(self, weight: Array) -> tuple[Array, Array, Array]:
        """As `vbcgcd.bayes.leave_one_out.others_of_each_row` of these rows."""


def hold(rows: Array, device: str | None) -> HeldRows | None:
    """The rows (N, D), moved to a device; None where NumPy is to compute with them.

    That is without a device, and for rows in double precision on a device that has none.

    Examples
    --------
    >>> import numpy as np
    >>> hold(np.eye(2), None) is None
    True
    """
    found = resolve(device)
    return None if found is None else on_device("hold", rows, found)


def resolve(device: str | None) -> str | None:
    """The device to compute on; None is NumPy.

    Parameters
    ----------
    device : str or None
        None for NumPy; "auto" for a GPU with CUDA where torch finds one, else NumPy; or a device of torch,
        such as "cpu", "cuda" or "cuda:1".

    Raises
    ------
    InputError
        Torch is not installed, or has no such device.

    Examples
    --------
    >>> resolve(None) is None
    True
    """
    if device is None:
        return None
    if importlib.util.find_spec("torch") is None:
        if device == "auto":
            return None
        raise InputError(
            f"device {device!r} needs torch, which is not installed; install it with pip install torch, or "
            "use device=None.",
            option="device",
        )
    return str(on_device("choose", device)) if device != "auto" else on_device("first_gpu")


def is_here(device: str | None) -> bool:
    """Whether this machine can compute as `resolve` is asked to.

    Examples
    --------
    >>> is_here(None), is_here("auto"), is_here("abacus")
    (True, True, False)
    """
    if device is None or device == "auto":
        return True
    try:
        resolve(device)
    except InputError:
        return False
    return True


def on_device(function: str, *arguments: Any, **options: Any) -> Any:
    """Call a function of `vbcgcd.devices.torch_math`, which imports torch."""
    return getattr(importlib.import_module("vbcgcd.devices.torch_math"), function)(*arguments, **options)
