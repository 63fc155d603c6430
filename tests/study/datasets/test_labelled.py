import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbcgcd.errors import InputError
from vbcgcd.items import Items
from vbcgcd.study.datasets import LabelledItems
from vbcgcd.study.datasets.labelled import encode_labels, natural_order, split_items, stratified


def texts(*labels, dtype=None):
    values = [f"t{i}" for i in range(len(labels))]
    return Items("text", values, [str(i) for i in range(len(labels))], "m", np.array(labels, dtype=dtype))


def vectors(d, label=0):
    return Items("embedding", np.ones((1, d)), ["0"], "m", np.array([label]))


def test_labels_become_codes_into_names_in_natural_order():
    data = encode_labels("d", texts("pear", "fig", "fig"), texts("fig", "kiwi"))
    assert data.class_names == ("fig", "kiwi", "pear")
    assert data.train.labels.tolist() == [2, 0, 0]
    assert data.test.labels.tolist() == [0, 1]
    assert data.train.labels.dtype == np.int64
    assert data.kind == "text"


def test_numbers_are_ordered_by_value():
    assert encode_labels("d", texts(10, 9), texts(9)).class_names == ("9", "10")
    assert encode_labels("d", texts("10", "9"), texts("9")).class_names == ("9", "10")
    assert natural_order(["b", "10", "9"]) == ["10", "9", "b"]


def test_given_names_set_the_order():
    assert encode_labels("d", texts("a", "b"), texts("b"), ["b", "a"]).train.labels.tolist() == [1, 0]
    assert encode_labels("d", texts(0, 1), texts(1), ["b", "a"]).test.labels.tolist() == [1]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: encode_labels("d", texts("a", None, dtype=object), texts("a")),
            "1 of 2 .* train",
        ),
        (lambda: encode_labels("d", texts("a"), texts(1)), "numbers in one part"),
        (lambda: encode_labels("d", texts("a"), texts("c"), ["a", "b"]), "'c' of m"),
        (
            lambda: encode_labels("d", texts(0), texts(2), ["a", "b"]),
            "test .* 2 to 2, .* 2",
        ),
        (lambda: encode_labels("d", texts(-1), texts(0), ["a", "b"]), "train .* -1"),
        (lambda: encode_labels("d", texts(0), texts(0).take([])), "test part is empty"),
        (lambda: encode_labels("d", texts(0), vectors(2)), "texts, .* embeddings"),
        (lambda: encode_labels("d", vectors(3), vectors(2)), "3 .* train .* 2 in test"),
        (lambda: LabelledItems("d", texts("a"), texts("a"), ("a",)), "must be codes"),
    ],
)
def test_parts_that_do_not_agree(make, words):
    with pytest.raises(InputError, match=words):
        make()


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
    with pytest.raises(InputError) as caught:
        stratified(np.zeros(4), test_share=share)
    assert caught.value.option == "test_share"


def test_items_are_split_once():
    items = Items("text", list("abcdefghij"), list("0123456789"), "m", np.repeat([0, 1], 5))
    train, test = split_items(items)
    assert sorted(train.values + test.values) == items.values
    assert sorted(test.labels) == [0, 1]


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (None, "2 of 2 .* no label"),
        (np.array(["a", None], dtype=object), "1 of 2 .* no label"),
        (np.array(["a", "b"]), "only one item"),
    ],
)
def test_items_that_cannot_be_split(labels, words):
    with pytest.raises(InputError, match=words):
        split_items(Items("text", ["x", "y"], ["0", "1"], "m", labels))
