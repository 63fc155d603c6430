import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from vbcgcd.study.rivals.lda import Lda


@pytest.mark.parametrize("shrinkage", [1e-4, 0.1])
def test_scores_are_those_of_sklearn_without_class_weights(small, shrinkage):
    model = Lda(shrinkage=shrinkage, cluster="kmeans").fit(small.rows, small.labels)
    reference = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage).fit(small.rows, small.labels)
    scores = model._scores(small.batch)
    expected = reference.decision_function(small.batch) - np.log(reference.priors_)
    np.testing.assert_allclose(scores - scores[:, :1], expected - expected[:, :1], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(model.covariance_, reference.covariance_, rtol=1e-6, atol=1e-8)


def test_categories_learned_later_are_as_good_as_at_once(small):
    late = small.labels >= 4
    grown = Lda(cluster="kmeans").fit(small.rows[~late], small.labels[~late])
    grown.partial_fit(small.rows[late], small.labels[late])
    whole = Lda(cluster="kmeans").fit(small.rows, small.labels)
    np.testing.assert_allclose(grown.covariance_, whole.covariance_, atol=1e-9)
    np.testing.assert_array_equal(grown.predict(small.batch), whole.predict(small.batch))


def test_units_do_not_matter(small):
    model = Lda(cluster="kmeans").fit(small.rows, small.labels)
    scaled = Lda(cluster="kmeans").fit(1e-3 * small.rows, small.labels)
    np.testing.assert_array_equal(model.predict(small.batch), scaled.predict(1e-3 * small.batch))
