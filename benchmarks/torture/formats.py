"""Byte fuzz of every input format: valid samples, mutated, and read as a user would have them read.

``attack(rng, n)`` goes through the formats in turn. Each outcome must be success or one `VbcgcdError` of one
line, within a few seconds.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import os
import pickle
import shutil
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from typer.testing import CliRunner

from torture.imports import NASTY, mangled
from vbcgcd import CategoryDiscoverer
from vbcgcd.cli import app
from vbcgcd.embed.cache import VectorCache, item_key
from vbcgcd.embed.pictures import FORMATS, open_picture
from vbcgcd.embed.protocol import ItemError
from vbcgcd.errors import VbcgcdError
from vbcgcd.items import read_items
from vbcgcd.study.datasets import dataset_parts
from vbcgcd.study.plans import check_plan, make_plan, read_plan, write_plan
from vbcgcd.study.shapes import PlanShape
from vbcgcd.workspace.commands.naming import check_name, label_names
from vbcgcd.workspace.config import DEFAULTS, check_config

Rng = np.random.Generator
#: Seconds after which reading a small file counts as hanging.
SLOW = 10.0


@dataclass(frozen=True)
class Format:
    """A valid sample and how it is read; ``attempt`` does both with a mutation in between."""

    attempt: Callable[[Rng, Path], object]


def _file(name: str, data: bytes, read: Callable[[Path], object]) -> Format:
    """A file with some bytes mangled, and sometimes with others spliced in."""

    def attempt(rng: Rng, folder: Path) -> None:
        path = folder / name
        path.write_bytes(mangled(data, rng))
        read(path)

    return Format(attempt)


def _tables() -> dict[str, Format]:
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    rng = np.random.default_rng(0)
    texts = [f"my card number {i} was lost, wasn't it?" for i in range(30)]
    labels = ["card", "table", "naïve"] * 10
    pairs = enumerate(zip(texts, labels, strict=True))
    csv = "id,text,label\n" + "".join(f'{i},"{t}",{k}\n' for i, (t, k) in pairs)
    numbers = ",".join(f"e{i}" for i in range(9)) + ",label\n"
    numbers += "".join(",".join(map("{:.3f}".format, rng.normal(size=9))) + f",{i % 3}\n" for i in range(30))
    rows = [{"text": t, "label": k, "more": [1, {"a": None}]} for t, k in zip(texts, labels, strict=True)]
    vectors = [{"embedding": rng.normal(size=4).tolist(), "y": i % 3} for i in range(20)]
    columns = {"text": texts, "label": labels, "day": arrow.array([7] * 30, arrow.timestamp("us"))}
    columns |= {"vec": [[0.5, float(i)] for i in range(30)]}
    formats = {
        "csv": _file("t.csv", csv.encode(), read_items),
        "csv numbers": _file("t.csv", numbers.encode(), read_items),
        "tsv": _file("t.tsv", csv.replace(",", "\t").encode(), read_items),
        "jsonl": _file("t.jsonl", "".join(json.dumps(r) + "\n" for r in rows).encode(), read_items),
        "jsonl vectors": _file(
            "t.jsonl", "".join(json.dumps(r) + "\n" for r in vectors).encode(), read_items
        ),
        "dataset": _file("t.csv", csv.encode(), dataset_parts),
    }
    for compression in ("none", "snappy", "zstd"):
        out = io.BytesIO()
        parquet.write_table(arrow.table(columns), out, compression=compression)
        read = _reading(kind="text" if compression == "none" else "embedding")
        formats[f"parquet {compression}"] = _file("t.parquet", out.getvalue(), read)
    return formats


def _reading(**options: Any) -> Callable[[Path], object]:
    return lambda path: read_items(path, **options)


def _arrays() -> dict[str, Format]:
    def saved(save: Callable[..., Any], *args: Any, **arrays: Any) -> bytes:
        out = io.BytesIO()
        save(out, *args, **arrays)
        return out.getvalue()

    x, y = np.arange(60.0).reshape(20, 3), np.array(["a", "b"] * 10)
    return {
        "npy": _file("x.npy", saved(np.save, x), read_items),
        "npy texts": _file("x.npy", saved(np.save, y), read_items),
        "npz": _file("x.npz", saved(np.savez, x=x, y=y), read_items),
        "npz compressed": _file("x.npz", saved(np.savez_compressed, x=x, y=y), read_items),
        "npz dataset": _file("x.npz", saved(np.savez, x=x, y=y), dataset_parts),
    }


def _pictures() -> dict[str, Format]:
    pixels = np.random.default_rng(0).integers(0, 256, (12, 16, 3), dtype=np.uint8)
    formats = {}
    for kind in FORMATS:
        for mode in ("RGB", "L", "P"):
            out = io.BytesIO()
            image = Image.fromarray(pixels).convert(mode)
            if kind == "JPEG":
                exif = Image.Exif()
                exif[274] = 6
                image.convert("RGB").save(out, kind, exif=exif)
            else:
                (image.convert("RGB") if kind == "PPM" and mode == "P" else image).save(out, kind)
            formats[f"picture {kind.lower()} {mode.lower()}"] = _file("x.png", out.getvalue(), _open)
    return formats


def _open(path: Path) -> None:
    try:
        open_picture(path).load()
    except ItemError as error:
        if len(str(error)) > 1000:
            raise RuntimeError("the reason is too long") from error
        raise


def _models(folder: Path) -> dict[str, Format]:
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(40, 5)) + 6 * np.eye(5)[np.arange(40) % 4], np.arange(40) % 4
    CategoryDiscoverer(n_components=3).fit(rows, labels).save(folder / "m.safetensors")
    plan = make_plan(labels, PlanShape("tiny", 2, 2, 1, 1), seed=0)
    write_plan(plan, folder / "plan.json")

    def predict(path: Path) -> None:
        model = CategoryDiscoverer.load(path)
        model.predict(rows[:3])

    def use_plan(path: Path) -> None:
        check_plan(read_plan(path), labels)

    return {
        "model": _file("m.safetensors", (folder / "m.safetensors").read_bytes(), predict),
        "plan": _file("plan.json", (folder / "plan.json").read_bytes(), use_plan),
        "plan values": Format(_json_values(json.loads((folder / "plan.json").read_text()), use_plan)),
        "cifar": _cifar(),
        "cache": _cache(folder),
    }


def _cache(folder: Path) -> Format:
    """A shard of the embedding cache: an entry comes back as it was put, or not at all."""
    keys, vectors = [item_key(str(i)) for i in range(8)], np.arange(32, dtype=np.float32).reshape(8, 4)
    VectorCache(folder / "cache", "f", 4).put(keys, vectors)
    [shard] = (folder / "cache").rglob("*.safetensors")
    data = shard.read_bytes()

    def attempt(rng: Rng, place: Path) -> None:
        target = place / shard.relative_to(folder / "cache")
        target.parent.mkdir(parents=True)
        target.write_bytes(mangled(data, rng))
        found, hits = VectorCache(place, "f", 4).get(keys)
        if not np.array_equal(found[hits], vectors[hits]):
            raise RuntimeError("a silent wrong answer")

    return Format(attempt)


def _weights(folder: Path) -> dict[str, Format]:
    """Files of a vision transformer's weights, where torch is installed."""
    import torch
    from safetensors.torch import save_file

    from vbcgcd.embed.checkpoint import infer_architecture, read_tensors

    shapes = {"cls_token": (1, 1, 64), "pos_embed": (1, 5, 64), "patch_embed.proj.weight": (64, 3, 8, 8)}
    shapes |= {"blocks.0.mlp.fc1.weight": (32, 64), "blocks.0.attn.qkv.weight": (192, 64)}
    tensors = {name: torch.zeros(shape) for name, shape in shapes.items()}
    save_file(tensors, folder / "w.safetensors")
    torch.save(tensors, folder / "w.pth")
    files = [folder / "w.safetensors", folder / "w.pth"]

    def read(path: Path) -> None:
        infer_architecture(read_tensors(path))

    return {f"weights {file.suffix[1:]}": _file(file.name, file.read_bytes(), read) for file in files}


