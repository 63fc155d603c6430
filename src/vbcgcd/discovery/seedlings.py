"""Seedlings: groups that are too small or too doubtful to be a category yet.

Of a seedling only its sufficient statistics are kept, as a posterior from which they can be recovered
exactly, and what its rows were worth. It has no id. When a later session finds more rows of the same kind,
statistics and worth add, and once they are enough the seedling becomes a category.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes import Posterior

Array = NDArray[Any]

__all__ = ["Seedlings"]


@dataclass(frozen=True, eq=False)
class Seedlings:
    """Groups that wait for more rows.

    Parameters
    ----------
    posterior : Posterior
        Under the prior of all categories.
    rows : array (S,)
        Weight of the rows of each.
    worth : array (S,)
        Nats by which each explains its rows better than the categories do.
    since : int array (S,)
        Session in which each began.
    """

    posterior: Posterior
    rows: Array
    worth: Array
    since: Array

    def __len__(self) -> int:
        return len(self.since)

    def take(self, chosen: Array) -> Seedlings:
        """Some of them."""
        return Seedlings(
            self.posterior.take(chosen), self.rows[chosen], self.worth[chosen], self.since[chosen]
        )

    @classmethod
    def concatenate(cls, parts: list[Seedlings]) -> Seedlings:
        """Those of all parts, in order."""
        return cls(
            Posterior.concatenate([part.posterior for part in parts]),
            *(np.concatenate([getattr(part, name) for part in parts]) for name in ("rows", "worth", "since")),
        )

    def arrays(self) -> dict[str, Array]:
        """Named arrays, for the disk."""
        posterior = self.posterior
        return {
            "seedlings.mean": posterior.mean,
            "seedlings.kappa": posterior.kappa,
            "seedlings.nu": posterior.nu,
            "seedlings.factor": posterior.factor,
            "seedlings.rows": self.rows,
            "seedlings.worth": self.worth,
            "seedlings.since": self.since,
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array], structure: Any) -> Seedlings | None:
        """What `arrays` named; None where there is nothing."""
        if "seedlings.since" not in arrays:
            return None
        mean, kappa, nu, factor, rows, worth, since = (
            arrays[f"seedlings.{name}"] for name in ("mean", "kappa", "nu", "factor", "rows", "worth", "since")
        )
        return cls(Posterior(mean, kappa, nu, factor, structure), rows, worth, since)
