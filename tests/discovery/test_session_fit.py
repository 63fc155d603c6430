import copy
from dataclasses import replace

import numpy as np
import pytest

from vbcgcd import CategoryDiscoverer
from vbcgcd.bayes import posterior_of, recover_statistics, statistics_by_responsibility, volume_ratio
from vbcgcd.discovery import session, steps
from vbcgcd.discovery.balance import balanced_shares
from vbcgcd.discovery.options import Options
from vbcgcd.discovery.session import fit_novel
from vbcgcd.discovery.strategies import one_hot
from vbcgcd.errors import InputError


@pytest.fixture
def fit(fitted, small):
    """Function (**options) -> fit of three novel categories to the batch of the fast problem."""
    rows = fitted.knowledge_.reduced(small.batch)
    weight = one_hot(np.where(small.truth >= 6, small.truth - 6, -1), 4)

    def run(**options):
        return fit_novel(rows, weight, fitted.knowledge_, Options(**options), np.random.default_rng(0))

    run.rows, run.weight = rows, weight
    return run


def test_without_alignment_it_is_the_exact_posterior(fit, fitted):
    result = fit()
    want = posterior_of(fitted.prior_, statistics_by_responsibility(fit.rows, fit.weight), dtype=np.float32)
    np.testing.assert_array_equal(result.posterior.mean, want.mean)
    np.testing.assert_array_equal(result.posterior.factor, want.factor)
    ratio = volume_ratio(want.log_det_covariance, fitted.posterior_.log_det_covariance)
    np.testing.assert_array_equal(result.ratio_before, ratio)
    np.testing.assert_array_equal(result.ratio_after, ratio)
    assert result.details == {}


def test_no_category_has_no_posterior(fit, fitted):
    result = fit_novel(fit.rows, fit.weight[:, :0], fitted.knowledge_, Options(), np.random.default_rng(0))
    assert result.posterior is None
    assert len(result.ratio_before) == len(result.ratio_after) == 0


@pytest.mark.parametrize("inference", ["exact", "svi"])
def test_alignment_brings_the_volume_to_its_target(fit, fitted, inference):
    free = fit(inference=inference)
    target = float(np.median(free.ratio_before)) - 0.2
    aligned = fit(inference=inference, alignment=target)
    np.testing.assert_allclose(aligned.ratio_before, free.ratio_before)
    if inference == "exact":
        crossing = aligned.details["tau"] < 1
        inside = crossing & (aligned.details["tau"] > 1.01 / (free.posterior.kappa - 0.01))
        np.testing.assert_allclose(aligned.ratio_after[~crossing], free.ratio_before[~crossing], atol=1e-3)
        np.testing.assert_allclose(aligned.ratio_after[inside], target, atol=1e-2)
    else:
        start = volume_ratio([fitted.prior_.log_det_covariance], fitted.posterior_.log_det_covariance)[0]
        crossing = (start > target) & (free.ratio_before < target)
        assert 0 < crossing.sum() < len(crossing)
        np.testing.assert_allclose(aligned.ratio_after[crossing], target, atol=0.05)


@pytest.mark.parametrize("inference", ["exact", "svi"])
def test_many_rows_count_for_as_many_as_known_categories_have(fit, fitted, inference, monkeypatch):
    monkeypatch.setattr(
        steps, "balance", lambda rows, weight, novel, known: balanced_shares(novel.count, known.counts)
    )
    known = fitted.knowledge_
    few = posterior_of(fitted.prior_, recover_statistics(fitted.prior_, known.posterior) * 0.1)
    knowledge = replace(known, posterior=few)
    results = {
        alignment: fit_novel(
            fit.rows,
            fit.weight,
            knowledge,
            Options(alignment=alignment, inference=inference, svi_steps=20),
            np.random.default_rng(0),
        )
        for alignment in ("rows", None)
    }
    rows, free = results["rows"], results[None]
    counts, typical = free.posterior.kappa - fitted.prior_.kappa, np.median(knowledge.counts)
    np.testing.assert_allclose(rows.posterior.kappa - fitted.prior_.kappa, typical)
    np.testing.assert_allclose(rows.details["tau"], typical / counts)
    if inference == "exact":
        np.testing.assert_allclose(rows.weight, fit.weight * rows.details["tau"])
        want = statistics_by_responsibility(fit.rows, rows.weight)
        np.testing.assert_allclose(
            rows.posterior.factor, posterior_of(fitted.prior_, want).factor, rtol=1e-4, atol=1e-4
        )


