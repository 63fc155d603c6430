import argparse

import numpy as np
import pytest
from PIL import Image

torch = pytest.importorskip("torch", reason="needs the extra 'vision'")
transformers = pytest.importorskip("transformers", reason="needs the extra 'vision'")

from safetensors.torch import save_file  # noqa: E402

from vbcgcd.embed import embedder  # noqa: E402
from vbcgcd.embed.vit import load_vit, pooled  # noqa: E402
from vbcgcd.errors import InputError, MissingFileError  # noqa: E402

SHAPES = {
    "dino": {},
    "dino without qkv bias": {"bias": False},
    "dinov2": {"scale": True, "patch": 14, "grid": 3},
    "dinov2 with registers": {"scale": True, "registers": 4},
    "dinov2 swiglu": {"scale": True, "swiglu": True},
}
SMALL = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "image_size": 32,
    "patch_size": 8,
}


def pixels(side, n=3):
    return torch.randn(n, 3, side, side, generator=torch.Generator().manual_seed(1))


def wrapped(state, how):
    if how == "bare":
        return state
    if how == "teacher":
        inner = {f"module.backbone.{k}": v for k, v in state.items()}
        head = {"module.head.mlp.0.weight": torch.zeros(2, 2)}
        other = {k: v + 1 for k, v in inner.items()}
        args = argparse.Namespace(arch="vit_small", lr=0.1)
        return {
            "student": other,
            "teacher": inner | head,
            "epoch": 3,
            "args": args,
            "optimizer": {"state": {}},
        }
    if how == "student":
        return {"student": {f"module.{k}": v for k, v in state.items()}}
    return {"state_dict": {f"backbone.{k}": v for k, v in state.items()}}


def tiny(family):
    torch.manual_seed(0)
    if family == "vit":
        config = transformers.ViTConfig(**SMALL, intermediate_size=256, layer_norm_eps=1e-6)
        return transformers.ViTModel(config).eval()
    model = transformers.Dinov2Model(transformers.Dinov2Config(**SMALL)).eval()
    with torch.no_grad():
        model.embeddings.cls_token.normal_()
    return model


def truth(model, batch):
    with torch.inference_mode():
        return model(batch).last_hidden_state[:, 0]


class TestOriginalFiles:
    @pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
    def test_cls_token_equals_an_independent_implementation(self, tmp_path, make_original, shape):
        model = make_original(**shape)
        torch.save(model.state_dict(), tmp_path / "model.pth")
        loaded = load_vit(tmp_path / "model.pth", device="cpu")
        batch = pixels(shape.get("patch", 8) * shape.get("grid", 4))
        torch.testing.assert_close(pooled(loaded.module, batch), model(batch), atol=1e-5, rtol=0)
        assert loaded.dimension == 128
        assert loaded.preprocess.size == (batch.shape[2],) * 2

    @pytest.mark.parametrize("how", ["bare", "teacher", "student", "state_dict"])
    @pytest.mark.parametrize("scale", [False, True])
    def test_wrappers_and_prefixes(self, tmp_path, make_original, how, scale):
        model = make_original(scale=scale)
        torch.save(wrapped(model.state_dict(), how), tmp_path / "checkpoint.pth")
        module = load_vit(tmp_path / "checkpoint.pth").module
        torch.testing.assert_close(pooled(module, pixels(32)), model(pixels(32)), atol=1e-5, rtol=0)

    @pytest.mark.parametrize("scale", [False, True])
    def test_positions_are_interpolated(self, tmp_path, make_original, scale):
        model = make_original(scale=scale)
        torch.save(model.state_dict(), tmp_path / "m.pth")
        loaded = load_vit(tmp_path / "m.pth", size=48)
        assert loaded.preprocess.size == (48, 48)
        torch.testing.assert_close(pooled(loaded.module, pixels(48)), model(pixels(48)), atol=1e-5, rtol=0)

    def test_single_safetensors_and_sharded_block_names(self, tmp_path, make_original):
        model = make_original(scale=True)
        state = {k.replace("blocks.", "blocks.0."): v for k, v in model.state_dict().items()}
        save_file(state, tmp_path / "m.safetensors")
        module = load_vit(tmp_path / "m.safetensors").module
        torch.testing.assert_close(pooled(module, pixels(32)), model(pixels(32)), atol=1e-5, rtol=0)

    def test_heads_are_said_where_they_are_not_64_wide(self, tmp_path, make_original):
        model = make_original(heads=4)
        torch.save(model.state_dict(), tmp_path / "m.pth")
        right = pooled(load_vit(tmp_path / "m.pth", heads=4).module, pixels(32))
        torch.testing.assert_close(right, model(pixels(32)), atol=1e-5, rtol=0)
        guessed = pooled(load_vit(tmp_path / "m.pth").module, pixels(32))
        assert (guessed - right).abs().max() > 1e-3
        with pytest.raises(InputError) as caught:
            load_vit(tmp_path / "m.pth", heads=5)
        assert caught.value.option == "heads"


