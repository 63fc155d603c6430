import contextlib
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from vbcgcd import CategoryDiscoverer, InputError, NotFittedError
from vbcgcd.bayes import posterior_of, statistics_by_label

PARTS = ["mean", "kappa", "nu", "factor"]
NAMES = np.array(["zero", "one", "two", "three", "four", "five"])


def fit(problem, **options):
    return CategoryDiscoverer(**options).fit(problem.rows, problem.labels)


def accuracy(found, truth):
    """Share of rows that agree under the best matching of the names."""
    a, b = np.unique(found, return_inverse=True)[1], np.unique(truth, return_inverse=True)[1]
    table = np.zeros((a.max() + 1, b.max() + 1))
    np.add.at(table, (a, b), 1)
    return table[linear_sum_assignment(-table)].sum() / len(truth)


def assert_same_posterior(have, want):
    for name in PARTS:
        np.testing.assert_array_equal(getattr(have, name), getattr(want, name))


def assert_same_report(have, want):
    for name in ("labels_", "probabilities_", "novelty_", "novel", "sizes", "ratio_before", "ratio_after"):
        np.testing.assert_array_equal(getattr(have, name), getattr(want, name))
    assert (have.novel_share, have.evidence, have.session) == (want.novel_share, want.evidence, want.session)


def assert_sound(model, report, n_known, n_rows):
    """The report and the model agree with each other."""
    assert len(report.labels_) == n_rows
    assert report.probabilities_.shape == (n_rows, len(model.classes_))
    np.testing.assert_allclose(report.probabilities_.sum(axis=1), 1, rtol=1e-4)
    assert report.probabilities_.min() >= 0
    assert np.isin(report.labels_, model.classes_).all()
    known, novel = report.probabilities_[:, :n_known], report.probabilities_[:, n_known:]
    best = known.argmax(axis=1)
    if novel.shape[1]:
        mass = novel.sum(axis=1)
        best = np.where(mass >= 0.5, n_known + novel.argmax(axis=1), best)
        clear = np.abs(mass - 0.5) > 1e-5  # beyond the rounding of stored probabilities
        np.testing.assert_array_equal(report.labels_[clear], model.classes_[best[clear]])
    else:
        np.testing.assert_array_equal(report.labels_, model.classes_[best])
    np.testing.assert_array_equal(model.classes_[n_known:], report.novel)
    np.testing.assert_array_equal(report.sizes, [(report.labels_ == label).sum() for label in report.novel])
    assert report.n_known_rows + report.n_novel_rows == n_rows
    assert len(model.posterior_) == len(model.births_) == len(model.classes_)
    assert all(np.isfinite(getattr(model.posterior_, name)).all() for name in PARTS)
    assert len(np.unique(model.classes_)) == len(model.classes_)


# What is found


def test_novel_digits_are_found(digit_problem):
    model = fit(digit_problem)
    report = model.discover(digit_problem.batch, n_novel=4)
    novel = digit_problem.truth >= 6
    assert accuracy(report.labels_[novel], digit_problem.truth[novel]) >= 0.85
    assert np.mean(report.labels_[~novel] == digit_problem.truth[~novel]) >= 0.9
    assert report.novel_share == pytest.approx(novel.mean(), abs=0.1)
    assert_sound(model, report, 6, len(novel))
    np.testing.assert_array_equal(model.births_, [0] * 6 + [1] * 4)


def test_novel_digits_are_recognised_later(digit_problem):
    batch, truth = digit_problem.batch, digit_problem.truth
    model = fit(digit_problem)
    model.discover(batch[::2], n_novel=4)
    later = model.predict(batch[1::2])
    assert accuracy(later, truth[1::2]) >= 0.8
    assert np.mean(later[truth[1::2] < 6] == truth[1::2][truth[1::2] < 6]) >= 0.9


