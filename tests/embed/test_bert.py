import numpy as np
import pytest
from safetensors.numpy import load_file
from scipy.special import erf, softmax

from vbcgcd.embed import bert
from vbcgcd.embed.bert import gelu, read_bert


@pytest.fixture(scope="module")
def tensors(bert_folder):
    return load_file(bert_folder / "model.safetensors")


@pytest.fixture(scope="module")
def tiny(bert_folder, tensors):
    return read_bert(bert_folder, tensors)


def by_the_book(tensors, tokens, heads=2):
    """Mean embedding of one text: the equations of the paper, token by token, in float64."""
    t = {name: array.astype(np.float64) for name, array in tensors.items()}

    def dense(name, x):
        return x @ t[f"{name}.weight"].T + t[f"{name}.bias"]

    def norm(name, x):
        x = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-12)
        return x * t[f"{name}.weight"] + t[f"{name}.bias"]

    x = t["embeddings.word_embeddings.weight"][tokens]
    x = x + t["embeddings.position_embeddings.weight"][: len(tokens)]
    x = norm("embeddings.LayerNorm", x + t["embeddings.token_type_embeddings.weight"][0])
    for number in range(2):
        base = f"encoder.layer.{number}"
        q, k, v = (
            np.split(dense(f"{base}.attention.self.{part}", x), heads, axis=1)
            for part in ("query", "key", "value")
        )
        taken = [softmax(q[h] @ k[h].T / np.sqrt(q[h].shape[1]), axis=1) @ v[h] for h in range(heads)]
        attended = dense(f"{base}.attention.output.dense", np.concatenate(taken, axis=1))
        x = norm(f"{base}.attention.output.LayerNorm", attended + x)
        wide = dense(f"{base}.intermediate.dense", x)
        wide = wide * (1 + erf(wide / np.sqrt(2))) / 2
        x = norm(f"{base}.output.LayerNorm", dense(f"{base}.output.dense", wide) + x)
    return x.mean(0)


TEXTS = [[2, 4, 5, 3], [2, 3], [2, 8, 9, 10, 11, 3], [2, 6, 7, 3], [2, 4, 5, 6, 7, 8, 9, 10, 11, 3]]


def test_the_forward_pass_is_that_of_the_equations(tiny, tensors):
    expected = [by_the_book(tensors, text) for text in TEXTS]
    np.testing.assert_allclose(tiny.means(TEXTS), expected, atol=1e-5)


@pytest.mark.parametrize("tokens", [1, 4, 7, 1000])
def test_packing_changes_nothing(tiny, monkeypatch, tokens):
    alone = np.concatenate([tiny.means([text]) for text in TEXTS])
    monkeypatch.setattr(bert, "PACK_TOKENS", tokens)
    np.testing.assert_allclose(tiny.means(TEXTS), alone, atol=2e-6)


def test_no_texts_give_no_rows(tiny):
    assert tiny.means([]).shape == (0, 8)


def test_gelu_is_exact_to_the_precision_of_its_arithmetic():
    x = np.linspace(-9, 9, 9000, dtype=np.float32).reshape(-1, 90)
    exact = x.astype(np.float64) * (1 + erf(x.astype(np.float64) / np.sqrt(2))) / 2
    np.testing.assert_allclose(gelu(x.copy()), exact, atol=1e-6)
