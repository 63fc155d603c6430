"""What is remembered of rows that came one by one: how many, and how many of them were strangers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vbcgcd.discovery.geometry import STRANGER_BOUNDS, STRANGER_START

#: Rows that the share of strangers at the start is worth, and the most that it is ever worth: streams change.
START_ROWS, MOST_ROWS = 20.0, 500.0

__all__ = ["Watch"]


@dataclass(frozen=True)
class Watch:
    """Rows observed so far, and the share of them that belong to no category.

    Parameters
    ----------
    rows : float
    share : float

    Examples
    --------
    >>> Watch().after(1.0).rows
    1.0
    """

    rows: float = 0.0
    share: float = STRANGER_START

    def after(self, strange: float) -> Watch:
        """After one more row, which is a stranger with this probability."""
        weight = 1 / min(self.rows + START_ROWS + 1, MOST_ROWS)
        share = float(np.clip(self.share + weight * (strange - self.share), *STRANGER_BOUNDS))
        return Watch(self.rows + 1, share)
