"""Real pictures (the digits of scikit-learn, enlarged) and a small vision transformer in a folder."""

import json
from typing import NamedTuple

import numpy as np
import pytest
from sklearn.datasets import load_digits

#: Large initial weights: a random network of this size separates digits somewhat, as a backbone should.
SHAPE = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "image_size": 32,
    "patch_size": 8,
    "initializer_range": 0.15,
}
PROCESSOR = {
    "image_processor_type": "ViTImageProcessor",
    "size": {"height": 32, "width": 32},
    "image_mean": [0.5] * 3,
    "image_std": [0.5] * 3,
    "resample": 3,
}


class Digits(NamedTuple):
    """Labelled pictures, and others of the same categories that fine-tuning never sees."""

    images: np.ndarray
    labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray


@pytest.fixture(scope="session")
def digits():
    """Digits 0 to 5 as pictures (N, 32, 32, 3) of uint8: 300 labelled, the rest for testing."""
    rows, labels = load_digits(return_X_y=True)
    rows, labels = rows[labels < 6], labels[labels < 6]
    small = np.rint(rows.reshape(-1, 8, 8) * 255 / 16).astype(np.uint8)
    images = np.repeat(small.repeat(4, axis=1).repeat(4, axis=2)[..., None], 3, axis=3)
    return Digits(images[:300], labels[:300], images[300:], labels[300:])


@pytest.fixture(scope="session")
def make_vit():
    """Function family, **changes -> a small model of transformers, the same each time."""
    torch = pytest.importorskip("torch", reason="needs the extra 'vision'")
    transformers = pytest.importorskip("transformers", reason="needs the extra 'vision'")
    pytest.importorskip("peft", reason="needs the extra 'vision'")

    def make(family="vit", **changes):
        with torch.random.fork_rng([]):
            torch.manual_seed(0)
            if family == "vit":
                config = transformers.ViTConfig(**{**SHAPE, "intermediate_size": 128, **changes})
                return transformers.ViTModel(config, add_pooling_layer=False).eval().requires_grad_(False)
            config = transformers.Dinov2Config(**{**SHAPE, "mlp_ratio": 2, **changes})
            return transformers.Dinov2Model(config).eval().requires_grad_(False)

    return make


@pytest.fixture(scope="session")
def save_vit(make_vit):
    """Function folder, *args -> the folder with such a model and its preprocessing."""

    def save(folder, *args, **changes):
        make_vit(*args, **changes).save_pretrained(folder)
        (folder / "preprocessor_config.json").write_text(json.dumps(PROCESSOR))
        return folder

    return save


@pytest.fixture(scope="session")
def vit_folder(save_vit, tmp_path_factory):
    return save_vit(tmp_path_factory.mktemp("backbone") / "small")


@pytest.fixture(scope="session")
def settings(vit_folder):
    """Arguments of a quick fine-tuning."""
    from vbcgcd.embed.pictures import Augmentation

    return {
        "backbone": vit_folder,
        "device": "cpu",
        "learning_rate": 2e-2,
        "batch_size": 32,
        "epochs": 3,
        "patience": None,
        "workers": 2,
        "augmentation": Augmentation(area=(0.6, 1.0), flip=0.0, jitter=0.2),
    }


@pytest.fixture(scope="session")
def tuned(digits, settings, tmp_path_factory):
    """A fine-tuning long enough to learn something."""
    from vbcgcd.embed.finetune import finetune

    folder = tmp_path_factory.mktemp("tuned") / "digits"
    arguments = {**settings, "batch_size": 16, "epochs": 6, "out_folder": folder}
    return finetune(digits.images, digits.labels, **arguments)


@pytest.fixture(scope="session")
def short(digits, settings, tmp_path_factory):
    """A short fine-tuning of 120 pictures in one go: three epochs of four steps."""
    from vbcgcd.embed.finetune import finetune

    folder = tmp_path_factory.mktemp("short") / "digits"
    return finetune(digits.images[:120], digits.labels[:120], out_folder=folder, **settings)
