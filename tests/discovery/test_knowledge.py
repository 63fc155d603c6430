import numpy as np
import pytest

from vbcgcd import CategoryDiscoverer
from vbcgcd.bayes import posterior_of, statistics_by_label
from vbcgcd.discovery.knowledge import learn_more

COVARIANCES = ["full", "diagonal"]
PARTS = ["mean", "kappa", "nu", "factor"]


@pytest.fixture(params=COVARIANCES)
def known(request, small):
    model = CategoryDiscoverer(covariance=request.param, dtype="float64").fit(small.rows, small.labels)
    return model.knowledge_


def test_reduced_rows_have_the_type_of_the_posteriors(known, fitted, small):
    assert known.reduced(small.batch).dtype == np.float64
    assert fitted.knowledge_.reduced(small.batch).dtype == np.float32


def test_extending_by_nothing_is_the_same(known):
    assert known.extended(None) is known


def test_extending_appends_and_touches_nothing(known, small):
    reduced = known.reduced(small.batch)
    new = known.posterior_of(
        statistics_by_label(reduced, np.arange(len(reduced)) % 2, 2, structure=known.prior.structure)
    )
    longer = known.extended(new)
    assert len(longer.posterior) == 8
    for name in PARTS:
        before, after = getattr(known.posterior, name), getattr(longer.posterior, name)
        np.testing.assert_array_equal(after[: len(before)], before)
    np.testing.assert_array_equal(longer.posterior.mean[6:], new.mean)


def test_absorbing_nothing_is_the_same(known, small):
    codes = np.full(len(small.batch), -1)
    assert known.absorbed(known.reduced(small.batch), codes) is known


def test_absorbing_equals_learning_at_once(known, small):
    first, second = known.reduced(small.rows), known.reduced(small.batch)
    codes = np.where(small.truth < 3, small.truth, -1)
    found = known.absorbed(second, codes).posterior
    labels = np.concatenate([small.labels, codes])
    structure = known.prior.structure
    want = posterior_of(
        known.prior, statistics_by_label(np.concatenate([first, second]), labels, 6, structure=structure)
    )
    np.testing.assert_allclose(found.mean, want.mean, atol=1e-8)
    np.testing.assert_allclose(found.kappa, want.kappa)
    np.testing.assert_allclose(found.nu, want.nu)
    np.testing.assert_allclose(found.factor, want.factor, atol=1e-6)
    for name in PARTS:
        np.testing.assert_array_equal(getattr(found, name)[3:], getattr(known.posterior, name)[3:])


def test_absorbing_in_two_steps_equals_one(known, small):
    reduced, codes = known.reduced(small.batch), np.where(small.truth < 6, small.truth, -1)
    once = known.absorbed(reduced, codes).posterior
    twice = known.absorbed(reduced[:70], codes[:70]).absorbed(reduced[70:], codes[70:]).posterior
    for name in PARTS:
        np.testing.assert_allclose(getattr(twice, name), getattr(once, name), atol=1e-6)


def test_knowledge_is_never_changed_in_place(known, small):
    before = {name: getattr(known.posterior, name).copy() for name in PARTS}
    known.absorbed(known.reduced(small.batch), np.where(small.truth < 6, small.truth, -1))
    for name in PARTS:
        np.testing.assert_array_equal(getattr(known.posterior, name), before[name])


def test_found_categories_stand_for_classes_as_probably_as_was_judged(known, small):
    new = known.posterior.take([0, 1])
    longer = known.extended(new, np.array([0.7, 0.4]))
    np.testing.assert_array_equal(longer.reliabilities, [1, 1, 1, 1, 1, 1, 0.7, 0.4])
    np.testing.assert_array_equal(longer.extended(new).reliabilities[6:], [0.7, 0.4, 1, 1])
    np.testing.assert_array_equal(known.reliabilities, np.ones(6))


@pytest.mark.parametrize("update_known", [True, False])
def test_labels_make_a_found_category_sure(known, small, update_known):
    longer = known.extended(known.posterior.take([0, 1]), np.array([0.7, 0.4]))
    taught = learn_more(
        longer, known.reduced(small.batch[:3]), np.array([7, 0, 8]), update_known=update_known
    )
    np.testing.assert_array_equal(taught.reliabilities, [1, 1, 1, 1, 1, 1, 0.7, 1, 1])
