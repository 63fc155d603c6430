"""What fine-tuning a real backbone is worth: category discovery before and after it.

VBCGCD_DATA=... python benchmarks/finetune_vit.py --orders 3 --size 64 --epochs 4

A ViT-Tiny/16 that was trained with the labels of ImageNet (`vit-tiny-16-imagenet.safetensors`, tensors named
as DINO's and read by the same loader) is tuned on the labelled pictures of a plan, and on nothing else. All
pictures are then embedded and a stream of five sessions is run over the vectors. CIFAR-100 has 50 training
and 10 test pictures of a class here (`cifar100-images-small.npz`). ImageNet's labels name many of these
classes, so none of them is really new to the backbone.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from transformers.utils import logging

from common import data_folder, table
from vbcgcd.embed.finetune import finetune, load_finetuned
from vbcgcd.embed.images import vit_embedder
from vbcgcd.embed.vit import load_vit
from vbcgcd.study import Dataset
from vbcgcd.study.methods import Run
from vbcgcd.study.named import named_plan
from vbcgcd.study.records import RunRecord
from vbcgcd.study.runner import execute

WEIGHTS, PICTURES = "vit-tiny-16-imagenet.safetensors", "cifar100-images-small.npz"
#: What the weights expect of a picture; the size is that of the command line.
PROCESSOR = (
    '{{"image_processor_type": "ViTImageProcessor", "size": {{"height": {0}, "width": {0}}}, "resample": 3, '
    '"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]}}'
)
TUNED = {
    "BOFT, CE + NT-Xent": {"method": "boft"},
    "BOFT, CE alone": {"method": "boft", "contrastive_weight": 0.0},
    "LoRA, CE + NT-Xent": {"method": "lora"},
    "BOFT, CE + equation 2 as printed": {"method": "boft", "contrast": "printed"},
}
METHODS = ("ours", "paper")


def backbone_folder(source: Path, size: int, folder: Path) -> Path:
    """The backbone as a folder that says how its pictures are scaled, which the file of weights does not."""
    load_vit(source, device="cpu").module.save_pretrained(folder)
    (folder / "preprocessor_config.json").write_text(PROCESSOR.format(size))
    return folder


def embedded(embedder: Any, pictures: dict[str, np.ndarray], name: str) -> Dataset:
    x = {part: embedder.embed(list(pictures[f"{part}_x"])) for part in ("train", "test")}
    return Dataset(x["train"], pictures["train_y"], x["test"], pictures["test_y"], name=name)


def judged(data: Dataset, plan: Any, note: str) -> dict[str, RunRecord]:
    return {method: execute(Run(method), data, plan, f"{note}-{method}") for method in METHODS}


def one_order(
    pictures: dict[str, np.ndarray],
    backbone: Path,
    frozen: Dataset,
    seed: int,
    options: dict[str, Any],
    kinds: list[int],
) -> dict[str, tuple[dict[str, RunRecord], float]]:
    """Runs over the stream of one class order and CPU seconds of training, by kind of tuning."""
    plan = named_plan("b50t5", pictures["train_y"], dataset="cifar100-small", order="random", seed=seed)
    found = {"frozen": (judged(frozen, plan, "frozen"), 0.0)}
    print_line(seed, "frozen", found["frozen"])
    for name, how in [list(TUNED.items())[kind - 1] for kind in kinds]:
        start = time.process_time()
        with tempfile.TemporaryDirectory() as folder:
            finetune(
                pictures["train_x"][plan.base_rows],
                pictures["train_y"][plan.base_rows],
                backbone=backbone,
                out_folder=folder,
                device="cpu",
                random_state=seed,
                **{**options, **how},
            )
            seconds = time.process_time() - start
            data = embedded(load_finetuned(folder, device="cpu"), pictures, name)
        found[name] = (judged(data, plan, name), seconds)
        print_line(seed, name, found[name])
    return found


def print_line(seed: int, name: str, found: tuple[dict[str, RunRecord], float]) -> None:
    runs, seconds = found
    scores = ", ".join(
        f"{m} {100 * r.result.final.all:.1f} of {100 * r.bound.final.all:.1f}" for m, r in runs.items()
    )
    print(f"order {seed}, {name}: {scores} ({seconds:.0f} CPU s)", flush=True)


def mean_sd(values: list[float]) -> str:
    values = 100 * np.array(values)
    return f"{values.mean():.1f}" + (f" ± {values.std(ddof=1):.1f}" if len(values) > 1 else "")


def print_table(method: str, orders: list[dict[str, tuple[dict[str, RunRecord], float]]], title: str) -> None:
    rows = []
    for name in orders[0]:
        runs = [order[name][0][method] for order in orders]
        before = [order["frozen"][0][method] for order in orders]
        gains = [r.result.final.all - b.result.final.all for r, b in zip(runs, before, strict=True)]
        rows.append(
            (
                name,
                mean_sd([r.result.base for r in runs]),
                mean_sd([r.result.final.all for r in runs]),
                "" if name == "frozen" else f"{100 * np.mean(gains):+.1f}",
                mean_sd([r.result.final.new for r in runs]),
                mean_sd([r.result.forgetting for r in runs]),
                mean_sd([r.result.discovery for r in runs]),
                mean_sd([r.bound.final.all for r in runs]),
                f"{np.mean([order[name][1] for order in orders]):.0f}",
            )
        )
    columns = ("", "All(S0)", "All(S5)", "gain", "New", "M_f", "M_d", "upper", "CPU s")
    table(f"{method}: {title}", columns, rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--orders", type=int, default=3, help="class orders")
    parser.add_argument("--size", type=int, default=64, help="side of the pictures in pixels")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--learning-rate", type=float, default=1e-3, help="the paper's by default")
    names = "; ".join(f"{i}: {name}" for i, name in enumerate(TUNED, start=1))
    every = list(range(1, len(TUNED) + 1))
    parser.add_argument("--kinds", type=int, nargs="+", choices=every, default=every, help=names)
    args = parser.parse_args()
    logging.disable_progress_bar()
    folder = data_folder()
    with np.load(folder / PICTURES) as arrays:
        pictures = {name: arrays[name] for name in ("train_x", "train_y", "test_x", "test_y")}
    options = {
        "epochs": args.epochs,
        "batch_size": args.batch_size,
        "learning_rate": args.learning_rate,
        "patience": None,
    }
    with tempfile.TemporaryDirectory() as place:
        backbone = backbone_folder(folder / WEIGHTS, args.size, Path(place) / "vit")
        frozen = embedded(vit_embedder(backbone, device="cpu"), pictures, "frozen")
        orders = [
            one_order(pictures, backbone, frozen, seed, options, args.kinds) for seed in range(args.orders)
        ]
    title = (
        f"ViT-Tiny/16 at {args.size} px, {args.epochs} epochs, learning rate {args.learning_rate:g}, "
        f"CIFAR-100, class orders: {args.orders}"
    )
    for method in METHODS:
        print_table(method, orders, title)


if __name__ == "__main__":
    main()