@pytest.mark.parametrize("share", [0.05, 0.5, 1.0])
def test_separated_blobs_are_found_at_any_share(share):
    rng = np.random.default_rng(0)
    centres = 10 * np.eye(12)
    known = np.repeat(np.arange(6), 40)
    n_novel = round(300 * share)
    truth = np.concatenate([np.arange(300 - n_novel) % 6, 6 + np.arange(n_novel) % 3])
    model = CategoryDiscoverer().fit(centres[known] + rng.normal(size=(240, 12)), known)
    report = model.discover(centres[truth] + rng.normal(size=(300, 12)), n_novel=3)
    assert accuracy(report.labels_, truth) == 1
    np.testing.assert_array_equal(report.labels_[truth < 6], truth[truth < 6])
    assert report.novel_share == pytest.approx(share, abs=0.02)


COMBINATIONS = [
    dict(zip(("cluster", "relabel", "inference", "covariance", "alignment"), values, strict=True))
    for values in itertools.product(
        ("mixture", "kmeans", "gmm", "hdbscan"),
        ("confident", "none", "filter", "reassign", "em"),
        ("exact", "svi"),
        ("full", "diagonal"),
        (None, 0.0),
    )
]


@pytest.mark.parametrize("options", COMBINATIONS, ids=lambda o: "-".join(map(str, o.values())))
def test_every_combination_works(small, options):
    model = fit(small, n_components=10, svi_steps=15, **options)
    before = model.posterior_
    report = model.discover(small.batch, n_novel=4)
    assert_sound(model, report, 6, len(small.batch))
    assert report.n_novel <= 4
    assert_same_posterior(model.posterior_.take(np.arange(6)), before)
    if options["cluster"] == "mixture" and options["relabel"] == "confident":
        assert accuracy(report.labels_, small.truth) > 0.6
    assert np.isin(model.predict(small.batch), model.classes_).all()


def test_the_paper_works_from_start_to_end(small, tmp_path):
    model = CategoryDiscoverer.paper(n_components=20).fit(small.rows, small.labels)
    default = fit(small, n_components=20)
    assert not model.reducer_.whitened
    assert model.prior_.nu == 22
    report = model.discover(small.batch, n_novel=4)
    assert_sound(model, report, 6, len(small.batch))
    other = default.discover(small.batch, n_novel=4)
    assert not np.array_equal(report.probabilities_, other.probabilities_)
    assert model.score(small.rows, small.labels) > 0.8
    model.save(tmp_path / "paper")
    loaded = CategoryDiscoverer.load(tmp_path / "paper")
    assert loaded.get_params() == model.get_params()
    np.testing.assert_array_equal(loaded.predict(small.batch), model.predict(small.batch))


def test_options_of_the_paper_can_be_overridden():
    assert CategoryDiscoverer.paper(whiten=True, random_state=7).get_params() == {
        **CategoryDiscoverer.paper().get_params(),
        "whiten": True,
        "random_state": 7,
    }


@pytest.mark.parametrize("cluster", ["mixture", "kmeans"])
@pytest.mark.parametrize("relabel", ["filter", "reassign", "em"])
def test_the_share_is_that_of_the_rows_in_the_end(digit_problem, cluster, relabel):
    model = fit(digit_problem, n_components=20, cluster=cluster, relabel=relabel)
    report = model.discover(digit_problem.batch, n_novel=4)
    assert report.novel_share == pytest.approx(report.n_novel_rows / report.n_rows, abs=0.1)


def test_a_clusterer_of_ones_own(small):
    seen = []

    def mine(rows, n_clusters, rng):
        seen.append((rows.shape, n_clusters, isinstance(rng, np.random.Generator)))
        return np.arange(len(rows)) % n_clusters

    model = fit(small, cluster=mine, relabel="none")
    report = model.discover(small.batch, n_novel=3)
    assert seen == [((len(small.batch), model.reducer_.n_components), 3, True)]
    assert_sound(model, report, 6, len(small.batch))
    with pytest.raises(InputError, match="cannot be saved"):
        model.save("never")


