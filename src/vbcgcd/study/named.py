"""Plans by name: those of the paper, realistic streams and the text protocol."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from vbcgcd.study.plans import Plan, make_plan, paper_dataset
from vbcgcd.study.shapes import NAMED_PLANS, shape_of
from vbcgcd.study.streams.shapes import STREAMS, make_stream
from vbcgcd.study.streams.yours import YOURS, make_yours
from vbcgcd.study.textoir import TEXTOIR_PLANS, make_textoir
from vbcgcd.validation import check_choice

Array = NDArray[Any]
#: All names of plans.
PLAN_NAMES = (*NAMED_PLANS, *STREAMS, *TEXTOIR_PLANS, YOURS)

__all__ = ["PLAN_NAMES", "named_plan"]


def named_plan(
    name: str,
    y: Array,
    *,
    dataset: str = "",
    order: str = "random",
    seed: int = 0,
    junk_y: Array | None = None,
) -> Plan:
    """Draw a plan by its name.

    Parameters
    ----------
    name : str
        One of ``PLAN_NAMES``.
    y : array (N,)
        Class of each training row.
    dataset : str
        Name of the dataset; the paper's plans have the paper's counts on its own datasets.
    order : {"random", "natural", "happy"}
        Order in which the classes arrive; a realistic stream always draws its own.
    seed : int
    junk_y : array (M,), optional
        Class of each training row of the dataset from which a realistic stream draws its junk.

    Examples
    --------
    >>> import numpy as np
    >>> named_plan("textoir50", np.repeat(np.arange(4), 10)).name
    'textoir50'
    """
    check_choice("plan", name, PLAN_NAMES)
    if name in STREAMS:
        return make_stream(y, name, seed=seed, junk_y=junk_y)
    if name == YOURS:
        return make_yours(y, seed=seed)
    if name in TEXTOIR_PLANS:
        return make_textoir(y, name, order=order, seed=seed)
    shape = shape_of(name, y, dataset=paper_dataset(dataset))
    return make_plan(y, shape, order=order, seed=seed)
