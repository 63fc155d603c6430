"""Low-rank covariances against dense matrices: exact for few rows, bounded for many."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vbcgcd.bayes import (
    Classifier,
    Prior,
    align,
    bhattacharyya,
    deviation,
    kl_divergence,
    log_evidence,
    penalised,
    posterior_of,
    recover_statistics,
    run_svi,
    sample_embeddings,
    statistics_by_label,
    structure_name,
    structure_of,
)
from vbcgcd.bayes.linalg import leading_directions, signed_directions
from vbcgcd.errors import InputError

DIM, RANK = 12, 5
NAME = f"lowrank:{RANK}"
FORM = structure_of(NAME, DIM)
seeds = st.integers(0, 10**6)


def rows_of(seed, n_rows, dim=DIM):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_rows, dim)) * rng.uniform(0.2, 3.0, size=dim) + rng.normal(size=dim)


def statistics(rows, structure=NAME, weight=None):
    return statistics_by_label(rows, np.zeros(len(rows), int), 1, weight=weight, structure=structure)


def dense(statistics):
    return statistics.form.square(statistics.scatter[0])


def scatter_of(rows):
    centred = rows - rows.mean(axis=0)
    return centred.T @ centred


def both(seed, n_rows, *, n_categories=3, nu=40.0):
    """Posteriors of the same rows, low-rank and full."""
    rows = rows_of(seed, n_rows * n_categories)
    labels = np.arange(len(rows)) % n_categories
    rows += 2 * labels[:, None]
    return rows, [
        posterior_of(
            Prior(DIM, 0.05, nu, structure=name),
            statistics_by_label(rows, labels, n_categories, structure=name),
        )
        for name in (NAME, "full")
    ]


def eigenvalues(matrix):
    return np.linalg.eigvalsh(matrix)


@pytest.mark.parametrize(
    "name", ["lowrank:1", "lowrank:", "lowrank:x", "lowrank:-3", "lowrank:3.5", "full:3"]
)
def test_a_wrong_name_is_refused(name):
    with pytest.raises(InputError, match="lowrank"):
        structure_of(name, 4)


@pytest.mark.parametrize("name", ["lowrank:٣", "lowrank:9999999999", "half", "full:half:half", None, 3])
def test_a_strange_name_is_refused(name):
    with pytest.raises(InputError):
        structure_of(name, 4)


def test_names_say_rank_and_storage():
    assert structure_name("full") == "full"
    assert structure_name("diagonal", half=True) == "diagonal:half"
    assert structure_name("lowrank", rank=7) == "lowrank:7"
    assert structure_of("lowrank:7", 100).rank == 7


def test_a_category_in_384_dimensions_takes_less_than_60_kilobytes():
    assert 4 * (structure_of("lowrank", 384).width + 384) + 16 < 60_000


def test_never_more_directions_than_dimensions_and_the_mean():
    form = structure_of("lowrank:50", 4)
    assert form.rank == 5
    assert form.complete
    assert not structure_of("lowrank:4", 4).complete


@given(seeds, st.integers(1, RANK))
@settings(max_examples=30, deadline=None)
def test_few_rows_are_kept_exactly(seed, n_rows):
    rows = rows_of(seed, n_rows)
    np.testing.assert_allclose(dense(statistics(rows)), scatter_of(rows), atol=1e-10)


@given(seeds, st.integers(1, RANK - 1), st.integers(1, RANK - 1))
@settings(max_examples=30, deadline=None)
def test_statistics_of_few_rows_add_and_subtract_exactly(seed, first, second):
    second = min(second, RANK - first)
    rows = rows_of(seed, first + second)
    one, other = statistics(rows[:first]), statistics(rows[first:])
    np.testing.assert_allclose(dense(one + other), scatter_of(rows), atol=1e-10)
    np.testing.assert_allclose(dense(one + other - other), dense(one), atol=1e-9)
    np.testing.assert_allclose(dense((one + other) * 2.5), 2.5 * scatter_of(rows), atol=1e-9)


@given(seeds, st.lists(st.integers(1, 30), min_size=1, max_size=8), st.booleans())
@settings(max_examples=60, deadline=None)
def test_what_many_merges_leave_is_bounded(seed, sizes, weighted):
    rows = rows_of(seed, sum(sizes))
    weight = np.random.default_rng(seed).uniform(0.1, 3.0, size=len(rows)) if weighted else None
    ends = np.cumsum(sizes)
    parts = [
        statistics(rows[e - n : e], weight=None if weight is None else weight[e - n : e])
        for n, e in zip(sizes, ends, strict=True)
    ]
    merged = sum(parts[1:], parts[0])
    exact = dense(statistics(rows, "full", weight))
    total = np.trace(exact)
    assert np.trace(dense(merged)) == pytest.approx(total, rel=1e-9, abs=1e-9)
    residual = merged.scatter[0, 1] ** 2
    kept = dense(merged) - residual * np.eye(DIM)
    lacking = eigenvalues(exact - kept)
    assert lacking.min() >= -1e-9 * max(total, 1)
    assert lacking.max() <= DIM * residual + 1e-9 * max(total, 1)
    assert lacking.sum() == pytest.approx(DIM * residual, abs=1e-8 * max(total, 1))


@given(seeds, st.integers(RANK + 1, 60))
@settings(max_examples=30, deadline=None)
def test_leading_eigenvalues_of_many_rows_are_kept(seed, n_rows):
    rows = rows_of(seed, n_rows)
    exact, found = eigenvalues(scatter_of(rows))[::-1], eigenvalues(dense(statistics(rows)))[::-1]
    np.testing.assert_allclose(found[: RANK - 1], exact[: RANK - 1], rtol=1e-8)
    np.testing.assert_allclose(found[RANK - 1 :], exact[RANK - 1 :].mean(), rtol=1e-8)


@given(seeds, st.integers(RANK + 1, 40))
@settings(max_examples=20, deadline=None)
def test_taking_rows_away_leaves_a_covariance(seed, n_rows):
    rows = rows_of(seed, n_rows)
    rest = statistics(rows) - statistics(rows[: n_rows // 2])
    assert eigenvalues(dense(rest)).min() >= -1e-9
    assert rest.count[0] == n_rows - n_rows // 2


@given(seeds, st.integers(1, 30))
@settings(max_examples=30, deadline=None)
def test_statistics_are_recovered_from_the_posterior(seed, n_rows):
    prior, own = Prior(DIM, 0.05, 40.0, structure=NAME), statistics(rows_of(seed, n_rows))
    found = recover_statistics(prior, posterior_of(prior, own))
    np.testing.assert_allclose(found.mean, own.mean, atol=1e-10)
    np.testing.assert_allclose(dense(found), dense(own), atol=1e-8)


@pytest.mark.parametrize("predictive", ["plugin", "student"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-9), (np.float32, 1e-4)])
def test_densities_of_few_rows_are_those_of_full_covariances(predictive, dtype, tolerance):
    rows, (low, full) = both(1, RANK)
    rule = Classifier(predictive=predictive, dtype=dtype)
    np.testing.assert_allclose(
        rule.log_density(rows, low), Classifier(predictive=predictive).log_density(rows, full), rtol=tolerance
    )
    assert np.array_equal(rule.predict(rows, low), rule.log_density(rows, low).argmax(axis=1))


@pytest.mark.parametrize("n_rows", [RANK, 40])
def test_everything_about_posteriors_follows_from_the_matrix(n_rows):
    rows, (low, _) = both(2, n_rows)
    for k in range(3):
        psi = low.scale(k)
        gap = rows - low.mean[k]
        expected = np.einsum("nd,nd->n", gap, np.linalg.solve(psi, gap.T).T)
        np.testing.assert_allclose(low.distances(rows)[:, k], expected, rtol=1e-9)
        assert low.log_det_scale[k] == pytest.approx(np.linalg.slogdet(psi)[1])
        assert low.form.traces(low.factor)[k] == pytest.approx(np.trace(psi))
        assert low.mahalanobis(rows[0], k) ** 2 == pytest.approx(low.plugin_weight[k] * expected[0])
        root = low.form.colour(np.eye(DIM), low.factor[k])
        np.testing.assert_allclose(root.T @ root, psi, rtol=1e-9, atol=1e-9)
        packed = low.form.scatter(rows[:7])
        ratio = np.trace(low.form.square(packed) @ np.linalg.inv(psi))
        assert low.form.trace_ratio(packed, low.factor[k]) == pytest.approx(ratio)


def test_what_few_rows_say_is_what_they_say_in_full():
    _, (low, full) = both(3, RANK)
    priors = [Prior(DIM, 0.05, 40.0, structure=name) for name in (NAME, "full")]
    np.testing.assert_allclose(log_evidence(priors[0], low), log_evidence(priors[1], full))
    np.testing.assert_allclose(deviation(priors[0], low), deviation(priors[1], full))
    np.testing.assert_allclose(kl_divergence(low, low.take([0])), kl_divergence(full, full.take([0])))
    assert bhattacharyya(low, 0, 1) == pytest.approx(bhattacharyya(full, 0, 1))
    known = np.array([3.0])
    np.testing.assert_allclose(
        penalised(low, known, weight=5.0).log_det_scale, penalised(full, known, weight=5.0).log_det_scale
    )


@given(seeds, st.sampled_from([RANK, 50]), st.floats(-4.0, 8.0))
@settings(max_examples=15, deadline=None)
def test_alignment_reaches_its_target(seed, n_rows, target):
    prior, own = Prior(DIM, 0.05, 40.0, structure=NAME), statistics(rows_of(seed, n_rows))
    aligned = align(prior, own, np.array([0.5]), target=target)
    posterior = posterior_of(prior, aligned.statistics)
    assert aligned.after[0] + 0.5 == pytest.approx(posterior.log_det_covariance[0], abs=1e-7)


def test_samples_have_the_covariance():
    _, (low, _) = both(4, 40, n_categories=1)
    rows, _ = sample_embeddings(low, 40_000, random_state=0)
    covariance = low.covariance(0)
    assert np.abs(np.cov(rows.T) - covariance).max() < 0.05 * np.abs(covariance).max()


def test_svi_comes_near_the_exact_posterior():
    rows = rows_of(5, 60)
    prior = Prior(DIM, 0.05, 40.0, structure=NAME)
    found = run_svi(prior, rows, batch_size=None, max_steps=40, random_state=0).posterior
    exact = posterior_of(prior, statistics(rows))
    assert found.log_det_scale[0] == pytest.approx(exact.log_det_scale[0], rel=0.01)


def test_nothing_is_the_scatter_of_no_rows():
    nothing = np.zeros((1, FORM.width))
    np.testing.assert_array_equal(FORM.minus(nothing, nothing), nothing)
    np.testing.assert_array_equal(FORM.plus(nothing, nothing), nothing)
    np.testing.assert_array_equal(FORM.scatter(np.zeros((3, DIM))), nothing[0])


@given(seeds, st.integers(0, 8), st.integers(0, 30), st.integers(1, 13))
@settings(max_examples=40, deadline=None)
def test_directions_are_orthogonal_and_keep_the_trace(seed, removed, n_rows, rank):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, DIM))
    found, spare = leading_directions(rows, rank)
    gram = found @ found.T
    np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-10)
    assert np.trace(gram) + DIM * spare == pytest.approx((rows**2).sum())
    away = rows[: min(removed, n_rows)]
    rest, spare = signed_directions(rows, away, rank, 0.0)
    assert np.trace(rest @ rest.T) + DIM * spare == pytest.approx((rows[len(away) :] ** 2).sum(), abs=1e-9)