def _json_values(values: Any, read: Callable[[Path], object]) -> Callable[[Rng, Path], object]:
    from torture.imports import _spots

    def attempt(rng: Rng, folder: Path) -> None:
        changed = json.loads(json.dumps(values))
        for _ in range(rng.integers(1, 3)):
            box, key = (spots := list(_spots(changed)))[rng.integers(len(spots))]
            box[key] = json.loads(json.dumps(NASTY[rng.integers(len(NASTY))]))
        path = folder / "values.json"
        path.write_bytes(json.dumps(changed).encode("utf-8", "surrogatepass"))
        read(path)

    return attempt


def _cifar() -> Format:
    data = {
        b"data": np.zeros((10, 3072), dtype=np.uint8),
        b"fine_labels": [0, 1] * 5,
        b"filenames": [b"x"] * 10,
    }
    meta = {b"fine_label_names": [b"apple", b"bear"], b"coarse_label_names": [b"x"]}
    parts = {name: pickle.dumps(data, 2) for name in ("train", "test")} | {"meta": pickle.dumps(meta, 2)}

    def attempt(rng: Rng, folder: Path) -> None:
        place = folder / "cifar-100-python"
        place.mkdir()
        broken = list(parts)[rng.integers(3)]
        for name, content in parts.items():
            (place / name).write_bytes(mangled(content, rng) if name == broken else content)
        dataset_parts(folder)

    return Format(attempt)


