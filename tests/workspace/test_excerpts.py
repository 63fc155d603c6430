import base64
import io

import numpy as np
import pytest

from vbcgcd.items import Items
from vbcgcd.workspace import Workspace
from vbcgcd.workspace.assignments import Assignments
from vbcgcd.workspace.excerpts import excerpts_of, most_typical

SURE = Assignments(
    ["a", "b", "c", "d"],
    np.array([1, 1, 1, 2]),
    np.array([0.9, 1.0, 1.0, 1.0]),
    np.array([2, 2, 2, 1]),
    np.zeros(4),
    np.array([0.1, 0.5, 0.2, 0.9]),
)


def test_the_surest_and_least_novel_come_first():
    assert most_typical(SURE, 1, 2).tolist() == [2, 1]
    assert most_typical(SURE, 7, 2).tolist() == []


def test_texts_are_cut():
    items = Items("text", ["x", "y", "word  \n" * 100, "z"], ["a", "b", "c", "d"], "here")
    found = excerpts_of(items, SURE, [1], 1)
    [[part]] = found.values()
    assert list(found) == ["1"]
    assert part["reference"] == "c"
    assert part["text"].startswith("word word")
    assert len(part["text"]) == 160
    assert part["text"].endswith("…")


def test_pictures_become_thumbnails(tmp_path):
    image = pytest.importorskip("PIL.Image")
    pictures = np.random.default_rng(0).integers(0, 256, (4, 100, 80, 3), dtype=np.uint8)
    found = excerpts_of(Items("image", pictures, ["a", "b", "c", "d"], "here"), SURE, [1, 2], 2)
    assert [len(parts) for parts in found.values()] == [2, 1]
    small = image.open(io.BytesIO(base64.b64decode(found["1"][0]["jpeg"])))
    assert max(small.size) == 64
    broken = Items("image", [tmp_path / "gone.png"] * 4, ["a", "b", "c", "d"], "here")
    assert excerpts_of(broken, SURE, [1], 2) == {"1": []}


def test_embeddings_have_none():
    assert excerpts_of(Items("embedding", np.ones((4, 2)), ["a", "b", "c", "d"], "here"), SURE, [1], 2) == {}


@pytest.mark.parametrize("n", [0, 2])
def test_nothing_of_the_texts_is_stored_unless_asked_for(tmp_path, words, n):
    texts = [f"{w} {w} secret{i}word" for w in ("card", "table", "rain") for i in range(8)]
    workspace = Workspace.init(tmp_path / "w", embedder=words, excerpts=n, model={"count": "evidence"})
    labels = np.repeat(["pay", "eat", "wet"], 8)
    workspace.learn(Items("text", texts, [f"t{i}" for i in range(24)], "here", labels))
    stored = b"".join(f.read_bytes() for f in (tmp_path / "w").rglob("*") if f.is_file())
    assert stored.count(b"secret") == 3 * n
    views = workspace.overview().categories
    assert [len(view.excerpts) for view in views] == [n] * 3
