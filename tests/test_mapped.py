import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbcgcd.mapped import MappedRows

ARRAY = np.arange(60.0).reshape(12, 5)
OFFSET = 24


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A file with something before the array and after it."""
    path = tmp_path_factory.mktemp("mapped") / "rows"
    path.write_bytes(b"x" * OFFSET + ARRAY.tobytes() + b"y" * 7)
    return path


class Noted(list):
    """Ranges of bytes that were checked."""

    def __call__(self, start, stop):
        self.append((start, stop))

    @property
    def rows(self):
        row = ARRAY[0].nbytes
        return {k for start, stop in self for k in range((start - OFFSET) // row, (stop - OFFSET) // row)}


INDICES = [3, -1, np.int64(2), slice(2, 5), slice(None), slice(9, 1, -3), [0, 7, 7], np.array([11, 0])]


@pytest.mark.parametrize("index", [*INDICES, ARRAY[:, 0] > 30, (4, slice(1, 3)), (slice(2, 4), 1)], ids=repr)
def test_it_is_indexed_as_the_array_and_what_it_gives_was_checked(path, index):
    noted = Noted()
    rows = MappedRows(path, "float64", ARRAY.shape, OFFSET, noted)
    first = index[0] if isinstance(index, tuple) else index
    np.testing.assert_array_equal(rows[index], ARRAY[index])
    assert noted.rows == set(np.atleast_1d(np.arange(12)[first]).tolist())


@given(st.lists(st.integers(-12, 11), max_size=20))
def test_any_rows_are_checked_and_no_others(path, index):
    noted = Noted()
    rows = MappedRows(path, "float64", ARRAY.shape, OFFSET, noted)
    index = np.array(index, dtype=int)
    np.testing.assert_array_equal(rows[index], ARRAY[index])
    assert noted.rows == set((index % 12).tolist())


def test_taking_it_as_an_array_checks_all(path):
    noted = Noted()
    rows = MappedRows(path, "float64", ARRAY.shape, OFFSET, noted)
    np.testing.assert_array_equal(np.asarray(rows), ARRAY)
    assert noted.rows == set(range(12))
    assert (rows.shape, rows.nbytes, len(rows), rows.dtype) == (ARRAY.shape, ARRAY.nbytes, 12, ARRAY.dtype)


def test_what_it_gives_cannot_be_written_to(path):
    with pytest.raises(ValueError, match="read-only"):
        MappedRows(path, "float64", ARRAY.shape, OFFSET)[0][0] = 1.0


def test_an_error_of_the_check_is_not_passed_over(path):
    def refuse(start, stop):
        raise RuntimeError("damaged")

    rows = MappedRows(path, "float64", ARRAY.shape, OFFSET, refuse)
    for use in (lambda: rows[0], lambda: rows[2:3], lambda: np.asarray(rows), lambda: list(rows)):
        with pytest.raises(RuntimeError, match="damaged"):
            use()
