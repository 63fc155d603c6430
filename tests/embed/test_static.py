import json

import numpy as np
import pytest

pytest.importorskip("tokenizers", reason="needs the extra 'text'")

from vbcgcd.embed import embed_items, embedder
from vbcgcd.embed.protocol import Embedder, ItemError
from vbcgcd.embed.static import StaticEmbedder, is_static, static_embedder
from vbcgcd.errors import InputError, MissingFileError

#: Positions of "my card" in the vocabulary of the tests.
MY, CARD, N_WORDS = 4, 5, 13


def test_a_text_is_the_mean_of_its_words(static_folder):
    made = static_embedder(static_folder(), normalise=False)
    assert isinstance(made, Embedder)
    np.testing.assert_allclose(made.embed(["my card"])[0], made.vectors[[MY, CARD]].mean(0), rtol=1e-6)
    unit = static_embedder(static_folder()).embed(["my card"])[0]
    np.testing.assert_allclose(unit, made.embed(["my card"])[0] / np.linalg.norm(made.embed(["my card"])))


def test_unknown_words_say_nothing(static_folder, things):
    made = static_embedder(static_folder())
    np.testing.assert_array_equal(made.embed(["my quux card"]), made.embed(["my card"]))
    with pytest.raises(ItemError, match="no word"):
        made.prepare("quux")
    result = embed_items(things("text", ["my", "quux", ""]), made, cache=None)
    assert [f.reason for f in result.failures] == ["no word of it is known to the embedder", "empty text"]


def test_weights_and_shared_vectors(static_folder):
    weights = np.linspace(0.1, 2, N_WORDS).astype(np.float32)
    mapping = np.arange(N_WORDS) // 7
    shared = np.array([[1.0, 0.0], [0.0, 1.0]], dtype=np.float32)
    folder = static_folder(embeddings=shared, weights=weights, mapping=mapping)
    made = static_embedder(folder, normalise=False)
    expected = (shared[mapping[[MY, 7]]] * weights[[MY, 7], None]).mean(0)
    np.testing.assert_allclose(made.embed(["my stolen"])[0], expected, rtol=1e-6)


def test_a_half_precision_model_gives_float32(static_folder):
    folder = static_folder(embeddings=np.ones((N_WORDS, 4), dtype=np.float16))
    assert static_embedder(folder).embed(["my card"]).dtype == np.float32


def test_it_has_a_name_and_is_found_by_its_folder(static_folder):
    folder = static_folder()
    named, found = embedder(f"model2vec:{folder}", kind="text"), embedder(folder, kind="text")
    assert isinstance(named, StaticEmbedder)
    assert isinstance(found, StaticEmbedder)
    assert (named.name, found.name) == (f"model2vec:{folder}", str(folder))
    assert (named.fingerprint, named.dimension, named.batch_size) == (found.fingerprint, 3, 1024)
    assert embedder(folder, kind="text", batch_size=7).batch_size == 7


def test_fingerprint_follows_vectors_normalisation_and_length(static_folder):
    folder = static_folder()
    prints = {static_embedder(folder).fingerprint, static_embedder(folder, normalise=False).fingerprint}
    (folder / "config.json").write_text(json.dumps({"max_length": 3}))
    prints.add(static_embedder(folder).fingerprint)
    static_folder(embeddings=np.ones((N_WORDS, 3), dtype=np.float32))
    prints.add(static_embedder(folder).fingerprint)
    assert len(prints) == 4


def test_long_texts_are_cut(static_folder):
    folder = static_folder()
    (folder / "config.json").write_text(json.dumps({"max_length": 2}))
    made = static_embedder(folder)
    np.testing.assert_array_equal(made.embed(["my card my my"]), made.embed(["my card"]))


def test_what_is_no_model_is_named(static_folder, tmp_path):
    with pytest.raises(MissingFileError, match="absent"):
        embedder(f"model2vec:{tmp_path / 'absent'}", kind="text")
    with pytest.raises(InputError, match=r"Cannot load static embeddings.*model2vec"):
        embedder(f"model2vec:{tmp_path}", kind="text")
    with pytest.raises(InputError, match="9 vectors but 13 tokens"):
        static_embedder(static_folder(embeddings=np.ones((9, 3), dtype=np.float32)))
    assert not is_static(tmp_path)
