import errno
import os

import numpy as np
import pytest

from vbcgcd.embed import embed_file, embed_parts
from vbcgcd.errors import DiskError, InputError
from vbcgcd.items import Items, read_items


class Lengths:
    """Texts -> their length and number of words; cannot take "bad"."""

    name, kind, dimension, fingerprint, batch_size = "lengths", "text", 2, "lengths-1", 2

    def embed(self, items):
        if "bad" in items:
            raise RuntimeError("a bad text")
        return np.array([[len(item), len(item.split())] for item in items], dtype=float)


def table(tmp_path, text):
    path = tmp_path / "data.csv"
    path.write_text(text)
    return path


def test_one_part_and_back(tmp_path):
    data = table(tmp_path, "id,text,label\np,a b,x\nq,bad,y\nr,c,\n")
    result = embed_file(data, tmp_path / "out.npz", embedder=Lengths())
    assert result.n_embedded == 2
    assert "1 of 3 items could not be embedded" in result.summary()
    with np.load(tmp_path / "out.npz", allow_pickle=False) as file:
        assert sorted(file.files) == ["embedder", "fingerprint", "references", "x", "y"]
        assert file["x"].tolist() == [[3.0, 2.0], [1.0, 1.0]]
        assert file["x"].dtype == np.float32
        assert (str(file["embedder"]), str(file["fingerprint"])) == ("lengths", "lengths-1")
        assert file["references"].tolist() == ["p", "r"]
    again = read_items(tmp_path / "out.npz")
    assert again.labels.tolist() == ["x", None]


def test_two_parts_with_names(tmp_path):
    train = Items("text", ["a b", "d e f"], ["0", "1"], "memory", np.array([1, 0]))
    test = Items("text", ["c", "bad"], ["0", "1"], "memory", np.array([0, 1]))
    result = embed_parts(
        {"train": train, "test": test}, tmp_path / "out.npz", names=("x", "y"), embedder=Lengths()
    )
    assert "test: 1 of 2 items could not be embedded" in result.summary()
    with np.load(tmp_path / "out.npz", allow_pickle=False) as file:
        assert file["train_x"].tolist() == [[3.0, 2.0], [5.0, 3.0]]
        assert file["names"][file["train_y"]].tolist() == ["y", "x"]
        assert file["names"][file["test_y"]].tolist() == ["x"]
        assert {"train_references", "test_references"} <= set(file.files)


def test_numbers_as_labels_some_missing(tmp_path):
    data = table(tmp_path, "text,label\na,3\nb,\nc,5\n")
    embed_file(data, tmp_path / "out.npz", embedder=Lengths())
    assert read_items(tmp_path / "out.npz").labels.tolist() == [3, None, 5]


def test_array_passes_through(tmp_path):
    np.savez(tmp_path / "d.npz", x=np.eye(3), y=[1, 2, 3])
    result = embed_file(tmp_path / "d.npz", tmp_path / "out.npz")
    assert result.embedder == "array"
    with np.load(tmp_path / "out.npz") as file:
        np.testing.assert_array_equal(file["x"], np.eye(3))


class TestTarget:
    @pytest.mark.parametrize("out", ["out.csv", "absent/out.npz"])
    def test_is_checked_before_the_work(self, tmp_path, out):
        class Never(Lengths):
            def embed(self, items):
                raise AssertionError("asked to work")

        with pytest.raises(InputError, match=r"\.npz|absent") as caught:
            embed_file(table(tmp_path, "text\na\n"), tmp_path / out, embedder=Never())
        assert caught.value.option == "out_path"

    def test_the_data_is_not_overwritten(self, tmp_path):
        path = tmp_path / "d.npz"
        np.savez(path, x=np.eye(3))
        before = path.read_bytes()
        with pytest.raises(InputError) as caught:
            embed_file(path, path)
        assert caught.value.option == "out_path"
        assert path.read_bytes() == before

    def test_a_full_disk_leaves_the_old_file(self, tmp_path, monkeypatch):
        data = table(tmp_path, "text\na\nb\n")
        out = tmp_path / "out.npz"
        embed_file(data, out, embedder=Lengths())
        before = out.read_bytes()

        def full(handle):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(DiskError) as caught:
            embed_file(data, out, embedder=Lengths())
        assert caught.value.cause.errno == errno.ENOSPC
        assert out.read_bytes() == before
        assert sorted(p.name for p in tmp_path.iterdir()) == ["data.csv", "out.npz", "usual-cache"]

    def test_nothing_to_embed(self, tmp_path):
        data = table(tmp_path, "text\nbad\n")
        with pytest.raises(InputError):
            embed_file(data, tmp_path / "out.npz", embedder=Lengths())
        assert not (tmp_path / "out.npz").exists()


def test_the_same_command_again_is_from_the_cache(tmp_path):
    data = table(tmp_path, "text\na\nb\nc\n")
    first = embed_file(data, tmp_path / "one.npz", embedder=Lengths())
    again = embed_file(data, tmp_path / "two.npz", embedder=Lengths())
    assert (first.parts[""].computed, again.parts[""].computed) == (3, 0)


def test_parquet_keeps_texts_with_their_vectors_and_says_what_made_them(tmp_path):
    data = table(tmp_path, "id,text,label\np,a b,x\nq,bad,y\nr,c,\n")
    result = embed_file(data, tmp_path / "out.parquet", embedder=Lengths(), cache=False)
    assert result.n_embedded == 2
    items = read_items(tmp_path / "out.parquet")  # no kind need be chosen
    assert (items.kind, items.contents, items.references) == ("embedding", ["a b", "c"], ["p", "r"])
    assert items.values.tolist() == [[3, 2], [1, 1]]
    assert items.labels.tolist() == ["x", None]
    assert items.made_by == ("lengths", "lengths-1")
    assert read_items(tmp_path / "out.parquet", kind="text").values == ["a b", "c"]


def test_parquet_of_two_parts_has_a_column_that_tells_them(tmp_path):
    part = Items("embedding", np.eye(2), ["0", "1"], "memory", np.array([1, 0]))
    embed_parts({"train": part, "test": part}, tmp_path / "out.parquet", names=["cat", "dog"])
    items = read_items(tmp_path / "out.parquet", split=("split", "test"))
    assert items.labels.tolist() == ["dog", "cat"]
    assert len(items) == 2
