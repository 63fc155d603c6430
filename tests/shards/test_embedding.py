"""Embeddings of shards: those of one machine, with what failed named."""

import sys

import numpy as np
import pyarrow.parquet as pq
import pytest
from lake import SITE, read_lake, write_lake, write_texts

from vbcgcd import Workspace
from vbcgcd.engine import open_engine
from vbcgcd.errors import InputError
from vbcgcd.items import read_items
from vbcgcd.shards import embed_shards, open_shards, read_manifest


@pytest.fixture(scope="module")
def letters():
    """An embedder of an installed package, which workers find as this process does."""
    sys.path.insert(0, SITE)
    yield "letters"
    sys.path.remove(SITE)


@pytest.fixture(scope="module")
def processes(letters):
    with open_engine("processes", workers=2) as engine:
        yield engine


def test_vectors_are_those_of_the_embedder_and_failures_are_named(here, letters, tmp_path):
    data = open_shards(write_texts(tmp_path / "texts", 40))
    manifest = embed_shards(here, data, tmp_path / "out", embedder=letters)
    table = read_lake(tmp_path / "out")
    texts = [f"text number {i}" for i in range(40) if i % 7 != 3]
    assert table["text"].to_pylist() == texts
    assert [v[0] for v in table["embedding"].to_pylist()] == [len(t) for t in texts]
    assert manifest.total("items") == {"embedded": 34, "failed": 6}
    failures = [f for shard in manifest.shards for f in shard.summary["failures"]]
    assert failures[0] == ["t3", "empty text"]
    assert read_manifest(tmp_path / "out").shards == manifest.shards


def test_the_output_is_data_for_everything_else(here, letters, tmp_path):
    data = open_shards(write_texts(tmp_path / "texts", 40))
    embed_shards(here, data, tmp_path / "out", embedder=letters)
    items = read_items(tmp_path / "out", kind="embedding")
    assert items.values.shape == (34, 4)
    again = open_shards(tmp_path / "out")
    assert (again.width, again.made_by) == (4, ("letters", "letters-1"))


def test_the_engine_does_not_matter(here, processes, letters, tmp_path):
    data = open_shards(write_texts(tmp_path / "texts", 60, n_shards=9))
    for name, engine in (("one", here), ("two", processes)):
        embed_shards(engine, data, tmp_path / name, embedder=letters)
    assert read_lake(tmp_path / "one").equals(read_lake(tmp_path / "two"))


def test_labels_and_ids_come_along(here, letters, tmp_path):
    import pyarrow as pa

    (tmp_path / "texts").mkdir()
    table = pa.table({"number": ["a", "b"], "text": ["one", "two"], "intent": ["x", None]})
    pq.write_table(table, tmp_path / "texts" / "t.parquet")
    data = open_shards(tmp_path / "texts", id="number", label="intent", text="text")
    embed_shards(here, data, tmp_path / "out", embedder=letters)
    read = read_lake(tmp_path / "out")
    assert (read["id"].to_pylist(), read["label"].to_pylist()) == (["a", "b"], ["x", None])


def test_embeddings_need_no_embedding(here, tmp_path):
    data = open_shards(write_lake(tmp_path / "lake", np.ones((4, 3), np.float32)))
    with pytest.raises(InputError, match="hold embeddings already"):
        embed_shards(here, data, tmp_path / "out")


def test_machines_with_different_models_are_found_out(here, letters, tmp_path, monkeypatch):
    import letters_plugin

    data = open_shards(write_texts(tmp_path / "texts", 40))
    with pytest.raises(KeyboardInterrupt):
        embed_shards(Interrupted(here), data, tmp_path / "out", embedder=letters)
    monkeypatch.setattr(letters_plugin.Letters, "fingerprint", "letters-2")
    with pytest.raises(InputError, match="machines have different models"):
        embed_shards(here, data, tmp_path / "out", embedder=letters)
    assert not (tmp_path / "out" / "_manifest.json").exists()


class Interrupted:
    """An engine that stops after two shards."""

    name, workers = "interrupted", 1

    def __init__(self, engine):
        self.engine = engine

    def map(self, work, blocks):
        results = self.engine.map(work, blocks)
        yield next(results)
        yield next(results)
        raise KeyboardInterrupt


def test_rows_without_ids_are_named_apart_so_that_a_workspace_learns_from_them(here, letters, tmp_path):
    import pyarrow as pa

    (tmp_path / "texts").mkdir()
    for shard in range(2):
        texts = [f"{'short' if row % 2 else 'a longer text'} {shard}{row}" for row in range(20)]
        table = pa.table({"text": texts, "label": [text.split()[0] for text in texts]})
        pq.write_table(table, tmp_path / "texts" / f"t{shard}.parquet")
    embed_shards(here, open_shards(tmp_path / "texts"), tmp_path / "out", embedder=letters)
    assert read_lake(tmp_path / "out")["id"].to_pylist()[19:21] == ["t0.parquet:19", "t1.parquet:0"]
    workspace = Workspace.init(tmp_path / "desk")
    assert workspace.learn_shards(tmp_path / "out", engine=here).rows == 40
