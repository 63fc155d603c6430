"""How well the workspace does: the only part of the demo that knows what the pictures show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.study.scoring import FrozenMatch, SessionScore, score_session
from vbcgcd.workspace import Workspace

Array = NDArray[Any]

__all__ = ["Judge", "Judged"]


@dataclass(frozen=True)
class Judged:
    """One session, judged.

    Parameters
    ----------
    session : str
    pictures : int
    found, novel : int
        Categories found, and digits that were new.
    names : tuple of str
        What the found categories were named.
    score : SessionScore
    """

    session: str
    pictures: int
    found: int
    novel: int
    names: tuple[str, ...]
    score: SessionScore


class Judge:
    """Frozen scoring of a workspace on held-out pictures.

    Parameters
    ----------
    workspace : Workspace
        After the base session.
    pictures : Path
        The folder of the folders.
    truth : dict of str to dict
        As ``write_pictures`` gives it.
    labelled : dict of id -> name
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

    def base(self) -> Judged:
        """The base session."""
        score = self._score(np.array([], dtype=str))
        return Judged("0 (labelled)", len(self.truth["labelled"]), 0, 0, (), score)

    def shown_by(self, day: str, found: Sequence[int]) -> dict[int, str]:
        """The digit that most pictures of each found category show, as somebody would see who looked."""
        ids, shown = self._day(day)
        return {i: Counter(shown[ids == i].tolist()).most_common(1)[0][0] for i in found if (ids == i).any()}

    def session(self, number: int, day: str, novel: Sequence[str], named: Mapping[int, str]) -> Judged:
        """Match the categories found on a day, once and for good, and score; then its digits are known."""
        ids, shown = self._day(day)
        self.match.add(np.array(list(named), dtype=np.intp), ids, shown, np.array(novel))
        score = self._score(np.array(novel))
        self.known = np.concatenate([self.known, np.array(novel)])
        return Judged(f"{number} ({day})", len(ids), len(named), len(novel), tuple(named.values()), score)

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
        ids, shown = self._answers("held-out")
        seen = np.isin(shown, np.concatenate([self.known, novel]))
        correct = self.match.correct(ids[seen], shown[seen])
        return score_session(correct, shown[seen], self.labelled, self.known, novel)
