"""Plans of the text protocol: one session, as papers on the discovery of new intents run it.

TEXTOIR (Zhang et al., ACL 2021 demonstrations) and the papers that follow it draw a share of the classes as
known (25, 50 or 75 %), label a tenth of the training rows of each, and give a method all other training rows,
known and novel, at once. Test rows of all classes are then clustered: accuracy under the best match of ids to
classes (ACC), NMI and ARI.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.errors import InputError
from vbcgcd.study.datasets.labelled import labels_digest
from vbcgcd.study.plans import Plan, PlannedSession, PlanOrigin
from vbcgcd.study.shapes import PlanShape, class_order
from vbcgcd.validation import check_choice

Array = NDArray[Any]
#: Plan name -> share of the classes that is known.
TEXTOIR_PLANS = {"textoir25": 0.25, "textoir50": 0.5, "textoir75": 0.75}
#: Share of the rows of a known class that is labelled.
LABELLED_SHARE = 0.1

__all__ = ["LABELLED_SHARE", "TEXTOIR_PLANS", "make_textoir"]


def make_textoir(y: Array, plan: str = "textoir50", *, order: str = "random", seed: int = 0) -> Plan:
    """Draw a plan of the text protocol.

    Parameters
    ----------
    y : array (N,)
        Class of each training row.
    plan : {"textoir25", "textoir50", "textoir75"}
        The number is the share of known classes in per cent.
    order : {"random", "natural", "happy"}
        Which classes are known; see `vbcgcd.study.shapes.class_order`.
    seed : int
        Draws the labelled rows and, in the random order, the known classes.

    Returns
    -------
    Plan
        Of one session, with every row that is not labelled.

    Examples
    --------
    >>> import numpy as np
    >>> drawn = make_textoir(np.repeat(np.arange(20), 50), "textoir75")
    >>> len(drawn.labelled), len(drawn.base_rows), len(drawn.sessions[0].rows)
    (15, 75, 925)
    """
    check_choice("plan", plan, tuple(TEXTOIR_PLANS))
    y, rng = np.asarray(y), np.random.default_rng(seed)
    classes = np.unique(y)
    n_known = round(TEXTOIR_PLANS[plan] * len(classes))
    if not 0 < n_known < len(classes):
        raise InputError(
            f"{len(classes)} classes are too few for the plan {plan}, which needs a known and a novel one.",
            option="plan",
        )
    shape = PlanShape(plan, n_known, 1, len(classes) - n_known, known_rows=0)
    classes = class_order(classes, shape, order, rng)
    known, novel = classes[:n_known], classes[n_known:]
    base = []
    for c in known:
        members = rng.permutation(np.flatnonzero(y == c))
        base.append(members[: max(1, round(LABELLED_SHARE * len(members)))])
    labelled = np.concatenate(base)
    rest = rng.permutation(np.setdiff1d(np.arange(len(y)), labelled))
    origin = PlanOrigin(plan, order, seed, labels_digest(y))
    return Plan(known, labelled, (PlannedSession(novel, rest),), origin)
