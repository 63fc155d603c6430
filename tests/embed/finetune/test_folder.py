import json
import shutil

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'vision'")
peft = pytest.importorskip("peft", reason="needs the extra 'vision'")

from vbcgcd.embed.finetune import PAGE, finetune, is_finetuned, load_finetuned  # noqa: E402
from vbcgcd.embed.finetune.folder import ADAPTERS  # noqa: E402
from vbcgcd.embed.finetune.network import attach, load_adapters  # noqa: E402
from vbcgcd.embed.images import vit_embedder  # noqa: E402
from vbcgcd.embed.protocol import Embedder  # noqa: E402
from vbcgcd.errors import InputError  # noqa: E402


@pytest.fixture
def copy(tuned, tmp_path):
    """A copy of the folder to damage."""
    return shutil.copytree(tuned.folder, tmp_path / "copy")


def test_it_is_an_ordinary_embedder(tuned, digits):
    embedder = load_finetuned(tuned.folder, device="cpu")
    assert isinstance(embedder, Embedder)
    vectors = embedder.embed(list(digits.test_images[:10]))
    prepared = [embedder.prepare(image) for image in digits.test_images[:10]]
    np.testing.assert_array_equal(vectors, embedder.forward(prepared))
    assert vectors.shape == (10, 64)
    assert vectors.dtype == np.float32
    assert (embedder.kind, embedder.dimension) == ("image", 64)
    assert "boft" in embedder.name
    assert not any(p.requires_grad for p in embedder.module.parameters())


def test_its_vectors_are_those_of_the_trained_network(tuned, digits, settings):
    from safetensors.numpy import load_file

    frozen = vit_embedder(settings["backbone"], device="cpu")
    plain = frozen.embed(list(digits.test_images[:10]))
    network = attach(frozen.module, 64, 6, json.loads((tuned.folder / PAGE).read_text())["options"])
    load_adapters(network.backbone, load_file(tuned.folder / ADAPTERS))
    network.train(False)
    expected = frozen.embed(list(digits.test_images[:10]))
    found = load_finetuned(tuned.folder, device="cpu").embed(list(digits.test_images[:10]))
    np.testing.assert_allclose(found, expected, atol=1e-4)
    assert np.abs(found - plain).max() > 0.1


def test_fingerprints_tell_embedders_apart(tuned, settings):
    one = load_finetuned(tuned.folder, device="cpu")
    assert one.fingerprint == tuned.fingerprint == load_finetuned(tuned.folder, device="cpu").fingerprint
    assert one.fingerprint != vit_embedder(settings["backbone"], device="cpu").fingerprint
    assert one.fingerprint != load_finetuned(tuned.folder, device="cpu", precision="bfloat16").fingerprint


def test_the_page_says_what_it_is(tuned, settings):
    page = json.loads((tuned.folder / PAGE).read_text())
    assert is_finetuned(tuned.folder)
    assert not is_finetuned(settings["backbone"])
    assert page["backbone"]["name"] == str(settings["backbone"].resolve())
    assert page["backbone"]["fingerprint"] == vit_embedder(settings["backbone"], device="cpu").fingerprint
    assert (page["version"], page["method"], page["classes"]) == (1, "boft", [0, 1, 2, 3, 4, 5])
    assert page["fingerprint"] == tuned.fingerprint
    assert {p.name for p in tuned.folder.iterdir()} == {
        PAGE,
        ADAPTERS,
        "adapter_config.json",
        "head.safetensors",
    }


@pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing.*:FutureWarning")  # peft's own call
def test_peft_itself_opens_the_adapters(digits, settings, make_vit, tmp_path):
    arguments = {**settings, "method": "lora", "epochs": 1}
    finetune(digits.images[:96], digits.labels[:96], **arguments, out_folder=tmp_path)
    ours = load_finetuned(tmp_path, device="cpu")
    theirs = peft.PeftModel.from_pretrained(make_vit(), tmp_path).eval()
    pixels = ours.preprocess.tensor(torch.from_numpy(digits.test_images[:5].copy()))
    with torch.inference_mode():
        expected = theirs(pixel_values=pixels).last_hidden_state[:, 0].numpy()
    np.testing.assert_allclose(ours.embed(list(digits.test_images[:5])), expected, atol=1e-4)


def test_the_backbone_may_move_but_not_change(copy, settings, save_vit, tmp_path):
    page = json.loads((copy / PAGE).read_text())
    page["backbone"]["name"] = str(tmp_path / "gone")
    (copy / PAGE).write_text(json.dumps(page))
    with pytest.raises(InputError, match=r"copy .*gone") as caught:
        load_finetuned(copy, device="cpu")
    assert caught.value.option == "backbone"
    moved = shutil.copytree(settings["backbone"], tmp_path / "moved")
    assert load_finetuned(copy, backbone=moved, device="cpu").fingerprint == page["fingerprint"]
    other = save_vit(tmp_path / "other", num_hidden_layers=3)
    with pytest.raises(InputError) as caught:
        load_finetuned(copy, backbone=other, device="cpu")
    assert caught.value.option == "backbone"


def test_damaged_folders_are_refused(copy, tmp_path):
    (copy / ADAPTERS).write_bytes((copy / ADAPTERS).read_bytes()[:-8])
    with pytest.raises(InputError, match="complete adapters"):
        load_finetuned(copy, device="cpu")
    (copy / PAGE).write_text("{")
    with pytest.raises(InputError, match=PAGE):
        load_finetuned(copy, device="cpu")
    (copy / PAGE).write_text("{}")
    with pytest.raises(InputError, match="does not describe"):
        load_finetuned(copy, device="cpu")
    (copy / PAGE).unlink()
    with pytest.raises(InputError, match="missing"):
        load_finetuned(copy, device="cpu")
    with pytest.raises(InputError, match="missing"):
        load_finetuned(tmp_path / "nothing", device="cpu")


def test_adapters_of_another_run_are_noticed(copy):
    from safetensors.numpy import load_file

    from vbcgcd.archive import write_archive

    arrays = load_file(copy / ADAPTERS)
    write_archive(copy / ADAPTERS, "adapters", 1, {k: v + 1 for k, v in arrays.items()}, {})
    with pytest.raises(InputError):
        load_finetuned(copy, device="cpu")


def test_a_later_format_asks_for_an_update(copy):
    page = json.loads((copy / PAGE).read_text())
    (copy / PAGE).write_text(json.dumps({**page, "version": 99}))
    with pytest.raises(InputError, match="version 99"):
        load_finetuned(copy, device="cpu")
