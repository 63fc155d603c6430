"""Sessions and predictions of a workspace from folders of shards: those of one machine."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lake import read_lake, rows_of, vectors, write_lake

from vbcgcd.engine import open_engine
from vbcgcd.errors import DiskError, InputError
from vbcgcd.shards import read_manifest
from vbcgcd.workspace import Workspace


@pytest.fixture
def here():
    return open_engine("here")


@pytest.fixture
def labelled(tmp_path):
    rows, labels = rows_of(300)
    labels = [None if i % 20 == 0 else label for i, label in enumerate(labels)]
    return write_lake(tmp_path / "labelled", rows, labels, n_shards=3)


@pytest.fixture
def strange(tmp_path):
    """Rows of known categories and of a novel one."""
    rng = np.random.default_rng(5)
    rows = np.concatenate([rows_of(150, seed=2)[0], 8 + rng.normal(size=(60, 8))]).astype(np.float32)
    return write_lake(tmp_path / "strange", rows, n_shards=4)


@pytest.fixture
def twins(tmp_path, labelled, here):
    """Two workspaces that have learned the same, one of them from shards."""
    plain, sharded = (Workspace.init(tmp_path / name) for name in ("plain", "sharded"))
    plain.learn(labelled)
    sharded.learn_shards(labelled, engine=here)
    return plain, sharded


def test_a_base_session_is_that_of_one_machine(twins):
    plain, sharded = (w.snapshot() for w in twins)
    for name in ("mean", "kappa", "nu", "factor"):
        one, two = (getattr(s.knowledge.posterior, name) for s in (plain, sharded))
        assert np.array_equal(one, two)
    assert [c.name for c in plain.state.live] == [c.name for c in sharded.state.live]
    one, two = (w.sessions()[0] for w in twins)
    assert (one.rows, one.unlabelled, one.counts) == (two.rows, two.unlabelled, two.counts)
    ours, theirs = ([(i.reference, i.category) for i in w.items()] for w in twins)
    assert ours == theirs
    assert twins[1].verify() > 0


def test_predictions_are_those_of_the_workspace(twins, strange, here, tmp_path):
    plain, sharded = twins
    sharded.predict_shards(strange, tmp_path / "out", 0.05, engine=here)
    expected, table = plain.predict(strange, 0.05), read_lake(tmp_path / "out")
    columns = expected.columns_of_rows()
    assert table.column_names == list(columns)
    for name, values in columns.items():
        if name in ("probability", "novelty", "second_probability"):
            np.testing.assert_allclose(table[name], values, rtol=1e-5, atol=1e-6)
        else:
            assert table[name].to_pylist() == list(values), name


def test_a_session_is_that_of_one_machine_and_its_assignments_are_written(twins, strange, here, tmp_path):
    plain, sharded = twins
    one = plain.discover(strange)
    two = sharded.discover_shards(strange, engine=here, output=tmp_path / "out")
    assert one.n_novel == two.n_novel >= 1
    assert (one.counts, one.unassigned, one.novel) == (two.counts, two.unassigned, two.novel)
    assert [list(v) for v in one.table_.values()] == [list(v) for v in two.table_.values()]
    table = read_lake(tmp_path / "out")
    assert table["category"].to_pylist() == one.table_["category"].tolist()
    assert read_manifest(tmp_path / "out").rows == 210
    sharded.undo()
    assert len(sharded.snapshot().state.ids) == 4
    sharded.verify()


@pytest.mark.parametrize("update_known", [False, True])
def test_later_labels_add_categories(twins, here, tmp_path, update_known):
    rng = np.random.default_rng(1)
    rows = np.concatenate([rows_of(40, seed=9)[0], 9 + rng.normal(size=(30, 8))]).astype(np.float32)
    labels = [*rows_of(40, seed=9)[1], *(["eel"] * 30)]
    folder = write_lake(tmp_path / "more", rows, labels)
    plain, sharded = twins
    plain.learn(folder, update_known=update_known)
    record = sharded.learn_shards(folder, engine=here, update_known=update_known)
    assert record.novel == {4: "eel"}
    one, two = (w.snapshot().knowledge.posterior for w in twins)
    np.testing.assert_allclose(one.mean, two.mean, atol=1e-5)
    np.testing.assert_allclose(one.factor, two.factor, atol=1e-4)
    assert np.array_equal(one.mean[:4], two.mean[:4]) or update_known


def test_what_does_not_fit_changes_nothing(twins, labelled, here, tmp_path):
    _, sharded = twins
    narrow = write_lake(tmp_path / "narrow", np.ones((5, 3), np.float32))
    texts = tmp_path / "texts"
    texts.mkdir()
    pq.write_table(pa.table({"text": ["a", "b"]}), texts / "a.parquet")
    other = tmp_path / "other"
    other.mkdir()
    made_by = {b"vbcgcd.embedder": b"x", b"vbcgcd.fingerprint": b"y"}
    table = pa.table({"embedding": vectors(rows_of(5)[0])}).replace_schema_metadata(made_by)
    pq.write_table(table, other / "a.parquet")
    before = sharded.last_commit
    with pytest.raises(InputError, match=r"embeddings of 8 dimensions, but the shards of .* have 3"):
        sharded.predict_shards(narrow, tmp_path / "out", engine=here)
    with pytest.raises(InputError, match="hold texts; embed them first"):
        sharded.predict_shards(texts, tmp_path / "out", engine=here, text="text")
    with pytest.raises(InputError, match="Texts and pictures are embedded first, with 'vbcgcd embed"):
        sharded.predict_shards(texts, tmp_path / "out", engine=here)
    with pytest.raises(InputError, match="already used in session 0"):
        sharded.learn_shards(labelled, engine=here)
    with pytest.raises(InputError, match="cannot be used with an engine"):
        sharded.discover_shards(labelled, engine=here, split=("a", "b"))
    with pytest.raises(InputError, match="belongs to the workspace itself"):
        sharded.predict_shards(labelled, sharded.path / "commits", engine=here)
    assert sharded.last_commit == before
    assert not os.path.exists(tmp_path / "out")


def test_ids_that_are_not_unique_are_refused(here, tmp_path):
    rows, labels = rows_of(40)
    folder = tmp_path / "lake"
    folder.mkdir()
    table = pa.table({"id": ["same"] * 40, "label": labels, "embedding": vectors(rows)})
    pq.write_table(table, folder / "a.parquet")
    empty = Workspace.init(tmp_path / "w")
    with pytest.raises(InputError, match="ids of the shards are not unique"):
        empty.learn_shards(folder, engine=here)
    assert empty.last_commit == 1


def test_a_session_whose_assignments_cannot_be_written_says_that_it_was_saved(
    twins, strange, here, tmp_path, monkeypatch
):
    _, sharded = twins

    def full(*arguments):
        raise DiskError("Cannot write a.parquet: No space left on device.")

    monkeypatch.setattr("vbcgcd.shards.folder.Target.write", full)
    with pytest.raises(
        DiskError, match=r"Session 1 was saved, but .*No space left.*--where session=1"
    ) as raised:
        sharded.discover_shards(strange, 1, engine=here, output=tmp_path / "out")
    assert raised.value.done
    assert len(sharded.items("session=1")) == 210