# Laws


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_known_posteriors_stay_bit_for_bit(small, covariance):
    model = fit(small, covariance=covariance)
    before = model.posterior_
    copies = {name: getattr(before, name).copy() for name in PARTS}
    for n_novel in (2, 3):
        model.discover(small.batch, n_novel=n_novel)
    after = model.posterior_.take(np.arange(6))
    for name in PARTS:
        assert np.array_equal(getattr(after, name), copies[name])
        assert np.array_equal(getattr(before, name), copies[name])


def test_probabilities_of_known_categories_stay_in_proportion(small, fitted):
    before = fitted.predict_log_proba(small.batch)
    fitted.discover(small.batch, n_novel=3)
    after = fitted.predict_log_proba(small.batch)[:, :6]
    np.testing.assert_allclose(after - after[:, :1], before - before[:, :1], atol=1e-6)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=6, deadline=None)
def test_the_order_of_the_rows_does_not_matter(small, seed):
    order = np.random.default_rng(seed).permutation(len(small.batch))
    one, other = fit(small), fit(small)
    a, b = one.discover(small.batch, n_novel=3), other.discover(small.batch[order], n_novel=3)
    for name in ("labels_", "probabilities_", "novelty_"):
        np.testing.assert_array_equal(getattr(b, name), getattr(a, name)[order])
    assert_same_posterior(other.posterior_, one.posterior_)


@pytest.mark.parametrize(
    "options", [{"update_known": True}, {"cluster": "kmeans"}, {"inference": "svi"}], ids=str
)
def test_the_order_does_not_matter_with_other_options(small, options):
    order = np.random.default_rng(1).permutation(len(small.batch))
    one, other = fit(small, n_components=10, **options), fit(small, n_components=10, **options)
    a, b = one.discover(small.batch, n_novel=3), other.discover(small.batch[order], n_novel=3)
    np.testing.assert_array_equal(b.probabilities_, a.probabilities_[order])
    assert_same_posterior(other.posterior_, one.posterior_)


