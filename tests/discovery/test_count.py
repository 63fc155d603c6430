import numpy as np
import pytest

from vbcgcd import CategoryDiscoverer
from vbcgcd.bayes import log_evidence, posterior_of, statistics_by_label
from vbcgcd.discovery import count as count_module
from vbcgcd.discovery.count import COUNTERS, Counted
from vbcgcd.discovery.search import CategoryPrice, Path
from vbcgcd.record import CountCurve

DIM, N_KNOWN, N_NOVEL = 40, 20, 5
CENTRES = 2.5 * np.random.default_rng(0).normal(size=(N_KNOWN + N_NOVEL, DIM))


def draw(labels, seed):
    return CENTRES[labels] + np.random.default_rng(seed).normal(size=(len(labels), DIM))


def rows_of(known_each, novel_each, seed=1, n_novel=N_NOVEL):
    labels = np.concatenate(
        [
            np.repeat(np.arange(N_KNOWN), known_each),
            np.repeat(N_KNOWN + np.arange(n_novel), novel_each),
        ]
    )
    return draw(labels, seed)


@pytest.fixture
def learned():
    return learned_with("rehearsal")


def learned_with(count):
    labels = np.repeat(np.arange(N_KNOWN), 40)
    return CategoryDiscoverer(count=count).fit(draw(labels, 0), labels)


def sizes(record):
    return [record.counts[category] for category in record.novel]


def assert_estimated(report, model, n_known):
    assert report.estimated
    curve = report.count
    assert isinstance(curve, CountCurve)
    assert len(curve.candidates) == len(curve.scores)
    assert len(np.unique(curve.candidates)) == len(curve.candidates)
    assert np.isfinite(curve.scores).all()
    assert curve.chosen in curve.candidates
    assert report.n_novel <= curve.chosen
    assert len(model.classes_) == n_known + report.n_novel
    np.testing.assert_array_equal(model.classes_[n_known:], list(report.novel))


@pytest.mark.parametrize("known_each", [10, 0])
@pytest.mark.parametrize("seed", [1, 2])
def test_five_categories_are_five_with_and_without_known_rows(known_each, seed):
    model = learned_with("rehearsal")
    report = model.discover(rows_of(known_each, 40, seed))
    assert report.n_novel == report.count.chosen == 5
    assert report.count.method == "rehearsal"
    assert_estimated(report, model, N_KNOWN)
    np.testing.assert_array_equal(sorted(sizes(report)), [40] * 5)


@pytest.mark.parametrize("seed", [1, 2])
def test_one_category_is_one(learned, seed):
    report = learned.discover(rows_of(10, 40, seed, n_novel=1))
    assert report.n_novel == 1
    np.testing.assert_array_equal(sizes(report), [40])


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_known_rows_alone_are_hardly_taken_for_a_category(learned, seed):
    report = learned.discover(rows_of(15, 0, seed))
    assert report.n_novel <= 1
    assert report.novel_rows <= 15
    assert_estimated(report, learned, N_KNOWN)


@pytest.mark.parametrize("covariance", ["full", "lowrank", "diagonal"])
def test_empty_categories_are_not_counted_by_the_evidence(covariance):
    labels = np.repeat(np.arange(N_KNOWN), 40)
    model = CategoryDiscoverer(count="evidence", covariance=covariance).fit(draw(labels, 0), labels)
    assert model.discover(rows_of(10, 0)).count.chosen <= 1


def test_a_batch_given_twice_has_as_many_categories(learned):
    other = CategoryDiscoverer()
    labels = np.repeat(np.arange(N_KNOWN), 40)
    other.fit(draw(labels, 0), labels)
    batch = rows_of(10, 30)
    once, twice = learned.discover(batch), other.discover(np.concatenate([batch, batch]))
    assert abs(once.n_novel - twice.n_novel) <= 1


def test_four_digits_are_about_four(digit_problem):
    model = CategoryDiscoverer(count="rehearsal").fit(digit_problem.rows, digit_problem.labels)
    report = model.discover(digit_problem.batch)
    assert 3 <= report.n_novel <= 6
    assert_estimated(report, model, 6)


def test_a_given_number_is_not_estimated(small, fitted):
    report = fitted.discover(small.batch, n_novel=2)
    assert not report.estimated
    assert report.count is None


@pytest.mark.parametrize("count", COUNTERS)
@pytest.mark.parametrize("covariance", ["full", "lowrank", "diagonal"])
def test_every_estimator_draws_its_curve(small, count, covariance):
    model = CategoryDiscoverer(count=count, covariance=covariance, n_components=12)
    model.fit(small.rows, small.labels)
    report = model.discover(small.batch)
    assert_estimated(report, model, 6)
    assert report.count.method == count
    assert np.isin(model.predict(small.batch), model.classes_).all()


