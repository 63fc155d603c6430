import numpy as np
import pytest

from support import blobs
from vbcgcd import CategoryDiscoverer
from vbcgcd.discovery import rehearsal as rehearsal_module
from vbcgcd.discovery.mixture import Mixture
from vbcgcd.discovery.rehearsal import rehearse
from vbcgcd.discovery.search import SAFETY, Path, eliminate, gains


def path_of(likelihood, novel):
    size = np.arange(len(likelihood) - 1, -1, -1)
    return Path(size, np.array(likelihood, float), np.array(novel, float), {}, True)


def test_gains_are_those_computed_by_hand():
    path = path_of([100, 96, 70, 10], [30, 28, 20, 0])
    found = gains(path, 44.0, np.array([3.0, 2.0]))
    want = [
        (60 - SAFETY * 3 * np.sqrt(24)) / 20,  # the first category, of 20 rows
        (26 - SAFETY * 2 * np.sqrt(16)) / 14,  # the second, of two that share 28 rows
        4 / 10,  # the third: outliers never gave three groups
    ]
    np.testing.assert_allclose(found, want)


def test_gains_without_outliers_add_up_to_the_likelihood():
    path = path_of([50, 45, 20, 3, -30], [40, 36, 30, 20, 0])
    per_row = gains(path, 100.0, np.zeros(8))
    rows = (path.novel_rows[:-1] / path.size[:-1])[::-1]
    np.testing.assert_allclose(np.cumsum(per_row * rows)[-1], 80)


def test_more_novel_rows_than_rows_are_no_trouble():
    assert np.isfinite(gains(path_of([5, 1, 0], [12, 0, 0]), 10.0, np.ones(3))).all()


def price(model, rows, labels, seed=0):
    codes = np.unique(labels, return_inverse=True)[1]
    return rehearse(rows, codes, model.reducer_, model.novelty_.geometry, np.random.default_rng(seed))


def test_digits_have_a_price(digit_problem):
    model = CategoryDiscoverer(count="rehearsal").fit(digit_problem.rows, digit_problem.labels)
    known = model.knowledge_.price
    assert np.isfinite(known.per_row)
    assert known.per_row > 0
    assert np.isfinite(known.outliers).all()
    assert known.outliers.min() >= 0
    assert known.outliers.max() > 0
    assert (np.diff(known.outliers) <= 0).all()


def test_the_same_seed_gives_the_same_price(small, fitted):
    one, other, another = (price(fitted, small.rows, small.labels, seed) for seed in (3, 3, 4))
    assert one.per_row == other.per_row
    np.testing.assert_array_equal(one.outliers, other.outliers)
    assert one.per_row != another.per_row


@pytest.mark.parametrize(("n_categories", "expected"), [(1, False), (2, False), (3, False), (4, True)])
def test_a_rehearsal_needs_four_categories(small, n_categories, expected):
    chosen = small.labels < n_categories
    model = CategoryDiscoverer(n_components=8, count="rehearsal")
    model.fit(small.rows[chosen], small.labels[chosen])
    assert (price(model, small.rows[chosen], small.labels[chosen]) is not None) == expected
    assert (model.knowledge_.price is not None) == expected


def test_a_rehearsal_needs_five_rows_a_category(small):
    chosen = np.concatenate([np.flatnonzero(small.labels == k)[:4] for k in range(6)])
    model = CategoryDiscoverer(n_components=8, count="rehearsal")
    model.fit(small.rows[chosen], small.labels[chosen])
    assert model.knowledge_.price is None


@pytest.mark.parametrize("sizes", [(5, 5, 5, 5), (47, 1, 1, 1), (22, 22, 1, 1, 1)], ids=str)
def test_few_or_uneven_rows_are_no_trouble(sizes):
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    rows = 6 * np.eye(8)[labels] + rng.normal(size=(len(labels), 8))
    for seed in range(12):
        model = CategoryDiscoverer(random_state=seed, count="rehearsal").fit(rows, labels)
        found = model.knowledge_.price
        assert found is None or (np.isfinite(found.per_row) and np.isfinite(found.outliers).all())


