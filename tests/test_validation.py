import numpy as np
import pytest
from sklearn.base import BaseEstimator

from vbcgcd.errors import InputError
from vbcgcd.validation import check_choice, check_labels, check_number, check_rows, check_weight


class Fitted(BaseEstimator):
    n_features_in_ = 3


# check_rows


@pytest.mark.parametrize(
    ("given", "dtype"),
    [
        (np.arange(6.0).reshape(2, 3), np.float64),
        (np.arange(6.0, dtype=np.float32).reshape(2, 3), np.float32),
        (np.arange(6.0, dtype=np.float16).reshape(2, 3), np.float32),
        (np.arange(6).reshape(2, 3), np.float64),
        ([[0, 1, 2], [3, 4, 5]], np.float64),
        (np.arange(6.0).reshape(2, 3).astype(object), np.float64),
        (np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.float64),
        (np.arange(12.0).reshape(2, 6)[:, ::2] / 2 + [[0, 0, 0], [0, 0, 0]], np.float64),
    ],
    ids=["float64", "float32", "float16", "int", "list", "object", "Fortran", "strided"],
)
def test_rows_become_float_arrays_of_the_same_values(given, dtype):
    rows = check_rows(Fitted(), given)
    assert rows.dtype == dtype
    assert rows.shape == (2, 3)
    np.testing.assert_array_equal(rows, np.asarray(given, dtype=float))


def test_rows_of_the_right_type_are_not_copied():
    given = np.zeros((4, 3), dtype=np.float32)
    assert np.shares_memory(check_rows(Fitted(), given), given)


def test_reset_sets_the_width_and_no_reset_compares_it():
    estimator = Fitted()
    check_rows(estimator, np.zeros((2, 5)), reset=True)
    assert estimator.n_features_in_ == 5
    check_rows(estimator, np.zeros((1, 5)))
    with pytest.raises(InputError, match=r"(?s)3.*5"):
        check_rows(estimator, np.zeros((1, 3)))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.zeros(3), "1D"),
        (np.zeros((1, 2, 3)), "dim 3"),
        (np.zeros((0, 3)), r"\(0, 3\)"),
        (np.zeros((2, 0)), r"\(2, 0\)"),
        ([["a", "b", "c"]], "string"),
        (np.zeros((2, 3)) + 1j, "Complex"),
        (3.0, "scalar"),
        ([[1, 2, 3], [4, 5]], "."),
    ],
    ids=["1D", "3D", "no rows", "no columns", "strings", "complex", "scalar", "ragged"],
)
def test_rows_of_the_wrong_shape_or_type_are_refused(given, message):
    with pytest.raises(InputError, match=message):
        check_rows(Fitted(), given)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_missing_values_are_counted_and_located(bad, dtype):
    rows = np.ones((9, 3), dtype=dtype)
    rows[4, 1] = rows[4, 2] = rows[7, 0] = bad
    with pytest.raises(InputError, match=r"2 of 9 rows.*row 4, column 1"):
        check_rows(Fitted(), rows)


def test_opposite_infinities_do_not_hide_each_other():
    rows = np.ones((2, 3))
    rows[0, 0], rows[1, 2] = np.inf, -np.inf
    with pytest.raises(InputError, match="2 of 2 rows"):
        check_rows(Fitted(), rows)


def test_finite_rows_whose_sum_overflows_are_accepted():
    rows = np.full((4, 3), 1e308)
    np.testing.assert_array_equal(check_rows(Fitted(), rows), rows)


def test_rows_from_data_frames():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    values = np.arange(6.0).reshape(2, 3)
    for frame in (pd.DataFrame(values), pl.DataFrame(values)):
        np.testing.assert_array_equal(check_rows(Fitted(), frame, reset=True), values)


def test_missing_values_of_data_frames_are_refused():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    columns = {"a": [1.0, None], "b": [1.0, 2.0], "c": [1.0, 2.0]}
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns)):
        with pytest.raises(InputError, match="row 1, column 0"):
            check_rows(Fitted(), frame, reset=True)


def test_rows_from_a_torch_tensor():
    torch = pytest.importorskip("torch")
    values = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    for kind in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        tensor = torch.tensor(values, dtype=kind, requires_grad=True)
        np.testing.assert_array_equal(check_rows(Fitted(), tensor), values)


# check_labels


@pytest.mark.parametrize(
    "given",
    [
        [3, 7, 3],
        np.array([-5, 100, -5]),
        np.array([1, 2, 1], dtype=np.uint8),
        np.array([True, False, True]),
        ["dog", "cat", "dog"],
        np.array(["dog", "cat", "dog"]),
        np.array([1.0, 4.0, 1.0]),
    ],
    ids=["list", "negative", "uint8", "bool", "strings", "str_", "whole floats"],
)
def test_labels_keep_their_kind_and_values(given):
    labels = check_labels(given, 3)
    assert labels.dtype == np.asarray(given).dtype
    np.testing.assert_array_equal(labels, given)


def test_object_strings_become_plain_strings():
    labels = check_labels(np.array(["dog", "a longer name", "dog"], dtype=object), 3)
    assert labels.dtype.kind == "U"
    assert labels.tolist() == ["dog", "a longer name", "dog"]


@pytest.mark.parametrize(
    ("kind", "expected"), [("Int64", "i"), ("boolean", "b"), ("category", "U"), ("string", "U"), (None, "U")]
)
def test_pandas_labels_keep_their_kind(kind, expected):
    pd = pytest.importorskip("pandas")
    values = {"i": [3, 7, 3], "b": [True, False, True], "U": ["dog", "cat", "dog"]}[expected]
    labels = check_labels(pd.Series(values, dtype=kind), 3)
    assert labels.dtype.kind == expected
    assert labels.tolist() == values


