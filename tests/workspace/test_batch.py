from types import SimpleNamespace

import numpy as np
import pytest

from vbcgcd.embed import embed_file
from vbcgcd.errors import InputError
from vbcgcd.items import Items
from vbcgcd.workspace import Workspace, batch
from vbcgcd.workspace.batch import EmbedderMark, Embedding
from vbcgcd.workspace.config import DEFAULTS
from vbcgcd.workspace.snapshot import State

TEXTS = ["card card", "card here", "rain rain", "rain now"]


class Loader:
    """Loads data for a workspace with these settings and this mark."""

    def __init__(self, mark=None, embedder=None, **settings):
        state = State(config={**DEFAULTS, **settings}, embedder=None if mark is None else mark.as_json())
        self.embedding = Embedding(state, embedder)

    def load(self, data, labels=None, **columns):
        return self.embedding.load(data, columns, labels=labels)


def test_arrays_items_and_files_are_the_same(tmp_path):
    rows = np.arange(6.0).reshape(3, 2)
    np.savez(tmp_path / "x.npz", x=rows, y=np.array([0, 1, 1]))
    for given, labels in (
        (rows, [0, 1, 1]),
        (rows.tolist(), [0, 1, 1]),
        (Items("embedding", rows, ["0", "1", "2"], "here", np.array([0, 1, 1])), None),
        (tmp_path / "x.npz", None),
    ):
        loaded = Loader().load(given, labels)
        np.testing.assert_array_equal(loaded.vectors, rows)
        assert loaded.items.labels.tolist() == [0, 1, 1]
        assert loaded.mark == EmbedderMark("array", "embedding", "array", 2)


def test_texts_are_embedded_by_the_given_embedder(words):
    loaded = Loader(embedder=words).load(TEXTS)
    assert loaded.mark == EmbedderMark("words", "text", "words-1", 6)
    np.testing.assert_allclose(loaded.vectors, words.embed(TEXTS), rtol=1e-6)


def test_items_that_fail_are_named_and_left_out(words):
    loaded = Loader(embedder=words).load(["card", "  ", "rain"])
    assert loaded.references == ["0", "2"]
    assert [f.reference for f in loaded.failures] == ["1"]
    with pytest.raises(InputError, match="None of the items"):
        Loader(embedder=words).load([" ", "  "])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.ones((3, 4)), r" 2 .* 4\b"),
        (np.ones((0, 2)), "is empty"),
        (np.ones(3), "use embeddings"),
        ([["a", 1.0], ["b", 2.0]], "use embeddings"),
        ([[1.0], [1.0, 2.0]], "into an array"),
        (["text"], "holds texts"),
        ([[np.nan, 1.0]], "NaN"),
        ("nowhere.csv", "no file or folder"),
    ],
)
def test_what_does_not_fit_is_one_clear_error(data, message):
    with pytest.raises(InputError, match=message):
        Loader(EmbedderMark("array", "embedding", "array", 2)).load(data)


def test_an_items_vector_that_is_not_finite_is_named():
    items = Items("embedding", np.array([[1.0, 2.0], [np.inf, 1.0]]), ["a", "b"], "here")
    with pytest.raises(InputError, match="'b' of here"):
        Loader().load(items)


def test_labels_and_columns_go_with_the_right_data(tmp_path):
    with pytest.raises(InputError) as caught:
        Loader().load(tmp_path / "x.npy", [1])
    assert caught.value.option == "labels"
    with pytest.raises(InputError) as caught:
        Loader().load(np.ones((2, 2)), label="y")
    assert caught.value.option == "label"
    with pytest.raises(InputError) as caught:
        Loader().load(Items("text", ["a"], ["0"], "here"), ["x"])
    assert caught.value.option == "labels"


def test_another_embedder_is_refused_before_the_work(words):
    mark = EmbedderMark("other", "text", "other-9", 6)
    words.embed = None  # it is never asked
    with pytest.raises(InputError, match=r"'other' .*'words'"):
        Loader(mark, embedder=words).load(TEXTS)


