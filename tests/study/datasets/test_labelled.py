import numpy as np
import pytest

from vbcgcd.errors import InputError
from vbcgcd.items import Items
from vbcgcd.study.datasets import LabelledItems
from vbcgcd.study.datasets.labelled import coded, join, natural_order


def texts(*labels, dtype=None):
    values = [f"t{i}" for i in range(len(labels))]
    return Items("text", values, [str(i) for i in range(len(labels))], "m", np.array(labels, dtype=dtype))


def vectors(d, label=0):
    return Items("embedding", np.ones((1, d)), ["0"], "m", np.array([label]))


def test_labels_become_codes_into_names_in_natural_order():
    data = coded("d", texts("pear", "fig", "fig"), texts("fig", "kiwi"))
    assert data.class_names == ("fig", "kiwi", "pear")
    assert data.train.labels.tolist() == [2, 0, 0]
    assert data.test.labels.tolist() == [0, 1]
    assert data.train.labels.dtype == np.int64
    assert data.kind == "text"


def test_numbers_are_ordered_by_value():
    assert coded("d", texts(10, 9), texts(9)).class_names == ("9", "10")
    assert coded("d", texts("10", "9"), texts("9")).class_names == ("9", "10")
    assert natural_order(["b", "10", "9"]) == ["10", "9", "b"]


def test_given_names_set_the_order():
    assert coded("d", texts("a", "b"), texts("b"), ["b", "a"]).train.labels.tolist() == [1, 0]
    assert coded("d", texts(0, 1), texts(1), ["b", "a"]).test.labels.tolist() == [1]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: coded("d", texts("a", None, dtype=object), texts("a")), "1 of 2 items in the train part"),
        (lambda: coded("d", texts("a"), texts(1)), "numbers in one part and strings"),
        (lambda: coded("d", texts("a"), texts("c"), ["a", "b"]), "label 'c' of m is not among"),
        (
            lambda: coded("d", texts(0), texts(2), ["a", "b"]),
            "test part has labels from 2 to 2 for 2 class names",
        ),
        (lambda: coded("d", texts(-1), texts(0), ["a", "b"]), "train part has labels from -1"),
        (lambda: coded("d", texts(0), texts(0).take([])), "test part is empty"),
        (lambda: coded("d", texts(0), vectors(2)), "train part holds texts, the test part embeddings"),
        (lambda: coded("d", vectors(3), vectors(2)), "3 numbers in train, 2 in test"),
        (lambda: LabelledItems("d", texts("a"), texts("a"), ("a",)), "must be codes"),
        (lambda: join([texts("a"), texts(1)], "ab"), "mix labels"),
        (lambda: join([texts("a"), vectors(2)], "ab"), "different kinds"),
        (lambda: join([vectors(3), vectors(2)], "ab"), "different shapes"),
        (lambda: join([texts("a"), Items("text", ["x"], ["0"], "n")], "ab"), "no labels"),
    ],
)
def test_parts_that_do_not_agree(make, words):
    with pytest.raises(InputError, match=words):
        make()


def test_joined_items_follow_each_other():
    joined = join([texts("a", "b"), texts("long")], ["x/", "y/"])
    assert joined.references == ["x/0", "x/1", "y/0"]
    assert joined.labels.tolist() == ["a", "b", "long"]
    assert join([vectors(2), vectors(2, 5)], "ab").values.shape == (2, 2)
