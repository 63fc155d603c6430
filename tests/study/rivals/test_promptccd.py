import numpy as np
import pytest

from vbcgcd.study.rivals.kmeans import unit_rows
from vbcgcd.study.rivals.promptccd import PromptCcdFrozen, _contrast, _matched
from vbcgcd.study.rivals.spherical import SphericalMixture, responsibilities

torch = pytest.importorskip("torch")


def quick(**options):
    return PromptCcdFrozen(**{"epochs": 3, "n_samples": 30, "n_restarts": 10, **options})


@pytest.fixture(scope="module")
def learned(digit_problem):
    rows, labels, batch, truth = digit_problem
    model = quick().fit(rows, labels)
    base = model.predict(batch[truth < 6])
    outcome = model.discover(batch, n_novel=4)
    return model, base, outcome


def test_digits_are_found(learned, digit_problem):
    _, _, batch, truth = digit_problem
    model, base, outcome = learned
    assert np.mean(base == truth[truth < 6]) > 0.85
    predicted = model.predict(batch)
    np.testing.assert_array_equal(predicted, outcome.labels_)
    assert np.mean(predicted[truth < 6] == truth[truth < 6]) > 0.75
    assert np.isin(predicted[truth >= 6], outcome.novel).mean() > 0.5


def test_the_novelty_of_novel_rows_is_higher(learned, digit_problem):
    novelty, truth = learned[2].novelty_, digit_problem.truth
    assert np.median(novelty[truth >= 6]) > np.median(novelty[truth < 6])


def test_training_moves_the_prompt_and_lowers_the_loss(small):
    still, moved = (quick(epochs=e).fit(small.rows, small.labels) for e in (0, 10))
    assert not still.prompt_.any()
    assert moved.prompt_.any()
    unit = unit_rows(small.rows)
    codes = torch.from_numpy(small.labels).repeat(2)
    losses = []
    for model in (still, moved):
        f = torch.from_numpy(model._prompted(unit)).repeat(2, 1)
        losses.append(float(_contrast(f, codes, 0.07)))
    assert losses[1] < losses[0]


def test_prompts_are_means_of_the_best_components(small):
    model = quick(epochs=0, top_k=2).fit(small.rows, small.labels)
    unit = unit_rows(small.batch[:5])
    weight = responsibilities(unit, model.pool_)
    for row, prompt in zip(weight, model._prompts(unit), strict=True):
        best = np.argsort(row)[-2:]
        expected = row[best] @ model.pool_.means[best] / row[best].sum()
        np.testing.assert_allclose(prompt, expected)


def test_contrast_by_brute_force():
    rng = np.random.default_rng(0)
    f = unit_rows(rng.standard_normal((8, 3)))
    groups = np.array([0, 0, 1, 1, 1, 2, 2, 2])
    losses = []
    for i in range(8):
        others = [j for j in range(8) if j != i]
        log_sum = np.log(sum(np.exp(f[i] @ f[j] / 0.5) for j in others))
        positive = [j for j in others if groups[j] == groups[i]]
        losses.append(-np.mean([f[i] @ f[j] / 0.5 - log_sum for j in positive]))
    found = _contrast(torch.from_numpy(f), torch.from_numpy(groups), 0.5)
    assert float(found) == pytest.approx(np.mean(losses))


def test_components_are_matched_to_those_before():
    before = SphericalMixture(np.full(2, 0.5), np.array([[0.0, 0], [5, 0]]), np.ones(2))
    means = np.array([[5.1, 0], [9, 9], [0.1, 0]])
    after = _matched(SphericalMixture(np.array([0.2, 0.3, 0.5]), means, np.arange(3.0)), before)
    np.testing.assert_array_equal(after.means, means[[2, 0, 1]])
    assert after.weights.tolist() == [0.5, 0.2, 0.3]
    assert after.variances.tolist() == [2, 0, 1]


def test_the_number_can_be_estimated():
    rng = np.random.default_rng(0)
    centres = unit_rows(rng.standard_normal((7, 10)))
    codes = np.repeat(np.arange(7), 40)
    rows = centres[codes] + 0.05 * rng.standard_normal((len(codes), 10))
    model = quick(epochs=0).fit(rows[codes < 4], codes[codes < 4])
    outcome = model.discover(rows[codes >= 3])
    assert len(outcome.novel) == 3
    predicted = model.predict(rows)
    np.testing.assert_array_equal(predicted[codes < 4], codes[codes < 4])
    assert [len(set(predicted[codes == k])) for k in (4, 5, 6)] == [1, 1, 1]
