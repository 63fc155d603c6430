import zlib

import numpy as np
import pytest

from vbcgcd.workspace import Workspace
from vbcgcd.workspace.commands import novel_names

WORDS = ("weather", "music", "luggage", "flight")
TEXTS = {
    "weather": ["what is the weather today", "will the weather be fine", "weather for tomorrow please"],
    "music": ["play some music", "play music by the band", "turn on the music please"],
    "luggage": ["I lost my luggage", "the airline lost my luggage", "they lost my luggage again"],
    "flight": ["book a flight to Rome", "please book a flight", "can you book a flight for me"],
}


class Words:
    """Texts to vectors: which of a few words occur, and a little of its own for each text."""

    name, kind, fingerprint, batch_size, dimension = "words", "text", "words-1", 64, 4

    def embed(self, items):
        counts = np.array([[float(word in text) for word in WORDS] for text in items])
        noise = [np.random.default_rng(zlib.crc32(text.encode())).normal(size=4) for text in items]
        return counts + 0.05 * np.array(noise)


def texts(*kinds, salt=""):
    return [f"{TEXTS[kind][i % 3]} {salt}{'x' * i}" for kind in kinds for i in range(12)]


def learned(path, labels=("weather", "music"), **settings):
    model = {"count": "evidence", "n_components": 4, "prior_strength": 10.0}
    workspace = Workspace.init(path, embedder=Words(), cache=False, model=model, **settings)
    workspace.learn(np.array(texts("weather", "music")), np.repeat(labels, 12))
    return workspace


def test_words_of_a_known_name_are_not_given_again(tmp_path):
    workspace = learned(tmp_path / "w", labels=("luggage_lost", "music"))  # a label that says something else
    found = workspace.discover(np.array(texts("luggage", "music")), n_novel=1)
    [name] = found.novel.values()
    assert name
    assert set(name.split()) != {"lost", "luggage"}
    assert name != "lost my luggage"


def test_names_by_number(tmp_path):
    workspace = learned(tmp_path / "w", names="number")
    assert workspace.discover(np.array(texts("luggage", "flight")), n_novel=2).novel == {
        2: "novel-2",
        3: "novel-3",
    }


def test_known_categories_without_texts_speak_by_names_and_excerpts(tmp_path, monkeypatch):
    workspace = learned(tmp_path / "w", excerpts=2)
    workspace.discover(np.array(texts("luggage", "music")), n_novel=1)
    seen = {}

    def spy(texts, codes, n_groups, **options):
        seen.update(texts=texts, codes=np.asarray(codes), n_groups=n_groups, **options)
        return [[] for _ in options["wanted"]]

    monkeypatch.setattr(novel_names, "phrase_names", spy)
    found = workspace.discover(np.array(texts("flight", "music", salt="y")), n_novel=1)
    assert found.novel == {3: "novel-3"}  # what has no name gets a number
    by_code = {c: [t for t, k in zip(seen["texts"], seen["codes"], strict=True) if k == c] for c in range(4)}
    for code, name, word in ((1, "weather", "weather"), (2, "lost my luggage", "luggage")):
        assert by_code[code][0] == name
        assert len(by_code[code]) == 3
        assert all(word in text for text in by_code[code])
    assert len(by_code[3]) == 12
    assert (seen["wanted"], seen["n_groups"], seen["similarity"].shape) == ([3], 4, (4, 4))
    assert set(seen["taken"]) == {"weather", "music", "lost my luggage"}


@pytest.mark.parametrize("names", ["auto", "number"])
def test_names_last(tmp_path, names):
    workspace = learned(tmp_path / "w", names=names)
    workspace.discover(np.array(texts("luggage", "music")), n_novel=1)
    before = {category.id: category.name for category in workspace.entries()}
    workspace.discover(np.array(texts("luggage", "flight", salt="y")), n_novel=1)
    assert {c.id: c.name for c in workspace.entries() if c.id in before} == before
