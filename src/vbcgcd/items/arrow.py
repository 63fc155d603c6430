"""Arrow's own files, and datasets of Arrow: folders of Parquet or Arrow files, read batch by batch."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vbcgcd.blocks.marks import check_whole
from vbcgcd.errors import InputError
from vbcgcd.items.parquet import columns_of, incomplete, next_batch, pyarrow_module
from vbcgcd.items.tables import BLOCK, Block, TableFile, check_names

#: Endings of the files of a dataset in a folder.
PARTS = (".parquet", ".arrow", ".feather")

__all__ = ["ArrowTable", "arrow_file", "arrow_folder", "dataset_files", "is_arrow_dataset"]


class ArrowTable(TableFile):
    """Record batches that can be asked for more than once.

    Parameters
    ----------
    path : Path
        What errors call it.
    names : sequence of str
    batches : callable
        From names of columns to an iterator of record batches.
    """

    unit = "row"

    def __init__(self, path: Path, names: Sequence[str], batches: Callable[[list[str]], Any]) -> None:
        super().__init__(path)
        self.names, self._batches = list(names), batches
        check_names(self.names, path)

    def blocks(self, names: Sequence[str]) -> Iterator[Block]:
        """See `TableFile.blocks`."""
        first, batches = 0, self._batches(list(names))
        while (batch := next_batch(batches, self.path)) is not None:
            for start in range(0, batch.num_rows, BLOCK):
                part = batch.slice(start, BLOCK)
                yield Block(columns_of(part, self.path), range(first, first + part.num_rows))
                first += part.num_rows


def arrow_file(path: Path) -> ArrowTable:
    """A file in Arrow's own format, as a file or as a stream."""
    with _open_arrow(path) as reader:
        names = list(reader.schema.names)

    def batches(wanted: list[str]) -> Iterator[Any]:
        with _open_arrow(path) as reader:
            n = getattr(reader, "num_record_batches", None)
            every = iter(reader) if n is None else (reader.get_batch(i) for i in range(n))
            for batch in every:
                yield batch.select(wanted)

    return ArrowTable(path, names, batches)


@contextmanager
def _open_arrow(path: Path) -> Iterator[Any]:
    ipc = pyarrow_module("pyarrow.ipc")
    with path.open("rb") as file:
        try:
            reader = ipc.open_file(file) if file.read(6) == b"ARROW1" else ipc.open_stream(_rewound(file))
        except Exception as error:  # a damaged file can fail in any way
            raise incomplete(path, error, "Arrow") from None
        yield reader


def _rewound(file: Any) -> Any:
    file.seek(0)
    return file


def dataset_files(folder: str | os.PathLike[str]) -> list[str]:
    """Files of a dataset in a folder and below, sorted; hidden ones and those that begin with _ are none."""
    files: list[str] = []
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name[0] not in "._")
        files += [
            os.path.join(place, n) for n in sorted(names) if n[0] not in "._" and n.lower().endswith(PARTS)
        ]
    return files


def is_arrow_dataset(data: Any) -> bool:
    """Whether this is a dataset of ``pyarrow.dataset``."""
    return type(data).__module__.startswith("pyarrow._dataset") and hasattr(data, "to_batches")


def arrow_folder(folder: Path | Any) -> ArrowTable:
    """A folder of Parquet or Arrow files, or a dataset of ``pyarrow.dataset``.

    Folders called ``name=value`` are columns, as Arrow, Spark and Hive write them.
    """
    if isinstance(folder, Path):
        check_whole(folder)
    data = _dataset_of(folder) if isinstance(folder, Path) else folder
    path = folder if isinstance(folder, Path) else Path("the dataset")

    def batches(wanted: list[str]) -> Any:
        return iter(data.to_batches(columns=wanted, batch_size=BLOCK))

    return ArrowTable(path, data.schema.names, batches)


def _dataset_of(folder: Path) -> Any:
    datasets = pyarrow_module("pyarrow.dataset")
    files = dataset_files(folder)
    endings = {os.path.splitext(file)[1].lower() for file in files}
    if len(endings) != 1:
        found = " and ".join(sorted(endings)) or "no such files"
        raise InputError(f"{folder} must hold Parquet files, or Arrow files, but not both; it has {found}.")
    kind = "parquet" if endings == {".parquet"} else "arrow"
    try:
        return datasets.dataset(files, format=kind, partitioning="hive", partition_base_dir=str(folder))
    except Exception as error:
        raise incomplete(folder, error, "Arrow") from None
