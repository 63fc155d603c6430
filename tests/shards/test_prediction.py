"""Predictions of shards: those of one machine, whole or not at all, and continued where they stopped."""

import json
import os
import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest
from lake import columns_of, read_lake, rows_of, write_lake

from vbcgcd.blocks import open_rows
from vbcgcd.discovery.knowledge import score
from vbcgcd.errors import InputError, MissingFileError
from vbcgcd.items import read_items
from vbcgcd.marks import UNFINISHED, write_mark
from vbcgcd.shards import open_shards, predict_shards, read_manifest


@pytest.fixture
def run(model, lake, tmp_path):
    """Function: predict the lake into ``out``."""

    def predict(engine, output="out", folder=lake, **options):
        names = model.classes_.tolist()
        settings = {"ids": range(4), "names": names, "model": "m1", **options}
        keep = settings.pop("keep", ())
        data = columns_of(folder, keep=keep)
        return predict_shards(engine, data, tmp_path / output, model.knowledge_, **settings)

    return predict


def test_answers_are_those_of_the_model(run, here, model, tmp_path):
    manifest = run(here, keep=("team",))
    rows, _ = rows_of(420)
    table = read_lake(tmp_path / "out")
    expected = score(model.knowledge_, rows)
    assert table["reference"].to_pylist() == [f"r{i}" for i in range(420)]
    assert table["name"].to_pylist() == model.predict(rows).tolist()
    np.testing.assert_allclose(table["probability"], expected.probability, rtol=1e-6)
    np.testing.assert_allclose(table["novelty"], expected.novelty, rtol=1e-6)
    assert table["team"].to_pylist() == [f"team {i % 3}" for i in range(420)]
    assert manifest.rows == 420
    assert sum(manifest.total("categories").values()) == 420


@pytest.mark.parametrize("n_shards", [1, 3, 11])
def test_neither_the_engine_nor_the_shards_matter(run, here, processes, tmp_path, n_shards):
    run(here)
    rows, labels = rows_of(420)
    other = write_lake(tmp_path / "other", rows, labels, n_shards=n_shards, group=37)
    run(processes, "cut", other)
    one, two = read_lake(tmp_path / "out"), read_lake(tmp_path / "cut")
    for name in ("reference", "category", "name", "best", "second"):
        assert one[name].to_pylist() == two[name].to_pylist()
    run(processes, "same")
    assert read_lake(tmp_path / "same").equals(one)  # to the last bit


def test_rejected_rows_say_so(run, here, tmp_path):
    manifest = run(here, reject=0.2)
    table = read_lake(tmp_path / "out")
    rejected = np.array(table["category"]) == -1
    assert 0 < rejected.sum() == manifest.total("categories")["-1"]
    assert set(np.array(table["name"])[rejected]) == {"none of these"}
    assert (np.array(table["novelty"])[rejected] > 0.8).all()


def test_a_second_run_does_nothing(run, here, tmp_path):
    run(here)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").iterdir()}
    again = run(here)
    assert (again.done, again.rows) == (0, 420)
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "out").iterdir()}


class StopsAfter:
    """An engine whose power fails after some shards."""

    name, workers = "stops", 1

    def __init__(self, engine, n):
        self.engine, self.n = engine, n

    def map(self, work, blocks):
        for place, result in enumerate(self.engine.map(work, blocks)):
            if place == self.n:
                raise KeyboardInterrupt
            yield result


