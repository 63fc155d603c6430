import numpy as np
import pytest

from vbcgcd.study.rivals.gcd import GcdFrozen
from vbcgcd.study.rivals.kmeans import unit_rows


def test_known_centroids_are_pinned_in_every_session(digit_problem):
    rows, labels, batch, truth = digit_problem
    model = GcdFrozen(n_restarts=20).fit(rows, labels)
    unit = unit_rows(rows)
    for k in range(6):
        np.testing.assert_allclose(model.centroids_[k], unit[labels == k].mean(axis=0))
    before = model.centroids_.copy()
    model.discover(batch[:600], n_novel=4)
    np.testing.assert_array_equal(model.centroids_[:6], before)
    middle = model.centroids_.copy()
    outcome = model.discover(batch[600:], n_novel=1)
    np.testing.assert_array_equal(model.centroids_[:10], middle)
    assert np.mean(model.predict(batch[truth < 6]) == truth[truth < 6]) > 0.8
    np.testing.assert_array_equal(model.predict(batch[600:]), outcome.labels_)


@pytest.mark.parametrize("n_novel", [0, 3])
def test_more_centroids_than_distinct_rows_do_no_harm(small, n_novel):
    model = GcdFrozen(n_restarts=3).fit(small.rows, small.labels)
    outcome = model.discover(np.repeat(small.batch[:1], 5, axis=0), n_novel=n_novel)
    assert len(outcome.novel) == n_novel
    assert np.isfinite(model.centroids_).all()
