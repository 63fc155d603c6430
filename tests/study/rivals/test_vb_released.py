import numpy as np
import pytest

from vbcgcd.study.rivals.vb_released import VbReleased

pytest.importorskip("torch")


def quick(**options):
    return VbReleased(**{"n_components": 20, "n_steps": 300, "device": "cpu", **options})


@pytest.fixture(scope="module")
def learned(digit_problem):
    rows, labels, batch, truth = digit_problem
    model = quick().fit(rows, labels)
    base = model.predict(batch[truth < 6])
    before = model.means_.copy(), model.covariances_.copy()
    outcome = model.discover(batch, n_novel=4)
    return model, base, before, outcome


def test_reduced_rows_have_unit_variance(small):
    model = quick(n_steps=0).fit(small.rows, small.labels)
    reduced = model._reduced(small.rows)
    np.testing.assert_allclose(reduced.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(np.cov(reduced, rowvar=False), np.eye(20), atol=1e-6)


def test_digits_are_found_though_parameters_hardly_move(learned, digit_problem):
    truth = digit_problem.truth
    model, base, _, outcome = learned
    assert np.mean(base == truth[truth < 6]) > 0.85
    assert np.abs(model.means_).max() < 0.02
    assert np.abs(model.covariances_ - np.eye(20)).max() < 0.02
    assert np.isin(outcome.labels_[truth >= 6], outcome.novel).mean() > 0.5
    assert np.isin(model.predict(digit_problem.batch)[truth >= 6], outcome.novel).mean() > 0.5


def test_known_categories_stay_as_they_are(learned):
    model, _, (means, covariances), _ = learned
    np.testing.assert_array_equal(model.means_[:6], means)
    np.testing.assert_array_equal(model.covariances_[:6], covariances)


def test_novel_categories_stop_at_the_mean_volume(digit_problem, learned):
    rows, labels, batch, _ = digit_problem
    free = quick(early_stop=False).fit(rows, labels)
    target = free._known_volume()
    free.discover(batch, n_novel=4)
    volumes = {
        early: np.linalg.slogdet(model.covariances_[6:].astype(float))[1]
        for early, model in ((True, learned[0]), (False, free))
    }
    # The way starts at 0: with the rule nobody ends further past the target than one step.
    step = 20 * 4e-5 * 20
    assert (volumes[True] >= target - step).all()
    assert (volumes[True] >= volumes[False] - 1e-4).all()


def test_batched_training_gives_the_same(small):
    models = [quick(batched=b, n_steps=60).fit(small.rows, small.labels) for b in (True, False)]
    for model in models:
        model.discover(small.batch, n_novel=3)
    np.testing.assert_allclose(models[0].means_, models[1].means_, atol=1e-5)
    np.testing.assert_allclose(models[0].covariances_, models[1].covariances_, atol=1e-5)


def test_labels_keep_their_cluster_unless_judged_known(small):
    model = quick(n_steps=60).fit(small.rows, small.labels)
    clusters = model._cluster(model._reduced(small.batch), 3)
    outcome = model.discover(small.batch, n_novel=3)
    novel = outcome.labels_ >= 6
    np.testing.assert_array_equal(outcome.labels_[novel], 6 + clusters[novel])
