"""Answers about items: predictions and explanations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from numpy.typing import NDArray

from vbcgcd.items import Failure
from vbcgcd.tabular import Tabular, carried, html_page, html_table
from vbcgcd.workspace.values.results import Result

Array = NDArray[Any]

__all__ = ["Candidate", "Explanation", "Predictions"]


@dataclass(frozen=True, eq=False)
class Predictions(Tabular, Result):
    """Category of each item.

    Parameters
    ----------
    references : list of str (N,)
    category : int array (N,)
        -1 where the item is rejected.
    name : list of str (N,)
        "none of these" where the item is rejected.
    probability : array (N,)
        Of the most probable category.
    novelty : array (N,)
        Near 1 for items of no category; uniform on [0, 1] for items of known ones.
    best : int array (N,)
        The most probable category, also where the item is rejected.
    second : int array (N,)
        The next one; -1 where there is only one category.
    second_name : list of str (N,)
    second_probability : array (N,)
    reject : float or None
        Share of items of known categories that are wrongly rejected.
    failures : tuple of Failure
        Items that could not be embedded and have no row here.
    kept : dict of str -> list (N,)
        Columns of the input that were asked for; they come after the others, with ``input_`` before a name
        that is taken.

    Examples
    --------
    >>> import numpy as np
    >>> best, second, p = np.array([0]), np.array([1]), np.array([0.75])
    >>> answer = Predictions(["a.jpg"], best, ["cat"], p, 1 - p, best, second, ["dog"], 1 - p, None)
    >>> len(answer)
    1
    >>> [(row["reference"], row["name"], row["probability"]) for row in answer.rows()]
    [('a.jpg', 'cat', 0.75)]
    """

    references: list[str]
    category: Array
    name: list[str]
    probability: Array
    novelty: Array
    best: Array
    second: Array
    second_name: list[str]
    second_probability: Array
    reject: float | None
    failures: tuple[Failure, ...] = ()
    kept: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.references)

    def columns_of_rows(self) -> dict[str, Any]:
        """References, answers, and the columns that are carried along."""
        left_out = ("references", "reject", "failures", "kept")
        columns = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in left_out}
        return carried({"reference": self.references, **columns}, self.kept)

    def rows(self) -> Iterator[dict[str, Any]]:
        """One plain dict for each item."""
        return iter(self)

    def _repr_html_(self) -> str:
        return html_page(f"{len(self):,} predictions", html_table(self, len(self)))


@dataclass(frozen=True)
class Candidate(Result):
    """A category that an item may belong to.

    Parameters
    ----------
    id : int
    name : str
    probability : float
    log_density : float
    distance : float
        Mahalanobis distance to its mean; about the root of the number of dimensions for its own items.
    log_volume : float
        Half the log-determinant of its covariance: wide categories have to be nearer to win.
    typical : tuple of str
        References of its most typical items.
    typical_texts : tuple of str
        Their texts, "" if they cannot be found; empty unless asked for.
    typical_sources : tuple of str
        Source of each of them.

    Examples
    --------
    >>> cat = Candidate(0, "cat", 0.75, -3.2, 1.5, -0.6, typical=("a.jpg", "b.jpg"))
    >>> cat.name, cat.probability, cat.typical
    ('cat', 0.75, ('a.jpg', 'b.jpg'))
    """

    id: int
    name: str
    probability: float
    log_density: float
    distance: float
    log_volume: float
    typical: tuple[str, ...] = ()
    typical_texts: tuple[str, ...] = ()
    typical_sources: tuple[str, ...] = ()


@dataclass(frozen=True)
class Explanation(Result):
    """Why an item belongs to a category.

    Parameters
    ----------
    reference : str
    novelty : float
    candidates : tuple of Candidate
        The most probable first.
    log_odds : float
        Evidence for the first against the second, in calibrated nats; infinite without a second.
    from_distance, from_volume : float
        Its parts: how much nearer the first is, and how much narrower.
    dimensions : int
    text : str
        All of this in a few sentences.

    Examples
    --------
    >>> cat, dog = Candidate(0, "cat", 0.75, -3.2, 1.5, -0.6), Candidate(1, "dog", 0.25, -4.3, 2.1, -0.6)
    >>> why = Explanation("a.jpg", 0.5, (cat, dog), 1.1, 1.1, 0.0, 2, "Nearer to cat than to dog.")
    >>> [candidate.name for candidate in why.candidates]
    ['cat', 'dog']
    >>> why.as_json()["candidates"][0]["probability"]
    0.75
    """

    reference: str
    novelty: float
    candidates: tuple[Candidate, ...]
    log_odds: float
    from_distance: float
    from_volume: float
    dimensions: int
    text: str
