import numpy as np
import pytest

from vbcgcd.errors import InputError
from vbcgcd.items import Items


@pytest.fixture
def items():
    labels = np.array(["a", None, "b"], dtype=object)
    return Items("embedding", np.eye(3), ["x", "y", "z"], "memory", labels, {"label": "l"})


def test_the_mask_tells_which_items_have_a_label(items):
    assert items.labelled.tolist() == [True, False, True]
    assert Items("text", ["a"], ["0"], "m").labelled.tolist() == [False]
    assert Items("text", ["a"], ["0"], "m", np.array([3])).labelled.tolist() == [True]


@pytest.mark.parametrize("rows", [[2, 0], np.array([2, 0]), [-1, -3], slice(2, None, -2)])
def test_take_keeps_everything_of_a_row_together(items, rows):
    taken = items.take(rows)
    np.testing.assert_array_equal(taken.values, np.eye(3)[[2, 0]])
    assert taken.references == ["z", "x"]
    assert taken.labels.tolist() == ["b", "a"]
    assert (taken.kind, taken.source, taken.columns) == (items.kind, items.source, items.columns)


def test_take_by_mask_and_of_nothing(items):
    assert items.take(items.labelled).references == ["x", "z"]
    assert len(items.take([])) == 0
    assert Items("text", ["a", "b"], ["0", "1"], "m").take(np.array([False, True])).values == ["b"]


@pytest.mark.parametrize("rows", [[3], [True, False], [0.5], ["x"]])
def test_rows_that_do_not_fit_are_refused(items, rows):
    with pytest.raises(InputError, match="rows do not fit 3 items"):
        items.take(rows)


def test_parts_of_different_lengths_and_strange_kinds_are_refused():
    with pytest.raises(InputError, match="2 values but 1 references"):
        Items("text", ["a", "b"], ["0"], "m")
    with pytest.raises(InputError, match="2 values but 3 labels"):
        Items("text", ["a", "b"], ["0", "1"], "m", np.arange(3))
    with pytest.raises(InputError, match="kind must be one of"):
        Items("sound", ["a"], ["0"], "m")
