"""CIFAR-100 as published: the archive or the folder, in its Python or its binary version."""

from __future__ import annotations

import pickle
import tarfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.errors import InputError, reason_of
from vbcgcd.items import Items
from vbcgcd.study.datasets.cifar_pickle import read_pickle
from vbcgcd.study.datasets.labelled import LabelledItems, Layout
from vbcgcd.study.datasets.listed import root_of

Array = NDArray[Any]

PYTHON = ("train", "test", "meta")
BINARY = ("train.bin", "test.bin", "fine_label_names.txt")
FOLDERS = ("cifar-100-python", "cifar-100-binary")
EXPECTS = (
    "cifar-100-python.tar.gz, or a folder with the files train, test and meta, or the binary version with "
    "train.bin, test.bin and fine_label_names.txt"
)
PIXELS = 3 * 32 * 32

__all__ = ["LAYOUTS"]


def _detect(folder: Path) -> bool:
    root = _root(folder)
    pair = (root / "train").is_file() and (root / "test").is_file()
    return root.name in FOLDERS or pair or any((root / name).is_file() for name in ("meta", *BINARY))


def _root(path: Path) -> Path:
    for usual in FOLDERS:
        path = root_of(path, usual)
    return path


def _load(path: Path, *, name: str | None = None) -> LabelledItems:
    files = _from_archive(path) if path.is_file() else _from_folder(_root(path))
    binary = sum(n in files for n in BINARY) > sum(n in files for n in PYTHON)
    missing = [n for n in (BINARY if binary else PYTHON) if n not in files]
    if missing:
        raise InputError(f"{path} lacks {', '.join(missing)}. Expected: {EXPECTS}.")
    names = _binary_names(files) if binary else _python_names(files, path)
    read = _read_binary if binary else _read_python
    train, test = (
        read(files.pop(f"{part}.bin" if binary else part), part, path) for part in ("train", "test")
    )
    return LabelledItems(name or "cifar100", train, test, names)


def _from_folder(root: Path) -> dict[str, bytes]:
    return {name: (root / name).read_bytes() for name in (*PYTHON, *BINARY) if (root / name).is_file()}


def _from_archive(path: Path) -> dict[str, bytes]:
    files = {}
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                name = member.name.rpartition("/")[2]
                content = archive.extractfile(member) if member.isfile() else None
                if name in (*PYTHON, *BINARY) and content is not None:
                    files[name] = content.read()
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        raise InputError(f"{path} is not a complete archive ({error}). Expected: {EXPECTS}.") from None
    return files


def _unpickle(data: bytes, part: str, path: Path, keys: tuple[str, ...]) -> dict[str, Any]:
    try:
        content = read_pickle(data)
    except pickle.UnpicklingError as error:
        reason = reason_of(error)
        raise InputError(
            f"The file {part} of {path} cannot be read: {reason}. Expected: {EXPECTS}."
        ) from None
    missing = [key for key in keys if key not in content]
    if missing:
        raise InputError(f"The file {part} of {path} lacks {', '.join(missing)}. Expected: {EXPECTS}.")
    return content


def _python_names(files: dict[str, bytes], path: Path) -> tuple[str, ...]:
    return tuple(_unpickle(files["meta"], "meta", path, ("fine_label_names",))["fine_label_names"])


def _binary_names(files: dict[str, bytes]) -> tuple[str, ...]:
    lines = files["fine_label_names.txt"].decode("latin1").splitlines()
    return tuple(line.strip() for line in lines if line.strip())


def _read_python(data: bytes, part: str, path: Path) -> Items:
    content = _unpickle(data, part, path, ("data", "fine_labels"))
    pixels, labels = content["data"], content["fine_labels"]
    if not isinstance(pixels, np.ndarray) or pixels.ndim != 2 or pixels.shape[1] != PIXELS:
        raise InputError(f"The file {part} of {path} must have rows of {PIXELS} bytes. Expected: {EXPECTS}.")
    if not isinstance(labels, list) or not all(type(label) is int for label in labels):
        raise InputError(f"The file {part} of {path} must have a list of integers as fine_labels.")
    return _items(pixels, np.array(labels, dtype=np.int64), part, path)


def _read_binary(data: bytes, part: str, path: Path) -> Items:
    record = 2 + PIXELS  # coarse label, fine label, pixels
    if len(data) % record:
        raise InputError(
            f"The file {part}.bin of {path} has {len(data)} bytes, which is not a whole number of records of "
            f"{record} bytes; it is truncated. Expected: {EXPECTS}."
        )
    records = np.frombuffer(data, dtype=np.uint8).reshape(-1, record)
    return _items(records[:, 2:], records[:, 1].astype(np.int64), part, path)


def _items(pixels: Array, labels: Array, part: str, path: Path) -> Items:
    """Planes of red, green and blue to pictures (N, 32, 32, 3)."""
    if not len(pixels):
        raise InputError(f"The file {part} of {path} has no pictures. Expected: {EXPECTS}.")
    pictures = np.ascontiguousarray(pixels.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
    references = [f"{part}/{row}" for row in range(len(pictures))]
    return Items("image", pictures, references, f"{path} ({part})", labels, {"label": "fine_labels"})


LAYOUTS = (Layout("cifar100", EXPECTS, _load, detect=_detect),)
