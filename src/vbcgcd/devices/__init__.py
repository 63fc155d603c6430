"""The heavy steps on another device, through torch: distances, statistics and the likeness of a mixture.

Torch is imported only where a device is asked for; NumPy computes everything else.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from vbcgcd.errors import InputError

__all__ = ["on_device", "resolve"]


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


def on_device(function: str, *arguments: Any, **options: Any) -> Any:
    """Call a function of `vbcgcd.devices.torch_math`, which imports torch."""
    return getattr(importlib.import_module("vbcgcd.devices.torch_math"), function)(*arguments, **options)