def test_what_is_interrupted_is_no_whole_and_is_continued(run, here, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(StopsAfter(here, 2))
    out = tmp_path / "out"
    assert not (out / "_manifest.json").exists()
    for reader in (open_shards, read_items, read_manifest, open_rows):
        with pytest.raises(InputError, match="unfinished"):
            reader(out)
    finished = {p.name: p.stat().st_mtime_ns for p in out.glob("part-*.parquet")}
    manifest = run(here)
    assert manifest.done == 5 - len(finished) == 2
    assert all((out / name).stat().st_mtime_ns == time for name, time in finished.items())
    assert sorted(p.name for p in out.iterdir()) == [
        "_manifest.json",
        *(f"part-00{i}.parquet" for i in range(5)),
    ]
    run(here, "straight")
    assert read_lake(out).equals(read_lake(tmp_path / "straight"))


def test_shards_that_are_added_or_changed_are_done_and_others_are_not(run, here, lake, tmp_path):
    run(here)
    shutil.copy(lake / "part-000.parquet", lake / "part-009.parquet")
    os.utime(lake / "part-001.parquet", ns=(1, 1))
    assert run(here).done == 2
    os.remove(lake / "part-009.parquet")
    os.utime(lake / "part-002.parquet", ns=(1, 1))
    assert run(here).rows == 420
    assert not (tmp_path / "out" / "part-009.parquet").exists()


def test_what_lost_workers_left_behind_is_removed(run, here, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(StopsAfter(here, 1))
    (tmp_path / "out" / ".part-003.parquet.k2j4").write_bytes(b"half")
    run(here)
    assert not list((tmp_path / "out").glob(".*"))


@pytest.mark.parametrize("finished", [False, True])
def test_output_of_another_model_is_never_mixed_in(run, here, finished, tmp_path):
    if finished:
        run(here)
    else:
        with pytest.raises(KeyboardInterrupt):
            run(StopsAfter(here, 2))
    before = sorted(p.name for p in (tmp_path / "out").iterdir())
    with pytest.raises(InputError, match="output of another run: model differed"):
        run(here, model="m2")
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == before


def test_a_manifest_counts_for_the_shards_that_it_lists(run, here, tmp_path):
    run(here)
    os.remove(tmp_path / "out" / "part-003.parquet")
    with pytest.raises(InputError, match=r"not whole: part-003.parquet is missing"):
        open_shards(tmp_path / "out", embedding=["probability", "novelty"])
    assert run(here).done == 1


def test_a_damaged_manifest_is_said_to_be_one(run, here, tmp_path):
    run(here)
    (tmp_path / "out" / "_manifest.json").write_text("{")
    with pytest.raises(InputError, match=r"_manifest.json is damaged"):
        read_manifest(tmp_path / "out")
    (tmp_path / "out" / "_manifest.json").write_text(json.dumps({"format": 99}))
    with pytest.raises(InputError, match="newer release"):
        read_manifest(tmp_path / "out")
    with pytest.raises(InputError, match="no manifest"):
        read_manifest(tmp_path)


def test_places_that_cannot_be_written_to(run, here, lake, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious")
    with pytest.raises(InputError, match="not empty and was not written by this command"):
        run(here, "mine")
    with pytest.raises(InputError, match="in each other's way"):
        run(here, "lake/out")
    with pytest.raises(MissingFileError, match="create it first"):
        run(here, "a/b/c")
    with pytest.raises(InputError, match="is a file"):
        run(here, "mine/thesis.txt")
    assert os.listdir(tmp_path / "mine") == ["thesis.txt"]


def test_a_shard_that_breaks_off_leaves_the_rest_to_be_continued(run, processes, lake, tmp_path):
    content = (lake / "part-003.parquet").read_bytes()
    data = bytearray(content)
    data[100:400] = bytes(300)  # a page, not the footer
    (lake / "part-003.parquet").write_bytes(data)
    with pytest.raises(InputError, match=r"part-003.parquet"):
        run(processes)
    assert (tmp_path / "out" / "_unfinished.json").exists()
    (lake / "part-003.parquet").write_bytes(content)
    assert run(processes).rows == 420
    assert pq.read_table(tmp_path / "out" / "part-003.parquet").num_rows == 84


def test_embeddings_that_do_not_fit_the_model(run, here, tmp_path):
    narrow = write_lake(tmp_path / "narrow", np.ones((4, 3), np.float32))
    with pytest.raises(InputError, match="embeddings of 3 numbers, but the model has learned from 8"):
        run(here, folder=narrow)
    assert not (tmp_path / "out").exists()


def test_a_folder_of_a_job_that_wrote_no_shard_is_free_for_another(run, here, lake, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    write_mark(out / UNFINISHED, {"job": {"command": "predict", "model": "mistyped"}, "digest": "0" * 32})
    assert run(here, out).done == 5
    assert not (out / UNFINISHED).exists()
