import copy

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.cluster import KMeans

from vbcgcd.errors import InputError
from vbcgcd.study.rivals.pe import PointEstimate, gaussian_log_density


def test_density_is_that_of_scipy():
    rng = np.random.default_rng(0)
    means, rows = rng.standard_normal((3, 5)), rng.standard_normal((20, 5))
    roots = rng.standard_normal((3, 5, 5))
    covariances = roots @ roots.transpose(0, 2, 1) + np.eye(5)
    expected = np.column_stack(
        [multivariate_normal(m, c).logpdf(rows) for m, c in zip(means, covariances, strict=True)]
    )
    density = gaussian_log_density(rows, means, np.linalg.cholesky(covariances))
    np.testing.assert_allclose(density, expected, rtol=1e-10)


def test_mean_and_covariance_are_those_of_equation_5(small):
    model = PointEstimate(n_components=5, cluster="kmeans").fit(small.rows, small.labels)
    reduced = model._reduced(small.rows)
    for k in range(6):
        members = reduced[small.labels == k]
        np.testing.assert_allclose(model.means_[k], members.mean(axis=0))
        np.testing.assert_allclose(
            model.factors_[k] @ model.factors_[k].T, np.cov(members, rowvar=False, ddof=0), atol=1e-9
        )


@pytest.mark.parametrize("smallest", [4, 9, 30])
def test_the_dimension_is_below_the_rows_of_the_smallest_category(smallest):
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1, 2], [40, smallest, 50])
    x = rng.standard_normal((len(y), 12))
    model = PointEstimate(n_components=None, cluster="kmeans").fit(x, y)
    assert model.means_.shape[1] == min(smallest - 1, 12)
    assert np.isfinite(model._scores(x)).all()


def test_repeated_rows_lower_the_rank_and_the_dimension():
    rng = np.random.default_rng(2)
    x = rng.standard_normal((60, 10))
    y = np.repeat([0, 1], 30)
    x[y == 1] = np.repeat(x[y == 1][:5], 6, axis=0)
    model = PointEstimate(n_components=None, cluster="kmeans").fit(x, y)
    assert model.means_.shape[1] == 4


def test_held_out_rows_choose_no_worse_than_full_rank(digit_problem):
    rows, labels, batch, truth = digit_problem
    known = truth < 6
    accuracy = {}
    for n in (None, "held-out"):
        model = PointEstimate(n_components=n, cluster="kmeans").fit(rows, labels)
        accuracy[n] = np.mean(model.predict(batch[known]) == truth[known])
    assert accuracy["held-out"] >= accuracy[None] - 0.01
    assert accuracy["held-out"] > 0.9


def test_a_category_with_too_few_rows_borrows_the_mean_covariance(small):
    model = PointEstimate(n_components=10, cluster="kmeans").fit(small.rows, small.labels)
    model.partial_fit(small.batch[:4], np.full(4, 8))
    np.testing.assert_allclose(model.factors_[-1] @ model.factors_[-1].T, model.mean_covariance_)
    np.testing.assert_allclose(model.means_[-1], model._reduced(small.batch[:4]).mean(axis=0))


def test_a_labelled_category_with_one_row_is_refused():
    with pytest.raises(InputError, match="two rows"):
        PointEstimate(cluster="kmeans").fit(np.eye(4), [0, 0, 0, 1])
    with pytest.raises(InputError, match="all the same"):
        PointEstimate(cluster="kmeans").fit(np.ones((4, 3)), [0, 0, 1, 1])


def test_relabelling_moves_rows_between_clusters(small):
    labels = {}
    for relabel in ("filter", "reassign"):
        model = PointEstimate(cluster="kmeans", relabel=relabel, n_components=6).fit(small.rows, small.labels)
        before = copy.copy(model)
        position = before._cluster_alone(small.batch.astype(float), 4)
        labels[relabel] = position
        novel = position >= 6
        assert 0 < novel.sum() < len(novel)
    # Which rows are novel is the same question; where they go is not.
    np.testing.assert_array_equal(labels["filter"] < 6, labels["reassign"] < 6)


def test_reassigned_rows_go_where_they_are_explained_best(small):
    model = PointEstimate(cluster="kmeans", relabel="reassign", n_components=6).fit(small.rows, small.labels)
    rows = small.batch.astype(float)
    seed = int(model._rng().integers(2**31))
    clusters = KMeans(4, n_init=10, random_state=seed).fit(rows).labels_
    provisional = copy.copy(model)
    provisional._add(rows, clusters, 4)
    np.testing.assert_array_equal(model._cluster_alone(rows, 4), provisional._scores(rows).argmax(axis=1))


def test_without_the_log_determinant_the_distance_alone_decides(small):
    model = PointEstimate(n_components=5, cluster="kmeans", log_determinant=False)
    model.fit(small.rows, small.labels)
    reduced = model._reduced(small.rows)
    distances = np.stack(
        [
            ((np.linalg.solve(f, (reduced - m).T)) ** 2).sum(axis=0)
            for m, f in zip(model.means_, model.factors_, strict=True)
        ],
        axis=1,
    )
    np.testing.assert_array_equal(model._scores(small.rows).argmax(axis=1), distances.argmin(axis=1))


def test_standardised_rows_have_no_units(small):
    factor = np.geomspace(0.01, 100, small.rows.shape[1])
    models = [
        PointEstimate(cluster="kmeans", standardise=True).fit(small.rows * f, small.labels)
        for f in (1, factor)
    ]
    scores = [m._scores(small.batch * f) for m, f in zip(models, (1, factor), strict=True)]
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-5)