def sparse_counts(n_rows, seed, n_topics=4, width=300):
    """Counts of few words, as of short texts: most columns of a row are zero."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n_rows) % n_topics
    words = np.random.default_rng(0).dirichlet(np.full(width, 0.05), size=n_topics)
    return np.stack([rng.multinomial(6, words[k]) for k in labels]).astype(float), labels


def test_the_order_of_wide_sparse_rows_does_not_matter():
    rows, labels = sparse_counts(120, 1)
    batch = sparse_counts(80, 2)[0]
    order = np.random.default_rng(3).permutation(80)
    one = CategoryDiscoverer().fit(rows[labels < 2], labels[labels < 2])
    other = CategoryDiscoverer().fit(rows[labels < 2], labels[labels < 2])
    a, b = one.discover(batch, n_novel=2), other.discover(batch[order], n_novel=2)
    np.testing.assert_array_equal(b.probabilities_, a.probabilities_[order])
    assert_same_posterior(other.posterior_, one.posterior_)


def test_the_order_of_weighted_rows_does_not_matter(small):
    rng = np.random.default_rng(0)
    batch = np.repeat(small.batch[:60], 2, axis=0)
    weight, order = rng.uniform(0.5, 2, size=120), rng.permutation(120)
    one, other = fit(small), fit(small)
    a = one.discover(batch, n_novel=2, sample_weight=weight)
    b = other.discover(batch[order], n_novel=2, sample_weight=weight[order])
    np.testing.assert_array_equal(b.probabilities_, a.probabilities_[order])
    assert_same_posterior(other.posterior_, one.posterior_)


@pytest.mark.parametrize(
    "options", [{}, {"inference": "svi"}, {"cluster": "gmm"}, {"random_state": 5}], ids=str
)
def test_the_same_seed_gives_the_same_bits(small, options):
    one, other = fit(small, n_components=10, **options), fit(small, n_components=10, **options)
    for _ in range(2):
        assert_same_report(one.discover(small.batch, n_novel=3), other.discover(small.batch, n_novel=3))
    assert_same_posterior(one.posterior_, other.posterior_)


def test_no_seed_is_allowed(small):
    model = fit(small, random_state=None)
    assert_sound(model, model.discover(small.batch, n_novel=2), 6, len(small.batch))


@pytest.mark.parametrize(
    "options",
    [{}, {"covariance": "diagonal", "dtype": "float64"}, {"predictive": "student"}],
    ids=str,
)
@pytest.mark.parametrize("strings", [False, True])
def test_saving_and_loading_interrupts_nothing(small, tmp_path, state_of, options, strings):
    labels = NAMES[small.labels] if strings else small.labels
    straight = CategoryDiscoverer(**options).fit(small.rows, labels)
    stopped = CategoryDiscoverer(**options).fit(small.rows, labels)
    for batch in (small.batch[:80], small.batch[80:]):
        stopped.save(tmp_path / "m")
        stopped = CategoryDiscoverer.load(tmp_path / "m")
        assert_same_report(stopped.discover(batch, n_novel=2), straight.discover(batch, n_novel=2))
    assert state_of(stopped) == state_of(straight)
    assert stopped.classes_.dtype == straight.classes_.dtype
    for method in ("predict", "predict_proba", "novelty", "score_samples"):
        np.testing.assert_array_equal(
            getattr(stopped, method)(small.batch), getattr(straight, method)(small.batch)
        )


def test_feature_names_survive_on_disk(small, tmp_path):
    pandas = pytest.importorskip("pandas")
    names = [f"pixel {i}" for i in range(64)]
    frame = pandas.DataFrame(small.rows, columns=names)
    model = CategoryDiscoverer().fit(frame, small.labels)
    model.save(tmp_path / "m")
    loaded = CategoryDiscoverer.load(tmp_path / "m")
    assert loaded.feature_names_in_.tolist() == names
    loaded.discover(frame, n_novel=1)
    with pytest.raises(InputError, match="feature names"):
        loaded.discover(frame.rename(columns={"pixel 0": "other"}), n_novel=1)


@pytest.mark.parametrize(
    "options",
    [{"random_state": np.int64(3)}, {"n_components": np.int32(9)}, {"alignment": np.float32(0)}],
    ids=str,
)
def test_options_may_be_numpy_numbers_also_on_disk(small, tmp_path, options):
    model = fit(small, **options)
    model.discover(small.batch, n_novel=2)
    model.save(tmp_path / "m")
    loaded = CategoryDiscoverer.load(tmp_path / "m")
    assert loaded.get_params() == model.get_params()


@pytest.mark.parametrize(
    "options", [{"random_state": 3.0}, {"n_components": 9.0}, {"svi_steps": 5.0, "inference": "svi"}], ids=str
)
def test_whole_floats_are_taken_or_refused_clearly(small, options):
    with contextlib.suppress(InputError):
        fit(small, **options).discover(small.batch, n_novel=2)


# Labels


def test_integers_continue_and_are_never_used_again(small):
    model = CategoryDiscoverer().fit(small.rows, 10 * small.labels)
    model.discover(small.batch, n_novel=2)
    first = model.classes_.copy()
    model.partial_fit(small.rows[:3], [99, 99, 99])
    model.discover(small.batch, n_novel=2)
    assert first.tolist() == [0, 10, 20, 30, 40, 50, 51, 52]
    assert model.classes_.tolist() == [*first.tolist(), 99, 100, 101]
    assert model.n_sessions_ == 2
    assert model.n_discovered_ == 4


def test_names_continue_and_pass_over_those_taken(small):
    names = np.array(["novel-1", "b", "c", "d", "e", "novel-4"])
    model = CategoryDiscoverer().fit(small.rows, names[small.labels])
    first = model.discover(small.batch, n_novel=2)
    second = model.discover(small.batch, n_novel=2)
    assert first.novel.tolist() == ["novel-2", "novel-3"]
    assert second.novel.tolist() == ["novel-5", "novel-6"]
    assert model.classes_.tolist() == [*sorted(names), "novel-2", "novel-3", "novel-5", "novel-6"]
    assert_sound(model, second, 8, len(small.batch))


def test_small_integers_do_not_overflow(small):
    model = CategoryDiscoverer().fit(small.rows, (small.labels + 250).astype(np.uint8))
    model.discover(small.batch, n_novel=2)
    assert model.classes_.tolist() == [250, 251, 252, 253, 254, 255, 256, 257]


def test_true_and_false_are_refused_before_any_work(small, state_of):
    model = CategoryDiscoverer().fit(small.rows, small.labels < 3)
    before = state_of(model)
    told = []
    with pytest.raises(InputError, match="integer or string labels"):
        model.discover(small.batch, n_novel=2, progress=told.append)
    assert told == []
    assert state_of(model) == before


# Batches that are unusual


@pytest.mark.parametrize("relabel", ["confident", "none"])
def test_nothing_new(small, state_of, relabel):
    model = fit(small, relabel=relabel)
    before = model.posterior_
    report = model.discover(small.batch, n_novel=0)
    assert report.n_novel == 0
    assert report.n_known_rows == len(small.batch)
    assert_same_posterior(model.posterior_, before)
    assert model.classes_.tolist() == list(range(6))
    assert model.n_sessions_ == 1
    np.testing.assert_array_equal(report.labels_, model.predict(small.batch))
    assert "0 categories" in repr(report)


@pytest.mark.parametrize("n_novel", [np.int64(2), np.uint8(2), np.int32(2), 2.0], ids=repr)
def test_the_number_may_be_of_numpy(small, n_novel):
    have, want = (
        fit(small).discover(small.batch, n_novel=n_novel),
        fit(small).discover(small.batch, n_novel=2),
    )
    assert_same_report(have, want)


@pytest.mark.parametrize("cluster", ["mixture", "kmeans", "gmm", "hdbscan"])
def test_a_batch_of_one_row(small, cluster):
    model = fit(small, cluster=cluster)
    assert_sound(model, model.discover(small.batch[:1], n_novel=1), 6, 1)


@pytest.mark.parametrize("n_novel", [1, 3])
def test_a_batch_of_identical_rows(small, n_novel):
    model = fit(small)
    row = small.batch[small.truth >= 6][:1]
    report = model.discover(np.repeat(row, 25, axis=0), n_novel=n_novel)
    assert len(set(report.labels_.tolist())) == 1
    assert_sound(model, report, 6, 25)


def test_as_many_categories_as_rows(small):
    model = fit(small)
    assert_sound(model, model.discover(small.batch[:8], n_novel=8), 6, 8)


def test_duplicated_rows_are_labelled_alike(small):
    model = fit(small)
    report = model.discover(np.concatenate([small.batch, small.batch]), n_novel=4)
    half = len(small.batch)
    np.testing.assert_array_equal(report.labels_[:half], report.labels_[half:])
    assert accuracy(report.labels_[:half], small.truth) > 0.7


def test_one_labelled_category_is_enough(small):
    one = small.labels == 0
    model = CategoryDiscoverer().fit(small.rows[one], small.labels[one])
    assert_sound(model, model.discover(small.batch, n_novel=3), 1, len(small.batch))


def test_labelled_categories_of_one_row(small):
    first = np.unique(small.labels, return_index=True)[1]
    model = CategoryDiscoverer().fit(small.rows[first], small.labels[first])
    assert_sound(model, model.discover(small.batch, n_novel=3), 6, len(small.batch))


# Weights


def test_equal_weights_change_nothing(small):
    a = fit(small).discover(small.batch, n_novel=3)
    b = fit(small).discover(small.batch, n_novel=3, sample_weight=np.ones(len(small.batch)))
    np.testing.assert_array_equal(a.labels_, b.labels_)


def test_rows_without_weight_teach_nothing(digit_problem):
    rows, labels, batch, truth = digit_problem
    keep = truth != 9
    model = CategoryDiscoverer().fit(rows, labels)
    model.discover(batch, n_novel=3, sample_weight=keep.astype(float))
    alone = CategoryDiscoverer().fit(rows, labels)
    alone.discover(batch[keep], n_novel=3)
    assert model.posterior_.kappa[6:].sum() == pytest.approx(alone.posterior_.kappa[6:].sum(), rel=0.05)
    assert accuracy(model.predict(batch[keep]), alone.predict(batch[keep])) > 0.97


def test_rows_without_weight_do_not_update_known_categories(small):
    known = small.truth < 6
    model = fit(small, update_known=True)
    before = model.posterior_
    model.discover(small.batch, n_novel=2, sample_weight=(~known).astype(float))
    wanted = fit(small, update_known=True)
    wanted.discover(small.batch[~known], n_novel=2)
    assert model.posterior_.kappa[:6].sum() == pytest.approx(wanted.posterior_.kappa[:6].sum(), abs=6)
    assert model.posterior_.kappa[:6].sum() - before.kappa.sum() < known.sum() / 2


# Updates of what is known


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_sure_rows_update_their_known_categories_alone(small, covariance):
    batch, truth = (
        small.batch[np.isin(small.truth, [0, 1, 7, 8])],
        small.truth[np.isin(small.truth, [0, 1, 7, 8])],
    )
    model = fit(small, covariance=covariance, update_known=True)
    before = model.posterior_
    report = model.discover(batch, n_novel=2)
    best = report.probabilities_.argmax(axis=1)
    sure = (report.probabilities_.max(axis=1) >= 0.95) & (best < 6)
    added = np.bincount(best[sure], minlength=6)
    assert added.sum() > 0.5 * (truth < 2).sum()
    np.testing.assert_allclose(model.posterior_.kappa[:6] - before.kappa, added)
    assert len(model.classes_) == 8
    for k in range(6):
        same = [
            np.array_equal(getattr(model.posterior_, n)[k], getattr(before, n)[k]) for n in ("mean", "kappa")
        ]
        assert all(same) == (added[k] == 0)
        if added[k] == 0:
            np.testing.assert_array_equal(model.posterior_.factor[k], before.factor[k])


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_partial_fit_equals_learning_at_once(digit_problem, covariance):
    rows, labels, batch, truth = digit_problem
    more, names = batch[truth < 6], truth[truth < 6]
    model = CategoryDiscoverer(covariance=covariance, n_components=20).fit(rows, labels)
    prior, structure = model.prior_, model.prior_.structure
    for part in np.array_split(np.arange(len(more)), 3):
        assert model.partial_fit(more[part], names[part]) is model
    together = model.knowledge_.reduced(np.concatenate([rows, more])).astype(np.float64)
    statistics = statistics_by_label(together, np.concatenate([labels, names]), 6, structure=structure)
    want = posterior_of(prior, statistics)
    np.testing.assert_allclose(model.posterior_.mean, want.mean, atol=1e-4)
    np.testing.assert_allclose(model.posterior_.kappa, want.kappa)
    np.testing.assert_allclose(model.posterior_.nu, want.nu)
    np.testing.assert_allclose(model.posterior_.factor, want.factor, rtol=1e-3, atol=2e-3)
    assert model.classes_.tolist() == list(range(6))


def test_partial_fit_appends_unseen_labels(digit_problem):
    rows, labels, batch, truth = digit_problem
    model = CategoryDiscoverer().fit(rows, labels)
    before = model.posterior_
    chosen = np.isin(truth, [9, 7])
    model.partial_fit(batch[chosen], truth[chosen])
    assert model.classes_.tolist() == [0, 1, 2, 3, 4, 5, 7, 9]
    assert_same_posterior(model.posterior_.take(np.arange(6)), before)
    assert np.mean(model.predict(batch[chosen]) == truth[chosen]) > 0.9
    statistics = statistics_by_label(
        model.knowledge_.reduced(batch[truth == 7]), np.zeros((truth == 7).sum(), int), 1
    )
    np.testing.assert_allclose(
        model.posterior_.mean[6], posterior_of(model.prior_, statistics).mean[0], atol=1e-4
    )


def test_partial_fit_teaches_discovered_categories(small):
    model = fit(small)
    model.discover(small.batch, n_novel=2)
    kappa = model.posterior_.kappa[6]
    model.partial_fit(small.batch[:4], [6, 6, 6, 6])
    assert model.posterior_.kappa[6] == pytest.approx(kappa + 4)
    assert len(model.classes_) == 8


def test_partial_fit_before_fit_is_fit(small, state_of):
    a = CategoryDiscoverer().partial_fit(small.rows, small.labels, classes=[1, 2])
    assert state_of(a) == state_of(fit(small))


def test_negative_labels_survive_partial_fit(small):
    model = CategoryDiscoverer().fit(small.rows, small.labels.astype(np.uint8))
    model.partial_fit(small.batch[:4], [-3, -3, 300, 300])
    assert model.classes_.tolist() == [0, 1, 2, 3, 4, 5, -3, 300]


@pytest.mark.parametrize(
    ("rows", "labels"),
    [
        (slice(0, 4), ["a", "a", "b", "b"]),
        (slice(0, 4), [1, 2]),
        (slice(0, 0), []),
        (slice(0, 4), None),
        (slice(0, 4), [0.5, 0.25, 0.1, 0.2]),
    ],
    ids=str,
)
def test_partial_fit_refuses_and_changes_nothing(small, fitted, state_of, rows, labels):
    before = state_of(fitted)
    with pytest.raises(InputError):
        fitted.partial_fit(small.batch[rows], labels)
    assert state_of(fitted) == before


@pytest.mark.parametrize("kinds", [(bool, int), (int, bool)], ids=str)
def test_partial_fit_does_not_mix_truth_values_and_numbers(small, state_of, kinds):
    fitted_with, given_later = kinds
    model = CategoryDiscoverer().fit(small.rows, (small.labels < 3).astype(fitted_with))
    before = state_of(model)
    with pytest.raises(InputError, match="kind"):
        model.partial_fit(small.batch[:4], np.array([0, 1, 0, 1]).astype(given_later))
    assert state_of(model) == before


# Refusals leave the model as it was


def with_nan(rows):
    rows = rows.copy()
    rows[3, 5] = np.nan
    return rows


@pytest.mark.parametrize(
    ("change", "options", "said"),
    [
        (with_nan, {}, "row 3, column 5"),
        (lambda rows: rows[:, :9], {}, "9 features"),
        (lambda rows: rows[:0], {}, "0 sample"),
        (lambda rows: rows[0], {}, "2D"),
        (np.array, {"n_novel": 151}, "n_novel must be a whole number from 0 to 150"),
        (np.array, {"n_novel": -1}, "got -1"),
        (np.array, {"n_novel": 2.5}, "got 2.5"),
        (np.array, {"n_novel": np.nan}, "got nan"),
        (np.array, {"n_novel": "3"}, "n_novel"),
        (np.array, {"n_novel": [3]}, "n_novel"),
        (np.array, {"sample_weight": np.ones(3)}, "sample_weight must have shape"),
        (np.array, {"sample_weight": -np.ones(150)}, "not negative"),
        (np.array, {"sample_weight": np.zeros(150)}, "positive sum"),
    ],
)
def test_impossible_sessions_are_refused(small, fitted, state_of, change, options, said):
    before = state_of(fitted)
    with pytest.raises(InputError, match=said):
        fitted.discover(change(small.batch), **{"n_novel": 2, **options})
    assert state_of(fitted) == before
    assert fitted.n_features_in_ == 64


@pytest.mark.parametrize("step", ["cluster", "posterior"])
def test_an_interrupted_session_leaves_the_model_as_it_was(small, fitted, state_of, step):
    before = state_of(fitted)

    def stop(name):
        if name == step:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fitted.discover(small.batch, n_novel=2, progress=stop)
    assert state_of(fitted) == before


@pytest.mark.parametrize(
    "options", [{"cluster": "foo"}, {"relabel": "foo"}, {"alignment": "a"}, {"svi_steps": 0}], ids=str
)
def test_bad_options_are_refused_by_name(small, fitted, state_of, options):
    [(name, value)] = options.items()
    fitted.set_params(**options)
    with pytest.raises(InputError) as caught:
        fitted.discover(small.batch, n_novel=2)
    assert name in str(caught.value)
    assert repr(value) in str(caught.value)
    assert len(fitted.classes_) == 6


@pytest.mark.parametrize("method", ["discover", "novelty", "predict", "save"])
def test_unfitted_models_say_so(small, tmp_path, method):
    argument = tmp_path / "m" if method == "save" else small.batch
    with pytest.raises(NotFittedError, match=r"call fit\(X, y\)"):
        getattr(CategoryDiscoverer(), method)(argument)
    assert list(tmp_path.iterdir()) == []


# None of these


def test_one_known_row_in_twenty_is_refused_and_most_others(digit_problem):
    batch, truth = digit_problem.batch, digit_problem.truth
    model = fit(digit_problem)
    known = batch[truth < 6]
    refused = model.predict(known, reject=0.05) == -1
    assert np.mean(refused) == pytest.approx(0.05, abs=0.035)
    np.testing.assert_array_equal(model.predict(known, reject=0.05)[~refused], model.predict(known)[~refused])
    noise = np.random.default_rng(0).uniform(0, 16, size=(300, 64))
    assert np.mean(model.predict(noise, reject=0.05) == -1) > 0.8
    assert np.mean(model.predict(batch[truth >= 6], reject=0.05) == -1) > 0.5


def test_refusals_grow_with_the_threshold(small, fitted):
    shares = [np.mean(fitted.predict(small.batch, reject=a) == -1) for a in (0.001, 0.05, 0.2, 0.8)]
    assert shares == sorted(shares)
    assert shares[0] < shares[-1]


def test_names_are_refused_by_a_name(small):
    model = CategoryDiscoverer().fit(small.rows, NAMES[small.labels])
    found = model.predict(small.batch, reject=0.2)
    assert "none of these" in found
    assert set(found) <= {*NAMES, "none of these"}
    assert "?" in model.predict(small.batch, reject=0.2, reject_label="?")


def test_the_refusal_can_be_named(small, fitted):
    default, named = (
        fitted.predict(small.batch, reject=0.2),
        fitted.predict(small.batch, reject=0.2, reject_label=99),
    )
    np.testing.assert_array_equal(np.where(default == -1, 99, default), named)
    unsigned = CategoryDiscoverer().fit(small.rows, small.labels.astype(np.uint8))
    np.testing.assert_array_equal(unsigned.predict(small.batch, reject=0.2), default)


def test_a_name_for_refused_numbers_leaves_the_numbers(small, fitted):
    found = fitted.predict(small.batch, reject=0.2, reject_label="unknown").tolist()
    plain = fitted.predict(small.batch).tolist()
    assert all(a in (b, "unknown") for a, b in zip(found, plain, strict=True))


def test_minus_one_among_the_labels_needs_another_refusal(small):
    model = CategoryDiscoverer().fit(small.rows, small.labels - 1)
    with pytest.raises(InputError, match=r"-1 is one of the labels.*give reject_label"):
        model.predict(small.batch, reject=0.1)
    assert 7 in model.predict(small.batch, reject=0.1, reject_label=7)
    assert len(model.predict(small.batch)) == len(small.batch)


@pytest.mark.parametrize("reject", [0, 1, -0.1, 2, np.nan, "a", [0.1]], ids=repr)
def test_impossible_thresholds_are_refused(small, fitted, reject):
    with pytest.raises(InputError, match="reject must lie between 0 and 1"):
        fitted.predict(small.batch, reject=reject)
