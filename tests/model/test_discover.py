"""What a session finds: digits and blobs, with every clusterer, in unusual batches, with weights."""

import itertools

import numpy as np
import pytest

from support import accuracy, assert_same_posterior, assert_same_record, assert_sound, fit, pairwise
from vbcgcd import CategoryDiscoverer, InputError


def test_novel_digits_are_found(digit_problem):
    model = fit(digit_problem)
    record = model.discover(digit_problem.batch, n_novel=4)
    novel = digit_problem.truth >= 6
    assert accuracy(record.labels_[novel], digit_problem.truth[novel]) >= 0.85
    assigned = ~novel & (record.labels_ >= 0)
    assert np.mean(record.labels_[assigned] == digit_problem.truth[assigned]) >= 0.9
    assert record.unassigned <= 0.1 * record.rows
    assert record.novel_share == pytest.approx(novel.mean(), abs=0.1)
    assert_sound(model, record, 6, len(novel))
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
    record = model.discover(centres[truth] + rng.normal(size=(300, 12)), n_novel=3)
    assert accuracy(record.labels_, truth) == 1
    np.testing.assert_array_equal(record.labels_[truth < 6], truth[truth < 6])
    assert record.novel_share == pytest.approx(share, abs=0.02)


COMBINATIONS = pairwise(
    cluster=("mixture", "kmeans", "gmm", "hdbscan"),
    relabel=("confident", "none", "filter", "reassign", "em"),
    inference=("exact", "svi"),
    covariance=("full", "lowrank", "diagonal"),
    alignment=(None, 0.0),
    update_known=(False, True),
)


def test_the_combinations_are_few_and_hold_every_pair():
    assert len(COMBINATIONS) <= 24
    for one, other in itertools.combinations(COMBINATIONS[0], 2):
        values = [{row[name] for row in COMBINATIONS} for name in (one, other)]
        pairs = {(row[one], row[other]) for row in COMBINATIONS}
        assert pairs == set(itertools.product(*values))


@pytest.mark.parametrize("options", COMBINATIONS, ids=lambda o: "-".join(map(str, o.values())))
def test_options_work_together(small, options):
    model = fit(small, n_components=10, svi_steps=15, **options)
    before = model.posterior_
    record = model.discover(small.batch, n_novel=4)
    assert_sound(model, record, 6, len(small.batch))
    assert record.n_novel <= 4
    if not options["update_known"]:
        assert_same_posterior(model.posterior_.take(np.arange(6)), before)
    if options["cluster"] == "mixture" and options["relabel"] == "confident":
        assert accuracy(record.labels_, small.truth) > 0.6
    assert np.isin(model.predict(small.batch), model.classes_).all()


def test_the_paper_works_from_start_to_end(small, tmp_path):
    model = CategoryDiscoverer.paper(n_components=20).fit(small.rows, small.labels)
    default = fit(small, n_components=20)
    assert not model.reducer_.whitened
    assert default.reducer_.whitened
    record = model.discover(small.batch, n_novel=4)
    assert_sound(model, record, 6, len(small.batch))
    other = default.discover(small.batch, n_novel=4)
    assert not np.array_equal(record.probabilities_, other.probabilities_)
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
    record = model.discover(digit_problem.batch, n_novel=4)
    assert record.novel_share == pytest.approx(record.novel_rows / record.rows, abs=0.1)


def test_a_clusterer_of_ones_own(small):
    seen = []

    def mine(rows, n_clusters, rng):
        seen.append((rows.shape, n_clusters, isinstance(rng, np.random.Generator)))
        return np.arange(len(rows)) % n_clusters

    model = fit(small, cluster=mine, relabel="none")
    record = model.discover(small.batch, n_novel=3)
    assert seen == [((len(small.batch), model.reducer_.n_components), 3, True)]
    assert_sound(model, record, 6, len(small.batch))
    with pytest.raises(InputError):
        model.save("never")


# Labels of novel categories


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
    assert list(first.novel) == ["novel-2", "novel-3"]
    assert list(second.novel) == ["novel-5", "novel-6"]
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
    with pytest.raises(InputError):
        model.discover(small.batch, n_novel=2, progress=told.append)
    assert told == []
    assert state_of(model) == before


# Batches that are unusual


@pytest.mark.parametrize("relabel", ["confident", "none"])
def test_nothing_new(small, state_of, relabel):
    model = fit(small, relabel=relabel)
    before = model.posterior_
    record = model.discover(small.batch, n_novel=0)
    assert record.n_novel == 0
    assert record.known_rows + record.unassigned == len(small.batch)
    assert_same_posterior(model.posterior_, before)
    assert model.classes_.tolist() == list(range(6))
    assert model.n_sessions_ == 1
    expected = np.where(record.labels_ == -1, -1, model.predict(small.batch))
    np.testing.assert_array_equal(record.labels_, expected)
    every = fit(small, relabel=relabel, unassigned=False)
    np.testing.assert_array_equal(every.discover(small.batch, n_novel=0).labels_, every.predict(small.batch))
    assert "0 categories" in repr(record)


@pytest.mark.parametrize("n_novel", [np.int64(2), np.uint8(2), np.int32(2), 2.0], ids=repr)
def test_the_number_may_be_of_numpy(small, n_novel):
    have, want = (
        fit(small).discover(small.batch, n_novel=n_novel),
        fit(small).discover(small.batch, n_novel=2),
    )
    assert_same_record(have, want)


@pytest.mark.parametrize("cluster", ["mixture", "kmeans", "gmm", "hdbscan"])
def test_a_batch_of_one_row(small, cluster):
    model = fit(small, cluster=cluster)
    assert_sound(model, model.discover(small.batch[:1], n_novel=0), 6, 1)
    assert_sound(model, model.discover(small.batch[:1]), 6, 1)


@pytest.mark.parametrize("n_novel", [1, 3])
def test_a_batch_of_identical_rows(small, n_novel):
    model = fit(small)
    row = small.batch[small.truth >= 6][:1]
    record = model.discover(np.repeat(row, 25, axis=0), n_novel=n_novel)
    assert len(set(record.labels_.tolist())) == 1
    assert_sound(model, record, 6, 25)


def test_as_many_categories_as_pairs_of_rows(small):
    model = fit(small)
    assert_sound(model, model.discover(small.batch[:8], n_novel=4), 6, 8)


def test_duplicated_rows_are_labelled_alike(small):
    model = fit(small)
    record = model.discover(np.concatenate([small.batch, small.batch]), n_novel=4)
    half = len(small.batch)
    np.testing.assert_array_equal(record.labels_[:half], record.labels_[half:])
    assert accuracy(record.labels_[:half], small.truth) > 0.7


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
