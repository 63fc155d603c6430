"""Weights of rows, and the estimator among scikit-learn's own tools."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from support import blobs
from vbcgcd import CategoryDiscoverer, InputError

#: Nothing is calibrated, so that the posteriors are a function of the statistics alone.
FIXED = {"prior_strength": 30.0, "whiten_shrinkage": 0.2, "normalise": False}


@pytest.fixture(scope="module")
def data():
    rows, codes = blobs(n_categories=4, each=40, dim=6)
    weight = np.random.default_rng(3).integers(1, 4, size=len(rows))
    return rows, codes, weight


def assert_same_posteriors(one, other):
    for name in ("mean", "kappa", "nu", "factor"):
        np.testing.assert_allclose(
            getattr(one.posterior_, name), getattr(other.posterior_, name), rtol=2e-4, atol=2e-4
        )


@pytest.mark.parametrize(
    "options", [{}, {"covariance": "diagonal", "whiten": False}, {"whiten": False, "standardise": True}]
)
def test_a_weight_of_two_is_the_row_twice(data, options):
    rows, codes, weight = data
    options = {**FIXED, "dtype": "float64", **options}
    weighted = CategoryDiscoverer(**options).fit(rows, codes, sample_weight=weight)
    repeated = CategoryDiscoverer(**options).fit(np.repeat(rows, weight, axis=0), np.repeat(codes, weight))
    # Axes along which categories do not differ may be turned; densities do not depend on it.
    np.testing.assert_allclose(weighted.score_samples(rows), repeated.score_samples(rows), rtol=1e-6)
    np.testing.assert_allclose(weighted.posterior_.kappa, repeated.posterior_.kappa)


def test_weights_of_one_change_nothing_and_zeros_are_no_rows(data):
    rows, codes, _ = data
    plain = CategoryDiscoverer().fit(rows, codes)
    ones = CategoryDiscoverer().fit(rows, codes, np.ones(len(rows)))
    np.testing.assert_allclose(plain.predict_proba(rows), ones.predict_proba(rows), rtol=1e-5, atol=1e-9)
    more, labels = np.vstack([rows, 50 + rows[:9]]), np.append(codes, np.full(9, 77))
    zeros = CategoryDiscoverer().fit(more, labels, np.arange(len(more)) < len(rows))
    np.testing.assert_array_equal(zeros.predict_proba(rows), ones.predict_proba(rows))
    assert 77 not in zeros.classes_


def test_partial_fit_counts_a_row_as_often_as_its_weight(data):
    rows, codes, weight = data
    models = [CategoryDiscoverer().fit(rows[codes < 3], codes[codes < 3]) for _ in range(2)]
    models[0].partial_fit(rows, codes, sample_weight=weight)
    models[1].partial_fit(np.repeat(rows, weight, axis=0), np.repeat(codes, weight))
    assert_same_posteriors(*models)
    fresh = CategoryDiscoverer().partial_fit(rows, codes, sample_weight=weight)
    again = CategoryDiscoverer().fit(rows, codes, sample_weight=weight)
    np.testing.assert_array_equal(fresh.predict_proba(rows), again.predict_proba(rows))


def test_known_posteriors_stay_as_they_are_after_a_weighted_fit(data):
    rows, codes, weight = data
    model = CategoryDiscoverer().fit(rows[codes < 3], codes[codes < 3], weight[codes < 3])
    before = model.posterior_.factor.copy()
    model.discover(rows, sample_weight=weight)
    np.testing.assert_array_equal(model.posterior_.factor[:3], before)


@pytest.mark.parametrize("svi", [False, True])
def test_heavy_rows_draw_their_category(data, svi):
    rows, codes, _ = data
    options = {"inference": "svi"} if svi else {}
    weight = np.where(rows[:, 0] > np.median(rows[:, 0]), 20.0, 1.0)
    heavy = CategoryDiscoverer(**FIXED, **options).fit(rows, codes, weight)
    flat = CategoryDiscoverer(**FIXED, **options).fit(rows, codes)
    assert heavy.posterior_.kappa.sum() > 5 * flat.posterior_.kappa.sum()


def test_what_weights_cannot_be(data):
    rows, codes, weight = data
    with pytest.raises(InputError, match="head"):
        CategoryDiscoverer(head="ridge").fit(rows, codes, weight)
    with pytest.raises(InputError, match="sample_weight must have shape"):
        CategoryDiscoverer().fit(rows, codes, weight[:3])


def test_a_step_of_a_pipeline_names_its_columns(data):
    rows, codes, _ = data
    model = CategoryDiscoverer(n_components=3).set_output(transform="pandas")
    frame = model.fit(rows, codes).transform(rows)
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == [f"categorydiscoverer{i}" for i in range(3)]
    pipeline = make_pipeline(StandardScaler(), CategoryDiscoverer(n_components=3), LogisticRegression())
    assert pipeline.fit(rows, codes).score(rows, codes) > 0.9


def test_a_pipeline_discovers_through_its_last_step(data):
    rows, codes, _ = data
    pipeline = make_pipeline(StandardScaler(), CategoryDiscoverer())
    pipeline.fit(rows[codes < 3], codes[codes < 3])
    record = pipeline[-1].discover(pipeline[:-1].transform(rows), n_novel=1)
    assert record.n_novel == 1
    assert len(set(pipeline.predict(rows))) == 4


def test_weights_are_routed(data):
    rows, codes, weight = data
    with sklearn.config_context(enable_metadata_routing=True):
        model = CategoryDiscoverer(**FIXED).set_fit_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
        pipeline.fit(rows, codes, sample_weight=weight)
        by_hand = CategoryDiscoverer(**FIXED).fit(StandardScaler().fit_transform(rows), codes, weight)
        np.testing.assert_array_equal(pipeline[-1].posterior_.kappa, by_hand.posterior_.kappa)
        scores = cross_validate(
            model.set_score_request(sample_weight=True), rows, codes, params={"sample_weight": weight}, cv=2
        )
        assert scores["test_score"].min() > 0.9
        search = GridSearchCV(model, {"n_components": [2, 3]}, cv=2).fit(rows, codes, sample_weight=weight)
        assert search.best_score_ > 0.9
