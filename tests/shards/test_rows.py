"""Rows of shards as a source: the same rows, wherever they are read, and the same session."""

import pickle

import numpy as np
import pytest
from lake import columns_of, rows_of, write_lake

from vbcgcd.blocks import RowBlocks, in_blocks
from vbcgcd.discovery.large import session as large
from vbcgcd.discovery.large.rows import LargeRows
from vbcgcd.discovery.large.scheduling import computing_on
from vbcgcd.discovery.session import run_session
from vbcgcd.shards.rows import ShardRows


@pytest.fixture
def uneven(tmp_path):
    rows, labels = rows_of(420)
    return columns_of(write_lake(tmp_path / "uneven", rows, labels, n_shards=7, group=23))


def test_it_is_a_source_of_all_rows(uneven, here):
    source = ShardRows(uneven, here)
    assert isinstance(source, RowBlocks)
    assert (len(source), source.width) == (420, 8)
    assert np.array_equal(np.concatenate([rows for _, rows in in_blocks(source, 50)]), rows_of(420)[0])


@pytest.mark.parametrize("size", [1, 37, 60, 1000])
def test_places_are_those_rows_wherever_they_are_read(uneven, here, size):
    places = list(ShardRows(uneven, here).places(size))
    assert [first for first, _ in places] == list(range(0, 420, size))
    read = [pickle.loads(pickle.dumps(place)).read() for _, place in places]
    assert [len(place) for _, place in places] == [len(rows) for rows in read]
    assert np.array_equal(np.concatenate(read), rows_of(420)[0])


def test_rows_by_their_numbers(uneven, here, processes):
    chosen = np.sort(np.random.default_rng(0).permutation(420)[:60])
    for engine in (here, processes):
        assert np.array_equal(ShardRows(uneven, engine).take(chosen), rows_of(420)[0][chosen])
    assert ShardRows(uneven, here).take(np.empty(0, np.int64)).shape == (0, 8)


def with_strangers(n=1500):
    """Rows of the four categories, and of two that nobody knows."""
    rows, _ = rows_of(n, seed=3)
    rng = np.random.default_rng(11)
    centers = 6 * rng.normal(size=(2, 8))
    strange = centers[rng.integers(2, size=n // 3)] + rng.normal(size=(n // 3, 8))
    return np.concatenate([rows, strange]).astype(np.float32)


def test_a_session_does_not_depend_on_who_computes(model, here, processes, tmp_path, monkeypatch):
    monkeypatch.setattr(large, "MANY_ROWS", 500)
    monkeypatch.setattr("vbcgcd.discovery.session.MANY_ROWS", 500)
    pieces = LargeRows._pieces
    monkeypatch.setattr(LargeRows, "_pieces", lambda self, size: pieces(self, 100))
    rows = with_strangers()
    data = columns_of(write_lake(tmp_path / "lake", rows, n_shards=4, group=90))
    options, outcomes = model.options, []
    for engine in (None, here, processes):
        source = rows if engine is None else ShardRows(data, engine)
        settings = {"labels_of": lambda n: np.arange(4 + n), "session": 1, "rng": options.generator(1)}
        if engine is None:
            outcomes.append(run_session(source, model.knowledge_, options, **settings))
            continue
        with computing_on(engine):
            outcomes.append(run_session(source, model.knowledge_, options, **settings))
    (first, one), *others = outcomes
    assert one.n_novel == 2
    for knowledge, record in others:
        assert np.array_equal(record.labels_, one.labels_)
        assert np.array_equal(knowledge.posterior.factor, first.posterior.factor)
        assert np.array_equal(knowledge.posterior.mean, first.posterior.mean)
