import copy

import numpy as np
import pytest
from sklearn.datasets import load_digits

from vbcgcd import CategoryDiscoverer
from vbcgcd.discovery import worth
from vbcgcd.discovery.distinct import (
    FEWEST_ROWS,
    SEEDLING_ROWS,
    Returned,
    _choose,
    _Removal,
    complete,
    first_pass,
    of_number,
    weak_groups,
)
from vbcgcd.discovery.mixture import Mixture
from vbcgcd.discovery.strategies import hard_labels
from vbcgcd.record import SessionRecord

DIM, N_KNOWN, UNEVEN = 16, 8, (90, 90, 20, 12)


def blobs(seed, sizes, *, labels_each=40, scale=2.0, uneven=False):
    """Labelled rows, their labels, a batch with 15 rows of each known category, and its truth (-1: known)."""
    rng = np.random.default_rng(seed)
    centres = scale * rng.normal(size=(N_KNOWN + len(sizes), DIM))
    labelled = np.geomspace(labels_each / 2, labels_each * 4, N_KNOWN).astype(int) if uneven else labels_each
    labels = np.repeat(np.arange(N_KNOWN), labelled)
    known = np.repeat(np.arange(N_KNOWN), 15)
    which = np.concatenate([known, np.repeat(N_KNOWN + np.arange(len(sizes)), sizes)]).astype(int)
    rows, batch = (centres[k] + rng.normal(size=(len(k), DIM)) for k in (labels, which))
    return rows, labels, batch, np.where(which < N_KNOWN, -1, which - N_KNOWN)


def stream_of(rows, labels, batch, seed=0):
    known = CategoryDiscoverer().fit(rows, labels).knowledge_
    mixture = Mixture.of(
        known.reduced(batch),
        known.posterior.mean,
        known.novelty.geometry,
        counts=known.counts,
        size_spread=known.size_spread,
    )
    return known.stream(mixture, np.random.default_rng(seed))


def find(stream):
    return complete(stream, first_pass(stream)[1]).state


def sizes_of(state):
    labels = hard_labels(state.responsibility)
    return sorted(np.bincount(labels[labels >= 0]).tolist())


@pytest.mark.parametrize(
    ("worth", "chosen"),
    [
        ((9, 8, 7, 1, 1, 1), 3),
        ((9, 8, 1, 9, 1, 1), 4),  # a dip on the way is no end
        ((1, 1, 1, 1, 1, 1), 0),
        ((9, 9, 9, 9, 9, 9), 6),
    ],
    ids=str,
)
def test_the_number_is_that_up_to_which_categories_pay(worth, chosen):
    path = [_Removal(None, np.full(k, float(worth[k - 1]))) for k in range(len(worth), 0, -1)]
    scores, number = _choose(path, 2.0)
    assert number == chosen
    np.testing.assert_allclose(scores, np.cumsum([0, *np.array(worth) - 2.0]))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("labels_each", "scale"), [(40, 2.0), (10, 3.0)])
def test_large_and_small_categories_are_all_found(seed, labels_each, scale):
    rows, labels, batch, truth = blobs(seed, UNEVEN, labels_each=labels_each, scale=scale, uneven=True)
    found = find(stream_of(rows, labels, batch))
    own = hard_labels(found.responsibility)
    assert found.responsibility.shape[1] == 4
    assert np.mean((own >= 0) == (truth >= 0)) > 0.98
    for k in range(4):
        members = own[truth == k]
        assert np.mean(members == np.bincount(members[members >= 0]).argmax()) > 0.95
    assert sizes_of(found) == pytest.approx(sorted(UNEVEN), abs=2)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("labels_each", "scale"), [(40, 2.0), (5, 2.0), (5, 3.0)])
def test_nothing_is_invented_from_rows_of_known_categories(seed, labels_each, scale):
    rows, labels, batch, _ = blobs(seed, (), labels_each=labels_each, scale=scale)
    found = find(stream_of(rows, labels, batch))
    assert found is None


