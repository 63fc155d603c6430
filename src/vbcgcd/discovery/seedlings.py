"""Seedlings: groups that are too small or too doubtful to be a category yet.

Of a seedling only its sufficient statistics are kept, as a posterior from which they can be recovered, and
what its rows were worth. It has no id. Rows of a later session that a seedling explains better than every
category join it, and so do whole groups that cannot be told from it: statistics and worth add. Once they are
enough the seedling becomes a category.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes import Posterior
from vbcgcd.discovery.distinct import SEEDLING_NOVELTY
from vbcgcd.discovery.geometry import Geometry

Array = NDArray[Any]

#: Rows join a seedling that explains them better by this share of the margin.
JOINING = 0.7
#: Two groups are the same kind if telling them apart gains less than this many margins per row.
SAME = 2.1
#: Margins for each row that make a seedling a category: rows were picked for it again and again.
ENOUGH = 1.6
#: Most seedlings that are kept: the most valuable ones.
MOST = 64

__all__ = ["Groups", "Seedlings", "is_enough", "joining", "same_kind"]


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

    @property
    def sizes(self) -> tuple[int, ...]:
        """Rows of each, the most first."""
        return tuple(sorted(self.rows.round().astype(int).tolist(), reverse=True))

    def take(self, chosen: Array) -> Seedlings:
        """Some of them."""
        return Seedlings(
            self.posterior.take(chosen), self.rows[chosen], self.worth[chosen], self.since[chosen]
        )

    @property
    def most_valuable(self) -> Array:
        """Positions of those that are kept: the most valuable ones, in order."""
        return np.sort(np.argsort(-self.worth, kind="stable")[:MOST])

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
            arrays[f"seedlings.{name}"]
            for name in ("mean", "kappa", "nu", "factor", "rows", "worth", "since")
        )
        return cls(Posterior(mean, kappa, nu, factor, structure), rows, worth, since)


class Groups(NamedTuple):
    """Groups of a session's rows: members, 0 or 1 (N, S), and what each group is worth (S,)."""

    members: Array
    worth: Array


def joining(
    rows: Array,
    seedlings: Seedlings,
    geometry: Geometry,
    best: Array,
    novelty: Array,
    margin: float,
    weight: Array | None = None,
) -> Groups:
    """The rows that seedlings explain better than the categories do, by a good part of the margin.

    Parameters
    ----------
    rows : prepared rows (N, D)
    seedlings : Seedlings
    geometry : Geometry
    best : array (N,)
        Similarity of each row to its best category.
    novelty : array (N,)
    margin : float
        Nats.
    weight : array (N,), optional
        What each row counts for in the worth.
    """
    similarity = geometry.corrected(geometry.similarity(rows, seedlings.posterior.mean), seedlings.rows)
    nearest = similarity.argmax(axis=1)
    gain = geometry.sharpness * (similarity[np.arange(len(rows)), nearest] - best)
    joins = (gain > JOINING * margin) & (novelty > SEEDLING_NOVELTY)
    members = np.zeros((len(rows), len(seedlings)))
    members[joins, nearest[joins]] = 1.0
    worth = np.where(joins, gain, 0.0) if weight is None else np.where(joins, gain, 0.0) * weight
    return Groups(members, members.T @ worth)


def same_kind(means: Array, counts: Array, seedlings: Seedlings, geometry: Geometry, margin: float) -> Array:
    """The seedling that each group cannot be told from, int array (S,); -1 where there is none."""
    if not len(means) or not len(seedlings):
        return np.full(len(means), -1)
    gap = geometry.gaps(means, counts, seedlings.posterior.mean, seedlings.rows)
    nearest = gap.argmin(axis=1)
    return np.where(gap[np.arange(len(means)), nearest] < SAME * margin, nearest, -1)


def is_enough(rows: Array, worth: Array, margin: float, chance: float) -> Array:
    """Whether groups of so many rows are worth enough to be categories: more than a margin for each row.

    Parameters
    ----------
    rows, worth : array (S,)
    margin : float
    chance : float
        Further rows that they must pay for; see `vbcgcd.discovery.worth.Stream.chance`.
    """
    return np.asarray(worth >= ENOUGH * margin * (rows + chance))