def test_embeddings_made_beforehand_carry_their_fingerprint(words, tmp_path):
    (tmp_path / "t.csv").write_text("id,text,label\n" + "".join(f"t{i},{t},x\n" for i, t in enumerate(TEXTS)))
    embed_file(tmp_path / "t.csv", tmp_path / "t.npz", embedder=words, cache=False)
    of_texts = EmbedderMark("words", "text", "words-1", 6)
    loaded = Loader(of_texts).load(tmp_path / "t.npz")
    assert loaded.references == ["t0", "t1", "t2", "t3"]
    assert loaded.mark.fingerprint == "words-1"
    with pytest.raises(InputError, match="for texts"):
        Loader(EmbedderMark("other", "text", "other-1", 6)).load(tmp_path / "t.npz")
    # The other way round: the workspace was made from the file, and meets texts.
    assert len(Loader(loaded.mark, embedder=words).load(TEXTS)) == 4
    with pytest.raises(InputError, match="holds embeddings"):
        Loader(of_texts).load(np.ones((2, 6)))


def test_references_that_utf8_cannot_hold():
    items = Items("embedding", np.ones((1, 2)), ["caf\udce9.png"], "here")
    assert Loader().load(items).references == ["caf\\udce9.png"]


def test_kind_can_be_fixed_beforehand(tmp_path):
    workspace = Workspace.init(tmp_path / "w", kind="text")
    with pytest.raises(InputError, match="holds embeddings"):
        workspace.learn(np.ones((4, 2)), [0, 0, 1, 1])


def test_the_embedder_that_the_settings_name_is_made_when_a_vector_is_missing(tmp_path, words, monkeypatch):
    asked = []

    def make(name, **options):
        asked.append((name, options))
        return words

    monkeypatch.setattr(batch, "make_embedder", make)
    settings = {
        "embedder": "some/model",
        "embedder_options": {"device": "cpu"},
        "model": {"count": "evidence"},
    }
    Workspace.init(tmp_path / "w", **settings).learn(TEXTS * 2, ["pay", "pay", "wet", "wet"] * 2)
    workspace = Workspace.open(tmp_path / "w")
    assert workspace.predict(TEXTS).name == ["pay", "pay", "wet", "wet"]
    assert len(asked) == 1  # all vectors were in the cache
    assert workspace.predict(["rain again", *TEXTS]).name == ["wet", "pay", "pay", "wet", "wet"]
    assert asked == [("some/model", {"kind": "text", "device": "cpu"})] * 2
    workspace.configure(embedder="elsewhere/model")
    workspace.predict(["rain once more"])
    assert asked[-1][0] == "elsewhere/model"


def test_an_open_workspace_loads_its_embedder_once(tmp_path, words, monkeypatch):
    loads = []
    monkeypatch.setattr(batch, "make_embedder", lambda name, **options: loads.append(name) or words)
    settings = {"embedder": "some/model", "model": {"count": "evidence"}}
    Workspace.init(tmp_path / "w", **settings).learn(TEXTS * 2, ["pay", "pay", "wet", "wet"] * 2)
    loads.clear()
    workspace = Workspace.open(tmp_path / "w", cache=False)
    workspace.warm_up()
    for text in ("rain", "more rain"):
        assert workspace.predict([text]).name == ["wet"]
    assert loads == ["some/model"]


def test_another_embedder_is_refused_before_it_makes_a_vector(tmp_path, words, monkeypatch):
    workspace = Workspace.init(tmp_path / "w", embedder=words, model={"count": "evidence"})
    workspace.learn(TEXTS * 2, ["pay", "pay", "wet", "wet"] * 2)
    other = SimpleNamespace(name="other", kind="text", fingerprint="another", dimension=6, batch_size=8)
    other.embed = lambda items: pytest.fail("embedded")
    monkeypatch.setattr(batch, "make_embedder", lambda name, **options: other)
    workspace = Workspace.open(tmp_path / "w")
    assert workspace.predict(TEXTS).name == [
        "pay",
        "pay",
        "wet",
        "wet",
    ]  # cached
    for use in (lambda: workspace.predict(["rain"]), workspace.warm_up):
        with pytest.raises(InputError, match="cannot be compared"):
            use()
