import numpy as np
from sklearn.decomposition import PCA

from vbcgcd.study.rivals.kmeans import unit_rows
from vbcgcd.study.rivals.reduced import axes_of


def test_axes_are_those_of_a_pca_of_unit_rows():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((50, 6)) * np.arange(1, 7)
    axes = axes_of(rows, 3)
    expected = PCA(3, svd_solver="full").fit(unit_rows(rows)).transform(unit_rows(rows))
    np.testing.assert_allclose(axes(5 * rows), expected, atol=1e-12)
    assert axes_of(rows[:2], 30).directions.shape == (2, 6)


def test_what_lies_on_the_axes_comes_back():
    rng = np.random.default_rng(0)
    axes = axes_of(rng.standard_normal((50, 6)), 3)
    points = rng.standard_normal((4, 3))
    np.testing.assert_allclose(axes.project(axes.back(points)), points, atol=1e-12)
