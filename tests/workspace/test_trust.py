import json
import shutil

import numpy as np
import pytest
from PIL import Image

from vbcgcd.errors import InputError, MissingFileError
from vbcgcd.workspace import Workspace
from vbcgcd.workspace.queries.items import typical_items
from vbcgcd.workspace.trust import LARGEST, Trust, read_trust, write_trust


@pytest.fixture
def pictures(tmp_path, monkeypatch):
    """A folder of pictures, and the export of a workspace that learned them."""
    monkeypatch.setenv("VBCGCD_CACHE", str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    for label in ("dark", "light"):
        (tmp_path / "pictures" / label).mkdir(parents=True)
        for i in range(5):
            low = 0 if label == "dark" else 200
            pixels = rng.integers(low, low + 55, (8, 8), dtype=np.uint8)
            Image.fromarray(pixels).save(tmp_path / "pictures" / label / f"{i}.png")
    options = {"embedder": "pixels", "embedder_options": {"size": 8, "grey": True}}
    workspace = Workspace.init(tmp_path / "w", **options)
    workspace.learn(tmp_path / "pictures")
    workspace.export(tmp_path / "w.zip")
    return tmp_path / "pictures"


def thumbnails(workspace):
    workspace.report(workspace.path.parent / "report.html")
    return (workspace.path.parent / "report.html").read_text().count("data:image/jpeg")


@pytest.fixture
def opened(monkeypatch):
    """The pictures that were opened."""
    places = []
    before = Image.open
    monkeypatch.setattr(Image, "open", lambda path, **options: places.append(path) or before(path, **options))
    return places


def test_an_import_opens_nothing_that_it_names(pictures, tmp_path, opened):
    copy = Workspace.import_(tmp_path / "w.zip", tmp_path / "copy")
    assert thumbnails(copy) == 0
    assert [info.sample_texts for info in copy.categories(items=True)]
    assert opened == []
    [source] = copy.sources()
    assert (source.path, source.place) == (str(pictures), None)


def test_the_user_says_where_the_data_is(pictures, tmp_path):
    copy = Workspace.import_(tmp_path / "w.zip", tmp_path / "copy")
    pictures.rename(tmp_path / "moved")
    [source] = copy.relocate(pictures, tmp_path / "moved")
    assert source.place == str(tmp_path / "moved")
    assert thumbnails(copy) > 0
    assert thumbnails(Workspace.open(copy.path)) > 0
    assert (copy.path / "local.json").stat().st_mode & 0o077 == 0


def test_a_file_of_ones_own_can_be_trusted(pictures, tmp_path):
    copy = Workspace.import_(tmp_path / "w.zip", tmp_path / "copy", trust=True)
    assert thumbnails(copy) > 0
    assert not (copy.path / "local.json").exists()


def test_data_that_was_moved_is_found_in_ones_own_workspace_too(pictures, tmp_path):
    workspace = Workspace.open(tmp_path / "w")
    assert thumbnails(workspace) > 0
    pictures.rename(tmp_path / "moved")
    assert thumbnails(Workspace.open(tmp_path / "w")) == 0
    workspace.relocate(pictures, tmp_path / "moved")
    assert thumbnails(workspace) > 0


def test_what_is_learned_after_the_import_is_trusted(pictures, tmp_path):
    copy = Workspace.import_(tmp_path / "w.zip", tmp_path / "copy")
    shutil.copytree(pictures, tmp_path / "more")
    copy.learn(tmp_path / "more")
    assert [source.place for source in copy.sources()] == [None, str(tmp_path / "more")]
    items = typical_items(copy.snapshot(), 0, 10)
    shown = [
        (item.commit, bool(content.jpeg))
        for item, content in zip(items, copy.item_contents(items), strict=True)
    ]
    assert set(shown) == {(2, False), (3, True)}


def test_relocating_to_nowhere_or_from_nowhere(pictures, tmp_path):
    copy = Workspace.import_(tmp_path / "w.zip", tmp_path / "copy")
    with pytest.raises(MissingFileError):
        copy.relocate(pictures, tmp_path / "absent")
    with pytest.raises(InputError, match="No session names"):
        copy.relocate("/elsewhere", tmp_path)
    assert copy.sources()[0].place is None


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/data/a/b.csv", "/here/a/b.csv"),
        ("/data", "/here"),
        ("/data/../etc/passwd", None),
        ("/data/a/../../etc/passwd", None),
        ("/database/x", None),
        ("/data\\..\\x", None),
        ("/etc/passwd", None),
    ],
)
def test_relocation_does_not_lead_out_of_its_folder(path, place):
    assert Trust(imported=5, places={"/data": "/here"}).place_of(path, 3) == place


