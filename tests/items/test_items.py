import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbcgcd.errors import InputError
from vbcgcd.items import Items, vector_items
from vbcgcd.items.items import as_floats, as_labels, check_finite, is_missing


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
    with pytest.raises(InputError):
        items.take(rows)


def test_parts_of_different_lengths_and_strange_kinds_are_refused():
    with pytest.raises(InputError, match=r"2 .* 1 references"):
        Items("text", ["a", "b"], ["0"], "m")
    with pytest.raises(InputError, match=r"2 .* 3 labels"):
        Items("text", ["a", "b"], ["0", "1"], "m", np.arange(3))
    with pytest.raises(InputError) as caught:
        Items("sound", ["a"], ["0"], "m")
    assert caught.value.option == "kind"


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
        ([1, "a"], "mix numbers"),
        ([0.5], "row 0 .* '0.5' \\(float\\)"),
        (["a", ["b"]], "row 1 .* \\(list\\)"),
        ([float("inf")], "'inf'"),
        ([2**64], "whole numbers"),
        (["x" * 1001], "looks like a text"),
    ],
)
def test_anything_else_is_refused(cells, words):
    with pytest.raises(InputError, match=words) as caught:
        as_labels(cells, source="s")
    assert caught.value.option == "label"


@given(st.lists(st.integers(-(10**17), 10**17), min_size=1))
def test_integers_survive_being_written(values):
    assert as_labels([str(v) for v in values], source="s", typed=False).tolist() == values


def test_floats_keep_their_type_and_integers_become_floats():
    assert as_floats(np.zeros((1, 1), dtype=np.float16)).dtype == np.float16
    assert as_floats(np.zeros((1, 1), dtype=np.int8)).dtype == np.float64


def test_the_first_value_that_is_not_finite_is_named():
    rows = np.zeros((9000, 2), dtype=np.float16)
    rows[5000, 1], rows[8500, 0] = np.inf, np.nan
    names = [f"r{i}" for i in range(9000)]
    with pytest.raises(InputError, match=r"2 of 9000 .*'r5000', position 1"):
        check_finite(rows, names, "s")
    rows[[5000, 8500]] = 6e4
    check_finite(rows, names, "s")


def test_vectors_with_what_they_stand_for():
    items = vector_items([[0, 1], [2, 3], [4, 5]], texts=["a", None, "c"], labels=["x", None, "y"])
    assert items.values.dtype == np.float64
    assert (items.kind, items.shown, items.shown_kind) == ("embedding", ["a", "", "c"], "text")
    assert items.take([2, 0]).shown == ["c", "a"]
    assert items.labelled.tolist() == [True, False, True]


def test_vectors_with_pictures(tmp_path):
    items = vector_items(np.eye(2), images=["a.png", tmp_path / "b.png"])
    assert items.shown_kind == "image"
    assert all(path.is_absolute() for path in items.shown)
    pictures = np.zeros((2, 4, 4, 3), dtype=np.uint8)
    assert vector_items(np.eye(2), images=pictures).take([1]).shown.shape == (1, 4, 4, 3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"vectors": np.eye(2), "texts": ["a"]}, "2 values but 1 contents"),
        ({"vectors": np.eye(2), "texts": ["a", "b"], "images": ["a", "b"]}, "not both"),
        ({"vectors": [1.0, 2.0]}, "shape"),
        ({"vectors": [[np.nan, 1.0]]}, "NaN"),
        ({"vectors": [["a"]]}, "numbers"),
        ({"vectors": np.eye(2), "references": ["a", "a"]}, "unique"),
    ],
)
def test_vectors_that_do_not_fit(options, words):
    with pytest.raises(InputError, match=words):
        vector_items(options.pop("vectors"), **options)


def test_kept_columns_follow_their_items():
    items = Items("text", ["a", "b"], ["0", "1"], "s", kept={"n": [1, 2], "v": np.eye(2)})
    part = items.take([1])
    assert part.kept["n"] == [2]
    assert part.kept["v"].tolist() == [[0, 1]]
    with pytest.raises(InputError, match="2 values but 1 n"):
        Items("text", ["a", "b"], ["0", "1"], "s", kept={"n": [1]})
    with pytest.raises(InputError, match="Only embeddings"):
        Items("text", ["a"], ["0"], "s", contents=["a"])
    assert items.shown == ["a", "b"]
    assert Items("embedding", np.eye(2), ["0", "1"], "s").shown_kind == ""
