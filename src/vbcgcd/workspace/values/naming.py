"""Names that could be given to categories."""

from __future__ import annotations

from dataclasses import dataclass

from vbcgcd.workspace.values.results import Result

__all__ = ["NameProposal", "NameSuggestion"]


@dataclass(frozen=True)
class NameProposal(Result):
    """A name that a category could have.

    Parameters
    ----------
    name : str
    source : str
        Where it comes from: ``texts``, ``vocabulary``, ``likeness``, or the namer.
    """

    name: str
    source: str


@dataclass(frozen=True)
class NameSuggestion(Result):
    """Names that a category could have.

    Parameters
    ----------
    category : int
    name : str
        The present one.
    named_by : str
        Who or what gave it.
    proposals : tuple of NameProposal
        The best first; none is the present name.
    good : bool
        Whether the present name is what would be proposed first.
    problem : str
        Why the namer proposes nothing, or why nobody does; empty if all is well.

    Examples
    --------
    >>> suggestion = NameSuggestion(75, "novel-75", "number", (NameProposal("lost luggage", "texts"),))
    >>> suggestion.best
    'lost luggage'
    """

    category: int
    name: str
    named_by: str
    proposals: tuple[NameProposal, ...] = ()
    good: bool = False
    problem: str = ""

    @property
    def best(self) -> str | None:
        """The first proposal: that of the namer where it has one; None if there is no better name."""
        return self.proposals[0].name if self.proposals and not self.good else None
