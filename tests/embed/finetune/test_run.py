import os
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("torch", reason="needs the extra 'vision'")
pytest.importorskip("peft", reason="needs the extra 'vision'")

from vbcgcd.embed.finetune import Augmentation, finetune, load_finetuned
from vbcgcd.embed.finetune.objective import nearest_mean_accuracy
from vbcgcd.embed.images import vit_embedder
from vbcgcd.errors import InputError
from vbcgcd.items import Items


def accuracy(embedder, data):
    train, test = embedder.embed(list(data.images)), embedder.embed(list(data.test_images))
    return nearest_mean_accuracy(train, data.labels, test, data.test_labels)


def files_of(folder):
    return {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_digits_are_told_apart_better(digits, settings, tuned):
    losses = [r.loss for r in tuned.history[1:]]
    assert losses[-1] < 0.8 * losses[0]
    assert tuned.history[tuned.best_epoch].validation_ncm > tuned.history[0].validation_ncm
    frozen = accuracy(vit_embedder(settings["backbone"], device="cpu"), digits)
    assert accuracy(load_finetuned(tuned.folder, device="cpu"), digits) > frozen + 0.1


def test_the_loss_is_what_its_parts_say(tuned):
    for record in tuned.history[1:]:
        assert record.loss == pytest.approx(0.9 * record.cross_entropy + 0.1 * record.contrastive, rel=1e-5)


def test_the_result_says_what_was_done(tuned):
    assert [r.epoch for r in tuned.history] == list(range(7))
    assert (tuned.n_train, tuned.n_validation) == (270, 30)
    assert len(tuned.layers) == 6
    # BOFT: for each layer 2 factors of n / 4 blocks of 16, and one scale for each output.
    blocks = 2 * (4 * 64 // 4 + 2 * 128 // 4) * 16
    assert tuned.n_trained == blocks + 2 * (64 + 128 + 64)
    best = tuned.history[tuned.best_epoch].validation_ncm
    assert f"{100 * best:.2f} % at the best epoch, {tuned.best_epoch}." in tuned.summary()
    assert tuned.history[0].loss is None


def test_a_finished_folder_answers_at_once(digits, settings, short):
    before = files_of(short.folder)
    arguments = {**settings, "out_folder": short.folder}
    seen = []
    again = finetune(digits.images[:120], digits.labels[:120], **arguments, progress=seen.append)
    assert again == short
    assert seen == []
    with pytest.raises(InputError, match="rank was 8, is 4"):
        finetune(digits.images[:120], digits.labels[:120], **arguments, rank=4)
    assert files_of(short.folder) == before


def test_starting_over_replaces_a_finished_folder(digits, settings, tmp_path):
    arguments = {**settings, "epochs": 1, "out_folder": tmp_path}
    first = finetune(digits.images[:64], digits.labels[:64], **arguments)
    second = finetune(
        digits.images[:64], digits.labels[:64], **{**arguments, "random_state": 1}, resume=False
    )
    assert first.fingerprint != second.fingerprint
    assert load_finetuned(tmp_path, device="cpu").fingerprint == second.fingerprint


@pytest.fixture
def files(digits, tmp_path):
    """Forty pictures as files, two of them broken."""
    folder = tmp_path / "pictures"
    folder.mkdir()
    paths = [folder / f"{i}.png" for i in range(40)]
    for path, pixels in zip(paths, digits.images, strict=False):
        Image.fromarray(pixels).save(path)
    paths[3].write_bytes(b"")
    paths[7].write_bytes(paths[7].read_bytes()[:60])
    return paths


def test_broken_pictures_end_it_before_anything_is_written(digits, settings, files, tmp_path):
    with pytest.raises(InputError) as caught:
        finetune(files, digits.labels[:40], **settings, out_folder=tmp_path / "out")
    assert caught.value.option == "broken"
    assert not (tmp_path / "out").exists()


def test_broken_pictures_can_be_left_out(digits, settings, files, tmp_path):
    items = Items("image", files, [p.name for p in files], "pictures", digits.labels[:40])
    arguments = {**settings, "epochs": 1, "out_folder": tmp_path / "out"}
    result = finetune(items, **arguments, broken="skip")
    assert [failure.reference for failure in result.skipped] == ["3.png", "7.png"]
    assert result.n_train + result.n_validation == 38
    assert "2 pictures could not be read" in result.summary()
    good = [i for i in range(40) if i not in (3, 7)]
    plain = finetune(
        [files[i] for i in good], digits.labels[good], **{**arguments, "out_folder": tmp_path / "plain"}
    )
    assert plain.history == result.history


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"colour": "red"}, "'colour'.*method, epochs"),
        ({"method": "full"}, "method.*'boft', 'lora'"),
        ({"broken": "ignore"}, "broken"),
        ({"workers": 0}, "workers"),
        ({"checkpoint_every": 0}, "checkpoint_every"),
        ({"device": "abacus"}, "device.*abacus"),
        ({"precision": "float16"}, "CUDA"),
        ({"backbone": "/nowhere/vit.pth"}, "/nowhere/vit.pth"),
        ({"block_size": 5}, "by 10"),
        ({"block_size": 48}, "by 96"),
    ],
)
def test_bad_options_write_nothing(digits, settings, tmp_path, change, message):
    with pytest.raises(InputError, match=message):
        finetune(
            digits.images[:30], digits.labels[:30], **{**settings, **change}, out_folder=tmp_path / "out"
        )
    assert not (tmp_path / "out").exists()


