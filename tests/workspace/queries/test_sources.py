import base64
import csv
import hashlib
import io
import json
import os
import shutil
import time
from pathlib import Path

import numpy as np
import pytest

from vbcgcd.errors import InputError
from vbcgcd.items import Items
from vbcgcd.workspace import ItemContent, Workspace
from vbcgcd.workspace.log.disk import digest, to_json
from vbcgcd.workspace.log.files import Assignments
from vbcgcd.workspace.queries import sources
from vbcgcd.workspace.queries.items import typical_items
from vbcgcd.workspace.queries.sources import (
    NO_SOURCE,
    Source,
    content_digest,
    excerpts_of,
    item_contents,
    most_typical,
    source_of,
)

WORDS = ("card", "table", "rain")


def write_table(path, *, ids=False, n=8):
    """Texts and labels; the text of a row tells its number."""
    rows = [(f"{w} {w} number {k * n + i}", w) for k, w in enumerate(WORDS) for i in range(n)]
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["text", "note", "intent", *(["id"] if ids else [])])
        out.writerows(
            [text, f"{word} note {i}", word, *([f"t{i}"] if ids else [])]
            for i, (text, word) in enumerate(rows)
        )
    return path


@pytest.fixture
def texts(tmp_path, words):
    """A workspace that learned a table of texts which lies beside it."""
    workspace = Workspace.init(tmp_path / "w", embedder=words, model={"count": "evidence"})
    workspace.learn(write_table(tmp_path / "data.csv"))
    return workspace


def contents_of(workspace, **options):
    """What is shown of typical items by somebody who opens the workspace now."""
    now = Workspace.open(workspace.path).snapshot()
    return item_contents(now, [item for k in range(3) for item in typical_items(now, k, 8)], **options)


def test_texts_are_found_again(texts):
    found = contents_of(texts)
    assert len(found) == 24
    assert all(shown.text.endswith(f"number {shown.reference}") for shown in found)
    assert contents_of(texts, sources=False) == [ItemContent(shown.reference) for shown in found]


def test_samples_and_reasons_have_texts_if_asked_for(texts):
    for info in texts.categories(n_samples=2, items=True):
        assert [text.split()[-1] for text in info.sample_texts] == list(info.samples)
        assert all(text.startswith(info.name) for text in info.sample_texts)
    assert texts.categories()[0].sample_texts == ()
    best = texts.explain(["card card"], items=True).candidates[0]
    assert [text.split()[-1] for text in best.typical_texts] == list(best.typical)
    assert texts.explain(["card card"]).candidates[0].typical_texts == ()


def test_samples_and_reasons_tell_their_sources(texts, tmp_path):
    more = shutil.copy(write_table(tmp_path / "more.csv", n=3), tmp_path / "again.csv")
    texts.learn(more)
    for info in texts.categories(n_samples=11):
        known = {(i.reference, i.source) for i in typical_items(texts.snapshot(), info.id, 11)}
        assert set(zip(info.samples, info.sample_sources, strict=True)) == known
        assert set(info.sample_sources) == {str(tmp_path / "data.csv"), str(more)}
    best = texts.explain(["card card"], n_samples=2).candidates[0]
    assert len(best.typical_sources) == len(best.typical) == 2
    assert set(best.typical_sources) <= {str(tmp_path / "data.csv"), str(more)}


@pytest.mark.parametrize("ids", [False, True])
def test_the_columns_of_then_are_used(tmp_path, words, ids):
    path = write_table(tmp_path / "data.csv", ids=ids)
    workspace = Workspace.init(tmp_path / "w", embedder=words, model={"count": "evidence"})
    workspace.learn(path, text="note", id="id" if ids else None)
    info = workspace.categories(n_samples=1, items=True)[0]
    assert info.sample_texts == (f"card note {info.samples[0].removeprefix('t')}",)
    assert info.samples[0].startswith("t") == ids


def change(path):
    path.write_text(path.read_text().replace("number 3", "number 4"))


def gone(path):
    path.unlink()


def moved(path):
    path.rename(path.with_name("elsewhere.csv"))


def a_folder(path):
    path.unlink()
    path.mkdir()


def garbage(path):
    path.write_bytes(b"\xff\xfe\x00\x01" * 100)


