import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbcgcd.errors import InputError
from vbcgcd.items import Items
from vbcgcd.study.datasets.splits import split_items, stratified


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=60),
    st.floats(0.01, 0.99),
    st.integers(0, 5),
)
def test_every_class_gives_its_share(labels, share, seed):
    labels = np.array(labels)
    test = stratified(labels, test_share=share, seed=seed)
    np.testing.assert_array_equal(test, stratified(labels, test_share=share, seed=seed))
    for label in np.unique(labels):
        n, taken = (labels == label).sum(), test[labels == label].sum()
        assert taken < n
        assert taken >= (n > 1)
        assert abs(taken - share * n) <= 1


def test_seeds_differ_and_classes_do_not_depend_on_each_other_s_place():
    labels = np.repeat(["a", "b"], 50)
    assert (stratified(labels, seed=0) != stratified(labels, seed=1)).any()
    assert stratified(labels, seed=0).sum() == 20


@pytest.mark.parametrize("share", [0, 1, -0.1, 2, "half"])
def test_shares_that_leave_a_part_empty(share):
    with pytest.raises(InputError, match="test_share must be"):
        stratified(np.zeros(4), test_share=share)


def test_items_are_split_once():
    items = Items("text", list("abcdefghij"), list("0123456789"), "m", np.repeat([0, 1], 5))
    train, test = split_items(items)
    assert sorted(train.values + test.values) == items.values
    assert sorted(test.labels) == [0, 1]


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (None, "2 of 2 items in m have no label"),
        (np.array(["a", None], dtype=object), "1 of 2 items in m have no label"),
        (np.array(["a", "b"]), "one item of each class"),
    ],
)
def test_items_that_cannot_be_split(labels, words):
    with pytest.raises(InputError, match=words):
        split_items(Items("text", ["x", "y"], ["0", "1"], "m", labels))
