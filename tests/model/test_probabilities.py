"""Probabilities and densities of a fitted model."""

import numpy as np
import pytest
from scipy import special, stats

from support import blobs
from vbcgcd import CategoryDiscoverer

COVARIANCES = ["full", "lowrank", "diagonal"]


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("predictive", ["plugin", "student"])
@pytest.mark.parametrize("n_components", [8, None])
def test_probabilities_sum_to_one_and_agree_with_predictions(digits, covariance, predictive, n_components):
    train, labels, test, _ = digits
    model = CategoryDiscoverer(covariance=covariance, predictive=predictive, n_components=n_components)
    model.fit(train, labels)
    probability, logarithm = model.predict_proba(test), model.predict_log_proba(test)
    np.testing.assert_allclose(probability.sum(axis=1), 1, rtol=1e-9)
    np.testing.assert_allclose(special.logsumexp(logarithm, axis=1), 0, atol=1e-9)
    np.testing.assert_allclose(np.exp(logarithm), probability, rtol=1e-12)
    assert (probability >= 0).all()
    predicted = model.predict(test)
    np.testing.assert_array_equal(model.classes_[probability.argmax(axis=1)], predicted)
    np.testing.assert_array_equal(model.classes_[logarithm.argmax(axis=1)], predicted)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"dtype": "float64"},
        {"normalise": False},
        {"n_components": 10},
        {"inference": "svi"},
        {"predictive": "student"},
        {"covariance": "diagonal"},
        {"prior_strength": "evidence"},
        {"metric": "euclidean"},
    ],
    ids=str,
)
def test_confidence_is_near_accuracy_on_held_out_rows(digits, options):
    train, labels, test, truth = digits
    model = CategoryDiscoverer(**options).fit(train, labels)
    confidence = model.predict_proba(test).max(axis=1).mean()
    assert confidence == pytest.approx(model.score(test, truth), abs=0.05)


@pytest.mark.parametrize("n_categories", [5, 20, 60])
def test_confidence_is_near_accuracy_where_many_categories_overlap(n_categories):
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(n_categories), 60)
    means = 0.6 * rng.normal(size=(n_categories, 10))[labels]
    train, test = (means + rng.normal(size=means.shape) for _ in range(2))
    model = CategoryDiscoverer(normalise=False).fit(train, labels)
    confidence = model.predict_proba(test).max(axis=1).mean()
    assert confidence == pytest.approx(model.score(test, labels), abs=0.05)


def test_low_confidence_means_more_mistakes(digits, fitted_digits):
    _, _, test, truth = digits
    sure = fitted_digits.predict_proba(test).max(axis=1)
    right = fitted_digits.predict(test) == truth
    assert sure[right].mean() > sure[~right].mean() + 0.1


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("whiten", [True, False])
def test_score_samples_is_the_mixture_of_gaussians(digits, covariance, whiten):
    train, labels, test, _ = digits
    model = CategoryDiscoverer(covariance=covariance, whiten=whiten, n_components=12, dtype="float64")
    model.fit(train, labels)
    reduced = model.reducer_.transform(test)
    densities = [
        stats.multivariate_normal.logpdf(reduced, model.posterior_.mean[k], model.posterior_.covariance(k))
        for k in range(10)
    ]
    expected = special.logsumexp(densities, axis=0) - np.log(10)
    np.testing.assert_allclose(model.score_samples(test), expected, rtol=1e-8)
    # Probabilities are the same densities at the temperature.
    tempered = special.log_softmax(model.temperature_ * np.transpose(densities), axis=1)
    np.testing.assert_allclose(model.predict_log_proba(test), tempered, atol=1e-7)


def test_float32_densities_are_near_float64(digits, fitted_digits):
    train, labels, test, _ = digits
    double = CategoryDiscoverer(dtype="float64").fit(train, labels)
    assert fitted_digits.posterior_.factor.dtype == np.float32
    assert double.posterior_.factor.dtype == np.float64
    np.testing.assert_allclose(
        fitted_digits.score_samples(test), double.score_samples(test), rtol=1e-4, atol=1e-2
    )


def test_strange_rows_have_lower_density(digits, fitted_digits):
    test = digits[2]
    noise = np.random.default_rng(0).uniform(0, 16, size=(200, 64))
    assert fitted_digits.score_samples(noise).max() < np.median(fitted_digits.score_samples(test))


def test_a_row_far_away_gets_a_finite_answer(fitted_digits):
    far = np.full((1, 64), 1e8)
    assert np.isfinite(fitted_digits.predict_proba(far)).all()
    assert np.isfinite(fitted_digits.score_samples(far)).all()


def test_the_best_categories_of_the_rows_of_a_file_are_those_of_the_array(tmp_path, monkeypatch):
    monkeypatch.setattr("vbcgcd.model.PREDICT_ROWS", 7)
    rows, labels = blobs()
    np.save(tmp_path / "rows.npy", rows)
    model = CategoryDiscoverer().fit(rows, labels)
    read, given = model.predict_top(tmp_path / "rows.npy", k=2), model.predict_top(rows, k=2)
    np.testing.assert_array_equal(read.labels, given.labels)
    for name in ("probabilities", "rest", "bound", "novelty"):
        np.testing.assert_allclose(getattr(read, name), getattr(given, name), rtol=1e-6, atol=1e-9)
