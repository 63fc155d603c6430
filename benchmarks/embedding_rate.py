"""Embedding from picture files against the bare model's forward pass on the same batches.

The bare model gets tensors that lie ready in memory. Our path starts from PNG files: it hashes, reads,
resizes, normalises, computes, checks and keeps every vector on disk. Both run in turn, round after round, so
that whatever else the machine does slows both; the ratio is the median over rounds.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from common import console, data_folder, table
from vbcgcd.embed import embed_items, embedder
from vbcgcd.items import Items

TARGET = 0.9


def small_vit(folder: Path) -> Path:
    """A vision transformer of the shape of DINO ViT-S/16 with a third of its depth and random weights."""
    import transformers

    torch.manual_seed(0)
    config = transformers.ViTConfig(
        hidden_size=384,
        num_hidden_layers=4,
        num_attention_heads=6,
        intermediate_size=1536,
        layer_norm_eps=1e-6,
    )
    transformers.utils.logging.disable_progress_bar()
    transformers.ViTModel(config).save_pretrained(folder)
    return folder


def picture_files(folder: Path, n: int) -> Items:
    with np.load(data_folder() / "cifar100-images-small.npz") as data:
        pictures = data["train_x"][:n]
    folder.mkdir()
    paths = [folder / f"{i}.png" for i in range(len(pictures))]
    for path, picture in zip(paths, pictures, strict=True):
        Image.fromarray(picture).save(path)
    return Items("image", paths, [p.name for p in paths], str(folder))


class Clock:
    """Seconds on the wall and of all processors together, of one block."""

    def __enter__(self) -> Clock:
        self.wall, self.cpu = -time.perf_counter(), -time.process_time()
        return self

    def __exit__(self, *error: object) -> None:
        self.wall += time.perf_counter()
        self.cpu += time.process_time()


def bare(model: Any, batches: list[torch.Tensor]) -> Clock:
    with Clock() as clock, torch.inference_mode():
        for batch in batches:
            model.pool(model.module, batch)
    return clock


def ours(model: Any, items: Items) -> Clock:
    with tempfile.TemporaryDirectory() as cache:
        with Clock() as clock:
            result = embed_items(items, model, cache=cache)
        assert result.computed == len(items), result.summary()
    return clock


def measure(name: str, model: Any, items: Items, rounds: int) -> tuple[object, ...]:
    pixels = torch.from_numpy(np.stack([model.prepare(path) for path in items.values]))
    batches = [model.preprocess.tensor(part) for part in pixels.split(model.batch_size)]
    _ = model.fingerprint  # of the weights, once in the life of an embedder
    bare(model, batches)
    ours(model, items)
    pairs: list[tuple[Clock, Clock]] = []
    for number in range(rounds):
        # Who goes first changes from round to round, so that a drift of the machine favours neither.
        if number % 2:
            second, first = ours(model, items), bare(model, batches)
        else:
            first, second = bare(model, batches), ours(model, items)
        pairs.append((first, second))
    wall = sorted(a.wall / b.wall for a, b in pairs)
    cpu = float(np.median([a.cpu / b.cpu for a, b in pairs]))
    rates = [float(np.median([len(items) / pair[i].wall for pair in pairs])) for i in (0, 1)]
    ratio = float(np.median(wall))
    spread = f"{wall[0]:.2f} to {wall[-1]:.2f}"
    verdict = "yes" if ratio >= TARGET else "NO"
    return name, f"{rates[0]:.1f}", f"{rates[1]:.1f}", f"{ratio:.3f}", spread, f"{cpu:.3f}", verdict


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default="", help="part of a model's name")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        items = picture_files(Path(place) / "pictures", options.pictures)
        models = {
            "EfficientNet-Lite0, 128 px": embedder(kind="image", size=128, device="cpu"),
            "EfficientNet-Lite0, 224 px": embedder(kind="image", device="cpu"),
            "small ViT, 224 px": embedder(small_vit(Path(place) / "vit"), kind="image", device="cpu"),
        }
        rows = [
            measure(name, model, items, options.rounds)
            for name, model in models.items()
            if options.only in name
        ]
    columns = ["model", "bare /s", "ours /s", "ratio", "rounds", "ratio of CPU time", f">= {TARGET}"]
    table(f"Pictures embedded per second, {torch.get_num_threads()} torch threads", columns, rows)
    console.print("Bare: forward pass on tensors in memory. Ours: from PNG files, with the cache written.")


if __name__ == "__main__":
    main()
