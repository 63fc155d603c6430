import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbcgcd import CategoryDiscoverer
from vbcgcd.errors import InputError
from vbcgcd.labels import NONE_OF_THESE, appended, new_labels, reject_label, with_unassigned

INTEGERS = st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=20, unique=True)
NAMES = st.lists(
    st.one_of(st.text("ab", min_size=1), st.integers(1, 9).map("novel-{}".format)), min_size=1, unique=True
)


@given(INTEGERS, st.integers(0, 9))
def test_integers_continue_after_the_largest(classes, n_novel):
    found = new_labels(np.array(classes), n_novel, 0)
    first = max(max(classes) + 1, 0)
    assert found.tolist() == list(range(first, first + n_novel))


@given(NAMES, st.integers(0, 9), st.integers(0, 9))
def test_names_are_new_distinct_and_counted_on(classes, n_novel, n_discovered):
    found = new_labels(np.array(classes), n_novel, n_discovered).tolist()
    assert len(set(found)) == n_novel
    assert not set(found) & set(classes)
    numbers = [int(name.removeprefix("novel-")) for name in found]
    assert numbers == sorted(numbers)
    assert all(number > n_discovered for number in numbers)


def test_a_taken_name_is_passed_over():
    assert new_labels(np.array(["novel-1", "x"]), 2, 0).tolist() == ["novel-2", "novel-3"]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint64, np.int64])
def test_new_integers_fit_beside_the_old_ones(dtype):
    classes = np.array([0, 127], dtype=dtype)
    together = appended(classes, new_labels(classes, 3, 0))
    assert together.tolist() == [0, 127, 128, 129, 130]
    assert together.dtype.kind in "iu"


def test_full_unsigned_bytes_get_room():
    classes = np.array([255], dtype=np.uint8)
    assert appended(classes, new_labels(classes, 2, 0)).tolist() == [255, 256, 257]


@given(INTEGERS, INTEGERS, st.sampled_from([np.int64, np.int8, np.uint8, np.uint16]))
def test_appending_changes_no_integer(classes, labels, dtype):
    limits = np.iinfo(dtype)
    classes = [c for c in classes if limits.min <= c <= limits.max] or [1]
    found = appended(np.array(classes, dtype=dtype), np.array(labels))
    assert found.tolist() == classes + labels


@given(NAMES, NAMES)
def test_appending_changes_no_name(classes, labels):
    assert appended(np.array(classes), np.array(labels)).tolist() == classes + labels


def test_appending_nothing_changes_nothing():
    classes = np.array([1, 2], dtype=np.int8)
    assert appended(classes, np.empty(0, dtype=int)) is classes


def test_floats_continue_as_floats():
    found = new_labels(np.array([0.0, 2.0]), 2, 0)
    assert found.tolist() == [3.0, 4.0]
    assert found.dtype == np.float64


def test_object_names_stay_objects():
    assert new_labels(np.array(["a"], dtype=object), 1, 0).dtype == object


@pytest.mark.parametrize("classes", [np.array([True, False]), np.array(["2020-01-01"], dtype="M8[D]")])
def test_labels_that_cannot_continue_are_refused(classes):
    with pytest.raises(InputError):
        new_labels(classes, 0, 0)


def test_the_largest_integer_of_all_is_refused_or_continued_truly():
    classes = np.array([1, np.iinfo(np.int64).max])
    try:
        found = appended(classes, new_labels(classes, 1, 0))
    except InputError:
        return
    assert found.tolist() == [1, 2**63 - 1, 2**63]


@pytest.mark.parametrize(
    ("classes", "answer"),
    [
        ([1, 2], -1),
        ([1.0, 2.0], -1),
        (["a", "b"], NONE_OF_THESE),
        (np.array(["a"], dtype=object), NONE_OF_THESE),
    ],
)
def test_reject_label_is_of_the_kind_of_the_labels(classes, answer):
    assert reject_label(np.array(classes)) == answer


@pytest.mark.parametrize("classes", [[-1, 3], [-1.0, 0.0], ["a", NONE_OF_THESE]], ids=str)
def test_a_reject_label_that_is_taken_is_refused(classes):
    with pytest.raises(InputError, match="reject_label"):
        reject_label(np.array(classes))


@pytest.mark.parametrize(
    ("classes", "answer"),
    [
        (np.array([3, 5]), -1),
        (np.array([-1, 5]), -2),
        (np.array([-2, -1, 5]), -3),
        (np.array([3, 255], dtype=np.uint8), -1),
        (np.array([0, 2**63 + 1], dtype=np.uint64), -1),
        (np.array([1.0, -1.0]), -2),
        (np.array(["a", "b"]), NONE_OF_THESE),
        (np.array(["a", "b"], dtype=object), NONE_OF_THESE),
        (np.array(["a", NONE_OF_THESE]), f"{NONE_OF_THESE}'"),
    ],
    ids=str,
)
def test_unassigned_rows_have_an_answer_that_is_no_label(classes, answer):
    labels = classes[[0, -1, 0, -1]]
    found = with_unassigned(labels, np.array([False, True, False, False]), classes)
    assert found.tolist() == [labels[0], answer, labels[2], labels[3]]
    assert answer not in classes.tolist()


def test_labels_stay_as_they_are_where_all_rows_are_assigned():
    labels = np.array([3, 255], dtype=np.uint8)
    assert with_unassigned(labels, np.zeros(2, dtype=bool), labels) is labels


def test_novel_categories_of_negative_numbers_are_never_the_mark_for_none():
    assert new_labels(np.array([-3.0, -2.0]), 2, 0).tolist() == [0.0, 1.0]
    assert new_labels(np.array([-3, -2]), 2, 0).tolist() == [0, 1]


@pytest.mark.parametrize("labels", [["none of these", "cat", "dog"], [-1, -2, 5], [-1.0, -2.0, 5.0]])
def test_unassigned_rows_are_told_from_a_category_that_is_called_like_them(labels):
    rng = np.random.default_rng(0)
    means = 9 * np.eye(4)
    codes = np.repeat(np.arange(3), 30)
    model = CategoryDiscoverer(n_components=3, prior_strength=20.0)
    model.fit(means[codes] + rng.normal(size=(90, 4)), np.array(labels)[codes])
    batch = np.concatenate([means[codes] + rng.normal(size=(90, 4)), 40 * rng.normal(size=(12, 4))])
    record = model.discover(batch)
    assert record.unassigned == record.is_unassigned_.sum() > 0
    assert not np.isin(record.labels_[record.is_unassigned_], model.classes_).any()
    assert np.isin(record.labels_[~record.is_unassigned_], model.classes_).all()