class TestLibraryFormats:
    @pytest.mark.parametrize("family", ["vit", "dinov2"])
    @pytest.mark.parametrize("form", ["folder", "bin folder", "safetensors", "bin", "pth"])
    def test_same_cls_token(self, tmp_path, family, form):
        model = tiny(family)
        model.save_pretrained(tmp_path)
        state = transformers.modeling_utils.load_state_dict(tmp_path / "model.safetensors")
        path = tmp_path
        if form == "bin folder":
            torch.save(state, tmp_path / "pytorch_model.bin")
            (tmp_path / "model.safetensors").unlink()
        elif form == "safetensors":
            path = tmp_path / "model.safetensors"
        elif form in ("bin", "pth"):
            # Without the config.json beside it, only the heads remain to be said.
            folder = tmp_path / "alone" if form == "pth" else tmp_path
            folder.mkdir(exist_ok=True)
            path = folder / f"weights.{form}"
            torch.save(state, path)
        options = {"heads": 4} if form == "pth" else {}
        loaded = load_vit(path, device="cpu", **options)
        torch.testing.assert_close(
            pooled(loaded.module, pixels(32)), truth(model, pixels(32)), atol=1e-5, rtol=0
        )
        assert not loaded.module.training
        assert not any(p.requires_grad for p in loaded.module.parameters())

    @pytest.mark.usefixtures("no_network")
    def test_what_is_on_the_disk_needs_no_network(self, tmp_path, make_original):
        tiny("vit").save_pretrained(tmp_path)
        torch.save(make_original().state_dict(), tmp_path / "m.pth")
        for path in (tmp_path, tmp_path / "model.safetensors", tmp_path / "m.pth"):
            assert load_vit(path).dimension in (64, 128)

    def test_no_random_pooler(self, tmp_path):
        model = tiny("vit")
        model.save_pretrained(tmp_path)
        module = load_vit(tmp_path).module
        assert not any("pooler" in name for name, _ in module.named_parameters())
        assert (truth(model, pixels(32)) - model(pixels(32)).pooler_output).abs().max() > 1e-2

    def test_the_processor_of_the_folder_is_followed(self, tmp_path):
        tiny("vit").save_pretrained(tmp_path)
        processor = transformers.ViTImageProcessorPil(size={"height": 40, "width": 40}, resample=2)
        processor.save_pretrained(tmp_path)
        preprocess = load_vit(tmp_path).preprocess
        assert (preprocess.size, preprocess.resize, preprocess.interpolation) == ((40, 40), None, "bilinear")
        assert preprocess.mean == (0.5, 0.5, 0.5)

    def test_models_without_cls_token_are_averaged(self, tmp_path):
        config = transformers.ResNetConfig(
            embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic"
        )
        model = transformers.ResNetModel(config).eval()
        model.save_pretrained(tmp_path)
        loaded = load_vit(tmp_path)
        with torch.inference_mode():
            expected = model(pixels(32)).last_hidden_state.mean((2, 3))
        assert loaded.dimension == 16
        torch.testing.assert_close(pooled(loaded.module, pixels(32)), expected, atol=1e-5, rtol=0)


class TestErrors:
    @pytest.mark.parametrize("ending", [".pth", ".safetensors"])
    def test_cut_off_file(self, tmp_path, make_original, ending):
        path, whole = tmp_path / f"m{ending}", make_original().state_dict()
        torch.save(whole, path) if ending == ".pth" else save_file(whole, path)
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        with pytest.raises(InputError):
            load_vit(path)

    def test_cut_off_folder(self, tmp_path):
        tiny("vit").save_pretrained(tmp_path)
        file = tmp_path / "model.safetensors"
        file.write_bytes(file.read_bytes()[:2000])
        with pytest.raises(InputError):
            load_vit(tmp_path)

    @pytest.mark.parametrize("gone", ["blocks.1.norm2.weight", "norm.bias", "patch_embed.proj.bias"])
    def test_missing_weights_are_not_made_up(self, tmp_path, make_original, gone):
        state = make_original().state_dict()
        del state[gone]
        torch.save(state, tmp_path / "m.pth")
        with pytest.raises(InputError, match="1 are missing"):
            load_vit(tmp_path / "m.pth")

    @pytest.mark.parametrize("content", [{"a": 1}, {"weight": torch.zeros(2)}, [1, 2], {}])
    def test_other_contents(self, tmp_path, content):
        torch.save(content, tmp_path / "m.pth")
        with pytest.raises(InputError, match=r"cls_token|list"):
            load_vit(tmp_path / "m.pth")

    def test_code_in_a_checkpoint_is_not_run(self, tmp_path):
        class Evil:
            def __reduce__(self):
                return print, ("run",)

        torch.save({"cls_token": Evil()}, tmp_path / "m.pth")
        with pytest.raises(InputError):
            load_vit(tmp_path / "m.pth")

    def test_names_and_options(self, tmp_path):
        with pytest.raises(MissingFileError):
            load_vit(tmp_path / "absent.pth")
        with pytest.raises(InputError, match="facebook/dino-vitb16"):
            load_vit("dino-vitb16")
        tiny("vit").save_pretrained(tmp_path)
        with pytest.raises(InputError) as caught:
            load_vit(tmp_path, size=30)
        assert caught.value.option == "size"
        with pytest.raises(InputError) as caught:
            load_vit(tmp_path, heads=2)
        assert caught.value.option == "heads"
        with pytest.raises(InputError) as caught:
            load_vit(tmp_path, device="toaster")
        assert caught.value.option == "device"


def test_embedder_from_a_file_gives_the_cls_token_of_its_recipe(tmp_path, make_original, pictures):
    model = make_original()
    torch.save(model.state_dict(), tmp_path / "dino.pth")
    made = embedder(tmp_path / "dino.pth", kind="image", batch_size=5)
    rows = []
    for picture in pictures:
        image = Image.fromarray(picture).resize((37, 44), Image.Resampling.BICUBIC)
        image = np.asarray(image.crop((2, 6, 34, 38)), dtype=np.float64) / 255
        rows.append((image - (0.485, 0.456, 0.406)) / (0.229, 0.224, 0.225))
    batch = torch.tensor(np.array(rows), dtype=torch.float32).permute(0, 3, 1, 2)
    np.testing.assert_allclose(made.embed(list(pictures)), model(batch).numpy(), atol=2e-5)
