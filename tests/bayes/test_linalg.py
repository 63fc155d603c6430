import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vbcgcd.bayes import linalg
from vbcgcd.errors import NumericalError


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("dim", [1, 2, 5, 33])
def test_pack_lower_lists_the_lower_triangle_row_by_row(dim, dtype):
    matrix = np.random.default_rng(dim).normal(size=(dim, dim)).astype(dtype)
    packed = linalg.pack_lower(matrix)
    assert packed.dtype == dtype
    assert len(packed) == linalg.packed_size(dim)
    np.testing.assert_array_equal(packed, matrix[np.tril_indices(dim)])
    np.testing.assert_array_equal(packed[linalg.diagonal_positions(dim)], np.diag(matrix))


@pytest.mark.parametrize("order", ["C", "F"])
def test_pack_lower_does_not_depend_on_memory_order(order):
    matrix = np.random.default_rng(0).normal(size=(6, 6))
    packed = linalg.pack_lower(np.array(matrix, order=order))
    np.testing.assert_array_equal(packed, matrix[np.tril_indices(6)])


@settings(max_examples=40, deadline=None)
@given(
    dim=st.integers(1, 20), seed=st.integers(0, 2**32 - 1), dtype=st.sampled_from([np.float32, np.float64])
)
def test_unpacking_inverts_packing(dim, seed, dtype):
    lower = np.tril(np.random.default_rng(seed).normal(size=(dim, dim))).astype(dtype)
    packed = linalg.pack_lower(lower)
    unpacked = linalg.unpack_lower(packed, dim)
    assert unpacked.dtype == dtype
    np.testing.assert_array_equal(unpacked, lower)
    np.testing.assert_array_equal(np.triu(linalg.unpack_upper(packed, dim)), lower.T)
    np.testing.assert_array_equal(linalg.pack_lower(unpacked), packed)


def test_symmetric_mirrors_the_triangle():
    root = np.random.default_rng(1).normal(size=(7, 7))
    matrix = root + root.T
    np.testing.assert_array_equal(linalg.symmetric(linalg.pack_lower(matrix), 7), matrix)


def test_outer_packed_is_the_triangle_of_the_outer_product():
    vector = np.array([1.0, -2.0, 3.0])
    np.testing.assert_array_equal(linalg.outer_packed(vector), [1, -2, 4, 3, -6, 9])


@pytest.mark.parametrize("dim", [1, 4, 40])
def test_cholesky_matches_numpy(dim):
    root = np.random.default_rng(dim).normal(size=(dim, dim))
    matrix = root @ root.T + np.eye(dim)
    expected = np.linalg.cholesky(matrix)
    np.testing.assert_allclose(linalg.cholesky(matrix.copy()), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    "matrix", [np.diag([1.0, -1.0, 2.0]), np.array([[1.0, 2.0], [2.0, 1.0]]), np.zeros((2, 2))]
)
def test_cholesky_of_an_indefinite_matrix_names_the_remedy(matrix):
    with pytest.raises(NumericalError, match=r"prior_strength.*n_components"):
        linalg.cholesky(matrix.copy())


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-4), (np.float64, 1e-10)])
def test_solve_lower_matches_numpy_solve(dtype, tolerance):
    rng = np.random.default_rng(2)
    lower = (np.tril(rng.normal(size=(9, 9)), -1) / 3 + np.diag(rng.uniform(1, 2, size=9))).astype(dtype)
    rows = rng.normal(size=(20, 9)).astype(dtype)
    expected = np.linalg.solve(lower.astype(float), rows.astype(float).T).T
    solved = linalg.solve_lower(np.asfortranarray(lower.T), rows.copy())
    assert solved.dtype == dtype
    np.testing.assert_allclose(solved, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_squared_distances_are_euclidean_near_and_far_from_the_origin(offset):
    rng = np.random.default_rng(3)
    rows, means = rng.normal(size=(6, 5)) + offset, rng.normal(size=(3, 5)) + offset
    expected = ((rows[:, None] - means) ** 2).sum(axis=2)
    np.testing.assert_allclose(linalg.squared_distances(rows, means), expected, rtol=1e-8)
    assert linalg.squared_distances(means, means).min() >= 0


def test_centred_together_moves_both_by_the_mean_of_the_means():
    rows, means = linalg.centred_together(np.array([[5.0]], dtype=np.float32), np.array([[1.0], [3.0]]))
    assert rows.dtype == np.float64
    np.testing.assert_array_equal(rows, [[3.0]])
    np.testing.assert_array_equal(means, [[-1.0], [1.0]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_of_a_factor_and_rows_in_any_memory_order(dtype):
    rng = np.random.default_rng(0)
    upper = np.asfortranarray(np.triu(rng.normal(size=(7, 7)) + 7 * np.eye(7)).astype(dtype))
    rows = rng.normal(size=(4, 7)).astype(dtype)
    for order in "CF":
        block = np.array(rows[:, :3], order=order)
        want = np.linalg.solve(upper[:3, :3].T, rows[:, :3].T).T
        np.testing.assert_allclose(linalg.solve_lower(upper[:3, :3], block), want, rtol=1e-5)
        product = linalg.subtract_product(np.array(rows[:, 3:], order=order), rows[:, :3], upper[:3, 3:])
        np.testing.assert_allclose(product, rows[:, 3:] - rows[:, :3] @ upper[:3, 3:], rtol=1e-5, atol=1e-5)
    assert linalg.solve_lower(upper, rows[:0].copy()).shape == (0, 7)
