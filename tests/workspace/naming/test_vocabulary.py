import numpy as np
import pytest

from vbcgcd.errors import InputError, MissingFileError, WorkspaceWarning
from vbcgcd.workspace import Workspace
from vbcgcd.workspace.naming.vocabulary import embedded, read_vocabulary

COLOURS = {"red": (200, 40, 40), "green": (40, 200, 40), "blue": (40, 40, 200), "orange": (200, 160, 40)}


class Colours:
    """Embeds pictures by their mean colour, and names of colours into the same space."""

    name, kind, dimension, fingerprint, batch_size = "colours", "image", 3, "colours-1", 64

    def embed(self, items):
        return np.array([np.asarray(item, dtype=float).mean(axis=(0, 1)) for item in items])

    def embed_texts(self, texts):
        return np.array([COLOURS.get(text, (120, 120, 120)) for text in texts], dtype=float)


class Blind(Colours):
    embed_texts = None


class Broken(Colours):
    def embed_texts(self, texts):
        raise RuntimeError("no weights")


def pictures(colours, n, rng):
    plain = np.repeat(np.array([COLOURS[colour] for colour in colours]), n, axis=0)[:, None, None]
    return np.clip(plain + rng.normal(0, 15, (len(plain), 4, 4, 3)), 0, 255).astype(np.uint8)


def discovered(path, embedder, **settings):
    pytest.importorskip("PIL")
    rng = np.random.default_rng(0)
    workspace = Workspace.init(path, embedder=embedder, cache=False, model={"count": "evidence"}, **settings)
    known = ["red", "green", "blue"]
    workspace.learn(pictures(known, 12, rng), np.repeat(known, 12))
    found = workspace.discover(pictures(["orange", "blue"], 12, rng), n_novel=1)
    return workspace, found


WORDS = ["green", "blue", "violin", "orange", "red"]


def test_pictures_are_named_by_the_words_of_the_vocabulary(tmp_path):
    workspace, found = discovered(tmp_path / "w", Colours(), vocabulary=WORDS)
    assert found.novel == {3: "orange"}
    assert workspace.category(3).named_by == "terms"


def test_suggestions_come_from_the_vocabulary(tmp_path):
    workspace, found = discovered(tmp_path / "w", Colours())
    assert found.novel[3].startswith("like ")
    workspace.configure(vocabulary=WORDS)
    [suggestion] = workspace.suggest_names()
    assert (suggestion.best, suggestion.proposals[0].source) == ("orange", "vocabulary")
    assert workspace.category(3).name == found.novel[3]  # nothing was renamed


@pytest.mark.parametrize("embedder", [Blind(), Broken()])
def test_a_session_succeeds_without_words(tmp_path, embedder):
    with pytest.warns(WorkspaceWarning, match="vocabulary was not used"):
        _, found = discovered(tmp_path / "w", embedder, vocabulary=WORDS)
    assert found.novel[3].startswith("like ")


def test_vectors_that_do_not_fit():
    class Short(Colours):
        def embed_texts(self, texts):
            return np.zeros((len(texts), 2))

    with pytest.raises(InputError, match=r"shape \(1, 2\) for 1 words, expected \(1, 3\)"):
        embedded(["red"], Short())


def test_a_file_of_words(tmp_path):
    file = tmp_path / "words.txt"
    file.write_text("\ufeff# colours\nred\n\n  dark green \nred\n", encoding="utf-8")
    assert read_vocabulary(file) == ["red", "dark green"]
    workspace = Workspace.init(tmp_path / "w", vocabulary=str(file))
    file.unlink()
    assert Workspace(tmp_path / "w").config()["vocabulary"] == ["red", "dark green"]
    with pytest.raises(MissingFileError, match="There is no file"):
        workspace.configure(vocabulary=file)


@pytest.mark.parametrize("words", [7, [7], ["a\nb"], ["x" * 61], ["w" + str(i) for i in range(5001)]])
def test_what_is_no_vocabulary(words, tmp_path):
    workspace = Workspace.init(tmp_path / "w")
    before = workspace.last_commit
    with pytest.raises(InputError):
        workspace.configure(vocabulary=words)
    assert workspace.last_commit == before


def test_a_file_that_is_no_text(tmp_path):
    file = tmp_path / "words.txt"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="cannot be read as UTF-8"):
        read_vocabulary(file)
