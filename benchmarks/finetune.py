"""Fine-tuning: accuracy of the nearest class mean on held-out pictures, frozen and tuned, over several seeds.

VBCGCD_DATA=... python benchmarks/finetune.py --seeds 3

Digits of scikit-learn always; CIFAR-100 pictures where VBCGCD_DATA has them. The backbones are small vision
transformers made here, random or, for CIFAR-100, also one that has first learned 50 other classes with their
labels. All are far below a real backbone, and CIFAR-100 gives 35 labelled pictures for a class: the figures
say what fine-tuning adds here, not how good it can get. The spread of the random weights and the learning
rate were set on digits 0 to 5 with held-out pictures in view, so those figures are flattered; the weight
of the contrast was set on validation rows of another class order of CIFAR-100.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from peft import BOFTConfig
from peft.tuners.boft import layer as peft_boft
from sklearn.datasets import load_digits
from transformers import ViTConfig, ViTModel
from transformers.utils import logging

from common import console, fastest, table
from vbcgcd.embed.finetune import Augmentation, finetune, load_finetuned
from vbcgcd.embed.finetune.layers import all_factors, use_plain_torch
from vbcgcd.embed.finetune.objective import nearest_mean_accuracy
from vbcgcd.embed.images import vit_embedder

METHODS = {
    "BOFT, CE + contrast": {"method": "boft"},
    "BOFT, CE alone": {"method": "boft", "contrastive_weight": 0.0},
    "LoRA, CE + contrast": {"method": "lora"},
}
EPOCHS, RATE, BATCH = 10, 1e-2, 32
PROCESSOR = (
    '{"image_processor_type": "ViTImageProcessor", "size": {"height": 32, "width": 32}, "resample": 3, '
    '"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]}'
)


class Problem(NamedTuple):
    """Labelled pictures (N, 32, 32, 3) of uint8, and held-out ones of the same categories."""

    images: np.ndarray
    labels: np.ndarray
    test_images: np.ndarray
    test_labels: np.ndarray


def digits(seed: int) -> Problem:
    rows, labels = load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    order = rng.permutation(np.flatnonzero(np.isin(labels, rng.permutation(10)[:6])))
    small = np.rint(rows[order].reshape(-1, 8, 8) * 255 / 16).astype(np.uint8)
    images = np.repeat(small.repeat(4, axis=1).repeat(4, axis=2)[..., None], 3, axis=3)
    half = len(order) // 2
    return Problem(images[:half], labels[order][:half], images[half:], labels[order][half:])


def cifar(folder: Path, seed: int) -> tuple[Problem, np.ndarray, np.ndarray]:
    """35 pictures of each of 20 classes, 25 held out; and all pictures of 50 other classes."""
    with np.load(folder / "cifar100-images-small.npz") as data:
        images = np.concatenate([data["train_x"], data["test_x"]])
        labels = np.concatenate([data["train_y"], data["test_y"]]).astype(int)
    classes = np.random.default_rng(seed).permutation(100)
    chosen, others = classes[:20], classes[50:]
    train = np.concatenate([np.flatnonzero(labels == c)[:35] for c in chosen])
    test = np.concatenate([np.flatnonzero(labels == c)[35:] for c in chosen])
    rest = np.flatnonzero(np.isin(labels, others))
    problem = Problem(images[train], labels[train], images[test], labels[test])
    return problem, images[rest], np.searchsorted(np.sort(others), labels[rest])


def save(model: ViTModel, folder: Path) -> Path:
    model.save_pretrained(folder)
    (folder / "preprocessor_config.json").write_text(PROCESSOR)
    return folder


def random_vit(seed: int, spread: float, **shape: int) -> ViTModel:
    torch.manual_seed(seed)
    config = ViTConfig(image_size=32, patch_size=8, num_attention_heads=4, initializer_range=spread, **shape)
    return ViTModel(config, add_pooling_layer=False)


def taught_vit(images: np.ndarray, labels: np.ndarray, seed: int, epochs: int = 20) -> ViTModel:
    """A small transformer that has learned to name other classes; shifts and mirrors as augmentation."""
    model = random_vit(seed, 0.05, hidden_size=96, num_hidden_layers=3, intermediate_size=192)
    head = torch.nn.Linear(96, int(labels.max()) + 1)
    parameters = [*model.parameters(), *head.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=1e-3, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-3, total_steps=epochs * (len(images) // 64))
    pixels = torch.from_numpy(images).permute(0, 3, 1, 2).float() / 127.5 - 1
    truth = torch.from_numpy(labels)
    for _ in range(epochs):
        for rows in torch.randperm(len(pixels))[: len(pixels) // 64 * 64].view(-1, 64):
            batch = torch.roll(pixels[rows], tuple(torch.randint(-4, 5, (2,)).tolist()), (2, 3))
            batch = batch.flip(3) if torch.rand(()) < 0.5 else batch
            logits = head(model(batch).last_hidden_state[:, 0])
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(logits, truth[rows], label_smoothing=0.1).backward()
            optimizer.step()
            schedule.step()
    return model


def held_out(embedder: object, problem: Problem) -> float:
    train, test = embedder.embed(list(problem.images)), embedder.embed(list(problem.test_images))
    return nearest_mean_accuracy(train, problem.labels, test, problem.test_labels)


def scores(problem: Problem, backbone: Path, seed: int, how: Augmentation) -> dict[str, tuple[float, float]]:
    """Accuracy on held-out pictures and seconds, by method."""
    found = {"frozen": (held_out(vit_embedder(backbone, device="cpu"), problem), 0.0)}
    for name, options in METHODS.items():
        folder = backbone.parent / name
        start = time.perf_counter()
        finetune(
            problem.images,
            problem.labels,
            backbone=backbone,
            out_folder=folder,
            epochs=EPOCHS,
            learning_rate=RATE,
            batch_size=BATCH,
            patience=None,
            random_state=seed,
            device="cpu",
            augmentation=how,
            **options,
        )
        seconds = time.perf_counter() - start
        found[name] = (held_out(load_finetuned(folder, device="cpu"), problem), seconds)
    return found


def compare(title: str, runs: list[dict[str, tuple[float, float]]]) -> None:
    rows = []
    frozen = np.array([run["frozen"][0] for run in runs])
    for name in runs[0]:
        values = np.array([run[name][0] for run in runs])
        gains = 100 * (values - frozen)
        seconds = np.mean([run[name][1] for run in runs])
        rows.append(
            (
                name,
                f"{100 * values.mean():.1f}",
                f"{100 * values.std():.1f}",
                "" if name == "frozen" else f"{gains.mean():+.1f}",
                "" if name == "frozen" else f"{gains.min():+.1f}",
                "" if name == "frozen" else f"{seconds:.0f}",
            )
        )
    table(f"{title}, {len(runs)} seeds", ("", "NCM %", "sd", "gain", "least gain", "s"), rows)


def on_digits(seeds: int) -> None:
    runs = []
    for seed in range(seeds):
        with tempfile.TemporaryDirectory() as folder:
            model = random_vit(seed, 0.15, hidden_size=64, num_hidden_layers=2, intermediate_size=128)
            backbone = save(model, Path(folder) / "vit")
            how = Augmentation(area=(0.6, 1.0), flip=0.0, jitter=0.2)
            runs.append(scores(digits(seed), backbone, seed, how))
    compare("Six digits, backbone random (d = 64)", runs)


def on_cifar(folder: Path, seeds: int, *, taught: bool) -> None:
    runs = []
    for seed in range(seeds):
        with tempfile.TemporaryDirectory() as place:
            problem, images, labels = cifar(folder, seed)
            if taught:
                model = taught_vit(images, labels, seed)
            else:
                model = random_vit(seed, 0.15, hidden_size=64, num_hidden_layers=2, intermediate_size=128)
            backbone = save(model, Path(place) / "vit")
            runs.append(scores(problem, backbone, seed, Augmentation(area=(0.5, 1.0))))
    kind = "taught 50 others (d = 96)" if taught else "random (d = 64)"
    compare(f"20 classes of CIFAR-100, backbone {kind}", runs)


def speed() -> None:
    """A layer of ViT-B, forward and backward, two factors: PEFT's dense products and ours."""
    rows = torch.randn(197 * 8, 3072)
    results = []
    for name in ("PEFT, dense products", "blocks times weight"):
        with all_factors():
            config = BOFTConfig(boft_block_size=4, boft_n_butterfly_factor=2, boft_dropout=0.0)
            layer = peft_boft.Linear(torch.nn.Linear(3072, 768).requires_grad_(False), "default", config)
        if name.startswith("PEFT"):
            layer.forward = lambda x, layer=layer: dense_forward(layer, x)
        else:
            use_plain_torch(layer)
        seconds = fastest(lambda layer=layer: layer(rows).square().sum().backward(), 2)
        results.append((name, f"{seconds:.2f}"))
    table("BOFT on a dense layer 3072 -> 768, batch of 8 pictures", ("", "s"), results)


def dense_forward(layer: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
    """What PEFT's layer computes, where its compiled block-diagonal step is replaced by torch's."""
    blocks = layer.cayley_batch(layer.boft_R["default"].flatten(0, 1)).view_as(layer.boft_R["default"])
    rotation = torch.eye(layer.in_features)
    for permutation, factor in zip(layer.boft_P, blocks, strict=True):
        rotation = permutation @ torch.block_diag(*factor) @ permutation.T @ rotation
    base = layer.base_layer
    return (base(x @ rotation) - base.bias) * layer.boft_s["default"].squeeze(-1) + base.bias


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3)
    seeds = parser.parse_args().seeds
    logging.disable_progress_bar()
    on_digits(seeds)
    data = os.environ.get("VBCGCD_DATA")
    if data and (Path(data) / "cifar100-images-small.npz").exists():
        on_cifar(Path(data), seeds, taught=False)
        on_cifar(Path(data), seeds, taught=True)
    else:
        console.print(
            "VBCGCD_DATA names no folder with cifar100-images-small.npz: CIFAR-100 was not measured."
        )
    speed()