@pytest.mark.parametrize("harm", [change, gone, moved, a_folder, garbage])
def test_another_content_is_never_shown(texts, tmp_path, harm):
    before = contents_of(texts)
    harm(tmp_path / "data.csv")
    assert contents_of(texts) == [ItemContent(shown.reference) for shown in before]
    again = Workspace.open(texts.path)
    assert again.categories(n_samples=1, items=True)[0].sample_texts == ("",)


def test_the_same_content_written_again_is_shown(texts, tmp_path):
    before = contents_of(texts)
    write_table(tmp_path / "data.csv")
    assert contents_of(texts) == before


def test_a_source_is_read_once_and_only_when_asked_for(texts, monkeypatch):
    reads, real = [], sources.items_of_path

    def items_of_path(path, *options):
        reads.append(path)
        return real(path, *options)

    monkeypatch.setattr(sources, "items_of_path", items_of_path)
    now = texts.snapshot()
    items = typical_items(now, 0, 4)
    assert reads == []
    assert item_contents(now, items, sources=False) == [ItemContent(item.reference) for item in items]
    assert reads == []
    assert item_contents(now, items) == item_contents(now, items)
    assert item_contents(now, typical_items(now, 1, 4))[0].text
    assert len(reads) == 1


def test_stored_excerpts_come_first(tmp_path, words):
    workspace = Workspace.init(tmp_path / "w", embedder=words, excerpts=2, model={"count": "evidence"})
    workspace.learn(write_table(tmp_path / "data.csv"))
    (tmp_path / "data.csv").unlink()
    found = [shown for shown in contents_of(workspace) if shown.text]
    assert len(found) == 3 * 2
    assert contents_of(workspace, sources=False) == contents_of(workspace)


def test_sessions_that_do_not_tell_their_source_give_references(texts):
    """As workspaces made before sources were recorded."""
    folder = texts.path / "commits" / "000002"
    record = json.loads((folder / "commit.json").read_bytes())
    record["summary"] = {k: v for k, v in record["summary"].items() if not k.startswith("source_")}
    data = to_json(record)
    (folder / "commit.json").write_bytes(data)
    (texts.path / "HEAD").write_bytes(to_json({"commit": 2, "sha256": digest(data)}))
    early = Workspace.open(texts.path)
    assert not any(shown.text for shown in contents_of(early))
    assert early.categories(n_samples=1, items=True)[0].sample_texts == ("",)


@pytest.fixture
def pictures(tmp_path):
    """A workspace of pictures in folders: plain red, green and blue with a little noise."""
    image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(0)
    for k, name in enumerate(("red", "green", "blue")):
        (tmp_path / "data" / name).mkdir(parents=True)
        for i in range(6):
            array = rng.integers(0, 40, (80, 100, 3)).astype(np.uint8)
            array[:, :, k] += 200
            image.fromarray(array).save(tmp_path / "data" / name / f"{i}.png")
    return Workspace.init(tmp_path / "w", embedder=Colours(), cache=False, model={"count": "evidence"})


class Colours:
    name, kind, fingerprint, batch_size, dimension = "colours", "image", "colours-1", 8, 4

    def embed(self, items):
        from vbcgcd.embed.pictures import open_picture

        arrays = [np.asarray(open_picture(item), dtype=float) for item in items]
        return np.array([[*a.mean(axis=(0, 1)), a.std() + i] for i, a in enumerate(arrays)])


def colour(shown):
    from PIL import Image

    picture = Image.open(io.BytesIO(base64.b64decode(shown.jpeg)))
    assert max(picture.size) == 100  # as it is: no larger than a thumbnail
    return ["red", "green", "blue"][int(np.asarray(picture).mean(axis=(0, 1)).argmax())]


def test_pictures_are_found_again_unless_they_changed(pictures, tmp_path):
    pictures.learn(tmp_path / "data")
    found = contents_of(pictures)
    assert len(found) == 18
    assert all(shown.reference.startswith(colour(shown)) for shown in found)
    (tmp_path / "data/red/0.png").unlink()
    shutil.copyfile(tmp_path / "data/red/1.png", tmp_path / "data/green/0.png")
    later = os.stat(tmp_path / "data/green/0.png").st_mtime + 5
    os.utime(tmp_path / "data/green/0.png", (later, later))
    (tmp_path / "data/blue/0.png").write_bytes(b"no picture")
    blank = [shown.reference for shown in contents_of(pictures) if not shown.jpeg]
    assert sorted(blank) == ["blue/0.png", "green/0.png", "red/0.png"]