@pytest.mark.parametrize("count", ["merge", "evidence"])
def test_no_price_is_learned_for_other_estimators(small, count):
    model = CategoryDiscoverer(n_components=8, count=count).fit(small.rows, small.labels)
    assert model.knowledge_.price is None


def test_the_price_lies_between_weak_real_categories_and_good_fragments(small, fitted, monkeypatch):
    # Two hidden categories in each of three rehearsals; eliminated crowds as designed here.
    gain = np.array([80.0, 60.0, 10.0, 6.0, 1.0, 0.5, 0.2])
    likelihood = np.concatenate([[0.0], np.cumsum(gain)])[::-1]
    size = np.arange(7, -1, -1)
    crowds = []

    def eliminated(mixture, crowd, rng, give_up):
        crowds.append(crowd)
        return Path(size, likelihood if crowd == 7 else np.zeros(8), np.where(size > 0, 42.0, 0.0), {}, True)

    monkeypatch.setattr(rehearsal_module, "eliminate", eliminated)
    result = price(fitted, small.rows, small.labels)
    assert sorted(crowds) == [7] * 3 + [8] * 3
    worth = gain / (42.0 / np.arange(1, 8))
    real, fragment = worth[1:2].mean(), worth[2:4].mean()  # from 0.6 of the number on, up to 1.6 of it
    assert result.per_row == pytest.approx(np.sqrt(real * fragment))
    np.testing.assert_array_equal(result.outliers, np.zeros(7))


def test_eliminations_side_by_side_draw_what_they_would_draw_in_turn(digit_problem):
    model = CategoryDiscoverer(count="evidence").fit(digit_problem.rows, digit_problem.labels)
    mixture = Mixture.of(
        model.transform(digit_problem.rows[:200]), model.posterior_.mean, model.novelty_.geometry
    )
    one_by_one, side_by_side = np.random.default_rng(0), np.random.default_rng(0)
    paths = [eliminate(mixture, crowd, one_by_one) for crowd in (5, 3)]
    reserved = [(crowd, rehearsal_module._reserved(side_by_side, crowd)) for crowd in (5, 3)]
    trials = [rehearsal_module._Trial(mixture, crowd, rng) for crowd, rng in reserved]
    assert one_by_one.random() == side_by_side.random()
    for path, trial in reversed(list(zip(paths, trials, strict=True))):
        np.testing.assert_array_equal(trial.path().log_likelihood, path.log_likelihood)


def test_a_path_that_ends_early_gives_the_same_price(monkeypatch):
    rows, labels = blobs(n_categories=15, dim=8, each=12)
    model, ends = CategoryDiscoverer(count="evidence").fit(rows, labels), []

    def noted(mixture, crowd, rng, give_up):
        path = eliminate(mixture, crowd, rng, give_up=give_up)
        ends.append(path.size[-1])
        return path

    def whole(mixture, crowd, rng, give_up):
        return eliminate(mixture, crowd, rng)

    monkeypatch.setattr(rehearsal_module, "eliminate", noted)
    early = price(model, rows, labels)
    assert max(ends) > 0
    monkeypatch.setattr(rehearsal_module, "eliminate", whole)
    late = price(model, rows, labels)
    assert early.per_row == late.per_row
    np.testing.assert_array_equal(early.outliers, late.outliers)


@pytest.mark.parametrize("n_hidden", [2, 3, 7, 10])
def test_worth_does_not_need_the_strongest_categories(n_hidden):
    rng, size = np.random.default_rng(n_hidden), int(2.5 * n_hidden) + 2
    path = path_of(np.sort(rng.uniform(0, 900, size + 1))[::-1], np.arange(10 * size, -1, -10))
    end = size + 1 - int(0.6 * n_hidden)
    short = Path(path.size[:end], path.log_likelihood[:end], path.novel_rows[:end], {}, False)
    outliers = np.linspace(2, 0.1, 8)
    whole, cut = (rehearsal_module._worth(p, 40.0 * size, outliers, n_hidden) for p in (path, short))
    assert whole == cut
    assert whole[0] == gains(path, 40.0 * size, outliers)[int(0.6 * n_hidden) : n_hidden].mean()
