"""Datasets of Hugging Face: by name (streamed), as a folder that ``save_to_disk`` wrote, or in memory."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from vbcgcd.errors import InputError, reason_of
from vbcgcd.items.tables import BLOCK, Block, Cells, TableFile, check_names

#: What names of datasets on the hub begin with here.
PREFIX = "hf:"
# Whatever else the package would take for a folder of this machine.
_NAME = re.compile(
    r"hf:(?P<name>(\w[\w.-]*/)?\w[\w.-]*)(@(?P<config>[^:/\\]+))?(:(?P<split>[^/\\]+))?", re.ASCII
)

__all__ = ["PREFIX", "HubTable", "hub_table", "is_hub_dataset", "is_saved_dataset"]


def is_hub_dataset(data: Any) -> bool:
    """Whether this is a dataset of the package ``datasets``, streamed or not."""
    return type(data).__module__.partition(".")[0] == "datasets"


def is_saved_dataset(folder: Path) -> bool:
    """Whether ``save_to_disk`` wrote this folder."""
    return (folder / "state.json").is_file() or (folder / "dataset_dict.json").is_file()


class HubTable(TableFile):
    """The columns of a dataset; labels that it stores as numbers have their names again.

    Parameters
    ----------
    data : datasets.Dataset or datasets.IterableDataset
    path : Path
        What errors call it.
    """

    unit = "row"

    def __init__(self, data: Any, path: Path = Path("the dataset")) -> None:
        super().__init__(path)
        features = data.features
        if features is None:  # a stream that does not say
            features = data.take(BLOCK)._resolve_features().features or {}
        self._data, self._features = data, features
        self.names = list(features)
        check_names(self.names, path)

    def blocks(self, names: Sequence[str]) -> Iterator[Block]:
        """See `TableFile.blocks`."""
        first = 0
        batches = self._data.select_columns(list(names)).with_format(None).iter(batch_size=BLOCK)
        while (batch := self._next(batches)) is not None:
            columns = {name: self._cells(name, batch[name]) for name in names}
            n_rows = len(columns[names[0]])
            yield Block(columns, range(first, first + n_rows))
            first += n_rows

    def _next(self, batches: Iterator[Any]) -> Any:
        try:
            return next(batches, None)
        except Exception as error:  # a stream can lose its network at any time
            raise InputError(f"Cannot read all of {self.path} ({reason_of(error)}).") from None

    def _cells(self, name: str, cells: Any) -> Cells:
        feature = self._features[name]
        if type(feature).__name__ != "ClassLabel":
            return list(cells)
        # On the hub, -1 says that the label is kept secret.
        return [None if code is None or code < 0 else feature.int2str(int(code)) for code in cells]


def hub_table(source: str | Path | Any) -> HubTable:
    """The table of a dataset: ``hf:NAME``, a folder that ``save_to_disk`` wrote, or a dataset in memory.

    Parameters
    ----------
    source : str, Path or dataset
        ``hf:NAME``, ``hf:NAME@CONFIGURATION``, ``hf:NAME:SPLIT``, or both; a dataset by name is streamed.

    Raises
    ------
    InputError
        The package is not installed, the dataset cannot be opened, or one of its parts must be chosen.
    """
    path = Path("the dataset") if not isinstance(source, str | Path) else Path(source)
    data: Any = source
    if isinstance(source, str):
        data = _by_name(source)
    elif isinstance(source, Path):
        data = _call(path, _package().load_from_disk, str(source))
    return HubTable(_one_part(data, path), path)


def _by_name(source: str) -> Any:
    match = _NAME.fullmatch(source)
    if match is None or not source.isprintable():
        raise InputError(
            "A dataset is hf:NAME, hf:NAME@CONFIGURATION or hf:NAME:SPLIT, where NAME may be OWNER/NAME; "
            f"got {source!r}."
        )
    options = {"name": match["config"], "split": match["split"]}
    return _call(
        Path(source),
        _package().load_dataset,
        match["name"],
        streaming=True,
        **{key: value for key, value in options.items() if value is not None},
    )


def _call(path: Path, function: Any, *values: Any, **options: Any) -> Any:
    try:
        return function(*values, **options)
    except Exception as error:  # no network, no such dataset, a damaged folder
        raise InputError(f"Cannot open {path} ({reason_of(error)}).") from None


def _one_part(data: Any, path: Path) -> Any:
    if not isinstance(data, Mapping):
        return data
    parts = ", ".join(map(str, data))
    if len(data) == 1:
        return next(iter(data.values()))
    how = f"{path}:{next(iter(data))}" if str(path).startswith(PREFIX) else f"{path}/{next(iter(data))}"
    raise InputError(f"{path} has the parts {parts}; choose one, such as {how}.")


def _package() -> Any:
    try:
        return importlib.import_module("datasets")
    except ImportError:
        raise InputError(
            "Datasets of Hugging Face need the package datasets, which is not installed; install it with "
            "pip install 'vbcgcd[datasets]'."
        ) from None