@pytest.mark.parametrize("count", ["evidence", "silhouette"])
def test_the_best_score_is_chosen(small, count):
    model = CategoryDiscoverer(count=count, n_components=12).fit(small.rows, small.labels)
    curve = model.discover(small.batch).count
    best = curve.scores[curve.candidates.index(curve.chosen)]
    assert best == pytest.approx(max(curve.scores), abs=0.01)


def test_one_category_is_left_where_every_merge_pays(small, monkeypatch):
    monkeypatch.setattr(count_module, "_ratio", lambda *arguments: 1.0)
    model = CategoryDiscoverer(count="merge", n_components=12).fit(small.rows, small.labels)
    curve = model.discover(small.batch).count
    assert len(curve.candidates) > 2
    np.testing.assert_array_equal(curve.candidates, np.arange(1, len(curve.candidates) + 1))
    assert curve.chosen == 1


def test_nothing_is_merged_where_no_merge_pays(small, monkeypatch):
    monkeypatch.setattr(count_module, "_ratio", lambda *arguments: -1.0)
    model = CategoryDiscoverer(count="merge", n_components=12).fit(small.rows, small.labels)
    curve = model.discover(small.batch).count
    assert curve.candidates == (curve.chosen,)


def test_silhouette_without_rows_that_look_novel_finds_none():
    labels = np.repeat(np.arange(N_KNOWN), 40)
    rows = draw(labels, 0)
    model = CategoryDiscoverer(count="silhouette").fit(rows, labels)
    report = model.discover(np.array([rows[labels == k].mean(axis=0) for k in range(N_KNOWN)]))
    assert report.novelty_.max() <= 0.5
    assert report.n_novel == 0
    assert_estimated(report, model, N_KNOWN)


@pytest.mark.parametrize("count", COUNTERS)
def test_repeated_rows_are_no_trouble(small, count):
    model = CategoryDiscoverer(count=count, n_components=8).fit(small.rows, small.labels)
    novel = small.batch[small.truth >= 6]
    assert_estimated(model.discover(np.repeat(novel[:1], 30, axis=0)), model, 6)
    n_known = len(model.classes_)
    assert_estimated(model.discover(np.repeat(novel[:6], 8, axis=0)), model, n_known)


@pytest.mark.parametrize("count", ["rehearsal", "evidence", "merge"])
def test_rows_without_weight_do_not_count(count):
    labels = np.repeat(np.arange(N_KNOWN), 40)
    one, other = (CategoryDiscoverer(count=count).fit(draw(labels, 0), labels) for _ in range(2))
    batch = rows_of(10, 40)
    weight = np.repeat([1.0, 0.0], [240, 160])  # all known rows, and one novel category of five
    alone = one.discover(batch[:240]).count.chosen
    assert abs(other.discover(batch, sample_weight=weight).count.chosen - alone) <= 1


@pytest.mark.parametrize("count", COUNTERS)
def test_nothing_found_leaves_the_categories_as_they_were(small, state_of, count, monkeypatch):
    def none(problem):
        return Counted(CountCurve(count, (0,), (0.0,), 0), None)

    monkeypatch.setitem(COUNTERS, count, none)
    model = CategoryDiscoverer(count=count, n_components=12).fit(small.rows, small.labels)
    before = model.predict(small.batch)
    report = model.discover(small.batch)
    assert (report.n_novel, report.novel_rows, report.count.chosen) == (0, 0, 0)
    assert model.classes_.tolist() == list(range(6))
    np.testing.assert_array_equal(model.predict(small.batch), before)
    assert model.n_sessions_ == 1


def test_typical_known_rows_bring_nothing_new(learned):
    batch = CENTRES[np.repeat(np.arange(N_KNOWN), 5)]
    batch = batch + 0.3 * np.random.default_rng(5).normal(size=batch.shape)
    report = learned.discover(batch)
    assert report.count.chosen == 0
    assert_estimated(report, learned, N_KNOWN)
    assert learned.classes_.tolist() == list(range(N_KNOWN))
    np.testing.assert_array_equal(learned.predict(batch), np.repeat(np.arange(N_KNOWN), 5))


