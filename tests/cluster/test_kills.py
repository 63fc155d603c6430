"""One of two nodes is killed in the middle: the result is the same. Ten times for each kind of work."""

import random
from contextlib import nullcontext

import numpy as np
import pytest
from lake import Times, columns_of, fitted_model, read_lake, rows_of, write_lake, write_texts

from vbcgcd.discovery.large.rows import LargeRows
from vbcgcd.discovery.large.scheduling import computing_on
from vbcgcd.discovery.options import Options
from vbcgcd.discovery.session import run_session
from vbcgcd.engine import open_engine
from vbcgcd.shards import embed_shards, learn_shards, open_shards, predict_shards, read_manifest
from vbcgcd.shards.learning import count_labels
from vbcgcd.shards.rows import ShardRows

TIMES = 10


class KillsInTheMiddle:
    """The Ray engine, with one node killed after some results."""

    def __init__(self, engine, nodes, after):
        self.engine, self.nodes, self.after = engine, nodes, after
        self.name, self.workers = engine.name, engine.workers

    def _watched(self, results):
        for result in results:
            if self.after == 0:
                self.nodes.kill()
            self.after -= 1
            yield result

    def map(self, work, blocks):
        return self._watched(self.engine.map(work, blocks))

    def sweep(self, work, blocks):
        return self._watched(self.engine.sweep(work, blocks))


@pytest.fixture
def killing(ray_engine, nodes):
    """Function: an engine that loses a node after so many results."""
    before = nodes.kills
    yield lambda after: KillsInTheMiddle(ray_engine, nodes, after)
    assert nodes.kills == before + 1


@pytest.mark.parametrize("time", range(TIMES))
def test_any_work(killing, time):
    blocks = range(12)
    engine = killing(random.Random(time).randrange(1, 8))
    assert list(engine.map(Times(3, 0.02), blocks)) == [3 * i for i in blocks]


@pytest.fixture(scope="module")
def predicted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("predicted")
    rows, labels = rows_of(600)
    lake, model = write_lake(folder / "lake", rows, labels, n_shards=12), fitted_model()
    settings = {"ids": range(4), "names": model.classes_.tolist(), "model": "m"}
    predict_shards(open_engine("here"), columns_of(lake), folder / "out", model.knowledge_, **settings)
    return lake, model, settings, read_lake(folder / "out")


@pytest.mark.parametrize("time", range(TIMES))
def test_prediction(killing, predicted, tmp_path, time):
    lake, model, settings, expected = predicted
    engine = killing(random.Random(time).randrange(1, 8))
    manifest = predict_shards(engine, columns_of(lake), tmp_path / "out", model.knowledge_, **settings)
    assert (manifest.rows, manifest.done) == (600, 12)
    assert read_lake(tmp_path / "out").equals(expected)


@pytest.fixture(scope="module")
def embedded(cluster, tmp_path_factory):
    folder = tmp_path_factory.mktemp("embedded")
    texts = open_shards(write_texts(folder / "texts", 60, n_shards=10))
    embed_shards(open_engine("here"), texts, folder / "out", embedder="letters")
    return texts, read_lake(folder / "out")


@pytest.mark.parametrize("time", range(TIMES))
def test_embedding(killing, embedded, tmp_path, time):
    texts, expected = embedded
    engine = killing(random.Random(time).randrange(0, 5))
    embed_shards(engine, texts, tmp_path / "out", embedder="letters")
    assert read_lake(tmp_path / "out").equals(expected)
    assert read_manifest(tmp_path / "out").total("items") == {"embedded": 51, "failed": 9}


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    rows, labels = rows_of(900)
    lake = write_lake(tmp_path_factory.mktemp("learned") / "lake", rows, labels, n_shards=6, group=25)
    return lake, _learn(open_engine("here"), lake)


def _learn(engine, lake):
    data = columns_of(lake)
    found = count_labels(engine, data)
    codes = {label: i for i, label in enumerate(found.labels)}
    return learn_shards(engine, data, codes, found.counts, Options(), sample_rows=300)


@pytest.mark.parametrize("time", range(TIMES))
def test_a_base_session(killing, learned, time):
    lake, expected = learned
    knowledge = _learn(killing(random.Random(time).randrange(1, 14)), lake)
    probe, _ = rows_of(300, seed=5)
    for name in ("mean", "kappa", "nu", "factor"):
        assert np.array_equal(getattr(knowledge.posterior, name), getattr(expected.posterior, name))
    assert np.array_equal(
        knowledge.predict(knowledge.reduced(probe)), expected.predict(expected.reduced(probe))
    )


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Rows of known and novel categories, and the session of one machine."""
    rng = np.random.default_rng(11)
    centers = 6 * rng.normal(size=(2, 8))
    strange = centers[rng.integers(2, size=300)] + rng.normal(size=(300, 8))
    rows = np.concatenate([rows_of(900, seed=3)[0], strange]).astype(np.float32)
    folder = tmp_path_factory.mktemp("found") / "lake"
    return write_lake(folder, rows, n_shards=4, group=90), fitted_model(), rows


def _session(source, model, engine=None):
    options = model.options
    with nullcontext() if engine is None else computing_on(engine):
        return run_session(
            source,
            model.knowledge_,
            options,
            labels_of=lambda n: np.arange(4 + n),
            session=1,
            rng=options.generator(1),
        )


@pytest.fixture
def small_blocks(monkeypatch):
    for name in ("large.session", "session"):
        monkeypatch.setattr(f"vbcgcd.discovery.{name}.MANY_ROWS", 500)
    pieces = LargeRows._pieces
    monkeypatch.setattr(LargeRows, "_pieces", lambda self, size: pieces(self, 30))


@pytest.mark.parametrize("time", range(TIMES))
def test_a_session_without_labels(killing, found, small_blocks, time):
    lake, model, rows = found
    engine = killing(random.Random(time).randrange(1, 20))
    knowledge, record = _session(ShardRows(columns_of(lake), engine), model, engine)
    before, expected = _session(rows, model)
    assert expected.n_novel == 2
    assert np.array_equal(record.labels_, expected.labels_)
    assert np.array_equal(knowledge.posterior.factor, before.posterior.factor)
