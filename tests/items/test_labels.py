import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbcgcd.errors import InputError
from vbcgcd.items.labels import as_labels, is_missing


@pytest.mark.parametrize("value", [None, "", "  ", float("nan"), np.float32("nan")])
def test_what_counts_as_missing(value):
    assert is_missing(value)


@pytest.mark.parametrize("value", [0, False, "nan", "NA", 0.0])
def test_what_does_not(value):
    assert not is_missing(value)


@pytest.mark.parametrize(
    ("cells", "typed", "expected"),
    [
        (["3", "-1", "0"], False, [3, -1, 0]),
        (["3", "007"], False, ["3", "007"]),
        (["3", "1.0"], False, ["3", "1.0"]),
        (["3", "7"], True, ["3", "7"]),
        ([" cat", "dog "], False, ["cat", "dog"]),
        ([1.0, 2], True, [1, 2]),
        ([True, False], True, ["true", "false"]),
        (np.array([1, 2], dtype=np.uint8), True, [1, 2]),
        (np.array(["b", "a"]), True, ["b", "a"]),
    ],
)
def test_labels_become_integers_or_strings(cells, typed, expected):
    labels = as_labels(cells, source="s", typed=typed)
    assert labels.tolist() == expected
    assert labels.dtype.kind == ("i" if isinstance(expected[0], int) else "U")


@pytest.mark.parametrize(
    ("cells", "expected"),
    [(["a", "", "b"], ["a", None, "b"]), ([1, None, 2.0], [1, None, 2]), ([None], [None])],
)
def test_missing_labels_are_none(cells, expected):
    labels = as_labels(cells, source="s")
    assert labels.dtype == object
    assert labels.tolist() == expected


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ([1, "a"], "mix numbers .* and strings"),
        ([0.5], "row 0 .* '0.5' \\(float\\)"),
        (["a", ["b"]], "row 1 .* \\(list\\)"),
        ([float("inf")], "'inf'"),
        ([2**64], "whole numbers"),
        (["x" * 1001], "looks like a text"),
    ],
)
def test_anything_else_is_refused(cells, words):
    with pytest.raises(InputError, match=words):
        as_labels(cells, source="s")


@given(st.lists(st.integers(-(10**17), 10**17), min_size=1))
def test_integers_survive_being_written(values):
    assert as_labels([str(v) for v in values], source="s", typed=False).tolist() == values
