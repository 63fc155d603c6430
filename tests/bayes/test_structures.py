"""Laws that every covariance structure obeys, against dense matrices; a new structure joins by its name."""

import numpy as np
import pytest
from scipy import stats

from vbcgcd.bayes import STRUCTURES, structure_of
from vbcgcd.bayes.classifier import StudentTerms, student_terms
from vbcgcd.bayes.linalg import unpack_lower
from vbcgcd.errors import InputError, NumericalError

DIM = 5


@pytest.fixture(params=STRUCTURES)
def form(request):
    return structure_of(request.param, DIM)


def visible(form, matrix):
    """What the structure keeps of a matrix: the blocks along its diagonal."""
    block = np.arange(len(matrix)) // form.block
    return np.where(block[:, None] == block, matrix, 0.0)


def problem(seed, n_rows=12):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, DIM)) @ rng.normal(size=(DIM, DIM))
    centred = rows - rows.mean(axis=0)
    return centred, centred.T @ centred, rng.normal(size=DIM), rng


def psi_of(form, seed, shift=0.7, scale=1.3):
    """A factor, and the dense Psi it should stand for."""
    centred, scatter, mean, _ = problem(seed)
    factor = form.factor(form.scatter(centred), mean, shift, scale)
    return factor, visible(form, scale * np.eye(DIM) + scatter + shift * np.outer(mean, mean))


def test_an_unknown_structure_is_refused_with_the_names_of_all():
    with pytest.raises(InputError) as caught:
        structure_of("round", 3)
    for name in (*STRUCTURES, "round"):
        assert repr(name) in str(caught.value)


def test_sizes(form):
    assert form.dim == DIM
    assert DIM % form.block == 0
    assert len(form.scatter(np.ones((2, DIM)))) == form.width == len(form.isotropic(1.0))
    assert form.complete == (form.block == DIM)


def test_the_full_triangle_and_the_diagonal_take_these_numbers():
    assert structure_of("full", 384).width == 384 * 385 // 2
    assert structure_of("diagonal", 384).width == 384


def test_scatter_is_the_sum_of_outer_products(form):
    centred, scatter, _, _ = problem(0)
    packed = form.scatter(centred)
    np.testing.assert_allclose(form.square(packed), visible(form, scatter), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(form.diagonals(packed[None]), np.diag(scatter)[None], rtol=1e-10)


def test_between_is_the_weighted_outer_product_of_gaps(form):
    rng = np.random.default_rng(1)
    weights, gaps = np.array([0.5, 3.0]), rng.normal(size=(2, DIM))
    for packed, weight, gap in zip(form.between(weights, gaps), weights, gaps, strict=True):
        expected = visible(form, weight * np.outer(gap, gap))
        np.testing.assert_allclose(form.square(packed), expected, rtol=1e-12, atol=1e-12)


def test_factor_stands_for_the_scale_matrix(form):
    factor, psi = psi_of(form, 2)
    np.testing.assert_allclose(form.square(form.scale(factor)), psi, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(form.traces(factor[None]), [np.trace(psi)], rtol=1e-10)
    np.testing.assert_allclose(form.log_dets(factor[None]), [np.linalg.slogdet(psi)[1]], rtol=1e-10)


def test_isotropic_is_the_factor_of_a_multiple_of_the_identity(form):
    np.testing.assert_allclose(form.square(form.scale(form.isotropic(2.5))), 2.5 * np.eye(DIM), rtol=1e-12)


def test_scatter_is_recovered_from_its_factor(form):
    centred, _, mean, _ = problem(3)
    scatter = form.scatter(centred)
    factor = form.factor(scatter, mean, 0.7, 1.3)
    found = form.recover_scatter(factor, mean, 0.7, 1.3)
    np.testing.assert_allclose(form.square(found), form.square(scatter), atol=1e-10)


def test_spectrum_holds_the_eigenvalues(form):
    centred, scatter, mean, _ = problem(4)
    expected = np.linalg.eigvalsh(visible(form, scatter + 0.4 * np.outer(mean, mean)))
    found = form.spectrum(form.scatter(centred), mean, 0.4)
    np.testing.assert_allclose(np.sort(found), expected, rtol=1e-10)


def test_spectrum_of_a_singular_scatter_is_not_negative(form):
    centred, _, _, _ = problem(5, n_rows=2)
    assert (form.spectrum(form.scatter(centred), np.zeros(DIM), 0.0) >= 0).all()


@pytest.mark.parametrize(("scale", "tau", "shift"), [(1.3, 1.0, 0.7), (0.2, 0.05, 3.0), (2.0, 0.0, 0.0)])
def test_log_det_path_is_the_log_determinant(form, scale, tau, shift):
    centred, scatter, mean, _ = problem(6)
    matrix = visible(form, scale * np.eye(DIM) + tau * scatter + shift * np.outer(mean, mean))
    found = form.log_det_path(form.scatter(centred), mean)(scale, tau, shift)
    np.testing.assert_allclose(found, np.linalg.slogdet(matrix)[1], rtol=1e-10)


def test_whitened_rows_have_the_length_of_their_distance(form):
    factor, psi = psi_of(form, 7)
    rows = np.random.default_rng(7).normal(size=(6, DIM))
    copy = rows.copy()
    lengths = (form.whiten(rows, factor) ** 2).sum(axis=1)
    np.testing.assert_allclose(
        lengths, np.einsum("nd,nd->n", rows, np.linalg.solve(psi, rows.T).T), rtol=1e-9
    )
    np.testing.assert_array_equal(rows, copy)
    np.testing.assert_allclose((form.whiten(rows[0], factor) ** 2).sum(), lengths[0])


def test_colouring_undoes_whitening_and_gives_the_covariance(form):
    factor, psi = psi_of(form, 8)
    rows = np.random.default_rng(8).normal(size=(6, DIM))
    np.testing.assert_allclose(form.colour(form.whiten(rows, factor), factor), rows, rtol=1e-9)
    root = form.colour(np.eye(DIM), factor)
    np.testing.assert_allclose(root.T @ root, psi, rtol=1e-9, atol=1e-9)


def test_trace_ratio_is_the_trace_of_the_product_with_the_inverse(form):
    factor, psi = psi_of(form, 9)
    centred, scatter, _, _ = problem(10)
    expected = np.trace(visible(form, scatter) @ np.linalg.inv(psi))
    np.testing.assert_allclose(form.trace_ratio(form.scatter(centred), factor), expected, rtol=1e-9)


def many(form):
    rng = np.random.default_rng(11)
    rows, means = rng.normal(size=(7, DIM)), rng.normal(size=(3, DIM))
    factors, psis = zip(*(psi_of(form, seed) for seed in (12, 13, 14)), strict=True)
    return rows, means, np.stack(factors), psis


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-9), (np.float32, 1e-4)])
def test_distances_are_those_of_the_inverse_scale(form, dtype, tolerance):
    rows, means, factors, psis = many(form)
    found = form.distances(rows.astype(dtype), means, factors)
    assert found.dtype == np.float64
    for k, psi in enumerate(psis):
        gap = rows - means[k]
        expected = np.einsum("nd,nd->n", gap, np.linalg.solve(psi, gap.T).T)
        np.testing.assert_allclose(found[:, k], expected, rtol=tolerance, atol=tolerance)


