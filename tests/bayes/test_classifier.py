import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.spatial.distance import cdist

from vbcgcd.bayes import Classifier, Posterior, Prior, log_normalise, posterior_of, statistics_by_label
from vbcgcd.bayes.classifier import _nearest as nearest

STRUCTURES = ["full", "diagonal"]
SEEDS = st.integers(0, 2**32 - 1)


def make_posterior(rows, labels, structure="full", n_categories=3, **prior):
    dim = rows.shape[1]
    prior = Prior(dim, **{"kappa": 0.5, "nu": dim + 4.0, "structure": structure} | prior)
    return posterior_of(prior, statistics_by_label(rows, labels, n_categories, structure=structure))


def student_shape(posterior, k):
    """Scale matrix and degrees of freedom of the predictive."""
    block = 1 if posterior.structure == "diagonal" else posterior.dim
    freedom = posterior.nu[k] - block + 1
    return posterior.scale(k) * (posterior.kappa[k] + 1) / (posterior.kappa[k] * freedom), freedom


def student_log_density(rows, posterior, k):
    shape, freedom = student_shape(posterior, k)
    if posterior.structure == "diagonal":
        return stats.t.logpdf(rows, freedom, posterior.mean[k], np.sqrt(np.diag(shape))).sum(axis=1)
    return stats.multivariate_t.logpdf(rows, posterior.mean[k], shape, df=freedom)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_plugin_is_the_gaussian_density(make_problem, structure):
    rows, labels = make_problem(0)
    posterior = make_posterior(rows, labels, structure)
    found = Classifier().log_density(rows, posterior)
    for k in range(3):
        expected = stats.multivariate_normal.logpdf(rows, posterior.mean[k], posterior.covariance(k))
        np.testing.assert_allclose(found[:, k], expected, rtol=1e-9, atol=1e-9)