def test_the_folder_cannot_be_a_file(digits, settings, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError) as caught:
        finetune(digits.images[:30], digits.labels[:30], **settings, out_folder=tmp_path / "file")
    assert caught.value.option == "out_folder"


def test_too_few_rows_for_validation(digits, settings, tmp_path):
    with pytest.raises(InputError) as caught:
        finetune(digits.images[:4], [0, 1, 0, 1], **settings, out_folder=tmp_path / "out")
    assert caught.value.option == "validation_share"
    assert not (tmp_path / "out").exists()


def test_dinov2_is_tuned_too(digits, settings, save_vit, tmp_path):
    folder = save_vit(tmp_path / "tiny", "dinov2")
    arguments = {**settings, "backbone": folder, "epochs": 1}
    seen = []
    result = finetune(
        digits.images[:96], digits.labels[:96], **arguments, out_folder=tmp_path / "out", progress=seen.append
    )
    assert "attention.o_proj, mlp.fc1, mlp.fc2" in seen[0].message
    assert load_finetuned(result.folder, device="cpu").embed(list(digits.images[:2])).shape == (2, 64)


@pytest.mark.data
def test_cifar_classes_are_told_apart_better(settings, tmp_path):
    folder = os.environ.get("VBCGCD_DATA")
    if not folder:
        pytest.skip("VBCGCD_DATA is not set")
    with np.load(os.path.join(folder, "cifar100-images-small.npz")) as file:
        images = np.concatenate([file["train_x"], file["test_x"]])
        labels = np.concatenate([file["train_y"], file["test_y"]])
    train = np.concatenate([np.flatnonzero(labels == c)[:30] for c in range(8)])
    test = np.concatenate([np.flatnonzero(labels == c)[30:] for c in range(8)])
    data = SimpleNamespace(
        images=images[train], labels=labels[train], test_images=images[test], test_labels=labels[test]
    )
    arguments = {**settings, "epochs": 6, "batch_size": 16, "augmentation": Augmentation(area=(0.5, 1.0))}
    result = finetune(data.images, data.labels, **arguments, out_folder=tmp_path)
    losses = [r.loss for r in result.history[1:]]
    assert losses[-1] < 0.9 * losses[0]
    frozen = accuracy(vit_embedder(settings["backbone"], device="cpu"), data)
    assert accuracy(load_finetuned(tmp_path, device="cpu"), data) > frozen + 0.02
