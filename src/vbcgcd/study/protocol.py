"""What a study needs of a method: three verbs and, if it likes, the size of what it keeps."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

from numpy.typing import NDArray

Array = NDArray[Any]

__all__ = ["Method", "Outcome"]


class Outcome(NamedTuple):
    """What a session yields, at least; `SessionReport` has the same attributes.

    Parameters
    ----------
    labels_ : array (N,)
        Id of each row, known or novel.
    novel : array (J,)
        Ids that this session added.
    novelty_ : array (N,) or None
        Larger means more novel; None where the method has no such score.
    """

    labels_: Array
    novel: Array
    novelty_: Array | None = None


@runtime_checkable
class Method(Protocol):
    """What is run over a plan: `CategoryDiscoverer`, a rival, or anything of yours with these three verbs.

    A method may also have ``nbytes`` (bytes that it keeps between sessions) and ``partial_fit`` (more
    labelled rows, used for its supervised upper bound; without it the bound is `fit` on all rows).
    """

    def fit(self, X: Any, y: Any) -> Any:
        """Learn the labelled rows."""

    def discover(self, X: Any, *, n_novel: int | None = None) -> Any:
        """Learn an unlabelled session; returns an `Outcome` or an object with its attributes."""

    def predict(self, X: Any) -> Array:
        """Id of each row."""
