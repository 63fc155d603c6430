"""What every rival must do, whatever its idea: ours is judged by the same suite."""

import inspect
import itertools

import numpy as np
import pytest
from packages import skip_without_package

from vbcgcd import InputError, NotFittedError
from vbcgcd.study.methods import ALL, TOOLS
from vbcgcd.study.runner import make_method, run_plan
from vbcgcd.study.scoring import outcome_of

#: Small settings for methods that train, so that the suite is quick; the mechanism is the same.
QUICK = {
    "vb-released": {"n_components": 8, "n_steps": 100},
    "simgcd-frozen": {"epochs": 5},
    "happy-frozen": {"epochs": 5},
    "gm-frozen": {"epochs": 5},
    "metagcd-frozen": {"epochs": 3},
}


EVERY = (*ALL, *(card.name for card in TOOLS))


def made(name):
    skip_without_package(name)
    options = QUICK.get(name, {})
    accepted = inspect.signature(make_method(name).__init__).parameters
    return make_method(name, **{k: v for k, v in options.items() if k in accepted})


@pytest.fixture(scope="module", params=EVERY)
def learned(request, small_data, small_plans):
    """A rival after two sessions, with what it said on the way."""
    plan, method = small_plans[0], made(request.param)
    method.fit(small_data.train_x[plan.base_rows], small_data.train_y[plan.base_rows])
    story = [(np.array(method.classes_), method.predict(small_data.test_x), None)]
    for session in plan.sessions:
        outcome = outcome_of(method.discover(small_data.train_x[session.rows], n_novel=2))
        story.append((np.array(method.classes_), method.predict(small_data.test_x), outcome))
    return request.param, method, story


def test_ids_never_change(learned):
    _, _, story = learned
    for (before, _, _), (after, _, outcome) in itertools.pairwise(story):
        np.testing.assert_array_equal(after[: len(before)], before)
        np.testing.assert_array_equal(after[len(before) :], outcome.novel)
        assert not np.isin(outcome.novel, before).any()


def test_only_ids_that_exist_are_given(learned, small_plans):
    _, _, story = learned
    for (classes, predicted, outcome), session in zip(story[1:], small_plans[0].sessions, strict=True):
        assert len(outcome.labels_) == len(session.rows)
        assert np.isin(outcome.labels_, [*classes, -1]).all()  # -1 is unassigned
        assert np.isin(predicted, classes).all()
        assert outcome.novelty_ is None or np.asarray(outcome.novelty_).shape == (len(session.rows),)


def test_known_digits_are_still_known(learned, small_data, small_plans):
    """Far above chance (1 in 4 and 1 in 8): a rival at chance would be a bug."""
    _, _, story = learned
    labelled = np.isin(small_data.test_y, small_plans[0].labelled)
    for (_, predicted, _), least in zip(story, (0.8, 0.6, 0.5), strict=True):
        assert np.mean(predicted[labelled] == small_data.test_y[labelled]) > least


def test_the_same_seed_gives_the_same_answer(learned, small_data, small_plans):
    name, _, story = learned
    again, plan = made(name), small_plans[0]
    again.fit(small_data.train_x[plan.base_rows], small_data.train_y[plan.base_rows])
    for session, (_, predicted, outcome) in zip(plan.sessions, story[1:], strict=True):
        same = again.discover(small_data.train_x[session.rows], n_novel=2)
        np.testing.assert_array_equal(same.labels_, outcome.labels_)
        np.testing.assert_array_equal(again.predict(small_data.test_x), predicted)


def test_what_is_kept_is_smaller_than_the_rows(learned, small_data):
    _, method, _ = learned
    assert 0 < method.nbytes < 5 * small_data.train_x.nbytes


def test_the_answer_is_the_most_probable_category(learned, small_data):
    name, method, story = learned
    if not hasattr(method, "predict_proba"):
        pytest.skip(f"{name} has no probabilities")
    probability = method.predict_proba(small_data.test_x)
    assert probability.shape == (len(small_data.test_x), len(method.classes_))
    assert probability.min() >= 0
    if name != "bertopic-merge":  # cosines, which BERTopic calls probabilities
        np.testing.assert_allclose(probability.sum(axis=1), 1, atol=1e-6)
    np.testing.assert_array_equal(method.classes_[probability.argmax(axis=1)], story[-1][1])


def test_methods_without_a_distribution_report_none():
    without = {"ncm", "ncm-kmeans", "fecam", "gcd-frozen", "metagcd-frozen", "hdbscan", "birch"}
    assert not [name for name in without if hasattr(made(name), "predict_proba")]


@pytest.mark.parametrize("name", EVERY)
def test_discover_takes_no_labels(name):
    parameters = inspect.signature(made(name).discover).parameters
    assert not {"y", "labels", "target", "truth"} & set(parameters)
    positional = [p for p in parameters.values() if p.kind is not inspect.Parameter.KEYWORD_ONLY]
    assert len(positional) == 1


@pytest.mark.parametrize("name", EVERY)
def test_labels_may_be_strings(name, small_data, small_plans):
    plan, method = small_plans[0], made(name)
    names = np.array([f"digit {c}" for c in small_data.train_y])
    method.fit(small_data.train_x[plan.base_rows], names[plan.base_rows])
    outcome = outcome_of(method.discover(small_data.train_x[plan.sessions[0].rows], n_novel=2))
    assert all(isinstance(label, str) for label in outcome.novel.tolist())
    assert set(method.predict(small_data.test_x[:20]).tolist()) <= set(method.classes_.tolist())


@pytest.mark.parametrize("name", EVERY)
def test_bad_input_is_one_clear_error(name, small_data, small_plans):
    method, plan = made(name), small_plans[0]
    with pytest.raises(NotFittedError):
        method.predict(small_data.test_x)
    with pytest.raises(NotFittedError):
        method.discover(small_data.test_x, n_novel=1)
    x, y = small_data.train_x[plan.base_rows], small_data.train_y[plan.base_rows]
    bad = x.copy()
    bad[3, 5] = np.nan
    with pytest.raises(InputError, match="NaN"):
        method.fit(bad, y)
    method.fit(x, y)
    for rows, n_novel in ((x[:, :-1], 1), (bad, 1), (x[:0], 1), (x[:5], 6), (x, -1)):
        with pytest.raises(InputError):
            method.discover(rows, n_novel=n_novel)


@pytest.mark.parametrize("name", ["ncm", "gcd-frozen"])
def test_a_rival_runs_over_a_plan(name, small_data, small_plans):
    result = run_plan(make_method(name), small_data, small_plans[0])
    assert result.final.all > 0.6
    assert [s.n_discovered for s in result.sessions] == [2, 2]


@pytest.mark.parametrize("name", EVERY[1:])
def test_options_that_no_method_can_mean_are_refused(name, small_data, small_plans):
    base = small_plans[0].base_rows
    numbers = [
        option
        for option, parameter in inspect.signature(type(made(name)).__init__).parameters.items()
        if isinstance(parameter.default, int | float) and not isinstance(parameter.default, bool)
    ]
    for option in numbers:
        for value in (-1, float("nan"), "many"):
            method = made(name).set_params(**{option: value})
            with pytest.raises(InputError) as caught:
                method.fit(small_data.train_x[base], small_data.train_y[base])
            assert caught.value.option == option
            assert not hasattr(method, "classes_")
