import errno
import os
import time
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbcgcd.embed import cache as cache_module
from vbcgcd.embed.cache import VectorCache, cache_folder
from vbcgcd.embed.hashing import item_key


def keys(first, last):
    return [item_key(str(i)) for i in range(first, last)]


def rows(first, last):
    return np.arange(first, last, dtype=np.float32)[:, None] * np.ones((1, 2), dtype=np.float32)


def shards(folder):
    return sorted(Path(folder).rglob("*.safetensors"))


@given(st.lists(st.lists(st.integers(0, 30), max_size=6), max_size=6))
def test_what_was_put_is_found_by_the_next(tmp_path_factory, batches):
    folder = tmp_path_factory.mktemp("cache")
    first = VectorCache(folder, "f", 2)
    for batch in batches:
        first.put(
            [item_key(str(i)) for i in batch], np.array([rows(i, i + 1)[0] for i in batch]).reshape(-1, 2)
        )
    first.close()
    known = {i for batch in batches for i in batch}
    second = VectorCache(folder, "f", 2)
    vectors, found = second.get(keys(0, 31))
    assert set(np.flatnonzero(found)) == known
    np.testing.assert_array_equal(vectors[found], rows(0, 31)[sorted(known)])
    assert len(shards(folder)) <= 1


def test_an_embedder_sees_its_own_vectors_alone(tmp_path):
    VectorCache(tmp_path, "one", 2).put(keys(0, 3), rows(0, 3))
    assert len(VectorCache(tmp_path, "other", 2)) == 0


def test_without_close_nothing_is_lost(tmp_path):
    first = VectorCache(tmp_path, "f", 2)
    first.put(keys(0, 3), rows(0, 3))
    first.put(keys(3, 5), rows(3, 5))
    assert len(VectorCache(tmp_path, "f", 2)) == 5


@pytest.mark.parametrize("damage", ["half", "empty", "foreign", "other embedder", "other width"])
def test_bad_shards_are_passed_over_with_a_warning(tmp_path, damage):
    good = VectorCache(tmp_path, "f", 2)
    good.put(keys(0, 3), rows(0, 3))
    VectorCache(tmp_path, "g", 2).put(keys(3, 6), rows(3, 6))
    VectorCache(tmp_path, "h", 3).put(keys(3, 6), np.ones((3, 3), dtype=np.float32))
    whole = shards(good.folder)[0].read_bytes()
    contents = {
        "half": whole[: len(whole) // 2],
        "empty": b"",
        "foreign": b"not a shard at all",
        "other embedder": shards(good.folder.parent / "g")[0].read_bytes(),
        "other width": shards(good.folder.parent / "h")[0].read_bytes(),
    }
    (good.folder / "bad.safetensors").write_bytes(contents[damage])
    with pytest.warns(UserWarning, match=r"1 files in .* passed over: bad\.safetensors"):
        again = VectorCache(tmp_path, "f", 2)
    np.testing.assert_array_equal(again.get(keys(0, 3))[0], rows(0, 3))
    assert not again.get(keys(3, 6))[1].any()


def test_shards_joined_by_another_process_are_found_again(tmp_path):
    writer = VectorCache(tmp_path, "f", 2)
    writer.put(keys(0, 2), rows(0, 2))
    writer.put(keys(2, 4), rows(2, 4))
    reader = VectorCache(tmp_path, "f", 2)
    writer.close()
    vectors, found = reader.get(keys(0, 4))
    assert found.all()
    np.testing.assert_array_equal(vectors, rows(0, 4))


def _write(folder, start):
    mine = VectorCache(folder, "f", 2)
    for first in range(start, start + 40, 4):
        mine.put(keys(first, first + 4), rows(first, first + 4))
    mine.close()


def test_two_processes_at_once(tmp_path):
    context = get_context("spawn")
    workers = [context.Process(target=_write, args=(tmp_path, start)) for start in (0, 20)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    vectors, found = VectorCache(tmp_path, "f", 2).get(keys(0, 60))
    assert found.all()
    np.testing.assert_array_equal(vectors, rows(0, 60))
    assert len(shards(tmp_path)) == 2


def test_a_full_disk_is_noted_and_leaves_nothing_half_written(tmp_path, monkeypatch):
    mine = VectorCache(tmp_path, "f", 2)
    mine.put(keys(0, 2), rows(0, 2))

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    before = sorted(p.name for p in mine.folder.iterdir())
    mine.put(keys(2, 4), rows(2, 4))
    assert "No space left" in mine.problem
    mine.put(keys(4, 6), rows(4, 6))
    mine.close()
    assert sorted(p.name for p in mine.folder.iterdir()) == before


def test_a_folder_that_cannot_be_made_is_noted(tmp_path):
    (tmp_path / "embeddings").write_text("a file where a folder should be")
    mine = VectorCache(tmp_path, "f", 2)
    assert "embeddings are not kept" in mine.problem
    assert len(mine) == 0


def test_old_remains_are_swept_and_fresh_ones_left(tmp_path):
    folder = VectorCache(tmp_path, "f", 2).folder
    for name, age in ((".a.safetensors.old", 2), (".b.safetensors.new", 0)):
        (folder / name).write_bytes(b"")
        then = time.time() - age * cache_module._A_DAY
        os.utime(folder / name, (then, then))
    VectorCache(tmp_path, "f", 2)
    assert sorted(p.name for p in folder.glob(".*")) == [".b.safetensors.new"]


def test_where_the_folder_is(monkeypatch, tmp_path):
    monkeypatch.setenv("VBCGCD_CACHE", str(tmp_path / "v"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    assert cache_folder("here") == Path("here")
    assert cache_folder() == tmp_path / "v"
    monkeypatch.delenv("VBCGCD_CACHE")
    assert cache_folder() == tmp_path / "x" / "vbcgcd"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "vbcgcd"
