"""Sessions of many rows: the same answers as ordinary ones, whatever the source and its blocks."""

import tracemalloc

import numpy as np
import pytest
import scipy

from support import PARTS, accuracy
from vbcgcd import CategoryDiscoverer, InputError
from vbcgcd.blocks import ArrayBlocks
from vbcgcd.discovery import session
from vbcgcd.discovery.large import assign, groups, rounds
from vbcgcd.discovery.large import session as large_session

DIM, N_KNOWN, N_NOVEL = 12, 8, 4


@pytest.fixture
def sampled(monkeypatch):
    """Sessions are searched by samples of 600 rows, in groups."""
    monkeypatch.setattr(session, "MANY_ROWS", 500)
    monkeypatch.setattr(rounds, "SAMPLE_ROWS", 600)
    monkeypatch.setattr(groups, "GROUP_ROWS", 150)


@pytest.fixture(scope="module")
def world():
    rng = np.random.default_rng(3)
    centres = 7 * rng.standard_normal((N_KNOWN + N_NOVEL, DIM))
    labels = np.repeat(np.arange(N_KNOWN), 20)
    truth = np.concatenate(
        [np.repeat(np.arange(N_KNOWN), 120), np.repeat(np.arange(N_KNOWN, len(centres)), 130)]
    )
    rows = centres[truth] + rng.standard_normal((len(truth), DIM))
    order = rng.permutation(len(truth))
    base = centres[labels] + rng.standard_normal((len(labels), DIM))
    return base.astype(np.float32), labels, rows[order].astype(np.float32), truth[order]


def fitted(world, **options):
    return CategoryDiscoverer(**options).fit(world[0], world[1])


class Pieces(ArrayBlocks):
    """An array in pieces of another length."""

    def pieces(self):
        for start in range(0, len(self), 37):
            yield self.array[start : start + 37]


def test_it_finds_what_an_ordinary_session_finds(world, sampled, monkeypatch):
    _, _, rows, truth = world
    many = fitted(world).discover(rows)
    monkeypatch.setattr(session, "MANY_ROWS", 10**9)
    ordinary = fitted(world).discover(rows)
    assert many.n_novel == ordinary.n_novel == N_NOVEL
    assert [step.name for step in many.steps][:3] == ["novelty", "count", "refine"]
    assert accuracy(many.labels_, ordinary.labels_) > 0.97
    assert accuracy(many.labels_, truth) > accuracy(ordinary.labels_, truth) - 0.02
    np.testing.assert_allclose(many.novelty_, ordinary.novelty_, atol=1e-5)
    assert sum(many.counts.values()) + many.unassigned == len(rows)


def test_known_posteriors_stay_and_novel_ones_learn_all_rows(world, sampled):
    model = fitted(world)
    before = {part: getattr(model.posterior_, part).copy() for part in PARTS}
    record = model.discover(world[2])
    for part in PARTS:
        np.testing.assert_array_equal(getattr(model.posterior_, part)[:N_KNOWN], before[part])
    lessons = record.lessons_
    taught = np.bincount(lessons.category, lessons.weight, minlength=N_KNOWN + N_NOVEL)
    np.testing.assert_allclose(model.knowledge_.counts[N_KNOWN:], taught[N_KNOWN:], rtol=1e-6)
    assert np.bincount(lessons.category - N_KNOWN).min() > 100  # far more than any sample has
    assert accuracy(model.predict(world[2]), world[3]) > 0.95


def test_the_answer_depends_neither_on_the_source_nor_on_its_pieces(world, sampled, tmp_path):
    np.save(tmp_path / "rows.npy", world[2])
    sources = [world[2], tmp_path / "rows.npy", str(tmp_path / "rows.npy"), Pieces(world[2])]
    records = [fitted(world).discover(source) for source in sources]
    for record in records[1:]:
        np.testing.assert_array_equal(record.labels_, records[0].labels_)
        np.testing.assert_array_equal(record.probabilities_, records[0].probabilities_)


def test_the_answer_does_not_depend_on_the_order_of_the_rows(world, sampled):
    order = np.random.default_rng(0).permutation(len(world[2]))
    one, other = fitted(world).discover(world[2]), fitted(world).discover(world[2][order])
    assert accuracy(one.labels_[order], other.labels_) > 0.999
    np.testing.assert_allclose(one.novelty_[order], other.novelty_, atol=1e-4)


def test_a_small_source_is_an_ordinary_session(world):
    one, other = fitted(world).discover(world[2]), fitted(world).discover(Pieces(world[2]))
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_array_equal(one.probabilities_, other.probabilities_)


