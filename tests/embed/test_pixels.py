import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from typer.testing import CliRunner

from vbcgcd.cli import app
from vbcgcd.embed import embed_items, embedder
from vbcgcd.embed.pixels import PixelEmbedder
from vbcgcd.embed.protocol import Embedder
from vbcgcd.errors import InputError


@pytest.mark.parametrize("grey", [False, True])
@pytest.mark.parametrize("size", [1, 8, 16])
def test_is_an_embedder(pictures, size, grey):
    model = embedder("pixels", kind="image", size=size, grey=grey)
    assert isinstance(model, Embedder)
    assert (model.name, model.kind) == ("pixels", "image")
    vectors = model.embed(list(pictures))
    assert vectors.shape == (12, model.dimension) == (12, size * size * (1 if grey else 3))
    assert vectors.dtype == np.float32
    assert 0 <= vectors.min() <= vectors.max() <= 1
    assert model.embed([]).shape == (0, model.dimension)
    np.testing.assert_array_equal(vectors, model.forward([model.prepare(p) for p in pictures]))


def test_the_default_is_sixteen_pixels_in_colour():
    assert embedder("pixels", kind="image") == PixelEmbedder(size=16, grey=False)


@given(st.integers(1, 6), st.integers(1, 4), st.integers(0, 10_000))
def test_each_number_is_the_mean_of_an_area(size, factor, seed):
    image = np.random.default_rng(seed).integers(0, 256, (size * factor, size * factor), dtype=np.uint8)
    means = image.reshape(size, factor, size, factor).mean(axis=(1, 3)) / 255
    found = PixelEmbedder(size=size, grey=True).embed([image]).reshape(size, size)
    np.testing.assert_allclose(found, means, atol=1.01 / 255)  # Pillow rounds after each of two passes


@given(st.integers(1, 6), st.integers(1, 5), st.integers(0, 10_000))
def test_a_picture_drawn_larger_is_the_same(size, factor, seed):
    image = np.random.default_rng(seed).integers(0, 256, (size, size, 3), dtype=np.uint8)
    larger = image.repeat(factor, axis=0).repeat(factor, axis=1)
    model = PixelEmbedder(size=size)
    np.testing.assert_array_equal(model.embed([image, larger]), [image.reshape(-1) / np.float32(255)] * 2)


def test_pictures_of_any_shape_are_squeezed_whole():
    wide = np.zeros((4, 12), dtype=np.uint8)
    wide[:, 6:] = 255
    assert PixelEmbedder(size=2, grey=True).embed([wide]).tolist() == [[0, 1, 0, 1]]


def test_the_fingerprint_tells_vectors_apart():
    first = PixelEmbedder()
    others = [replace(first, size=8), replace(first, grey=True), replace(first, interpolation="bicubic")]
    assert len({model.fingerprint for model in (first, *others)}) == 4
    assert PixelEmbedder(size=8, grey=True).fingerprint == "b258235ff47a90ce685659548853580d"  # as ever
    assert replace(first, batch_size=3).fingerprint == first.fingerprint


def test_broken_pictures_are_named(tmp_path, pictures, things):
    Image.fromarray(pictures[0]).save(tmp_path / "a.png")
    (tmp_path / "b.png").write_bytes(b"no picture")
    items = things("image", [tmp_path / "b.png", tmp_path / "a.png"], ["b", "a"])
    result = embed_items(items, PixelEmbedder(size=4))
    assert result.rows.tolist() == [1]
    assert [f.reference for f in result.failures] == ["b"]
    np.testing.assert_array_equal(result.vectors, PixelEmbedder(size=4).embed([pictures[0]]))
    assert embed_items(items, PixelEmbedder(size=4)).reused == 1
    assert embed_items(items, PixelEmbedder(size=5)).reused == 0


def test_views_differ_and_repeat(pictures, things):
    model = PixelEmbedder(size=4, grey=True)
    first, again = (embed_items(things("image", pictures), model, views=2).views for _ in range(2))
    assert first.shape == (12, 2, 16)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first[:, 0], first[:, 1])


@pytest.mark.parametrize(
    "options",
    [
        {"size": 0},
        {"size": 500},
        {"grey": "yes"},
        {"interpolation": "fancy"},
        {"batch_size": 0},
        {"device": "cuda"},
        {"precision": "float16"},
        {"heads": 3},
    ],
)
def test_other_options_are_refused(options):
    with pytest.raises(InputError) as caught:
        embedder("pixels", kind="image", **options)
    assert caught.value.option == next(iter(options))


def test_options_that_change_nothing_are_taken():
    model = embedder("pixels", kind="image", device="cpu", precision="float32", batch_size=7)
    assert (model.batch_size, model.fingerprint) == (7, PixelEmbedder().fingerprint)


def test_texts_are_refused():
    with pytest.raises(InputError) as caught:
        embedder("pixels", kind="text")
    assert caught.value.option == "embedder"


def test_without_pillow_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"vbcgcd\[workspace\]"):
        embedder("pixels", kind="image")


WITHOUT_TORCH = """
import sys
asked = []
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "transformers", "sentence_transformers"):
            asked.append(name)
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
from vbcgcd.embed import embed_items, embedder
from vbcgcd.items import read_items
model = embedder("pixels", kind="image", size=4)
items = read_items(sys.argv[1])
first = embed_items(items, model, cache=sys.argv[2])
again = embed_items(items, model, cache=sys.argv[2])
print(first.computed, again.reused, (first.vectors == again.vectors).all(), first.problem, asked)
print(model.fingerprint)
"""


def test_neither_embedding_nor_the_cache_asks_for_torch(tmp_path, pictures):
    (tmp_path / "photos").mkdir()
    for i, picture in enumerate(pictures[:3]):
        Image.fromarray(picture).save(tmp_path / "photos" / f"{i}.png")
    command = [sys.executable, "-c", WITHOUT_TORCH, str(tmp_path / "photos"), str(tmp_path / "cache")]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    # The fingerprint is the same in every process.
    assert process.stdout.splitlines() == ["3 3 True None []", PixelEmbedder(size=4).fingerprint]


def test_the_command_line_embeds_with_it(tmp_path, pictures):
    for i, picture in enumerate(pictures[:4]):
        (tmp_path / "photos" / "ab"[i % 2]).mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture).save(tmp_path / "photos" / "ab"[i % 2] / f"{i}.png")
    out = tmp_path / "x.npz"
    options = ["-o", str(out), "--with", "pixels", "--size", "5"]
    result = CliRunner().invoke(app, ["embed", str(tmp_path / "photos"), *options])
    assert result.exit_code == 0, result.output
    with np.load(out) as arrays:
        x = next(arrays[name] for name in ("x", "train_x") if name in arrays)
        assert x.shape[1] == 75
        assert str(arrays["fingerprint"]) == PixelEmbedder(size=5).fingerprint
    refused = CliRunner().invoke(app, ["embed", str(tmp_path / "photos"), *options, "--device", "cuda"])
    assert refused.exit_code == 2
