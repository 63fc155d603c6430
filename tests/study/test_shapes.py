import numpy as np
import pytest

from vbcgcd import InputError
from vbcgcd.study.plans import make_plan
from vbcgcd.study.shapes import PlanShape, class_order, shape_by_shares, shape_of

# dataset, classes, rows of a class: labelled classes, new classes, rows of each, rows of a known class
PAPER = {
    ("cifar100", 100, 500): {
        "b50t5": (50, 10, 400, 25),
        "b50t10": (50, 5, 400, 25),
        "b10t9": (10, 10, 400, 25),
    },
    ("tinyimagenet", 200, 500): {
        "b50t5": (100, 20, 400, 25),
        "b50t10": (100, 10, 400, 25),
        "b10t9": (20, 20, 400, 25),
    },
    ("imagenet100", 100, 1300): {
        "b50t5": (50, 10, 1000, 60),
        "b50t10": (50, 5, 1000, 60),
        "b10t9": (10, 10, 1000, 60),
    },
    ("cub200", 200, 30): {"b50t5": (100, 20, 25, 5), "b50t10": (100, 10, 25, 5), "b10t9": (20, 20, 25, 5)},
}
SESSIONS = {"b50t5": 5, "b50t10": 10, "b10t9": 9}


@pytest.mark.parametrize("dataset", PAPER, ids=lambda d: d[0])
@pytest.mark.parametrize("name", SESSIONS)
def test_the_papers_counts(dataset, name):
    kind, n_classes, n_rows = dataset
    n_labelled, n_novel, rows, known = PAPER[dataset][name]
    y = np.repeat(np.arange(n_classes), n_rows)
    plan = make_plan(y, shape_of(name, y, dataset=kind), order="natural")
    assert len(plan.labelled) == n_labelled
    assert len(plan.base_rows) == n_labelled * rows
    assert len(plan.sessions) == SESSIONS[name]
    for t, session in enumerate(plan.sessions):
        assert len(session.novel) == n_novel
        assert len(session.rows) == n_novel * rows + known * len(plan.known_before(t))


def test_the_happy_order():
    shape = PlanShape("x", 50, 5, 10, known_rows=25)
    order = class_order(np.arange(100), shape, "happy", np.random.default_rng(7))
    np.testing.assert_array_equal(order[:50], np.arange(50))
    np.testing.assert_array_equal(order[50:60], [78, 61, 60, 91, 52, 77, 88, 81, 72, 54])
    assert sorted(order.tolist()) == list(range(100))


def test_the_natural_order_is_sorted_and_the_random_one_is_seeded():
    shape = PlanShape("x", 5, 1, 5, known_rows=1)
    orders = [
        class_order(np.arange(10), shape, o, np.random.default_rng(0))
        for o in ("natural", "random", "random")
    ]
    np.testing.assert_array_equal(orders[0], np.arange(10))
    np.testing.assert_array_equal(orders[1], orders[2])
    assert not np.array_equal(orders[0], orders[1])


def test_other_datasets_use_shares():
    y = np.repeat(np.arange(150), 120)  # the size of CLINC150
    shape = shape_of("b50t5", y)
    assert (shape.n_labelled, shape.n_sessions, shape.n_novel, shape.known_rows) == (75, 5, 15, 6)
    assert shape.rows_used(120) == 96


def test_a_name_alone_does_not_make_a_paper_dataset():
    y = np.repeat(np.arange(20), 50)  # a small part of CIFAR-100
    shape = shape_of("b50t5", y, dataset="cifar100")
    assert (shape.n_labelled, shape.n_novel, shape.rows_used(50)) == (10, 2, 40)


def test_classes_left_over_are_labelled():
    shape = shape_by_shares(np.repeat(np.arange(77), 4), labelled_share=0.5, n_sessions=5)
    assert (shape.n_labelled, shape.n_novel) == (42, 7)
    assert shape.n_classes == 77


def test_a_class_with_few_rows_keeps_some_back():
    shape = PlanShape("x", 1, 1, 1, known_rows=60, rows=1000)
    assert shape.rows_used(1300) == 1000
    assert shape.rows_used(732) == round(0.8 * 732)


@pytest.mark.parametrize(
    ("change", "option"),
    [
        ({"n_sessions": 11}, None),
        ({"labelled_share": 0}, "labelled_share"),
        ({"n_sessions": 0}, "n_sessions"),
        ({"train_share": 1.5}, "train_share"),
        ({"known_share": -1}, "known_share"),
    ],
)
def test_impossible_shares_are_refused(change, option):
    with pytest.raises(InputError) as caught:
        shape_by_shares(np.repeat(np.arange(20), 5), **{"labelled_share": 0.5, "n_sessions": 5} | change)
    assert caught.value.option == option


def test_unknown_names_are_refused():
    y = np.repeat(np.arange(20), 5)
    with pytest.raises(InputError) as caught:
        shape_of("b50t6", y)
    assert caught.value.option == "plan"
    with pytest.raises(InputError) as caught:
        make_plan(y, shape_of("b50t5", y), order="sorted")
    assert caught.value.option == "order"
