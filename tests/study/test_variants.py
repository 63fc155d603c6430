import numpy as np
import pytest

from vbcgcd import CategoryDiscoverer
from vbcgcd.study.runner import run_plan, upper_bound
from vbcgcd.study.variants import Replay


def test_the_papers_configuration_does_not_mind_the_scale_of_a_dimension(small_data, small_plans):
    plan = small_plans[0]
    scale = np.random.default_rng(0).uniform(0.01, 100, small_data.train_x.shape[1]).astype(np.float32)
    seen = []
    for factor in (1, scale):
        method = CategoryDiscoverer.paper(n_components=16)
        method.fit(small_data.train_x[plan.base_rows] * factor, small_data.train_y[plan.base_rows])
        method.discover(small_data.train_x[plan.sessions[0].rows] * factor, n_novel=2)
        seen.append(method.predict(small_data.test_x * factor))
    assert np.mean(seen[0] == seen[1]) > 0.99


@pytest.mark.parametrize("make", [CategoryDiscoverer.paper, Replay])
def test_variants_run_over_a_plan_and_have_a_bound(make, small_data, small_plans):
    options = {"n_components": 16}
    if make is Replay:
        options |= {"n_samples": 100, "hidden": 128}
    result = run_plan(make(**options), small_data, small_plans[0])
    assert result.base > 0.9
    assert result.final.all > 0.5
    assert result.sessions[-1].nbytes > 0
    assert upper_bound(lambda: make(**options), small_data, small_plans[0]).final.all > 0.85


def test_replay_learns_from_samples_alone_and_comes_close_to_the_direct_classifier(small_data, small_plans):
    plan = small_plans[0]
    x, y = small_data.train_x[plan.base_rows], small_data.train_y[plan.base_rows]
    replay, direct = (
        Replay(n_components=16, n_samples=100, hidden=128).fit(x, y),
        CategoryDiscoverer(n_components=16).fit(x, y),
    )
    seen = np.isin(small_data.test_y, plan.labelled)
    agree = np.mean(replay.predict(small_data.test_x[seen]) == direct.predict(small_data.test_x[seen]))
    assert agree > 0.93
    before = replay.network_
    replay.discover(small_data.train_x[plan.sessions[0].rows], n_novel=2)
    assert replay.network_ is not before
    assert len(replay.network_.classes_) == len(replay.model.classes_) == 6
    assert set(replay.predict(small_data.test_x).tolist()) == set(replay.model.classes_.tolist())


def test_replay_draws_the_same_samples_for_the_same_seed(small_data, small_plans):
    plan = small_plans[0]
    x, y = small_data.train_x[plan.base_rows], small_data.train_y[plan.base_rows]
    one, same, other = (Replay(n_components=8, epochs=3, random_state=s).fit(x, y) for s in (0, 0, 1))
    np.testing.assert_array_equal(one.network_.coefs_[0], same.network_.coefs_[0])
    assert not np.array_equal(one.network_.coefs_[0], other.network_.coefs_[0])
