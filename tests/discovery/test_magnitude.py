import numpy as np
import pytest

from vbcgcd.discovery.magnitude import (
    check_reach,
    check_values,
    exponent_of,
    in_unit,
    is_reached,
    moderate,
)
from vbcgcd.errors import InputError


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("power", [-120, -40, 0, 40, 120])
def test_a_unit_brings_the_largest_to_one_and_changes_no_bit(dtype, power):
    values = np.random.default_rng(0).normal(size=(5, 3)).astype(dtype)
    moved = np.ldexp(values, power)
    exponent = exponent_of(moved)
    assert (exponent == 0) == (power == 0)
    scaled = in_unit(moved, exponent)
    assert np.abs(scaled).max() >= 0.5 or power == 0
    np.testing.assert_array_equal(np.ldexp(scaled, exponent), moved)


def test_ordinary_values_are_not_copied():
    rows = np.ones((4, 3), np.float32)
    assert in_unit(rows, exponent_of(rows)) is rows
    assert moderate(rows) is rows


@pytest.mark.parametrize("value", [5e-324, 1e-300, 1e300, 1.7e308])
def test_extreme_rows_keep_their_direction(value):
    rows = np.array([[value, value / 2], [1.0, 2.0], [0.0, 0.0]])
    out = moderate(rows)
    assert 0.5 <= out[0, 0] <= 1
    np.testing.assert_array_equal(out[1:], rows[1:])


def test_values_too_large_or_too_small_are_named():
    rows = np.ones((4, 3))
    check_values(rows, 1e15, 1e-15)
    check_values(0 * rows, 1e15, 1e-15)
    rows[2, 1] = -1e20
    with pytest.raises(InputError, match=r"-1e\+20 in row 2, column 1; .* Scale"):
        check_values(rows, 1e15)
    with pytest.raises(InputError, match=r"nothing above 1e-20; .* Scale"):
        check_values(np.full((2, 2), 1e-20), 1e15, 1e-15)


@pytest.mark.parametrize("bad", [1e13, np.inf, -np.inf, np.nan])
def test_rows_out_of_reach_are_named(bad):
    reduced, rows = np.ones((4, 2), np.float32), np.ones((4, 3))
    check_reach(reduced, rows, 1.0)
    reduced[3, 1], rows[3, 0] = bad, -1e25
    assert is_reached(reduced).tolist() == [True, True, True, False]
    with pytest.raises(InputError, match=r"Row 3 .*-1e\+25 in column 0"):
        check_reach(reduced, rows, 1.0)
    assert is_reached(reduced, 100.0)[3] == (bad == 1e13)


def test_no_rows_are_within_reach():
    check_reach(np.empty((0, 2)), np.empty((0, 3)), 1.0)
