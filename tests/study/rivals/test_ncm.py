import numpy as np
from scipy.spatial.distance import cdist

from vbcgcd.study.rivals.ncm import Ncm, category_means


def test_it_predicts_as_the_nearest_centroid(small):
    model = Ncm(cluster="kmeans").fit(small.rows, small.labels)
    means = [small.rows[small.labels == k].mean(axis=0) for k in range(6)]
    np.testing.assert_array_equal(model.predict(small.batch), cdist(small.batch, means).argmin(axis=1))


def test_known_means_stay_as_they_are(small):
    model = Ncm(cluster="kmeans").fit(small.rows, small.labels)
    before = model.means_.copy()
    outcome = model.discover(small.batch, n_novel=4)
    np.testing.assert_array_equal(model.means_[:6], before)
    for k, label in enumerate(outcome.novel):
        np.testing.assert_allclose(model.means_[6 + k], small.batch[outcome.labels_ == label].mean(axis=0))


def test_means_of_categories():
    rows = np.array([[0.0, 2.0], [4.0, 0.0], [2.0, 4.0]])
    np.testing.assert_array_equal(category_means(rows, np.array([1, 0, 1]), 2), [[4, 0], [1, 3]])