def test_student_is_the_product_over_blocks_of_scipys(form):
    rows, means, factors, psis = many(form)
    kappa, nu = np.array([2.0, 5.0, 11.0]), np.array([8.0, 9.5, 20.0])
    terms = student_terms(kappa, nu, form.log_dets(factors), dim=DIM, block=form.block, log_determinant=True)
    found = form.student(rows, means, factors, terms)
    for k, psi in enumerate(psis):
        freedom = nu[k] - form.block + 1
        shape = psi * (kappa[k] + 1) / (kappa[k] * freedom)
        expected = np.zeros(len(rows))
        for start in range(0, DIM, form.block):
            part = slice(start, start + form.block)
            expected += stats.multivariate_t.logpdf(
                rows[:, part].reshape(len(rows), -1), means[k, part], shape[part, part], df=freedom
            )
        np.testing.assert_allclose(found[:, k], expected, rtol=1e-9)


def test_student_adds_its_terms_as_they_are(form):
    rows, means, factors, _ = many(form)
    flat = StudentTerms(np.full(3, 2.0), np.full(3, 0.5), np.zeros(3), np.ones(3))
    np.testing.assert_allclose(form.student(rows, means, factors, flat), 1.5)


@pytest.mark.parametrize("reach", [1e6, 1e9, 1e12, 1e15])
def test_a_factor_of_parts_that_differ_in_magnitude_loses_none(reach):
    form, rng = structure_of("full", 6), np.random.default_rng(0)
    mean, spread = rng.normal(size=6), rng.normal(size=(20, 6)) * [reach, 1, 1, 1, 1, 1]
    packed = form.factor(form.scatter(spread), reach * mean, 0.01, 30.0)
    assert np.isfinite(packed).all()
    # What is left of the scale across the two long directions is the prior's and the short ones' own.
    across = rng.normal(size=6)
    across[0] = 0.0
    across -= mean * [0, 1, 1, 1, 1, 1] * (across @ mean) / (mean[1:] ** 2).sum()
    length = np.linalg.norm(unpack_lower(packed, 6).T @ across) ** 2
    direct = 30.0 * across @ across + (spread[:, 1:] @ across[1:] @ (spread[:, 1:] @ across[1:]))
    assert length == pytest.approx(direct, rel=0.02)


def test_a_covariance_of_nothing_is_refused():
    with pytest.raises(NumericalError, match="prior_strength"):
        structure_of("full", 2).factor(np.zeros(3), np.zeros(2), 0.0, 0.0)
