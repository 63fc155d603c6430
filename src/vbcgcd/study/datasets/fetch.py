"""Fetch a dataset into a folder, in a layout that `load_items` reads: CIFAR-100, or one of Hugging Face."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from vbcgcd.errors import InputError
from vbcgcd.items.columns import LABEL_NAMES, pick_column

PARTS = {
    "train": "train",
    "training": "train",
    "validation": "val",
    "valid": "val",
    "val": "val",
    "dev": "val",
    "test": "test",
}

__all__ = ["fetch"]


def fetch(name: str, folder: str | os.PathLike[str]) -> Path:
    """Fetch a dataset; one that is already there is not fetched again.

    Parameters
    ----------
    name : str
        ``"cifar100"`` (with torchvision), or ``"hf:owner/name"`` and ``"hf:owner/name:configuration"`` (with
        the package datasets of Hugging Face).
    folder : str or Path
        Created if it does not exist.

    Returns
    -------
    Path
        The dataset on disk, for `load_items`.

    Raises
    ------
    InputError
        The name cannot be fetched, a package is not installed, or the download fails. Nothing incomplete is
        left behind that `load_items` could take for a dataset.
    """
    target = Path(folder)
    if name == "cifar100":
        return _fetch_cifar100(target)
    if name.startswith("hf:"):
        local = "use a local table (.csv, .jsonl, .parquet) or a local folder of pictures instead"
        return _fetch_hub(name, target, _need("datasets", name, local))
    raise InputError(
        f"{name!r} cannot be fetched; use 'cifar100', 'hf:owner/name' or a local copy of the dataset."
    )


def _need(package: str, name: str, local: str) -> Any:
    """The package, or an error that names it and the way without it."""
    try:
        return importlib.import_module(package)
    except ImportError:
        top = package.partition(".")[0]
        raise InputError(
            f"Fetching {name} needs the package {top}, which is not installed; install it, or {local}."
        ) from None


def _fetch_cifar100(folder: Path) -> Path:
    ready = folder / "cifar-100-python"
    if all((ready / file).is_file() for file in ("train", "test", "meta")):
        return ready
    local = "use a local cifar-100-python.tar.gz or its unpacked folder instead"
    vision = _need("torchvision.datasets", "cifar100", local)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        vision.CIFAR100(root=str(folder), train=True, download=True)
    except (OSError, RuntimeError) as error:
        raise InputError(f"cifar100 could not be fetched ({error}); try again, or {local}.") from None
    if not ready.is_dir():
        raise InputError(f"torchvision did not create {ready}; {local}.")
    return ready


def _fetch_hub(name: str, folder: Path, library: Any) -> Path:
    """Load ``hf:owner/name[:configuration]`` with the package datasets and write it below ``folder``.

    Pictures become ``train/<class>/*.png`` and so on, everything else tables ``train.jsonl`` and so on, with
    class names in place of codes. Rows without a label (hidden test labels) are left out. A dataset with a
    single part becomes one table, or one folder of classes.
    """
    owner, _, configuration = name.removeprefix("hf:").partition(":")
    if (
        not owner
        or any(part in ("", ".", "..") for part in owner.split("/"))
        or owner.count("/") > 1
        or "/" in configuration
    ):
        raise InputError(f"{name!r} is not the name of a dataset on the hub; write hf:owner/name.")
    target = folder / "--".join([*owner.split("/"), *([configuration] if configuration else [])])
    if target.exists():
        return _entry(target)
    try:
        loaded = library.load_dataset(owner, *([configuration] if configuration else []))
    except Exception as error:  # the library raises errors of its own and of its network stack
        raise InputError(
            f"{name} could not be fetched ({type(error).__name__}: {error}); try again, or use a local copy."
        ) from None
    parts = {PARTS[part]: _Part(rows, name) for part, rows in loaded.items() if part in PARTS}
    parts = {part: rows for part, rows in parts.items() if rows.any_labelled}
    if "train" not in parts:
        raise InputError(
            f"{name} has no labelled part train; its parts are {', '.join(map(str, loaded)) or 'none'}."
        )
    folder.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=".fetch-", dir=folder))
    try:
        for part, rows in parts.items():
            rows.write(aside, part if len(parts) > 1 else "")
        aside.chmod(0o755)
        aside.rename(target)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise
    return _entry(target)


def _entry(target: Path) -> Path:
    single = target / "data.jsonl"
    return single if single.is_file() else target


class _Part:
    """The labelled rows of one part of a dataset."""

    def __init__(self, rows: Any, name: str) -> None:
        features: Mapping[str, Any] = rows.features
        label = pick_column(features, LABEL_NAMES)
        if label is None:
            raise InputError(f"{name} has no label column; its columns are {', '.join(features)}.")
        self.rows, self.label, self.name = rows, label, name
        self.classes: list[str] | None = getattr(features[label], "names", None)
        self.image = next((key for key, kind in features.items() if type(kind).__name__ == "Image"), None)

    @property
    def any_labelled(self) -> bool:
        return any(self._class(code) is not None for code in self.rows[self.label])

    def write(self, folder: Path, part: str) -> None:
        if self.image is None:
            self._write_table(folder / f"{part or 'data'}.jsonl")
        else:
            self._write_pictures(folder / part, self.image)

    def _class(self, code: Any) -> Any:
        """Name of the class; None where the label is hidden, which the hub writes as -1."""
        if self.classes is None or not isinstance(code, int):
            return code
        return self.classes[code] if code >= 0 else None

    def _labelled(self) -> Iterator[tuple[Any, Mapping[str, Any]]]:
        for row in self.rows:
            label = self._class(row[self.label])
            if label is not None:
                yield label, row

    def _write_table(self, file: Path) -> None:
        with file.open("w", encoding="utf-8") as out:
            for label, row in self._labelled():
                out.write(json.dumps({**row, self.label: label}, ensure_ascii=False, default=str) + "\n")

    def _write_pictures(self, folder: Path, image: str) -> None:
        for number, (label, row) in enumerate(self._labelled()):
            if row[image] is None:
                raise InputError(f"A row of {self.name} has no picture in the column {image!r}.")
            place = folder / _folder_name(str(label))
            place.mkdir(parents=True, exist_ok=True)
            row[image].convert("RGB").save(place / f"{number:06d}.png")


def _folder_name(label: str) -> str:
    """A class as the name of a folder: distinct for distinct classes, never hidden or outside its parent."""
    name = label.replace("%", "%25").replace("/", "%2F").replace("\\", "%5C")
    return "%2E" + name[1:] if name.startswith(".") else name or "%"
