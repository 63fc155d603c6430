"""How well the workspace does: the only part of the demo that knows which digits the pictures show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from vbcgcd.study.scoring import FrozenMatch, SessionScore, discovery, forgetting, score_session
from vbcgcd.workspace import Workspace

Array = NDArray[Any]

__all__ = ["Judge", "Verdict", "accuracy_table"]


@dataclass(frozen=True)
class Verdict:
    """How well one session went.

    Parameters
    ----------
    session : str
    pictures : int
    digits : int
        How many digits were novel.
    names : tuple of str
        Names of the categories that were discovered.
    score : SessionScore
    """

    session: str
    pictures: int
    digits: int
    names: tuple[str, ...]
    score: SessionScore


class Judge:
    """Frozen scoring of a workspace on held-out pictures.

    Parameters
    ----------
    workspace : Workspace
        After the base session.
    pictures : Path
        The folder that contains the folders of pictures.
    truth : mapping of str -> mapping
        The digit of each picture of each folder, as ``write_pictures`` returns it.
    labelled : mapping of id -> name
        Categories of the base session.
    """

    def __init__(
        self,
        workspace: Workspace,
        pictures: Path,
        truth: Mapping[str, Mapping[str, str]],
        labelled: Mapping[int, str],
    ) -> None:
        self.workspace, self.pictures, self.truth = workspace, pictures, truth
        self.labelled = self.known = np.array(sorted(labelled.values()))
        self.match = FrozenMatch(np.array([], dtype=np.intp))
        self.match.of.update(labelled)
        self._days: dict[str, tuple[Array, Array]] = {}

    def base(self) -> Verdict:
        """The base session."""
        score = self._score(np.array([], dtype=str))
        return Verdict("0 (labelled)", len(self.truth["labelled"]), 0, (), score)

    def majority(self, day: str, categories: Sequence[int]) -> dict[int, str]:
        """The digit that most pictures of each category show, as somebody who looked at them would say."""
        ids, digits = self._day(day)
        return {
            i: Counter(digits[ids == i].tolist()).most_common(1)[0][0] for i in categories if (ids == i).any()
        }

    def session(self, number: int, day: str, novel: Sequence[str], names: Mapping[int, str]) -> Verdict:
        """Match the novel categories of a day to its novel digits, once and for all, and score.

        Parameters
        ----------
        number : int
        day : str
        novel : sequence of str
            The digits that are novel on that day; from now on they are known.
        names : mapping of id -> name
            The categories that were discovered.
        """
        ids, digits = self._day(day)
        self.match.add(np.array(list(names), dtype=np.intp), ids, digits, np.array(novel))
        score = self._score(np.array(novel))
        self.known = np.concatenate([self.known, np.array(novel)])
        return Verdict(f"{number} ({day})", len(ids), len(novel), tuple(names.values()), score)

    def _day(self, day: str) -> tuple[Array, Array]:
        """The answers for a day as they were right after its session."""
        if day not in self._days:
            self._days[day] = self._answers(day)
        return self._days[day]

    def _answers(self, folder: str) -> tuple[Array, Array]:
        """Category and true digit of each picture of a folder, arrays (N,)."""
        answers = self.workspace.predict(self.pictures / folder)
        return answers.category, np.array([self.truth[folder][name] for name in answers.references])

    def _score(self, novel: Array) -> SessionScore:
        ids, digits = self._answers("held-out")
        so_far = np.isin(digits, np.concatenate([self.known, novel]))
        correct = self.match.correct(ids[so_far], digits[so_far])
        return score_session(correct, digits[so_far], self.labelled, self.known, novel)


def accuracy_table(verdicts: Sequence[Verdict]) -> RenderableType:
    """Accuracy after each session, and the summary of all of them."""
    base, *sessions = verdicts
    table = Table(title="Accuracy on held-out pictures, % (frozen scoring)", title_justify="left")
    for column in ("session", "pictures", "discovered", "named", "All", "Old", "New"):
        table.add_column(column, justify="left" if column in ("session", "named") else "right")
    table.add_row(base.session, str(base.pictures), "", "", _percent(base.score.all), "", "")
    for one in sessions:
        values = map(_percent, (one.score.all, one.score.old, one.score.new))
        discovered = f"{len(one.names)} of {one.digits}"
        table.add_row(one.session, str(one.pictures), discovered, Text(", ".join(one.names)), *values)
    scores = [one.score for one in sessions]
    legend = (
        "All: all digits so far. Old: those known before the session. New: those that are novel in it. A "
        "discovered category counts as the digit it matches best on the pictures of its own day, once and "
        f"for all. Forgetting M_f: {100 * forgetting(base.score.all, scores):.1f} points. Discovery M_d: "
        f"{100 * discovery(scores):.1f} %."
    )
    return Group(table, Text(legend))


def _percent(value: float) -> str:
    return f"{100 * value:.1f}"
