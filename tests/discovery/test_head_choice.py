"""The head's settings suit left-out rows; where it does not help there is none."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from vbcgcd import CategoryDiscoverer
from vbcgcd.bayes import log_normalise
from vbcgcd.discovery.base import learn_base
from vbcgcd.discovery.direction_head import DirectionHead
from vbcgcd.discovery.head_choice import RIDGES, Opinions, add_opinions, choose_settings
from vbcgcd.discovery.options import Options


def opinions(informative, n_rows=400, n_categories=5, seed=0):
    """Densities that say something, and scores that say something too for some ridges."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_categories, size=n_rows)
    own = np.eye(n_categories)[labels]
    density = 20 * own + 10 * rng.normal(size=own.shape)
    scores = np.stack([strength * own + 0.3 * rng.normal(size=own.shape) for strength in informative])
    return Opinions(density - density.max(axis=1, keepdims=True), scores, labels)


def test_temperature_and_weight_minimise_the_cross_entropy():
    density, (scores,), labels = opinions([0.5])
    found = add_opinions(density, scores, labels, 0.1)

    def loss(temperature, weight):
        return -log_normalise(temperature * density + weight * scores)[np.arange(400), labels].mean()

    assert loss(found.temperature, found.weight) == pytest.approx(found.losses.mean())
    for around in ((1.05, 1), (0.95, 1), (1, 1.05), (1, 0.95)):
        assert loss(found.temperature * around[0], found.weight * around[1]) > found.losses.mean()
    alone = minimize_scalar(lambda t: loss(t, 0), bounds=(0.001, 2), method="bounded").fun
    assert found.losses.mean() < alone


def test_the_best_ridge_wins_and_among_equals_the_least():
    assert choose_settings(opinions([0, 0, 0, 0.8, 0]))[0] == RIDGES[3]
    same = opinions([0.5])
    assert choose_settings(same._replace(scores=np.repeat(same.scores, 5, axis=0)))[0] == RIDGES[0]


@pytest.mark.parametrize("seed", range(4))
def test_scores_that_say_nothing_are_left_out(seed):
    settings = choose_settings(opinions([0] * 5, seed=seed, n_rows=2000))
    assert settings is None or settings[1].weight < 0.5


def test_it_is_never_worse_than_the_gaussians_alone_on_left_out_rows():
    given = opinions([0.4] * 5)
    _, settings = choose_settings(given)
    assert settings.right >= (given.density.argmax(axis=1) == given.labels).mean()


def opposite(seed, each):
    """Categories along axes, on both sides of the origin: their means are all the same."""
    rng, labels = np.random.default_rng(seed), np.repeat(np.arange(6), each)
    side = np.where(np.arange(len(labels)) % 2, 4.0, -4.0)
    return side[:, None] * np.eye(6)[labels] + rng.normal(size=(len(labels), 6)), labels


def test_where_means_do_not_tell_categories_apart_the_head_is_chosen_and_helps():
    rows, labels = opposite(0, 20)
    new_rows, truth = opposite(1, 50)
    plain = CategoryDiscoverer(metric="euclidean").fit(rows, labels)
    model = CategoryDiscoverer(metric="euclidean", head="ridge", head_features=300).fit(rows, labels)
    assert plain.score(new_rows, truth) < 0.5
    assert model.score(new_rows, truth) > 0.85
    sure = model.predict_proba(new_rows).max(axis=1).mean()
    assert abs(sure - model.score(new_rows, truth)) < 0.06


@pytest.mark.parametrize("options", [{}, {"covariance": "diagonal"}, {"whiten": False, "dtype": "float64"}])
def test_a_head_is_chosen_for_any_structure(options):
    rows, labels = opposite(0, 20)
    head = learn_base(
        rows, labels, Options(head="ridge", head_features=300, metric="euclidean", **options)
    ).head
    assert len(head.statistics) == head.n_chosen == 6
    assert head.weight == head.chosen_weight > 0
    assert np.isclose(np.array(RIDGES) * head.statistics.trace, head.penalty).any()


@pytest.mark.parametrize("options", [{}, {"covariance": "diagonal"}, {"whiten": False, "dtype": "float64"}])
def test_a_discriminant_of_directions_is_chosen_where_lengths_mislead(options):
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(8), 25)
    means = rng.normal(size=(8, 12))
    # Rows of a category lie along a ray, each in a distance of its own.
    draw = lambda: (means[labels] + 0.5 * rng.normal(size=(200, 12))) * rng.lognormal(0, 1, (200, 1))  # noqa: E731
    rows, later = draw(), draw()
    plain = CategoryDiscoverer(normalise=False, **options).fit(rows, labels)
    model = CategoryDiscoverer(normalise=False, head="direction", **options).fit(rows, labels)
    assert isinstance(model.knowledge_.head, DirectionHead)
    assert model.knowledge_.head.weight > 0
    assert model.score(later, labels) > plain.score(later, labels)


@pytest.mark.parametrize("kind", ["ridge", "direction"])
@pytest.mark.parametrize("sizes", [(1, 1), (1, 5), (2, 2), (5, 1, 1), (1, 1, 1, 1, 9)])
def test_categories_of_one_row_do_no_harm(sizes, kind):
    labels = np.repeat(np.arange(len(sizes)), sizes)
    rows = np.random.default_rng(0).normal(size=(len(labels), 4)) + 5 * labels[:, None]
    knowledge = learn_base(rows, labels, Options(head=kind, head_features=20))
    if knowledge.head is not None and kind == "ridge":
        assert len(knowledge.head.statistics) == len(sizes)
    assert np.isfinite(knowledge.log_probabilities(knowledge.reduced(rows))).all()


def test_one_category_needs_no_head():
    rows = np.random.default_rng(0).normal(size=(9, 4))
    assert learn_base(rows, np.zeros(9, dtype=int), Options(head="ridge")).head is None