def test_diagonal_plugin_is_a_product_of_univariate_gaussians(make_problem):
    rows, labels = make_problem(1)
    posterior = make_posterior(rows, labels, "diagonal")
    found = Classifier().log_density(rows, posterior)
    for k in range(3):
        deviation = np.sqrt(np.diag(posterior.covariance(k)))
        expected = stats.norm.logpdf(rows, posterior.mean[k], deviation).sum(axis=1)
        np.testing.assert_allclose(found[:, k], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_student_is_the_student_density(make_problem, structure):
    rows, labels = make_problem(2)
    posterior = make_posterior(rows, labels, structure)
    found = Classifier(predictive="student").log_density(rows, posterior)
    for k in range(3):
        np.testing.assert_allclose(found[:, k], student_log_density(rows, posterior, k), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_plugin_without_log_determinant_is_the_mahalanobis_distance(make_problem, structure):
    rows, labels = make_problem(3)
    posterior = make_posterior(rows, labels, structure)
    found = Classifier(log_determinant=False).log_density(rows, posterior)
    for k in range(3):
        inverse = np.linalg.inv(posterior.covariance(k))
        squared = cdist(rows, posterior.mean[[k]], "mahalanobis", VI=inverse)[:, 0] ** 2
        # Up to a constant that all categories have in common.
        np.testing.assert_allclose(found[:, k] + 2 * np.log(2 * np.pi), -0.5 * squared, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_student_without_log_determinant_drops_the_volume_of_its_scale(make_problem, structure):
    rows, labels = make_problem(4)
    posterior = make_posterior(rows, labels, structure)
    found = Classifier(predictive="student", log_determinant=False).log_density(rows, posterior)
    for k in range(3):
        log_det = np.linalg.slogdet(student_shape(posterior, k)[0])[1]
        expected = student_log_density(rows, posterior, k) + 0.5 * log_det
        np.testing.assert_allclose(found[:, k], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("structure", ["full", "diagonal"])
@pytest.mark.parametrize("log_determinant", [True, False])
def test_student_comes_close_to_the_plugin_with_many_rows(structure, log_determinant):
    rng = np.random.default_rng(5)
    labels = np.repeat([0, 1], [100_000, 20_000])  # unequal: no category may gain from its size
    posterior = make_posterior(rng.normal(size=(120_000, 2)), labels, structure, n_categories=2)
    rows = rng.normal(size=(20, 2))
    student, plugin = (
        Classifier(predictive=p, log_determinant=log_determinant).log_density(rows, posterior)
        for p in ("student", "plugin")
    )
    np.testing.assert_allclose(student, plugin, atol=2e-3)


def test_euclidean_is_the_nearest_mean(make_problem):
    rows, labels = make_problem(6)
    posterior = make_posterior(rows, labels)
    squared = cdist(rows, posterior.mean, "sqeuclidean")
    found = Classifier(metric="euclidean")
    np.testing.assert_allclose(found.log_density(rows, posterior), -0.5 * squared, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(found.predict(rows, posterior), squared.argmin(axis=1))


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, spread=st.floats(0.1, 1e5))
def test_log_normalise_sums_to_one_and_keeps_differences(seed, spread):
    log_density = spread * np.random.default_rng(seed).normal(size=(6, 4))
    found = log_normalise(log_density)
    np.testing.assert_allclose(np.exp(found).sum(axis=1), 1, rtol=1e-9)
    np.testing.assert_allclose(found - found[:, :1], log_density - log_density[:, :1], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("predictive", ["plugin", "student"])
@pytest.mark.parametrize("storage", [np.float32, np.float64])
def test_float32_is_near_float64(make_problem, structure, predictive, storage):
    rows, labels = make_problem(7, dim=40, n_rows=200)
    prior = Prior(40, nu=60.0, structure=structure)
    statistics = statistics_by_label(rows, labels, 3, structure=structure)
    double = Classifier(predictive=predictive).log_density(rows, posterior_of(prior, statistics))
    single = Classifier(predictive=predictive, dtype=np.float32).log_density(
        rows.astype(np.float32), posterior_of(prior, statistics, dtype=storage)
    )
    assert single.dtype == np.float64
    np.testing.assert_allclose(single, double, rtol=2e-5, atol=2e-3)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("metric", ["mahalanobis", "euclidean"])
def test_far_from_the_origin_densities_are_those_near_it(make_problem, structure, metric):
    rows, labels = make_problem(8)
    near = make_posterior(rows, labels, structure)
    far = Posterior(near.mean + 1e4, near.kappa, near.nu, near.factor, structure)
    classifier = Classifier(metric=metric)
    expected = classifier.log_density(rows, near)
    np.testing.assert_allclose(classifier.log_density(rows + 1e4, far), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("predictive", ["plugin", "student"])
@pytest.mark.parametrize("chunk_rows", [1, 13, 1000])
def test_chunk_size_does_not_matter_and_rows_are_kept(make_problem, structure, predictive, chunk_rows):
    rows, labels = make_problem(9, dim=33, n_rows=100)
    copy = rows.copy()
    posterior = make_posterior(rows, labels, structure)
    classifier = Classifier(predictive=predictive)
    expected = classifier.log_density(rows, posterior)
    found = classifier.log_density(rows, posterior, chunk_rows=chunk_rows)
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    predicted = classifier.predict(rows, posterior, chunk_rows=chunk_rows)
    np.testing.assert_array_equal(predicted, expected.argmax(axis=1))
    np.testing.assert_array_equal(rows, copy)


@pytest.mark.parametrize("order", ["C", "F"])
def test_memory_order_of_the_rows_does_not_matter(make_problem, order):
    rows, labels = make_problem(10, dim=33)
    posterior = make_posterior(rows, labels)
    given_rows = np.array(rows, order=order)
    expected = stats.multivariate_normal.logpdf(rows, posterior.mean[1], posterior.covariance(1))
    np.testing.assert_allclose(Classifier().log_density(given_rows, posterior)[:, 1], expected, rtol=1e-9)
    np.testing.assert_array_equal(given_rows, rows)


def brute_force(rows, posterior, predictive, log_determinant):
    """Log-densities up to a common constant, with explicit inverses and determinants."""
    columns = []
    for k in range(len(posterior)):
        if predictive == "student":
            value = student_log_density(rows, posterior, k)
            shape = student_shape(posterior, k)[0]
        else:
            shape = posterior.covariance(k)
            value = stats.multivariate_normal.logpdf(rows, posterior.mean[k], shape)
        columns.append(value if log_determinant else value + 0.5 * np.linalg.slogdet(shape)[1])
    return np.column_stack(columns)


@pytest.mark.parametrize("dim", [32, 64, 130])
@pytest.mark.parametrize("predictive", ["plugin", "student"])
@pytest.mark.parametrize("log_determinant", [True, False])
@pytest.mark.parametrize("separation", [0.0, 0.3, 2.0])
def test_predict_equals_the_best_log_density(make_problem, dim, predictive, log_determinant, separation):
    rows, labels = make_problem(dim, n_categories=9, dim=dim, n_rows=400, separation=separation)
    posterior = make_posterior(rows[:300], labels[:300], n_categories=9)
    rows = np.concatenate([rows, 30 * rows[:20], np.zeros((1, dim))])
    classifier = Classifier(predictive=predictive, log_determinant=log_determinant)
    predicted = classifier.predict(rows, posterior)
    np.testing.assert_array_equal(predicted, classifier.log_density(rows, posterior).argmax(axis=1))
    np.testing.assert_array_equal(predicted, classifier.predict(rows, posterior, chunk_rows=37))
    if log_determinant:
        expected = brute_force(rows, posterior, predictive, True).argmax(axis=1)
        np.testing.assert_array_equal(predicted, expected)


@settings(max_examples=30, deadline=None)
@given(
    seed=SEEDS,
    dim=st.sampled_from([32, 33, 47]),
    predictive=st.sampled_from(["plugin", "student"]),
    log_determinant=st.booleans(),
    separation=st.floats(0, 3),
)
def test_predict_skips_no_winner(make_problem, seed, dim, predictive, log_determinant, separation):
    rows, labels = make_problem(seed, n_categories=7, dim=dim, n_rows=80, separation=separation)
    labels[7:40] = 0  # sizes, and so volumes and degrees of freedom, differ
    posterior = make_posterior(rows, labels, n_categories=8, nu=dim + 2.0)  # the last category has no rows
    classifier = Classifier(predictive=predictive, log_determinant=log_determinant)
    expected = classifier.log_density(rows, posterior).argmax(axis=1)
    np.testing.assert_array_equal(classifier.predict(rows, posterior), expected)


@pytest.mark.parametrize("predictive", ["plugin", "student"])
def test_predict_in_float32_is_best_up_to_rounding(make_problem, predictive):
    rows, labels = make_problem(11, n_categories=9, dim=64, n_rows=400, separation=0.3)
    posterior = make_posterior(rows, labels, n_categories=9)
    exact = brute_force(rows, posterior, predictive, True)
    predicted = Classifier(predictive=predictive, dtype=np.float32).predict(rows, posterior)
    reached = np.take_along_axis(exact, predicted[:, None], axis=1)[:, 0]
    np.testing.assert_allclose(reached, exact.max(axis=1), atol=1e-2)


def test_among_identical_categories_predict_picks_one_of_the_best(make_problem):
    rows, labels = make_problem(12, dim=40, n_rows=120)
    posterior = make_posterior(rows, labels)
    original = np.array([2, 0, 1, 0, 2])
    predicted = Classifier().predict(rows, posterior.take(original))
    expected = brute_force(rows, posterior, "plugin", True).argmax(axis=1)
    np.testing.assert_array_equal(original[predicted], expected)


@pytest.mark.parametrize("predictive", ["plugin", "student"])
@pytest.mark.parametrize("log_determinant", [True, False])
@pytest.mark.parametrize("chunk_rows", [None, 1, 37, 1000])
def test_skipping_finds_the_best_log_density(
    make_problem, monkeypatch, predictive, log_determinant, chunk_rows
):
    monkeypatch.setattr("vbcgcd.bayes.classifier.SURVIVORS", 1.0)
    taken = []

    def watched(chunk, *rest):
        taken.append(len(chunk))
        return nearest(chunk, *rest)

    monkeypatch.setattr("vbcgcd.bayes.classifier._nearest", watched)
    rows, labels = make_problem(13, n_categories=9, dim=64, n_rows=200, separation=0.3)
    labels[9:80] = 0  # sizes, and so volumes and degrees of freedom, differ
    posterior = make_posterior(rows, labels, n_categories=9)
    rows = np.concatenate([rows, 30 * rows[:10], np.zeros((1, 64))])
    classifier = Classifier(predictive=predictive, log_determinant=log_determinant)
    expected = classifier.log_density(rows, posterior).argmax(axis=1)
    np.testing.assert_array_equal(classifier.predict(rows, posterior, chunk_rows=chunk_rows), expected)
    assert sum(taken) == len(rows)


@pytest.mark.parametrize("level", [-1e17, -1e30, -1e300])
def test_probabilities_of_very_low_densities_sum_to_one(level):
    density = np.array([[level, level, level], [level, level * 2, level * 3]])
    found = np.exp(log_normalise(density))
    np.testing.assert_allclose(found, [[1 / 3] * 3, [1.0, 0.0, 0.0]])
