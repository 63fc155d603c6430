"""Pure functions of NumPy arrays, computed by torch on a device, and rows that stay there for many steps."""

from __future__ import annotations

import functools
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from vbcgcd.errors import InputError

Array = NDArray[Any]

#: Numbers of unpacked factors and of solved rows held on the device at a time.
HELD = 2**26

__all__ = ["Held", "choose", "distances", "first_gpu", "has_double", "hold", "moments"]


def first_gpu() -> str | None:
    """The first device with CUDA, or None."""
    return "cuda" if torch.cuda.is_available() else None


def choose(device: str) -> str:
    """The device, if torch has it here."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.zeros(1, device=device).cpu()
    except (RuntimeError, AssertionError, ImportError):  # by kind of device and build of torch
        names = "'auto', 'cpu'" if first_gpu() is None else "'auto', 'cpu', 'cuda'"
        raise InputError(
            f"device {device[:40]!r} is not available on this machine; use {names} or None (null).",
            option="device",
        ) from None
    return device


def distances(rows: Array, means: Array, factors: Array, device: str) -> Array:
    """Squared distances (z - m)^T Psi^-1 (z - m), in single precision; float64 array (N, K).

    Parameters
    ----------
    rows : array (N, D)
    means : array (K, D)
    factors : array (K, W)
        Packed lower triangles of the Cholesky factors of Psi.
    device : str
    """
    dim = rows.shape[1]
    place = torch.tril_indices(dim, dim, device=device)
    z = _to(rows, device)
    out = np.empty((len(rows), len(means)))
    step = max(HELD // (dim * (dim + len(rows))), 1)
    for start in range(0, len(means), step):
        part = slice(start, start + step)
        packed, mean = _to(factors[part], device), _to(means[part], device)
        lower = torch.zeros(len(packed), dim, dim, device=device)
        lower[:, place[0], place[1]] = packed
        solved = torch.linalg.solve_triangular(lower, (z - mean[:, None]).transpose(1, 2), upper=False)
        out[:, part] = solved.square().sum(dim=1).T.cpu().numpy()
    return out


def moments(rows: Array, weight: Array | None, device: str) -> tuple[Array, Array]:
    """Mean (D,) and packed lower triangle of the scatter (W,) of rows that may have weights, float64.

    Sums are in double precision where the device has it.

    Parameters
    ----------
    rows : array (N, D), N at least 1
    weight : array (N,) or None
        Not negative; where all are 0, so is the mean.
    device : str
    """
    dtype = torch.float64 if has_double(device) else torch.float32
    z = _tensor(rows).to(device, dtype)
    if weight is None:
        mean = z.mean(dim=0)
        z = z - mean
    else:
        w = _tensor(weight).to(device, dtype)
        mean = w @ z / w.sum().clamp(min=torch.finfo(dtype).tiny)
        z = (z - mean) * w.sqrt()[:, None]
    place = torch.tril_indices(z.shape[1], z.shape[1], device=device)
    scatter = (z.T @ z)[place[0], place[1]]
    return mean.cpu().numpy().astype(np.float64), scatter.cpu().numpy().astype(np.float64)


@functools.cache
def has_double(device: str) -> bool:
    """Whether the device computes in double precision."""
    try:
        torch.zeros(1, dtype=torch.float64, device=device)
    except (RuntimeError, TypeError):  # Apple's raises a TypeError
        return False
    return True


def hold(rows: Array, device: str) -> Held | None:
    """Rows (N, D) moved to a device in their precision; None where it does not have that."""
    if rows.dtype == np.float64 and not has_double(device):
        return None
    return Held(_tensor(rows).to(device))


@dataclass(frozen=True, eq=False)
class Held:
    """See `vbcgcd.devices.HeldRows`."""

    rows: torch.Tensor

    @functools.cached_property
    def own(self) -> torch.Tensor:
        """Squared length of each row, tensor (N, 1)."""
        return self.rows.square().sum(dim=1, keepdim=True)

    def part(self, chosen: Array) -> Held:
        """Some of the rows, which do not leave the device."""
        return Held(self.rows[_tensor(chosen).to(self.rows.device)])

    def others_of_each_row(self, weight: Array) -> tuple[Array, Array, Array]:
        """As `vbcgcd.bayes.leave_one_out.others_of_each_row`: what a step of a mixture spends its time on."""
        z, own = self.rows, self.own
        w = _tensor(weight).to(z)
        sums = w.T @ z
        product = z @ sums.T
        length = sums.square().sum(dim=1) - 2 * w * product + w.square() * own
        return (product - w * own).cpu().numpy(), length.cpu().numpy(), own.cpu().numpy()


def _to(array: Array, device: str) -> torch.Tensor:
    return _tensor(np.asarray(array, dtype=np.float32)).to(device)


def _tensor(array: Array) -> torch.Tensor:
    """The array as a tensor; memory that must not be written to is copied, or torch would warn of it."""
    array = np.ascontiguousarray(array)
    return torch.from_numpy(array if array.flags.writeable else array.copy())