@pytest.mark.parametrize("values", [[3, 7, 3], [True, False, True], ["dog", "cat", "dog"]])
def test_polars_labels_keep_their_kind(values):
    pl = pytest.importorskip("polars")
    labels = check_labels(pl.Series(values), 3)
    assert labels.tolist() == values
    assert type(labels.tolist()[0]) is type(values[0])


def test_no_labels_are_refused():
    with pytest.raises(InputError):
        check_labels(None, 3)


@pytest.mark.parametrize("given", [[], [1, 2], [1, 2, 1, 2]])
def test_another_number_of_labels_is_refused(given):
    with pytest.raises(InputError, match=f"3 rows .* {len(given)} labels"):
        check_labels(given, 3)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_missing_numeric_labels_are_refused(bad):
    with pytest.raises(InputError):
        check_labels([1.0, bad, 1.0], 3)


@pytest.mark.parametrize(
    "given",
    [
        np.array(["dog", None, "dog"], dtype=object),
        np.array(["dog", np.nan, "dog"], dtype=object),
        np.array([None, "dog", "dog"], dtype=object),
    ],
    ids=["None", "nan", "None first"],
)
def test_missing_string_labels_are_refused_with_a_message_about_them(given):
    with pytest.raises(InputError, match=r"NaN|None|float|missing"):
        check_labels(given, 3)


@pytest.mark.parametrize(
    "given",
    [
        np.array(["dog", 1, "dog"], dtype=object),
        np.array([1, "dog", "dog"], dtype=object),
        np.array(["dog", 2.0, 1], dtype=object),
        ["dog", 1, "dog"],  # NumPy would quietly turn 1 into "1"
    ],
    ids=["strings first", "integer first", "three types", "list"],
)
def test_mixed_labels_are_refused_and_the_types_named(given):
    with pytest.raises(InputError, match=r"(int|float).*str"):
        check_labels(given, 3)


@pytest.mark.parametrize(
    "given",
    [[0.3, 0.7, 1.1], np.zeros((3, 2)), np.array([b"a", b"b", b"a"])],
    ids=["continuous", "two columns", "bytes"],
)
def test_labels_that_name_no_category_are_refused(given):
    with pytest.raises(InputError):
        check_labels(given, 3)


def test_a_category_for_every_row_is_no_reason_to_warn():
    labels = np.arange(30)
    np.testing.assert_array_equal(check_labels(labels, 30), labels)


# check_weight


def test_no_weight_stays_none():
    assert check_weight(None, 3) is None


@pytest.mark.parametrize("given", [[0, 1, 2], np.array([0.5, 0, 1], np.float32), (1, 1, 1)])
def test_weights_become_float64(given):
    weight = check_weight(given, 3)
    assert weight.dtype == np.float64
    np.testing.assert_array_equal(weight, given)


@pytest.mark.parametrize("given", [[1, 2], [[1], [2], [3]], 1.0])
def test_weights_of_another_shape_are_refused(given):
    with pytest.raises(InputError, match=r"\(3,\), got"):
        check_weight(given, 3)


@pytest.mark.parametrize("given", [[1, -1, 1], [1, np.nan, 1], [1, np.inf, 1], [0, 0, 0]])
def test_impossible_weights_are_refused(given):
    with pytest.raises(InputError):
        check_weight(given, 3)


@pytest.mark.parametrize("given", [["a", "b", "c"], [1, 2, 1j], np.array([1, 2, 3 + 0j])])
def test_weights_that_are_no_numbers_are_refused(given):
    with pytest.raises(InputError, match="must be numbers"):
        check_weight(given, 3)


# check_choice


def test_an_allowed_choice_passes():
    assert check_choice("colour", "red", ("red", "green")) is None


@pytest.mark.parametrize("value", ["blue", "Red", "", None, 3, ["red"]])
def test_another_choice_is_refused_with_what_is_allowed(value):
    with pytest.raises(InputError) as caught:
        check_choice("colour", value, ("red", "green"))
    message = str(caught.value)
    assert message.startswith("colour must be one of 'red', 'green'")
    assert repr(value) in message


@pytest.mark.parametrize("value", [[], {}, np.zeros(2), 1, object])
def test_a_choice_of_another_type_is_refused(value):
    with pytest.raises(InputError) as caught:
        check_choice("size", value, ("small", "large"))
    assert caught.value.option == "size"


# check_number


@pytest.mark.parametrize("value", [0, 1, 0.5, np.float32(0.5), np.int64(1), "auto", None], ids=repr)
def test_a_number_or_word_that_is_allowed_passes(value):
    check_number("share", value, low=0, high=1, words=("auto", None))


@pytest.mark.parametrize(
    "value", [-0.1, 1.1, np.nan, np.inf, "other", True, [0.5], np.array([0.5]), 1j, b"auto"], ids=repr
)
def test_another_number_is_refused_with_what_is_allowed(value):
    with pytest.raises(InputError) as caught:
        check_number("share", value, low=0, high=1, words=("auto", None))
    wanted = f"share must be a number of at least 0 and at most 1 or 'auto' or None, got {value!r}."
    assert str(caught.value) == wanted


@pytest.mark.parametrize("value", [1.5, np.nan, "3", 0])
def test_whole_numbers_are_told_from_others(value):
    check_number("steps", 3, low=1, whole=True)
    with pytest.raises(InputError) as caught:
        check_number("steps", value, low=1, whole=True)
    assert caught.value.option == "steps"


@pytest.mark.parametrize(
    "y", [["a", np.nan, "b"], np.array(["a", None, "b"], dtype=object), [1.0, np.nan, 2.0]]
)
def test_missing_labels_are_told_as_such(y):
    with pytest.raises(InputError, match=r"NaN or None in 1 of 3 rows, first in row 1"):
        check_labels(y, 3)