@pytest.mark.parametrize("n_known", [1, 2, 3])
def test_few_labelled_categories_are_judged_by_how_far_apart_they_are(n_known):
    labels = np.repeat(np.arange(n_known), 40)
    model = CategoryDiscoverer(count="rehearsal").fit(draw(labels, 0), labels)
    report = model.discover(rows_of(0, 40, n_novel=3))
    assert report.count.method == "distinct"
    assert_estimated(report, model, n_known)
    assert report.n_novel == 3 if n_known > 1 else report.n_novel >= 1


@pytest.mark.parametrize("count", COUNTERS)
@pytest.mark.parametrize("n_rows", [1, 2, 3])
@pytest.mark.parametrize("novel", [False, True])
def test_tiny_batches_work(small, count, n_rows, novel):
    model = CategoryDiscoverer(count=count, n_components=8).fit(small.rows, small.labels)
    batch = small.batch[(small.truth >= 6) == novel][:n_rows]
    report = model.discover(batch)
    assert_estimated(report, model, 6)
    assert report.n_novel <= n_rows
    assert len(report.labels_) == n_rows


@pytest.mark.parametrize("count", COUNTERS)
def test_the_estimate_does_not_depend_on_the_order_and_repeats(small, count):
    order = np.random.default_rng(0).permutation(len(small.batch))
    reports = [
        CategoryDiscoverer(count=count, n_components=8).fit(small.rows, small.labels).discover(batch)
        for batch in (small.batch, small.batch[order])
    ]
    assert reports[0].count.chosen == reports[1].count.chosen
    np.testing.assert_array_equal(reports[0].count.scores, reports[1].count.scores)


def path_of(gain, novel=40.0):
    """A path on which the k-th category gains ``gain[k - 1]`` nats, all of ``novel`` rows in all."""
    likelihood = np.concatenate([[0.0], np.cumsum(gain)])[::-1]
    size = np.arange(len(gain), -1, -1)
    return Path(size, likelihood, np.where(size > 0, novel, 0.0), {}, True)


@pytest.mark.parametrize(
    ("gain", "outliers", "chosen"),
    [
        ((100, 60, 40, 2, 1), 0.0, 3),  # per row of an average category: 2.5, 3, 3, 0.2, 0.125
        ((100, 2, 1, 1, 1), 0.0, 1),
        ((1, 1, 1, 1, 1), 0.0, 0),
        ((40, 2, 60, 2, 1), 0.0, 3),  # a dip on the way is no end
        ((100, 60, 40, 2, 1), 7.0, 1),  # not far beyond what outliers could give: one is believed
        ((1, 2, 3, 1, 1), 7.0, 0),
    ],
    ids=str,
)
def test_the_number_is_that_up_to_which_categories_pay(gain, outliers, chosen):
    path, price = path_of(gain), CategoryPrice(1.0, np.array([outliers, 0.0]))

    class Rows:
        total = 100.0

    scores = count_module._worth(path_of(gain), Rows.total, CategoryPrice(1.0, np.zeros(2)))
    assert count_module._choose(scores, path, price, Rows) == chosen


def test_worth_is_the_sum_of_gains_less_prices():
    price = CategoryPrice(1.5, np.zeros(2))
    worth = count_module._worth(path_of((100, 60, 40)), 100.0, price)
    np.testing.assert_allclose(worth, np.cumsum([0, 100 / 40 - 1.5, 60 / 20 - 1.5, 40 / (40 / 3) - 1.5]))


def test_the_ratio_is_the_evidence_of_one_category_against_two(fitted, small):
    reduced = fitted.knowledge_.reduced(small.batch)
    problem = count_module.CountProblem(
        reduced, np.zeros(len(reduced)), None, lambda: None, fitted.knowledge_, np.random.default_rng(0)
    )
    parts = [statistics_by_label(reduced, np.where(small.truth == k, 0, -1), 1) for k in (7, 8)]
    values = [float(log_evidence(fitted.prior_, posterior_of(fitted.prior_, part))[0]) for part in parts]
    both = float(log_evidence(fitted.prior_, posterior_of(fitted.prior_, parts[0] + parts[1]))[0])
    assert count_module._ratio(problem, parts, values, 0, 1) == pytest.approx(both - sum(values))


def test_the_curve_of_merges_falls_from_the_chosen_number(small, monkeypatch):
    ratios = iter([2.0, -1.0])
    monkeypatch.setattr(count_module, "_ratio", lambda *arguments: next(ratios, -1.0))
    model = CategoryDiscoverer(count="merge", n_components=12).fit(small.rows, small.labels)
    curve = model.discover(small.batch).count
    assert curve.candidates == (curve.chosen, curve.chosen + 1)
    assert curve.scores[0] - curve.scores[1] == pytest.approx(2.0)
