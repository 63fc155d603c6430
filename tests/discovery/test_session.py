import numpy as np
import pytest

from vbcgcd import CategoryDiscoverer
from vbcgcd.bayes import log_evidence, posterior_of, statistics_by_label, volume_ratio
from vbcgcd.discovery.relabel import one_hot
from vbcgcd.discovery.session import Recipe, run_session


@pytest.fixture
def session(fitted, small):
    """Function (recipe, n_novel, ...) -> result of a session on the batch of the fast problem."""
    known = fitted.knowledge_

    def run(recipe, n_novel, **options):
        rng = np.random.default_rng(0)
        return run_session(known.reduced(small.batch), known, recipe, n_novel, rng=rng, **options)

    return run


def test_result_is_consistent(session, fitted, small):
    result = session(Recipe(), 4)
    n = len(small.batch)
    assert result.responsibility.shape == (n, 4)
    assert result.probabilities.shape == (n, 10)
    np.testing.assert_allclose(result.probabilities.sum(axis=1), 1, rtol=1e-5)
    assert result.probabilities.min() >= 0
    np.testing.assert_allclose(result.probabilities[:, 6:], result.responsibility, atol=1e-6)
    reduced = fitted.knowledge_.reduced(small.batch)
    np.testing.assert_array_equal(result.novelty, fitted.novelty_.score(reduced, fitted.posterior_.mean))
    assert 0 < result.novel_share < 1
    assert len(result.posterior) == len(result.ratio_before) == len(result.ratio_after) == 4
    assert result.count is None
    evidence = log_evidence(fitted.prior_, result.posterior).sum()
    assert result.evidence == pytest.approx(evidence)


def test_known_categories_share_the_rest_by_their_densities(session, fitted, small):
    result = session(Recipe(), 4)
    rest = 1 - result.responsibility.sum(axis=1, keepdims=True)
    expected = fitted.predict_proba(small.batch) * rest
    np.testing.assert_allclose(result.probabilities[:, :6], expected, atol=1e-4)


def test_posterior_is_the_exact_one_of_the_teaching_rows(session, fitted, small):
    reduced = fitted.knowledge_.reduced(small.batch)
    own = np.arange(len(reduced)) % 3 - 1

    def mine(rows, n_clusters, rng):
        np.testing.assert_array_equal(rows, reduced)
        assert n_clusters == 2
        return own

    result = session(Recipe(cluster=mine, relabel="none"), 2)
    want = posterior_of(fitted.prior_, statistics_by_label(reduced, own, 2), dtype=np.float32)
    np.testing.assert_allclose(result.posterior.mean, want.mean, atol=1e-5)
    np.testing.assert_allclose(result.posterior.factor, want.factor, atol=1e-4)
    np.testing.assert_array_equal(result.responsibility, one_hot(own, 2))
    assert result.novel_share == pytest.approx(np.mean(own >= 0))
    want_ratio = volume_ratio(want.log_det_covariance, fitted.posterior_.log_det_covariance)
    np.testing.assert_allclose(result.ratio_before, want_ratio, atol=1e-2)
    np.testing.assert_allclose(result.ratio_after, want_ratio, atol=1e-2)


def test_weights_enter_the_statistics(session, fitted, small):
    reduced = fitted.knowledge_.reduced(small.batch)
    own, weight = np.arange(len(reduced)) % 2, np.random.default_rng(0).uniform(size=len(reduced))
    result = session(Recipe(cluster=lambda *_: own, relabel="none"), 2, weight=weight)
    want = statistics_by_label(reduced, own, 2, weight=weight)
    np.testing.assert_allclose(result.posterior.kappa - fitted.prior_.kappa, want.count)
    posterior = posterior_of(fitted.prior_, want)
    np.testing.assert_allclose(result.posterior.mean, posterior.mean, atol=1e-5)


@pytest.mark.parametrize("inference", ["exact", "svi"])
def test_alignment_brings_the_volume_to_its_target(session, fitted, inference):
    free = session(Recipe(relabel="none", inference=inference), 3)
    target = float(np.mean(free.ratio_before)) - 0.2
    aligned = session(Recipe(relabel="none", inference=inference, alignment=target), 3)
    np.testing.assert_allclose(aligned.ratio_before, free.ratio_before)
    if inference == "exact":
        tau = next(step for step in aligned.steps if step.name == "posterior").details["tau"]
        crossed = tau < 1
        np.testing.assert_allclose(aligned.ratio_after[~crossed], aligned.ratio_before[~crossed], atol=1e-3)
        inside = crossed & (tau > 1.01 / (free.posterior.kappa - 0.01))
        np.testing.assert_allclose(aligned.ratio_after[inside], target, atol=1e-2)
    else:
        known = fitted.posterior_.log_det_covariance
        start = volume_ratio([fitted.prior_.log_det_covariance], known)[0]
        crossed = (start > target) & (free.ratio_before < target)
        assert 0 < crossed.sum() < len(crossed)
        np.testing.assert_allclose(aligned.ratio_after[crossed], target, atol=0.05)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_svi_is_aligned_alike_in_every_unit_of_the_data(digit_problem, covariance):
    rows, labels, batch, _ = digit_problem
    model = CategoryDiscoverer(
        inference="svi", alignment=0.0, whiten=False, normalise=False, covariance=covariance, count="evidence"
    )
    ratios = []
    for factor in (1.0, 0.01):
        model.fit(factor * rows, labels)
        start = volume_ratio([model.prior_.log_det_covariance], model.posterior_.log_det_covariance)[0]
        report = model.discover(factor * batch, n_novel=4)
        ratios.append(np.asarray(report.ratio_after))
        crossed = (start > 0) & (np.asarray(report.ratio_before) < 0)
        assert crossed.any()
        np.testing.assert_allclose(ratios[-1][crossed], 0, atol=0.05)
    np.testing.assert_allclose(ratios[0], ratios[1], atol=0.05)


@pytest.mark.parametrize("relabel", ["confident", "none", "filter", "reassign", "em"])
def test_nothing_novel_is_a_possible_answer(session, fitted, small, relabel):
    result = session(Recipe(relabel=relabel), 0)
    assert result.posterior is None
    assert result.responsibility.shape == (len(small.batch), 0)
    np.testing.assert_allclose(result.probabilities, fitted.predict_proba(small.batch), atol=1e-4)
    assert result.novel_share == 0


@pytest.mark.parametrize("relabel", ["confident", "none", "filter", "reassign", "em"])
def test_a_clusterer_that_leaves_out_every_row_finds_nothing(session, small, relabel):
    result = session(Recipe(cluster=lambda rows, k, rng: np.full(len(rows), -1), relabel=relabel), 3)
    assert result.posterior is None
    assert result.probabilities.shape == (len(small.batch), 6)


def test_steps_are_told_and_timed(session):
    told = []
    result = session(Recipe(), 2, progress=told.append)
    assert told == ["novelty", "cluster", "relabel", "posterior", "label"]
    assert [step.name for step in result.steps][: len(told)] == told
    assert all(step.seconds >= 0 for step in result.steps)


def test_what_is_known_is_only_read(session, fitted):
    before = fitted.posterior_.mean.copy(), fitted.posterior_.factor.copy()
    session(Recipe(inference="svi", alignment=0.0, svi_steps=5), 3)
    np.testing.assert_array_equal(fitted.posterior_.mean, before[0])
    np.testing.assert_array_equal(fitted.posterior_.factor, before[1])