@pytest.mark.parametrize(
    "content", ["", "{}", "[]", '{"imported": "x", "places": {}}', '{"imported": 1, "places": 3}']
)
def test_a_damaged_note_trusts_nothing(tmp_path, content):
    (tmp_path / "local.json").write_text(content)
    assert read_trust(tmp_path).place_of("/x", 10**6) is None


def test_the_note_comes_back_as_it_was(tmp_path):
    assert read_trust(tmp_path) == Trust()
    write_trust(tmp_path, Trust(3, {"/a": "/b"}))
    assert read_trust(tmp_path) == Trust(3, {"/a": "/b"})


@pytest.mark.parametrize(
    "settings",
    [
        {"embedder": "someone/model"},
        {"embedder": "/home/me/secret"},
        {"embedder": "timm:vit"},
        {"embedder_options": {"checkpoint": "/home/me/x.pth"}},
        {"embedder_options": {"size": LARGEST + 1}},
    ],
)
def test_an_embedder_that_an_import_chose_asks_first(pictures, tmp_path, settings, monkeypatch):
    workspace = Workspace.open(tmp_path / "w")
    workspace.configure(**settings)
    workspace.export(tmp_path / "evil.zip")
    copy = Workspace.import_(tmp_path / "evil.zip", tmp_path / "copy", cache=False)
    asked = []
    monkeypatch.setattr("vbcgcd.workspace.batch.make_embedder", lambda *args, **options: asked.append(args))
    with pytest.raises(InputError, match="was imported") as caught:
        copy.predict(pictures)
    assert (caught.value.option, asked) == (next(iter(settings)), [])
    copy.configure(**settings)
    with pytest.raises(AttributeError):  # what stands for the embedder is none
        copy.predict(pictures)
    assert len(asked) == 1


def test_the_offline_embedders_need_no_confirmation(pictures, tmp_path):
    copy = Workspace.import_(tmp_path / "w.zip", tmp_path / "copy")
    assert set(copy.predict(pictures).name) == {"dark", "light"}


def test_to_say_where_a_model_computes_does_not_confirm_its_plug_in(tmp_path):
    chosen = {"cluster": "plugin:mine"}
    Workspace.init(tmp_path / "w", model=chosen).export(tmp_path / "e.zip")
    copy = Workspace.import_(tmp_path / "e.zip", tmp_path / "copy")
    with pytest.raises(InputError, match=r"runs the code of a plug-in[.] If you trust it, confirm it with"):
        copy.configure(model={**chosen, "device": "auto"})
    assert set(copy.unconfirmed()) == {"model"}
    copy.configure(model=chosen)
    copy.configure(model={**chosen, "device": "auto"})
    assert not copy.unconfirmed()


def test_no_export_has_the_note(pictures, tmp_path):
    copy = Workspace.import_(tmp_path / "w.zip", tmp_path / "copy")
    copy.relocate(pictures, pictures)
    copy.export(tmp_path / "again.zip")
    other = Workspace.import_(tmp_path / "again.zip", tmp_path / "other")
    assert json.loads((other.path / "local.json").read_text()) == {"imported": 2, "places": {}}
    assert other.sources()[0].place is None