@pytest.mark.parametrize("covariance", ["full", "lowrank", "diagonal"])
def test_svi_is_aligned_alike_in_every_unit_of_the_data(digit_problem, covariance):
    rows, labels, batch, _ = digit_problem
    model = CategoryDiscoverer(
        inference="svi", alignment=0.0, whiten=False, normalise=False, covariance=covariance, unassigned=False
    )
    ratios = []
    for factor in (1.0, 0.01):
        model.fit(factor * rows, labels)
        start = volume_ratio([model.prior_.log_det_covariance], model.posterior_.log_det_covariance)[0]
        record = model.discover(factor * batch, n_novel=4)
        ratios.append(np.asarray(record.ratio_after))
        crossing = (start > 0) & (np.asarray(record.ratio_before) < 0)
        assert crossing.any()
        np.testing.assert_allclose(ratios[-1][crossing], 0, atol=0.05)
    np.testing.assert_allclose(ratios[0], ratios[1], atol=0.05)


def test_both_readings_of_the_ratio_are_the_same_alignment(fit):
    target = float(np.median(fit().ratio_before)) - 0.2
    one = fit(alignment=target)
    other = fit(alignment=-target, alignment_ratio="known/novel")
    np.testing.assert_array_equal(one.posterior.factor, other.posterior.factor)
    assert not np.array_equal(one.posterior.factor, fit(alignment=-target).posterior.factor)


def test_the_penalty_moves_the_volume_but_not_the_shape(fit):
    free, penalised = fit(), fit(alignment=0.0, alignment_penalty=1e9)
    np.testing.assert_allclose(penalised.ratio_after, 0, atol=1e-2)
    np.testing.assert_array_equal(penalised.ratio_before, free.ratio_before)
    scale = penalised.posterior.factor / free.posterior.factor
    np.testing.assert_allclose(scale, scale[:, :1] * np.ones_like(scale), rtol=1e-4)
    np.testing.assert_array_equal(penalised.posterior.mean, free.posterior.mean)
    assert penalised.weight is None


def test_a_penalty_needs_a_target():
    with pytest.raises(InputError, match=r"alignment=0\.0"):
        Options(alignment_penalty=1.0)


@pytest.mark.parametrize("inference", ["exact", "svi"])
def test_the_provisional_fit_stops_early_too(digit_problem, inference, monkeypatch):
    rows, labels, batch, _ = digit_problem
    seen = []

    def spied(*args, **kwargs):
        result = fit_novel(*args, **kwargs)
        seen.append(result)
        return result

    monkeypatch.setattr(session, "fit_novel", spied)
    model = CategoryDiscoverer.paper(inference=inference, svi_steps=60).fit(rows, labels)
    start = volume_ratio([model.prior_.log_det_covariance], model.posterior_.log_det_covariance)[0]
    model.discover(batch, n_novel=4)
    assert len(seen) == 2  # before relabelling, and after it
    crossing = np.sign(seen[0].ratio_before) != np.sign(start)
    assert crossing.any()
    moved = np.abs(seen[0].ratio_after) < np.abs(seen[0].ratio_before)
    assert moved[crossing].all()


@pytest.mark.parametrize("variance", [1.0, 0.1])
def test_svi_and_the_exact_path_stop_at_the_same_place(digit_problem, variance):
    rows, labels, batch, _ = digit_problem
    model = CategoryDiscoverer.paper(prior_variance=variance, n_components=16).fit(rows, labels)
    start = volume_ratio([model.prior_.log_det_covariance], model.posterior_.log_det_covariance)[0]
    records = [
        copy.deepcopy(model).set_params(inference=inference).discover(batch, n_novel=4)
        for inference in ("exact", "svi")
    ]
    crossing = np.sign(records[0].ratio_before) != np.sign(start)
    assert crossing.any()
    exact, svi = (np.asarray(record.ratio_after)[crossing] for record in records)
    np.testing.assert_allclose(svi, exact, atol=0.05)
    assert np.mean(records[0].labels_ == records[1].labels_) > 0.9  # minibatches are random