@pytest.mark.parametrize("dim", [4, 16])
@pytest.mark.parametrize("seed", [1, 2])
def test_categories_are_found_however_far_apart(dim, seed):
    rng = np.random.default_rng(seed)
    centres = 30 * rng.normal(size=(12, dim))
    labels, which = np.repeat(np.arange(8), 20), np.repeat(np.arange(12), 15)
    rows, batch = (centres[k] + rng.normal(size=(len(k), dim)) for k in (labels, which))
    found = find(stream_of(rows, labels, batch))
    assert sizes_of(found) == [15] * 4


@pytest.mark.parametrize("sizes", [(40, 40, 40), (90, 90, 12)], ids=str)
@pytest.mark.parametrize("number", [1, 2, 3, 5, 8])
def test_a_given_number_is_found_exactly(sizes, number):
    rows, labels, batch, _ = blobs(1, sizes)
    stream = stream_of(rows, labels, batch)
    state = of_number(stream, find(stream), number)
    assert state.responsibility.shape == (len(batch), number)
    assert np.isfinite(state.responsibility).all()
    assert state.responsibility.sum(axis=1).max() <= 1 + 1e-5
    if number == 3:
        assert sizes_of(state) == pytest.approx(sorted(sizes), abs=1)


@pytest.mark.parametrize("found", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_weak_groups_hold_whole_rows_that_no_category_explains(seed, found):
    rows, labels, batch, truth = blobs(seed, (40, 3), scale=1.2)
    stream = stream_of(rows, labels, batch)
    state = find(stream) if found else None
    members, worth = weak_groups(stream, state)
    assert members.shape == (len(batch), len(worth.lost))
    assert set(np.unique(members)) <= {0.0, 1.0}
    assert members.sum(axis=1).max(initial=0) <= 1
    assert members.sum(axis=0).min(initial=SEEDLING_ROWS) >= SEEDLING_ROWS
    if not found:
        assert np.mean(members[truth == 1].any(axis=1)) > 3 * np.mean(members[truth < 0].any(axis=1))


def test_rows_of_known_categories_alone_have_hardly_weak_groups():
    rows, labels, batch, _ = blobs(0, ())
    members, worth = weak_groups(stream_of(rows, labels, batch), None)
    assert members.sum() <= 0.05 * len(batch)
    assert len(worth.lost) == members.shape[1]


def test_the_same_seed_finds_the_same():
    rows, labels, batch, _ = blobs(0, UNEVEN)
    one, other = (find(stream_of(rows, labels, batch)) for _ in range(2))
    np.testing.assert_array_equal(one.responsibility, other.responsibility)


@pytest.mark.parametrize("n_rows", [FEWEST_ROWS - 1, FEWEST_ROWS + 2])
def test_fewer_rows_than_a_category_has_are_none(n_rows):
    rows, labels, batch, _ = blobs(0, (90, 60, n_rows), scale=6.0, uneven=True)
    found = find(stream_of(rows, labels, batch))
    assert len(sizes_of(found)) == 2 + (n_rows >= FEWEST_ROWS)


def test_a_given_number_of_uneven_categories_keeps_large_ones_whole():
    rows, labels, batch, truth = blobs(3, (120, 15, 12))
    stream = stream_of(rows, labels, batch)
    own = hard_labels(of_number(stream, find(stream), 3).responsibility)
    assert np.bincount(own[truth == 0] + 1).max() >= 118


def test_rows_of_no_weight_do_not_make_a_category():
    rows, labels, batch, truth = blobs(0, (60, FEWEST_ROWS + 6), scale=6.0)
    known = CategoryDiscoverer().fit(rows, labels).knowledge_
    weight = np.ones(len(batch))
    weight[np.flatnonzero(truth == 1)[: 6 + 1]] = 0.0  # fewer than a category has are left
    mixture = Mixture.of(
        known.reduced(batch), known.posterior.mean, known.novelty.geometry, counts=known.counts, weight=weight
    )
    found = find(known.stream(mixture, np.random.default_rng(0)))
    assert found.responsibility.shape[1] == 1


def test_badly_explained_rows_of_no_weight_are_left_alone():
    rows, labels, batch, truth = blobs(0, (12,), scale=6.0)
    model = CategoryDiscoverer().fit(rows, labels)
    record = model.discover(batch, sample_weight=np.where(truth < 0, 0.0, 1.0))
    assert record.n_novel == 1


RETURNING = 3


class Weeks:
    """Known categories, and three that are found in the first batch and are most of the second."""

    def __init__(self, seed, *, dim=32, **options):
        self.rng = np.random.default_rng(seed)
        self.centres = 0.8 * self.rng.normal(size=(12 + RETURNING, dim))
        labels = np.repeat(np.arange(12), 20)
        self.model = CategoryDiscoverer(**options).fit(self.draw(labels), labels)

    def draw(self, labels):
        return self.centres[labels] + self.rng.normal(size=(len(labels), self.centres.shape[1]))

    def batch(self, known, novel):
        """So many rows of each known category and of each of the other three, and the truth."""
        truth = np.repeat(np.arange(12 + RETURNING), [known] * 12 + [novel] * RETURNING)
        return self.draw(truth), truth


@pytest.mark.parametrize("seed", range(4))
def test_categories_that_were_found_before_are_recognised_when_they_come_back(seed):
    weeks = Weeks(seed)
    model = weeks.model
    rows, truth = weeks.batch(5, 25)
    first = model.discover(rows)
    assert first.n_novel == RETURNING
    assert first.returned == {}
    before = model.knowledge_.posterior
    rows, truth = weeks.batch(3, 40)
    second = model.discover(rows)
    assert second.novel == {}
    assert set(second.returned) <= set(first.novel)
    assert sum(second.returned.values()) >= 60
    assert all(second.counts[label] >= rows for label, rows in second.returned.items())
    after = model.knowledge_.posterior  # they are assigned, and teach nothing
    np.testing.assert_array_equal(after.mean, before.mean)
    np.testing.assert_array_equal(after.factor, before.factor)
    for label in second.returned:
        classes, counts = np.unique(truth[second.labels_ == label], return_counts=True)
        assert classes[counts.argmax()] >= 12
        assert counts.max() >= 30
    assert SessionRecord.from_json(second.as_json()).returned == second.returned


@pytest.mark.parametrize("seed", range(2))
def test_without_that_evidence_they_would_be_found_again(seed, monkeypatch):
    monkeypatch.setattr("vbcgcd.discovery.worth.FOUND_BEFORE", 0.0)
    weeks = Weeks(seed)
    weeks.model.discover(weeks.batch(5, 25)[0])
    assert weeks.model.discover(weeks.batch(3, 40)[0]).n_novel == RETURNING


def test_rows_come_back_to_one_category_each_and_only_where_they_are_likely():
    returned = Returned.none(4).at(2, np.array([0.9, 0.6, 0.4, 0.0])).at(3, np.array([0.8, 0.7, 0.2, 0.0]))
    assert returned.category.tolist() == [2, 3, -1, -1]
    assert returned.probability.tolist() == [0.9, 0.7, 0.0, 0.0]
    assert returned.of(np.array([False, True, True, True])).category.tolist() == [-1, 3, -1, -1]


@pytest.mark.parametrize("random_state", [0, 1])
@pytest.mark.parametrize("novel", [(), (6, 7, 8, 9)])
def test_labelled_categories_that_come_in_number_are_known(random_state, novel, monkeypatch):
    rows, labels = load_digits(return_X_y=True)
    model = CategoryDiscoverer(random_state=random_state).fit(
        rows[labels < 6][:800], labels[labels < 6][:800]
    )
    batch = np.isin(labels, (4, 5, *novel))
    back = labels[batch] < 6
    right = {}
    for limit in (-np.inf, worth.SAME_AS_LABELLED):
        monkeypatch.setattr(worth, "SAME_AS_LABELLED", limit)
        record = copy.deepcopy(model).discover(rows[batch])
        right[limit] = (record.labels_[back] == labels[batch][back]).mean()
    assert right[worth.SAME_AS_LABELLED] > 0.85
    assert right[-np.inf] < 0.1  # for their frequency alone they were taken for novel ones
