"""What one session did, for people and for programs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Group
from rich.table import Table

Array = NDArray[Any]

__all__ = ["CountCurve", "SessionReport", "Step"]


class Step(NamedTuple):
    """One step of a session: its name, seconds and what is worth knowing about it."""

    name: str
    seconds: float
    details: dict[str, Any]


class CountCurve(NamedTuple):
    """Score of each candidate number of novel categories; the best is chosen."""

    method: str
    candidates: Array
    scores: Array
    chosen: int


@dataclass(frozen=True)
class SessionReport:
    """Outcome of one `CategoryDiscoverer.discover`.

    Attributes
    ----------
    session : int
        1 for the first unlabelled session.
    labels_ : array (N,)
        Category of each row: the best novel one if the row is novel with a probability of at least one half,
        else the best known one.
    probabilities_ : array (N, K)
        Probability of each category (in the order of ``classes_``) for each row.
    novelty_ : array (N,)
        Novelty score of each row before the session: uniform on [0, 1] for known rows, high is novel.
    novel : array (n_novel,)
        Labels of the categories found.
    sizes : array (n_novel,)
        Rows of the session in each of them.
    estimated : bool
        Whether the number was estimated.
    count : CountCurve or None
        Score of each candidate number, if it was estimated.
    novel_share : float
        Estimated share of novel rows.
    evidence : float
        Log evidence of the novel categories.
    ratio_before, ratio_after : array (n_novel,)
        Covariance volume R of each novel category against the known ones, before and after alignment.
    steps : tuple of Step
    """

    session: int
    labels_: Array = field(repr=False)
    probabilities_: Array = field(repr=False)
    novelty_: Array = field(repr=False)
    novel: Array
    sizes: Array
    estimated: bool
    count: CountCurve | None
    novel_share: float
    evidence: float
    ratio_before: Array
    ratio_after: Array
    steps: tuple[Step, ...]

    @property
    def n_rows(self) -> int:
        """Rows of the session."""
        return len(self.labels_)

    @property
    def n_novel(self) -> int:
        """Number of novel categories."""
        return len(self.novel)

    @property
    def n_novel_rows(self) -> int:
        """Rows that belong to novel categories."""
        return int(np.isin(self.labels_, self.novel).sum())

    @property
    def n_known_rows(self) -> int:
        """Rows that belong to categories known before."""
        return self.n_rows - self.n_novel_rows

    @property
    def seconds(self) -> float:
        """Time of all steps."""
        return float(sum(step.seconds for step in self.steps))

    def __repr__(self) -> str:
        how = "estimated" if self.estimated else "given"
        names = ", ".join(map(str, self.novel[:4])) + (", ..." if self.n_novel > 4 else "")
        return (
            f"SessionReport(session {self.session}: {self.n_rows} rows, {self.n_known_rows} known and "
            f"{self.n_novel_rows} novel in {self.n_novel} "
            f"{'category' if self.n_novel == 1 else 'categories'} ({how})"
            + (f": {names}" if self.n_novel else "")
            + f"; {self.seconds:.1f} s)"
        )

    def __rich__(self) -> Group:
        head = Table.grid(padding=(0, 2))
        head.add_row(
            "rows", f"{self.n_rows}", "known", f"{self.n_known_rows}", "novel", f"{self.n_novel_rows}"
        )
        table = Table(title=f"Session {self.session}", title_justify="left")
        table.add_column("category")
        for name in ("rows", "probability", "R before", "R after"):
            table.add_column(name, justify="right")
        for k, label in enumerate(self.novel):
            members = self.labels_ == label
            sure = self.probabilities_[members].max(axis=1).mean() if members.any() else float("nan")
            table.add_row(
                str(label),
                str(int(self.sizes[k])),
                f"{sure:.2f}",
                f"{self.ratio_before[k]:+.1f}",
                f"{self.ratio_after[k]:+.1f}",
            )
        steps = "  ".join(f"{s.name} {s.seconds:.2f} s" for s in self.steps)
        how = "estimated" if self.estimated else "given"
        return Group(head, table, f"{self.n_novel} novel categories ({how}); {steps}")
