"""Models with low-rank covariances and in half precision: near to full ones, and every verb works."""

import numpy as np
import pytest

from support import fit
from vbcgcd import CategoryDiscoverer
from vbcgcd.bayes import Posterior, statistics_by_label
from vbcgcd.discovery.sound import check_posterior
from vbcgcd.errors import InputError

WAYS = (
    {"covariance": "lowrank", "covariance_rank": 10},
    {"covariance": "lowrank", "covariance_rank": 10, "storage": "half"},
    {"covariance": "full", "storage": "half"},
    {"covariance": "diagonal", "storage": "half"},
)
every_way = pytest.mark.parametrize("options", WAYS, ids=str)


@pytest.mark.parametrize("options", WAYS[:3], ids=str)
def test_answers_are_nearly_those_of_full_covariances(digits, fitted_digits, options):
    rows, labels, held_out, truth = digits
    model = CategoryDiscoverer(**options).fit(rows, labels)
    assert model.nbytes < 0.6 * fitted_digits.nbytes
    assert model.score(held_out, truth) > fitted_digits.score(held_out, truth) - 0.01
    assert model.temperature_ == pytest.approx(fitted_digits.temperature_)
    gap = np.abs(model.predict_proba(held_out) - fitted_digits.predict_proba(held_out)).max(axis=1)
    assert np.mean(gap) < 0.02


def test_a_rank_above_the_dimensions_changes_nothing(small):
    full, low = (fit(small, n_components=8, covariance=c, dtype="float64") for c in ("full", "lowrank"))
    np.testing.assert_allclose(low.predict_proba(small.batch), full.predict_proba(small.batch), atol=1e-9)
    full.discover(small.batch, n_novel=2)
    low.discover(small.batch, n_novel=2)
    np.testing.assert_allclose(low.predict_proba(small.batch), full.predict_proba(small.batch), atol=1e-9)


@every_way
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"alignment": 0.0},
        {"alignment": 0.0, "alignment_penalty": 5.0},
        {"inference": "svi", "svi_steps": 5},
        {"relabel": "em"},
        {"predictive": "student", "update_known": True},
        {"prior_strength": "evidence", "whiten": False},
        {"head": "direction"},
    ],
    ids=str,
)
def test_every_option_goes_with_every_way(small, options, more):
    model = fit(small, n_components=24, **options, **more)
    record = model.discover(small.batch, n_novel=2)
    assert len(record.novel) == 2
    assert np.isfinite(model.predict_proba(small.batch)).all()
    check_posterior(model.posterior_)


@every_way
def test_rows_one_by_one_and_more_labels_are_learned(small, options):
    model = fit(small, n_components=24, **options)
    before = model.posterior_.kappa.copy()
    model.partial_fit(small.rows[:30], small.labels[:30])
    assert model.posterior_.kappa.sum() == pytest.approx(before.sum() + 30)
    for row in small.batch[:5]:
        assert model.observe(row) is not None
    check_posterior(model.posterior_)


def test_few_rows_learned_in_parts_are_learned_as_at_once(small):
    options = {"covariance": "lowrank", "covariance_rank": 40, "dtype": "float64", "count": "evidence"}
    first = np.concatenate([np.flatnonzero(small.labels == k)[:20] for k in range(6)])
    second = np.concatenate([np.flatnonzero(small.labels == k)[20:35] for k in range(6)])
    model = CategoryDiscoverer(**options).fit(small.rows[first], small.labels[first])
    known = model.knowledge_
    together = known.absorbed(known.reduced(small.rows[second]), small.labels[second])
    both = np.concatenate([first, second])
    direct = fit_under(known, small.rows[both], small.labels[both])
    for k in range(6):
        np.testing.assert_allclose(together.posterior.scale(k), direct.scale(k), rtol=1e-7, atol=1e-7)


def fit_under(known, rows, labels):
    return known.posterior_of(
        statistics_by_label(known.reduced(rows), labels, 6, structure=known.prior.structure)
    )


@pytest.mark.parametrize("structure", ["lowrank:999999999", "lowrank:0", "lowrank:24:quarter", "round", 5])
def test_a_file_that_claims_another_structure_is_refused(small, structure):
    known = fit(small, n_components=8, covariance="lowrank", covariance_rank=4).posterior_
    with pytest.raises(InputError):
        check_posterior(Posterior(known.mean, known.kappa, known.nu, known.factor[:, :-1], structure))