def test_asking_for_texts_opens_no_picture(pictures, tmp_path, monkeypatch):
    pictures.learn(tmp_path / "data")
    opened = []
    monkeypatch.setattr(sources, "thumbnail", opened.append)
    assert [info.sample_texts for info in pictures.categories(n_samples=2, items=True)] == [("", "")] * 3
    assert opened == []


def test_vectors_have_nothing_to_show(animals, blobs, tmp_path):
    np.savez(tmp_path / "more.npz", x=blobs.batch)
    animals.discover(tmp_path / "more.npz", n_novel=1)
    items = typical_items(animals.snapshot(), 0, 3)
    assert animals.item_contents(items) == [ItemContent(item.reference) for item in items]


def test_items_without_a_file_are_shown_by_their_reference(animals):
    [view, *_] = animals.overview().categories
    shown = animals.item_contents(view.typical)
    assert [part.reference for part in shown] == [item.reference for item in view.typical]
    assert not any(part.text or part.jpeg for part in shown)


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
    found = excerpts_of(items, SURE, [1], 1).by_category
    [[part]] = found.values()
    assert list(found) == [1]
    assert part["reference"] == "c"
    assert part["text"].startswith("word word")
    assert len(part["text"]) == 160
    assert part["text"].endswith("…")


def test_pictures_become_thumbnails(tmp_path):
    image = pytest.importorskip("PIL.Image")
    pictures = np.random.default_rng(0).integers(0, 256, (4, 300, 240, 3), dtype=np.uint8)
    found = excerpts_of(Items("image", pictures, ["a", "b", "c", "d"], "here"), SURE, [1, 2], 2).by_category
    assert [len(parts) for parts in found.values()] == [2, 1]
    small = image.open(io.BytesIO(base64.b64decode(found[1][0]["jpeg"])))
    assert max(small.size) == 144
    broken = Items("image", [tmp_path / "gone.png"] * 4, ["a", "b", "c", "d"], "here")
    assert excerpts_of(broken, SURE, [1], 2).by_category == {1: []}


def test_embeddings_have_none():
    items = Items("embedding", np.ones((4, 2)), ["a", "b", "c", "d"], "here")
    assert excerpts_of(items, SURE, [1], 2).by_category == {}


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
    with pytest.raises(InputError, match=r"^copy\.npz .* 2 \(discover, \S+ \d\d:\d\d\);") as raised:
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
    with pytest.raises(InputError) as caught:
        animals.learn(tmp_path / "labelled.npz", update_known=True)
    assert caught.value.option == "again"
    assert animals.discover(tmp_path / "labelled.npz", n_novel=0).session == 6  # another command


def test_other_rows_of_a_file_are_other_data(tmp_path, words):
    rows = [f"{w} {w} {i},{w},{'ab'[i % 2]}" for w in ("card", "rain") for i in range(16)]
    (tmp_path / "all.csv").write_text("\n".join(["text,label,part", *rows]))
    workspace = Workspace.init(tmp_path / "w", embedder=words, model={"count": "evidence"})
    for part in "ab":
        assert workspace.learn(tmp_path / "all.csv", split=("part", part)).rows == 16
    with pytest.raises(InputError) as caught:
        workspace.learn(tmp_path / "all.csv", split=("part", "a"))
    assert caught.value.option == "again"


def test_a_folder_is_used_again_once_something_in_it_changed(tmp_path, colours):
    image = pytest.importorskip("PIL.Image")

    for i in range(12):
        (tmp_path / "data" / "ab"[i % 2]).mkdir(parents=True, exist_ok=True)
        colour = (9 * i, 200 * (i % 2), 5)
        image.new("RGB", (2, 2), colour).save(tmp_path / "data" / "ab"[i % 2] / f"{i}.png")
    workspace = Workspace.init(tmp_path / "w", embedder=colours, cache=False, model={"count": "evidence"})
    workspace.learn(tmp_path / "data")
    with pytest.raises(InputError) as caught:
        workspace.learn(str(tmp_path / "data") + "/b/..")
    assert caught.value.option == "again"
    shutil.copytree(tmp_path / "data", tmp_path / "other")
    assert workspace.learn(tmp_path / "other").session == 1  # another folder
    later = time.time() + 5
    os.utime(tmp_path / "data" / "a" / "0.png", (later, later))
    assert workspace.learn(tmp_path / "data").session == 2
    assert workspace.learn(tmp_path / "other", again=True).session == 3
