"""What known categories learn later: `partial_fit`, and sessions with ``update_known``."""

import numpy as np
import pytest

from support import assert_same_posterior, fit
from vbcgcd import CategoryDiscoverer, InputError
from vbcgcd.bayes import posterior_of, statistics_by_label


@pytest.mark.parametrize("covariance", ["full", "lowrank", "diagonal"])
def test_sure_rows_update_their_known_categories_alone(small, covariance):
    batch, truth = (
        small.batch[np.isin(small.truth, [0, 1, 7, 8])],
        small.truth[np.isin(small.truth, [0, 1, 7, 8])],
    )
    model = fit(small, covariance=covariance, update_known=True)
    before = model.posterior_
    record = model.discover(batch, n_novel=2)
    best = record.probabilities_.argmax(axis=1)
    sure = (record.probabilities_.max(axis=1) >= 0.95) & (best < 6)
    added = np.bincount(best[sure], minlength=6)
    assert added.sum() > 0.5 * (truth < 2).sum()
    np.testing.assert_allclose(model.posterior_.kappa[:6] - before.kappa, added)
    assert len(model.classes_) == 8
    for k in range(6):
        same = [
            np.array_equal(getattr(model.posterior_, n)[k], getattr(before, n)[k]) for n in ("mean", "kappa")
        ]
        assert all(same) == (added[k] == 0)
        if added[k] == 0:
            np.testing.assert_array_equal(model.posterior_.factor[k], before.factor[k])


def test_rows_without_weight_do_not_update_known_categories(small):
    known = small.truth < 6
    model = fit(small, update_known=True)
    before = model.posterior_
    model.discover(small.batch, n_novel=2, sample_weight=(~known).astype(float))
    wanted = fit(small, update_known=True)
    wanted.discover(small.batch[~known], n_novel=2)
    assert model.posterior_.kappa[:6].sum() == pytest.approx(wanted.posterior_.kappa[:6].sum(), abs=6)
    assert model.posterior_.kappa[:6].sum() - before.kappa.sum() < known.sum() / 2


@pytest.mark.parametrize("covariance", ["full", "lowrank", "diagonal"])
def test_partial_fit_equals_learning_at_once(digit_problem, covariance):
    rows, labels, batch, truth = digit_problem
    more, names = batch[truth < 6], truth[truth < 6]
    model = CategoryDiscoverer(covariance=covariance, n_components=20).fit(rows, labels)
    prior, structure = model.prior_, model.prior_.structure
    for part in np.array_split(np.arange(len(more)), 3):
        assert model.partial_fit(more[part], names[part]) is model
    together = model.knowledge_.reduced(np.concatenate([rows, more])).astype(np.float64)
    statistics = statistics_by_label(together, np.concatenate([labels, names]), 6, structure=structure)
    want = posterior_of(prior, statistics)
    np.testing.assert_allclose(model.posterior_.mean, want.mean, atol=1e-4)
    np.testing.assert_allclose(model.posterior_.kappa, want.kappa)
    np.testing.assert_allclose(model.posterior_.nu, want.nu)
    np.testing.assert_allclose(model.posterior_.factor, want.factor, rtol=1e-3, atol=2e-3)
    assert model.classes_.tolist() == list(range(6))


def test_partial_fit_appends_unseen_labels(digit_problem):
    rows, labels, batch, truth = digit_problem
    model = CategoryDiscoverer().fit(rows, labels)
    before = model.posterior_
    chosen = np.isin(truth, [9, 7])
    model.partial_fit(batch[chosen], truth[chosen])
    assert model.classes_.tolist() == [0, 1, 2, 3, 4, 5, 7, 9]
    assert_same_posterior(model.posterior_.take(np.arange(6)), before)
    assert np.mean(model.predict(batch[chosen]) == truth[chosen]) > 0.9
    statistics = statistics_by_label(
        model.knowledge_.reduced(batch[truth == 7]), np.zeros((truth == 7).sum(), int), 1
    )
    np.testing.assert_allclose(
        model.posterior_.mean[6], posterior_of(model.prior_, statistics).mean[0], atol=1e-4
    )


def test_partial_fit_teaches_discovered_categories(small):
    model = fit(small)
    model.discover(small.batch, n_novel=2)
    kappa = model.posterior_.kappa[6]
    model.partial_fit(small.batch[:4], [6, 6, 6, 6])
    assert model.posterior_.kappa[6] == pytest.approx(kappa + 4)
    assert len(model.classes_) == 8


def test_partial_fit_before_fit_is_fit(small, state_of):
    a = CategoryDiscoverer().partial_fit(small.rows, small.labels, classes=[1, 2])
    assert state_of(a) == state_of(fit(small))


def test_negative_labels_survive_partial_fit(small):
    model = CategoryDiscoverer().fit(small.rows, small.labels.astype(np.uint8))
    model.partial_fit(small.batch[:4], [-3, -3, 300, 300])
    assert model.classes_.tolist() == [0, 1, 2, 3, 4, 5, -3, 300]


@pytest.mark.parametrize(
    ("rows", "labels"),
    [
        (slice(0, 4), ["a", "a", "b", "b"]),
        (slice(0, 4), [1, 2]),
        (slice(0, 0), []),
        (slice(0, 4), None),
        (slice(0, 4), [0.5, 0.25, 0.1, 0.2]),
    ],
    ids=str,
)
def test_partial_fit_refuses_and_changes_nothing(small, fitted, state_of, rows, labels):
    before = state_of(fitted)
    with pytest.raises(InputError):
        fitted.partial_fit(small.batch[rows], labels)
    assert state_of(fitted) == before


@pytest.mark.parametrize("kinds", [(bool, int), (int, bool)], ids=str)
def test_partial_fit_does_not_mix_truth_values_and_numbers(small, state_of, kinds):
    fitted_with, given_later = kinds
    model = CategoryDiscoverer().fit(small.rows, (small.labels < 3).astype(fitted_with))
    before = state_of(model)
    with pytest.raises(InputError):
        model.partial_fit(small.batch[:4], np.array([0, 1, 0, 1]).astype(given_later))
    assert state_of(model) == before
