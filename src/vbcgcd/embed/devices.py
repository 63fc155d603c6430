"""Where and how precisely backbones run, and which packages that takes."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterator
from typing import Any

from vbcgcd.errors import InputError

#: Precisions of a forward pass; ``float32`` works everywhere, the others where the device supports them.
PRECISIONS = ("float32", "bfloat16", "float16")

__all__ = ["PRECISIONS", "autocast", "choose_device", "quiet_transformers", "require"]


def require(*modules: str, extra: str) -> None:
    """Raise unless all ``modules`` can be imported; the error names the extra that installs them."""
    missing = [m for m in modules if importlib.util.find_spec(m) is None]
    if missing:
        raise InputError(
            f"This embedder needs {', '.join(missing)}, which is not installed; install it with "
            f"pip install 'vbcgcd[{extra}]'."
        )


def choose_device(device: str | None = None) -> Any:
    """``torch.device`` by name; None takes the first available of CUDA, Apple's MPS and the CPU."""
    import torch

    if device is None:
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        target = torch.device(device)
    except RuntimeError:
        raise InputError(
            f"device must be 'cpu', 'cuda', 'cuda:N' or 'mps', got {device!r}.", option="device"
        ) from None
    present = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if not present.get(target.type, True):
        raise InputError(
            f"device {device!r} is not available on this machine; use 'cpu', or omit the option 'device'.",
            option="device",
        )
    return target


def autocast(device: Any, precision: str) -> Any:
    """Context in which matrix products run in ``precision``."""
    import torch

    if precision == "float32":
        return contextlib.nullcontext()
    return torch.autocast(device_type=device.type, dtype=getattr(torch, precision))


@contextlib.contextmanager
def quiet_transformers() -> Iterator[None]:
    """Silence the progress bars and load reports of transformers; real problems are raised as errors."""
    import transformers

    logging: Any = transformers.utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity(logging.CRITICAL)
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
