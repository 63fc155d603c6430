import dataclasses

import numpy as np
import pytest

from vbcgcd import CategoryDiscoverer
from vbcgcd.study.traces import calibration_of, estimates_of, progress_of_session, two_categories


def test_the_path_leads_from_the_prior_to_the_learned_session(small_data, small_plans):
    plan = small_plans[0]
    model = CategoryDiscoverer(n_components=16, relabel="none", cluster="kmeans", unassigned=False)
    trace = progress_of_session(small_data, plan, model)
    seen = np.isin(small_data.test_y, plan.known_before(1))
    new = np.isin(small_data.test_y[seen], plan.sessions[0].novel)
    predicted = model.predict(small_data.test_x[seen])
    old_right = np.mean(predicted[~new] == small_data.test_y[seen][~new])
    assert trace.old[-1] == pytest.approx(old_right, abs=0.03)
    assert trace.new[-1] > trace.new[0] - 0.05
    assert trace.steps[0] == 0
    assert trace.volume[0] == pytest.approx(model.prior_.log_det_covariance, abs=1e-4)
    exact = model.posterior_.log_det_covariance[-len(plan.sessions[0].novel) :].mean()
    start = abs(trace.volume[0] - exact)
    assert abs(trace.volume[-1] - exact) < 0.1 * start  # rows without a novel label do not teach here
    n_old, n_new = (~new).sum(), new.sum()
    np.testing.assert_allclose(trace.all, (n_old * trace.old + n_new * trace.new) / (n_old + n_new))


def test_the_stopping_point_is_where_the_volumes_meet(small_data, small_plans):
    trace = progress_of_session(small_data, small_plans[0], CategoryDiscoverer.paper(n_components=16))
    crossed = np.flatnonzero(np.diff(trace.volume > trace.known_volume))
    if trace.stop is None:
        assert len(crossed) == 0
    else:
        assert trace.steps[crossed[0]] <= trace.stop <= trace.steps[crossed[0] + 1]


def test_calibration_is_judged_on_the_classes_so_far(small_data, small_plans):
    plan, model = small_plans[0], CategoryDiscoverer(n_components=16)
    trace = calibration_of(small_data, plan, model)
    np.testing.assert_allclose(trace.weight.sum(axis=1), 1)
    seen = np.isin(small_data.test_y, plan.known_before(len(plan.sessions)))
    probability = model.predict_proba(small_data.test_x[seen]).max(axis=1)
    assert np.nansum(trace.confidence[1] * trace.weight[1]) == pytest.approx(probability.mean(), abs=0.02)
    gap = np.nansum(trace.weight[1] * np.abs(trace.confidence[1] - trace.accuracy[1]))
    assert trace.error[1] == pytest.approx(gap, abs=1e-9)
    assert len(trace.false_alarms) == len(plan.sessions) + 1
    alarms = np.mean(model.novelty(small_data.test_x[seen]) > 0.95)
    assert trace.false_alarms[-1] == pytest.approx(alarms)


def test_the_papers_configuration_scales_the_rows_by_itself(small_data, small_plans):
    base = small_data.train_x[small_plans[0].base_rows]
    scale = np.maximum(base.std(axis=0), 1e-12)
    train, test = ((x - base.mean(axis=0)) / scale for x in (small_data.train_x, small_data.test_x))
    scaled = dataclasses.replace(small_data, train_x=train, test_x=test)
    traces = [
        progress_of_session(data, small_plans[0], CategoryDiscoverer.paper(alignment=None))
        for data in (small_data, scaled)
    ]
    np.testing.assert_allclose(traces[0].volume, traces[1].volume, rtol=1e-3)
    np.testing.assert_allclose(traces[0].all, traces[1].all, atol=0.01)


def test_estimates_are_those_of_the_rows(small_data, small_plans):
    both = estimates_of(small_data, small_plans[0])
    assert both.n_rows == 48
    np.testing.assert_allclose(both.mean_vi, both.mean_pe, atol=0.05 * np.abs(both.mean_pe).max())
    assert np.trace(both.covariance_vi) > 0
    eigenvalues = np.linalg.eigvalsh(both.covariance_vi)
    assert (
        eigenvalues.min() > 0
    )  # 48 rows are too few for a point estimate of full rank, not for the posterior


def test_the_nearest_two_classes_are_shown(small_data, small_plans):
    pair = two_categories(small_data, small_plans[0])
    x, y = small_data.train_x, small_data.train_y
    base = small_plans[0].base_rows
    means = {c: x[base][y[base] == c].mean(axis=0) for c in small_plans[0].labelled.tolist()}
    gaps = {(a, b): np.linalg.norm(means[a] - means[b]) for a in means for b in means if a < b}
    assert tuple(sorted(pair.names)) == min(gaps, key=gaps.get)
    assert pair.first.shape == (48, 8)
