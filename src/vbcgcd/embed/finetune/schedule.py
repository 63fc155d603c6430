"""The learning rate: a linear rise, then half a cosine down to zero."""

from __future__ import annotations

import math

__all__ = ["rate_factor"]


def rate_factor(step: int, steps: int, warmup: float) -> float:
    """Share of the full learning rate at ``step`` (from 0) of ``steps``.

    Parameters
    ----------
    warmup : float
        Share of the steps in which the rate rises.

    Examples
    --------
    >>> [round(rate_factor(s, 10, 0.2), 2) for s in range(0, 11, 2)]
    [0.5, 1.0, 0.85, 0.5, 0.15, 0.0]
    """
    rise = warmup * steps
    if step < rise:
        return min(1.0, (step + 1) / rise)
    return 0.5 * (1 + math.cos(math.pi * (step - rise) / max(1.0, steps - rise)))
