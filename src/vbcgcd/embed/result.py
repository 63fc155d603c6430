"""What embedding gives: vectors, the rows they belong to, and the items that have none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from vbcgcd.items import Failure

Array = NDArray[Any]

__all__ = ["EmbedResult", "Failure"]


@dataclass(frozen=True, eq=False)
class EmbedResult:
    """Embeddings of the items that have one, and the names of those that have not.

    Parameters
    ----------
    vectors : float array (n, D)
        float32, or the type of the arrays passed through.
    rows : int array (n,)
        Places of the embedded items among all that were given, ascending.
    failures : tuple of Failure
    computed, reused : int
        Vectors computed now, and taken from the cache (views counted each).
    views : float32 array (n, k, D) or None
        Embeddings of random views.
    problem : str or None
        Why vectors could not be kept, if they could not.
    """

    vectors: Array
    rows: Array
    failures: tuple[Failure, ...] = ()
    computed: int = 0
    reused: int = 0
    views: Array | None = None
    problem: str | None = None

    def summary(self) -> str:
        """All that went wrong, in a few lines; empty if nothing did."""
        lines = [] if self.problem is None else [self.problem]
        if self.failures:
            total = len(self.rows) + len(self.failures)
            lines.append(f"{len(self.failures)} of {total} items could not be embedded:")
            lines += [f"  {f.reference}: {f.reason}" for f in self.failures[:20]]
            if len(self.failures) > 20:
                lines.append(f"  and {len(self.failures) - 20} more")
        return "\n".join(lines)
