"""Pure functions from NumPy arrays to NumPy arrays, computed by torch in single precision on a device."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from vbcgcd.errors import InputError

Array = NDArray[Any]

#: Numbers of unpacked factors and of solved rows held on the device at a time.
HELD = 2**26

__all__ = ["choose", "distances", "first_gpu", "others_of_each_row", "scatters"]


def first_gpu() -> str | None:
    """The first device with CUDA, or None."""
    return "cuda" if torch.cuda.is_available() else None


def choose(device: str) -> str:
    """The device, if torch has it here."""
    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError):  # an assertion where torch was built without CUDA
        raise InputError(
            f"device {device!r} is not available on this machine; use 'auto', 'cpu' or None.", option="device"
        ) from None
    return device


def distances(rows: Array, means: Array, factors: Array, device: str) -> Array:
    """Squared distances (z - m)^T Psi^-1 (z - m), float64 array (N, K).

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


def scatters(rows: Array, labels: Array, n_categories: int, device: str) -> tuple[Array, Array, Array]:
    """Counts (K,), means (K, D) and packed lower triangles of scatters (K, W) of labelled rows, float64."""
    z, codes = _to(rows, device), torch.as_tensor(labels, device=device)
    dim = rows.shape[1]
    place = torch.tril_indices(dim, dim, device=device)
    count = np.bincount(labels, minlength=n_categories).astype(np.float64)
    mean, scatter = np.zeros((n_categories, dim)), np.zeros((n_categories, dim * (dim + 1) // 2))
    for k in np.flatnonzero(count):
        own = z[codes == int(k)]
        centre = own.double().mean(dim=0)
        centred = own - centre.float()
        mean[k] = centre.cpu().numpy()
        scatter[k] = (centred.T @ centred)[place[0], place[1]].double().cpu().numpy()
    return count, mean, scatter


def others_of_each_row(rows: Array, weight: Array, device: str) -> tuple[Array, Array, Array]:
    """As `vbcgcd.bayes.leave_one_out.others_of_each_row`: what a step of a mixture spends its time on."""
    z, w = _to(rows, device), _to(weight, device)
    sums = w.T @ z
    own = z.square().sum(dim=1, keepdim=True)
    product = z @ sums.T
    length = sums.square().sum(dim=1) - 2 * w * product + w.square() * own
    return tuple(part.cpu().numpy() for part in (product - w * own, length, own))  # type: ignore[return-value]


def _to(array: Array, device: str) -> torch.Tensor:
    return torch.as_tensor(np.ascontiguousarray(array, dtype=np.float32), device=device)
