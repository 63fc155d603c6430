import numpy as np
import pytest

from vbcgcd import InputError
from vbcgcd.study.named import PLAN_NAMES, named_plan
from vbcgcd.study.plans import check_plan

LABELS = np.repeat(np.arange(60), 40)


@pytest.mark.parametrize("name", PLAN_NAMES)
def test_every_name_draws_a_plan_that_does_not_leak(name):
    plan = check_plan(named_plan(name, LABELS, seed=2), LABELS)
    assert (plan.name, plan.origin.seed) == (name, 2)


def test_an_unknown_name_is_refused():
    with pytest.raises(InputError) as caught:
        named_plan("b51t5", LABELS)
    assert caught.value.option == "plan"
