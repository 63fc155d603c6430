import errno
import os
import subprocess
import sys
import time
import warnings
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbcgcd.archive import archive_bytes
from vbcgcd.embed import cache as cache_module
from vbcgcd.embed.cache import (
    KEY_BYTES,
    VectorCache,
    cache_folder,
    digest_of,
    item_key,
    state_digest,
    view_key,
)
from vbcgcd.embed.protocol import ItemError
from vbcgcd.embed.run import embed_items


@given(st.text(), st.text())
def test_equal_texts_alone_have_equal_keys(one, other):
    assert (item_key(one) == item_key(other)) == (one == other)


def test_a_key_is_of_the_content_not_of_the_name(tmp_path):
    (tmp_path / "a").write_bytes(b"same")
    (tmp_path / "b").write_bytes(b"same")
    (tmp_path / "c").write_bytes(b"other")
    a, b, c = (item_key(tmp_path / name) for name in "abc")
    assert a == b != c
    assert len(a) == KEY_BYTES
    with pytest.raises(ItemError):
        item_key(tmp_path / "absent")


def test_arrays_differ_by_shape_and_type():
    values = np.arange(12, dtype=np.uint8)
    keys = {item_key(v) for v in (values, values.reshape(3, 4), values.view(np.int8), values[::-1])}
    assert len(keys) == 4
    assert item_key(values.reshape(3, 4).T) == item_key(values.reshape(3, 4).T.copy())


def test_views_have_keys_of_their_own():
    key = item_key("picture")
    keys = {view_key(key, view, seed, {"flip": f}) for view in (0, 1) for seed in (0, 1) for f in (0.1, 0.2)}
    assert len(keys | {key}) == 9


def test_state_digest_sees_names_values_and_types():
    torch = pytest.importorskip("torch", reason="needs the extra 'vision'")
    one = {"a": torch.arange(4.0), "n": torch.tensor(3)}
    assert state_digest(one) == state_digest({"n": torch.tensor(3), "a": torch.arange(4.0)})
    others = [
        {"b": one["a"], "n": one["n"]},
        {"a": one["a"] + 1, "n": one["n"]},
        {"a": one["a"].bfloat16(), "n": one["n"]},
        {"a": one["a"].reshape(2, 2), "n": one["n"]},
    ]
    assert len({state_digest(s) for s in (one, *others)}) == 5


def test_keys_are_those_of_earlier_releases():
    """Changed keys would silently recompute every cached embedding."""
    assert item_key("x").hex() == "f46c285780ba579f2c80e9c87e6bbb05"
    assert item_key(np.arange(6, dtype=np.uint8).reshape(1, 2, 3)).hex() == "c9f4b024cb43a5070f6aef49a59cb31c"
    assert view_key(item_key("x"), 1, 2, {"flip": 0.5}).hex() == "612bc090ce3c3fb46981598fa55bdd0d"
    assert digest_of({"b": (1, 2), "a": None}) == "4f74004627c8e4b3086ed8fd817731e7"


def test_digests_are_the_same_in_another_process():
    code = "from vbcgcd.embed.cache import *; print(item_key('x').hex(), digest_of({'b': (1, 2), 'a': None}))"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout.split() == [item_key("x").hex(), digest_of({"a": None, "b": [1, 2]})]


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
    vectors, hits = second.get(keys(0, 31))
    assert set(np.flatnonzero(hits)) == known
    np.testing.assert_array_equal(vectors[hits], rows(0, 31)[sorted(known)])
    assert len(shards(folder)) <= 1


def test_an_embedder_sees_its_own_vectors_alone(tmp_path):
    VectorCache(tmp_path, "one", 2).put(keys(0, 3), rows(0, 3))
    assert len(VectorCache(tmp_path, "other", 2)) == 0


def test_without_close_nothing_is_lost(tmp_path):
    first = VectorCache(tmp_path, "f", 2)
    first.put(keys(0, 3), rows(0, 3))
    first.put(keys(3, 5), rows(3, 5))
    assert len(VectorCache(tmp_path, "f", 2)) == 5


@pytest.mark.parametrize(
    "damage", ["half", "empty", "foreign", "other embedder", "other width", "no checksums"]
)
def test_bad_shards_are_passed_over_with_a_warning(tmp_path, damage):
    good = VectorCache(tmp_path, "f", 2)
    good.put(keys(0, 3), rows(0, 3))
    VectorCache(tmp_path, "g", 2).put(keys(3, 6), rows(3, 6))
    VectorCache(tmp_path, "h", 3).put(keys(3, 6), np.ones((3, 3), dtype=np.float32))
    whole = shards(good.folder)[0].read_bytes()
    plain = {"keys": np.zeros((1, KEY_BYTES), dtype=np.uint8), "vectors": rows(0, 1)}
    contents = {
        "no checksums": archive_bytes("embeddings", 1, plain, {"fingerprint": "f"}),
        "half": whole[: len(whole) // 2],
        "empty": b"",
        "foreign": b"not a shard at all",
        "other embedder": shards(good.folder.parent / "g")[0].read_bytes(),
        "other width": shards(good.folder.parent / "h")[0].read_bytes(),
    }
    (good.folder / "bad.safetensors").write_bytes(contents[damage])
    with pytest.warns(UserWarning, match=r"1 files .*bad\.safetensors"):
        again = VectorCache(tmp_path, "f", 2)
    np.testing.assert_array_equal(again.get(keys(0, 3))[0], rows(0, 3))
    assert not again.get(keys(3, 6))[1].any()


def test_every_flipped_bit_is_noticed(tmp_path):
    """A flipped bit may cost a computation, but it never changes an answer."""
    first = VectorCache(tmp_path, "f", 2)
    first.put(keys(0, 4), rows(0, 4))
    [shard] = shards(tmp_path)
    whole, lost = shard.read_bytes(), 0
    for bit in range(0, 8 * len(whole), 7):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        shard.write_bytes(flipped)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            vectors, hits = VectorCache(tmp_path, "f", 2).get(keys(0, 4))
        np.testing.assert_array_equal(vectors[hits], rows(0, 4)[hits])
        lost += not hits.all()
    assert lost > len(whole) / 2


def test_a_damaged_entry_is_computed_again_and_stays_whole(tmp_path, counting, pictures, things):
    items = things("image", list(pictures))
    before = embed_items(items, counting(), cache=tmp_path)
    [shard] = shards(tmp_path)
    data = bytearray(shard.read_bytes())
    place = data.index(before.vectors[5].tobytes())
    data[place + 2] ^= 0x40
    shard.write_bytes(data)
    with pytest.warns(UserWarning, match="1 cached embeddings .* computed again"):
        again = embed_items(items, counting(), cache=tmp_path)
    assert (again.computed, again.reused) == (1, len(pictures) - 1)
    np.testing.assert_array_equal(again.vectors, before.vectors)
    assert embed_items(items, counting(), cache=tmp_path).computed == 0


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
    (tmp_path / cache_module.FOLDER).write_text("a file where a folder should be")
    mine = VectorCache(tmp_path, "f", 2)
    assert "not cached" in mine.problem
    assert len(mine) == 0


def test_old_remains_are_swept_and_fresh_ones_left(tmp_path):
    folder = VectorCache(tmp_path, "f", 2).folder
    for name, age in ((".a.safetensors.old", 2), (".b.safetensors.new", 0)):
        (folder / name).write_bytes(b"")
        then = time.time() - age * cache_module._DAY_SECONDS
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
