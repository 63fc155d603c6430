"""`observe`: the part of the estimator that takes rows one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.discovery.knowledge import Knowledge
from vbcgcd.discovery.observe import Observation, observe_row
from vbcgcd.discovery.options import Options
from vbcgcd.errors import InputError
from vbcgcd.labels import appended, new_labels
from vbcgcd.validation import check_rows, is_single, to_numpy

Array = NDArray[Any]

__all__ = ["RowByRow"]


class RowByRow:
    """What an estimator needs to take rows one by one: `observe`."""

    classes_: Array
    births_: Array
    knowledge_: Knowledge
    n_sessions_: int
    n_discovered_: int

    def observe(self, x: Any) -> Any:
        """What becomes of a row, at once: for streams that do not come in batches.

        The row belongs to a category that is known or was found, joins a seedling, or stays unassigned and
        begins one; a seedling that is worth enough becomes a category. Known posteriors stay unchanged, bit
        for bit, unless ``update_known``; categories born here go on learning until the next `discover`.
        `discover` looks at many rows together and finds more: use it where rows can wait.

        Parameters
        ----------
        x : array-like (d,) or (N, d)
            One row, or a few that came in this order. If anything fails, the model stays unchanged.

        Returns
        -------
        Observation, or a list of N of them

        Examples
        --------
        >>> from vbcgcd import CategoryDiscoverer
        >>> model = CategoryDiscoverer().fit([[0.0], [1.0], [8.0], [9.0]], ["a", "a", "b", "b"])
        >>> seen = model.observe([8.4])
        >>> seen.label, seen.outcome
        ('b', 'known')
        """
        options = self.options
        self._check_fitted()
        single = is_single(x)
        rows = check_rows(self, np.asarray(to_numpy(x))[None] if single else x)
        knowledge = self.knowledge_
        if knowledge.head is not None:
            raise InputError(
                "observe works with the Gaussians alone, but this model has a head; fit it with head=None.",
                option="head",
            )
        session, classes, seen = self.n_sessions_ + 1, self.classes_, list[Observation]()
        births, n_discovered = self.births_, self.n_discovered_
        for i in range(len(rows)):
            knowledge, sight = observe_row(
                knowledge.reduced(rows[i : i + 1]),
                knowledge,
                births == session,
                session=session,
                update_known=options.update_known,
            )
            if sight.born:
                classes = appended(classes, new_labels(classes, 1, n_discovered))
                births, n_discovered = np.append(births, session), n_discovered + 1
            label = None if sight.position < 0 else classes[sight.position : sight.position + 1].tolist()[0]
            seen.append(Observation(label, *sight[1:]))
        self.knowledge_, self.classes_, self.births_ = knowledge, classes, births
        self.n_discovered_ = n_discovered
        return seen[0] if single else seen

    @property
    def options(self) -> Options:
        """The options, checked."""
        raise NotImplementedError

    def _check_fitted(self) -> None:
        raise NotImplementedError