def _folder(rng: Rng, folder: Path) -> None:
    """A tree of odd names, links and broken pictures."""
    names = [
        b"a",
        b"b.png",
        b"\xff",
        b"x\n.png",
        b"\xe2\x80\xaey.jpg",
        b".hidden",
        b"con",
        b"test",
        b"train",
        b"c" * 200,
    ]
    places = [os.fsencode(folder)]
    for _ in range(rng.integers(2, 12)):
        place = os.path.join(places[rng.integers(len(places))], names[rng.integers(len(names))])
        how = rng.integers(4)
        try:
            if how == 0:
                os.mkdir(place)
                places.append(place)
            elif how == 1:
                os.symlink(places[rng.integers(len(places))], place)
            elif how == 2:
                os.symlink(os.path.basename(place), place)
            else:
                Path(os.fsdecode(place)).write_bytes(b"\x89PNG")
        except OSError:
            continue
    items = read_items(folder)
    for value in items.values[:3]:
        try:
            open_picture(value)
        except ItemError:
            continue
    label_names(sorted({str(label) for label in (items.labels if items.labels is not None else ())}), [])


def _lists(rng: Rng, folder: Path) -> None:
    """The text files of a published dataset."""
    pixels = Image.new("RGB", (2, 2))
    for k in range(2):
        (folder / "images" / f"00{k}.bird").mkdir(parents=True)
        for i in range(4):
            pixels.save(folder / "images" / f"00{k}.bird" / f"{i}.jpg")
    files = [f"00{k}.bird/{i}.jpg" for k in range(2) for i in range(4)]
    texts = {
        "images.txt": "".join(f"{n} {file}\n" for n, file in enumerate(files)),
        "image_class_labels.txt": "".join(f"{n} {n // 4}\n" for n in range(8)),
        "train_test_split.txt": "".join(f"{n} {n % 2}\n" for n in range(8)),
        "classes.txt": "0 one\n1 two\n",
    }
    broken = list(texts)[rng.integers(4)]
    for name, text in texts.items():
        (folder / name).write_bytes(mangled(text.encode(), rng) if name == broken else text.encode())
    dataset_parts(folder)


def _text(rng: Rng, folder: Path) -> None:
    """Names and labels of any letters."""
    letters = "".join(chr(c) for c in rng.integers(0, 0x3000, rng.integers(1, 12)))
    letters += "".join(rng.choice(list("cat \t\n\u200b\u202e\u0441é#1"), rng.integers(0, 8)))
    with contextlib.suppress(VbcgcdError):
        check_name(letters)
    label_names([letters, "cat", "caf\u00e9"], ["cat", "table"])


def _config(rng: Rng, folder: Path) -> None:
    """Settings of any value, through the library and through the command line."""
    setting = [*DEFAULTS, "model", "other"][rng.integers(len(DEFAULTS) + 2)]
    value = NASTY[rng.integers(len(NASTY))]
    options = [
        "n_components",
        "prior_strength",
        "cluster",
        "count",
        "alignment",
        "unassigned",
        "random_state",
        "x",
    ]
    option = options[rng.integers(len(options))]
    if rng.integers(3):
        check_config({setting: {option: value} if setting == "model" and rng.integers(2) else value})
        return
    key = f"{setting}.{option}" if rng.integers(2) else setting
    text = json.dumps(value) if rng.integers(2) else str(value)
    arguments = ["init", str(folder / "w"), "--set", f"{key}={text}".replace("\ud800", "\\ud800")]
    result = CliRunner().invoke(app, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise RuntimeError(f"{arguments}") from result.exception


def formats(folder: Path, *, weights: bool = True) -> dict[str, Format]:
    """Every format by name; ``folder`` is for their samples. Without ``weights``, torch is not needed."""
    rest = {"folder": _folder, "lists": _lists, "text": _text, "config": _config}
    return {
        **_tables(),
        **_arrays(),
        **_pictures(),
        **_models(folder),
        **(_weights(folder) if weights and importlib.util.find_spec("torch") else {}),
        **{name: Format(attempt) for name, attempt in rest.items()},
    }


def attempt(form: Format, rng: Rng, folder: Path) -> str:
    """What became of one input: "read", "refused", or what went wrong."""
    start = time.monotonic()
    folder.mkdir()
    try:
        form.attempt(rng, folder)
        outcome = "read"
    except VbcgcdError as error:
        outcome = "several lines" if "\n" in str(error) else "refused"
    except Exception:
        traceback.print_exc()
        outcome = "traceback"
    finally:
        shutil.rmtree(folder)
    return "slow" if time.monotonic() - start > SLOW else outcome


def attack(rng: Rng, n: int, *, weights: bool = True) -> dict[str, int]:
    """Read ``n`` fuzzed inputs; counts of outcomes, of which only "read" and "refused" are good."""
    counts: Counter[str] = Counter(read=0, refused=0)
    with tempfile.TemporaryDirectory() as place, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # decoders warn about what they then refuse
        every = formats(Path(place), weights=weights)
        for k in range(n):
            name = list(every)[k % len(every)]
            outcome = attempt(every[name], rng, Path(place) / "here")
            if outcome not in ("read", "refused"):
                print(f"{outcome}: {name}")
            counts[outcome] += 1
    return dict(counts)


if __name__ == "__main__":
    print(attack(np.random.default_rng(0), 6000))
