import hashlib
import os
import shutil
import time
from pathlib import Path

import numpy as np
import pytest

from vbcgcd.errors import InputError
from vbcgcd.workspace import Workspace
from vbcgcd.workspace.source import NO_SOURCE, Source, content_digest, source_of


def test_a_file_is_marked_by_its_content(tmp_path):
    file = tmp_path / "a.csv"
    file.write_bytes(b"x" * 3_000_000)
    expected = hashlib.blake2b(b"x" * 3_000_000, digest_size=16).hexdigest()
    assert content_digest(file) == expected
    source = source_of(str(file))
    assert (source.path, source.digest) == (str(file), expected)
    assert Source.from_json(source.as_json()) == source


def test_a_relative_path_becomes_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pictures").mkdir()
    source = source_of("pictures")
    assert (source.path, source.digest) == (str(tmp_path / "pictures"), "")
    assert source.read > 0


@pytest.mark.parametrize("data", [np.ones((2, 2)), ["a", "b"], "gone.csv", "caf\udce9.csv"])
def test_what_cannot_be_found_again_comes_from_nowhere(data):
    assert source_of(data) == NO_SOURCE
    assert NO_SOURCE.as_json() == {}


@pytest.mark.parametrize("summary", [{}, {"source_path": "/a"}, {"source_path": 1, "source_digest": 2}])
def test_early_records_come_from_nowhere(summary):
    assert Source.from_json(summary) == NO_SOURCE


def test_a_file_is_used_once_unless_told_otherwise(animals, blobs, tmp_path, tree):
    np.savez(tmp_path / "monday.npz", x=blobs.batch)
    animals.discover(tmp_path / "monday.npz", n_novel=0)
    copy = Path(shutil.copy(tmp_path / "monday.npz", tmp_path / "copy.npz"))
    before = tree(animals.path)
    with pytest.raises(
        InputError, match=r"^copy\.npz was already used in session 2 \(discover, \S+ \d\d:\d\d\);"
    ) as raised:
        animals.discover(copy)
    assert raised.value.option == "again"
    assert tree(animals.path) == before
    assert animals.discover(copy, n_novel=0, again=True).session == 3
    assert animals.history()[-1].parameters == {"n_novel": 0, "again": True}
    animals.undo()
    animals.undo()
    assert animals.discover(copy, n_novel=0).session == 4
    np.savez(tmp_path / "labelled.npz", x=blobs.batch[:9], y=["cat"] * 9)
    animals.learn(tmp_path / "labelled.npz")
    with pytest.raises(InputError, match=r"labelled\.npz was already used in session 5 \(learn"):
        animals.learn(tmp_path / "labelled.npz", update_known=True)
    assert animals.discover(tmp_path / "labelled.npz", n_novel=0).session == 6  # another command


def test_other_rows_of_a_file_are_other_data(tmp_path, words):
    rows = [f"{w} {w} {i},{w},{'ab'[i % 2]}" for w in ("card", "rain") for i in range(16)]
    (tmp_path / "all.csv").write_text("\n".join(["text,label,part", *rows]))
    workspace = Workspace.init(tmp_path / "w", embedder=words, model={"count": "evidence"})
    for part in "ab":
        assert workspace.learn(tmp_path / "all.csv", split=("part", part)).rows == 16
    with pytest.raises(InputError, match=r"all\.csv was already used in session 0"):
        workspace.learn(tmp_path / "all.csv", split=("part", "a"))


def test_a_folder_is_used_again_once_something_in_it_changed(tmp_path):
    image = pytest.importorskip("PIL.Image")

    class Colours:
        name, kind, dimension, fingerprint, batch_size = "colours", "image", 3, "colours-1", 64

        def embed(self, items):
            return np.array([np.asarray(item, dtype=float).mean(axis=(0, 1)) for item in items])

    for i in range(12):
        (tmp_path / "data" / "ab"[i % 2]).mkdir(parents=True, exist_ok=True)
        colour = (9 * i, 200 * (i % 2), 5)
        image.new("RGB", (2, 2), colour).save(tmp_path / "data" / "ab"[i % 2] / f"{i}.png")
    workspace = Workspace.init(tmp_path / "w", embedder=Colours(), cache=False, model={"count": "evidence"})
    workspace.learn(tmp_path / "data")
    with pytest.raises(
        InputError, match=r"^data was already used in session 0 \(learn, .*\) and has not changed since;"
    ):
        workspace.learn(str(tmp_path / "data") + "/b/..")
    shutil.copytree(tmp_path / "data", tmp_path / "other")
    assert workspace.learn(tmp_path / "other").session == 1  # another folder
    later = time.time() + 5
    os.utime(tmp_path / "data" / "a" / "0.png", (later, later))
    assert workspace.learn(tmp_path / "data").session == 2
    assert workspace.learn(tmp_path / "other", again=True).session == 3
