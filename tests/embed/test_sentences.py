import json
import shutil

import numpy as np
import pytest

pytest.importorskip("tokenizers", reason="needs the extra 'text'")

from vbcgcd.embed import embedder
from vbcgcd.embed.protocol import Embedder
from vbcgcd.embed.sentences import SentenceEmbedder, is_plain_bert, sentence_embedder
from vbcgcd.errors import InputError

TEXTS = ["my card was stolen", "what is the balance", "card", "nobody knows these words", "the " * 30]


@pytest.fixture
def copied(bert_folder, tmp_path):
    return shutil.copytree(bert_folder, tmp_path / "copy")


def change(folder, file, **values):
    old = json.loads((folder / file).read_text())
    (folder / file).write_text(json.dumps({**old, **values}))


def test_a_folder_of_the_family_needs_no_torch(bert_folder):
    made = embedder(bert_folder, kind="text", device="cpu")
    assert isinstance(made, SentenceEmbedder)
    assert isinstance(made, Embedder)
    assert (made.kind, made.dimension, made.name, made.length) == ("text", 8, str(bert_folder), 10)
    np.testing.assert_allclose(np.linalg.norm(made.embed(TEXTS), axis=1), 1, rtol=1e-6)
    assert made.embed([]).shape == (0, 8)


@pytest.mark.parametrize(
    ("file", "values"),
    [
        ("config.json", {"model_type": "roberta"}),
        ("config.json", {"hidden_act": "relu"}),
        ("config.json", {"position_embedding_type": "relative_key"}),
        ("1_Pooling/config.json", {"pooling_mode_cls_token": True}),
        ("1_Pooling/config.json", {"pooling_mode_mean_tokens": False, "pooling_mode_cls_token": True}),
    ],
)
def test_other_models_are_left_to_torch(copied, file, values):
    assert is_plain_bert(copied)
    change(copied, file, **values)
    assert not is_plain_bert(copied)


@pytest.mark.parametrize("file", ["config.json", "modules.json", "model.safetensors", "tokenizer.json"])
def test_incomplete_folders_are_left_to_torch(copied, file):
    (copied / file).unlink()
    assert not is_plain_bert(copied)


def test_other_modules_and_precisions_are_left_to_torch(copied):
    from safetensors.numpy import load_file, save_file

    modules = json.loads((copied / "modules.json").read_text())
    (copied / "modules.json").write_text(
        json.dumps([*modules, {"type": "sentence_transformers.models.Dense"}])
    )
    assert not is_plain_bert(copied)
    (copied / "modules.json").write_text(json.dumps(modules))
    half = {name: array.astype(np.float16) for name, array in load_file(copied / "model.safetensors").items()}
    save_file(half, copied / "model.safetensors")
    assert not is_plain_bert(copied)


def test_missing_weights_are_one_clear_error(copied):
    change(copied, "config.json", num_hidden_layers=3)
    with pytest.raises(InputError, match=r"Cannot load a text model.*encoder\.layer\.2"):
        sentence_embedder(copied)


def test_a_model_that_does_not_normalise_can_be_left_so(copied):
    modules = json.loads((copied / "modules.json").read_text())
    (copied / "modules.json").write_text(json.dumps(modules[:2]))
    plain, unit = (sentence_embedder(copied, normalise=on) for on in (False, True))
    rows = plain.embed(TEXTS)
    np.testing.assert_allclose(
        rows / np.linalg.norm(rows, axis=1, keepdims=True), unit.embed(TEXTS), rtol=1e-5
    )
    assert plain.fingerprint != unit.fingerprint


def test_fingerprint_follows_weights_and_length(copied):
    from safetensors.numpy import load_file, save_file

    before = sentence_embedder(copied).fingerprint
    assert sentence_embedder(copied).fingerprint == before
    change(copied, "sentence_bert_config.json", max_seq_length=6)
    shorter = sentence_embedder(copied).fingerprint
    tensors = load_file(copied / "model.safetensors")
    tensors["pooler.dense.bias"] = tensors["pooler.dense.bias"] + 1
    save_file(tensors, copied / "model.safetensors")
    assert len({before, shorter, sentence_embedder(copied).fingerprint}) == 3


def test_torch_gives_the_same_vectors_and_the_same_fingerprint(bert_folder):
    pytest.importorskip("sentence_transformers", reason="needs the extra 'text-torch'")
    from vbcgcd.embed.texts import TextEmbedder, _torch_embedder

    ours = sentence_embedder(bert_folder)
    theirs = _torch_embedder(bert_folder, name="tiny", device="cpu")
    assert isinstance(theirs, TextEmbedder)
    np.testing.assert_allclose(ours.embed(TEXTS), theirs.embed(TEXTS), atol=1e-4)
    assert ours.fingerprint == theirs.fingerprint