def test_probabilities_are_sparse_where_there_are_many(world, sampled, monkeypatch):
    dense = fitted(world).discover(world[2])
    monkeypatch.setattr(assign, "DENSE_VALUES", 0)
    sparse = fitted(world).discover(world[2])
    assert isinstance(sparse.probabilities_, scipy.sparse.csr_array)
    np.testing.assert_array_equal(sparse.probabilities_.toarray(), dense.probabilities_)
    assert dense.probabilities_.sum(axis=1).max() <= 1 + 1e-5
    one, other = dense.columns_of_rows(), sparse.columns_of_rows()
    for name in ("category", "unassigned", "novelty"):
        np.testing.assert_array_equal(one[name], other[name])
    np.testing.assert_allclose(one["probability"], other["probability"], atol=1e-6)
    np.testing.assert_allclose(one["second_probability"], other["second_probability"], atol=1e-6)
    some = np.asarray(one["second_probability"]) > 1e-6
    np.testing.assert_array_equal(np.asarray(one["second"])[some], np.asarray(other["second"])[some])
    assert sparse.__rich__() is not None


def test_a_given_number(world, sampled):
    record = fitted(world).discover(world[2], n_novel=N_NOVEL)
    assert record.n_novel == N_NOVEL
    assert record.count is None
    assert accuracy(record.labels_, world[3]) > 0.95


def test_nothing_novel(world, sampled):
    rows = world[2][world[3] < N_KNOWN]
    record = fitted(world).discover(rows)
    assert record.n_novel == 0
    assert (record.labels_ == world[3][world[3] < N_KNOWN]).mean() > 0.9


def test_known_categories_learn_where_they_may(world, sampled):
    model = fitted(world, update_known=True)
    before = model.knowledge_.counts.copy()
    record = model.discover(world[2])
    gained = model.knowledge_.counts[:N_KNOWN] - before
    lessons = record.lessons_
    np.testing.assert_allclose(gained, np.bincount(lessons.category, minlength=N_KNOWN)[:N_KNOWN], rtol=1e-5)
    assert gained.min() > 50


def test_rows_without_weight_do_not_count(world, sampled):
    weight = np.where(world[3] == N_KNOWN, 0.0, 1.0)
    record = fitted(world).discover(world[2], sample_weight=weight)
    assert record.n_novel == N_NOVEL - 1


def test_a_category_that_comes_back_is_recognised(world, sampled):
    model = fitted(world)
    model.discover(world[2])
    again = model.discover(world[2])
    assert again.n_novel == 0
    assert accuracy(again.labels_, world[3]) > 0.9


def test_options_that_need_all_rows_at_once(world, sampled, tmp_path):
    with pytest.raises(InputError, match="only with the defaults of cluster"):
        fitted(world, cluster="kmeans").discover(Pieces(world[2]))
    assert fitted(world, cluster="kmeans").discover(world[2], n_novel=4).n_novel == 4  # an array is at hand


def test_a_source_of_another_width(world):
    with pytest.raises(InputError, match="rows of 11 numbers, but CategoryDiscoverer is expecting 12"):
        fitted(world).discover(ArrayBlocks(world[2][:, :11]))


def test_a_row_that_is_not_finite_is_counted_among_all(world, sampled):
    rows = world[2].copy()
    rows[1234, 3] = np.inf
    model = fitted(world)
    with pytest.raises(InputError, match="Row 1234 contains NaN or infinity in column 3"):
        model.discover(Pieces(rows))
    assert len(model.classes_) == N_KNOWN


def test_predict_and_fit_read_files(world, tmp_path):
    np.save(tmp_path / "rows.npy", world[2])
    np.save(tmp_path / "base.npy", world[0])
    model = CategoryDiscoverer().fit(tmp_path / "base.npy", world[1])
    np.testing.assert_array_equal(model.predict(tmp_path / "rows.npy"), fitted(world).predict(world[2]))
    have, want = model.predict(str(tmp_path / "rows.npy"), reject=0.05), model.predict(world[2], reject=0.05)
    np.testing.assert_array_equal(have, want)


def test_memory_does_not_grow_with_the_rows(world, sampled, tmp_path, monkeypatch):
    """Less than a row itself is held of each row that comes on top, however many categories there are."""
    monkeypatch.setattr(large_session, "ASSIGN_ROWS", 1024)  # blocks that both sessions fill
    monkeypatch.setattr(large_session, "HELD_ROWS", 1024)
    rng, peaks = np.random.default_rng(0), []
    wide = rng.standard_normal((DIM, 600)).astype(np.float32)
    model = CategoryDiscoverer(covariance="diagonal", n_components=20).fit(world[0] @ wide, world[1])
    for times in (6, 18):
        rows = np.repeat(world[2], times, axis=0)
        np.save(
            tmp_path / "rows.npy", (rows + 0.1 * rng.standard_normal(rows.shape)).astype(np.float32) @ wide
        )
        tracemalloc.start()
        model.knowledge_.novelty_of(model.knowledge_.reduced(world[2] @ wide))  # what is loaded once
        tracemalloc.reset_peak()
        fresh = CategoryDiscoverer(covariance="diagonal", n_components=20).fit(world[0] @ wide, world[1])
        fresh.discover(tmp_path / "rows.npy")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    more = 12 * len(world[2])
    assert (peaks[1] - peaks[0]) / more < 0.75 * 600 * 4
