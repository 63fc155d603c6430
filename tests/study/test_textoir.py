import numpy as np
import pytest

from vbcgcd import InputError
from vbcgcd.study.plans import check_plan
from vbcgcd.study.textoir import TEXTOIR_PLANS, make_textoir

LABELS = np.random.default_rng(0).permutation(np.repeat(np.arange(20), np.arange(11, 31)))


@pytest.mark.parametrize(("name", "n_known"), [("textoir25", 5), ("textoir50", 10), ("textoir75", 15)])
def test_a_tenth_of_the_rows_of_the_known_classes_is_labelled_and_all_else_arrives(name, n_known):
    plan = check_plan(make_textoir(LABELS, name, seed=1), LABELS)
    assert len(plan.labelled) == n_known
    for c in plan.labelled:
        assert (LABELS[plan.base_rows] == c).sum() == round(0.1 * (c == LABELS).sum())
    [session] = plan.sessions
    assert sorted([*plan.labelled, *session.novel]) == list(range(20))
    assert sorted([*plan.base_rows, *session.rows]) == list(range(len(LABELS)))
    assert plan.name == name


def test_the_seed_draws_the_classes_and_the_rows():
    same, again, other = (
        make_textoir(LABELS, seed=1),
        make_textoir(LABELS, seed=1),
        make_textoir(LABELS, seed=2),
    )
    assert same.digest == again.digest != other.digest
    assert set(same.labelled.tolist()) != set(other.labelled.tolist())
    assert make_textoir(LABELS, order="natural").labelled.tolist() == list(range(10))


def test_a_class_of_few_rows_has_one_label():
    plan = make_textoir(np.repeat([0, 1], 3), order="natural")
    assert len(plan.base_rows) == 1


@pytest.mark.parametrize("plan", TEXTOIR_PLANS)
def test_too_few_classes_are_refused(plan):
    with pytest.raises(InputError) as caught:
        make_textoir(np.zeros(9, dtype=int), plan)
    assert caught.value.option == "plan"
