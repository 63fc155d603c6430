"""What the files of a commit hold, as values: assignments, positions, excerpts, posteriors, seedlings, model.

A value written to a commit and the same value read from it are equal, so nothing has to be read back.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.archive import archive_bytes, archive_parts, read_archive
from vbcgcd.mapped import Check
from vbcgcd.workspace.log.disk import to_json
from vbcgcd.workspace.log.lessons import Corrections, SessionLessons
from vbcgcd.workspace.log.parquet import check_pyarrow, numbers_of, parquet_bytes, parquet_columns

if TYPE_CHECKING:
    from vbcgcd.bayes import Posterior
    from vbcgcd.discovery.knowledge import Knowledge
    from vbcgcd.discovery.options import Options
    from vbcgcd.discovery.seedlings import Seedlings
    from vbcgcd.discovery.traces import Traces

Array = NDArray[Any]
TABLE, SAMPLE, EXCERPTS = "assignments.parquet", "sample.safetensors", "excerpts.json"
MODEL, SEGMENT = "model.safetensors", "posteriors.safetensors"
SEEDLINGS = "seedlings.safetensors"
LESSONS, CORRECTIONS = "lessons.parquet", "corrections.safetensors"
TRACES = "traces.safetensors"
#: Digests of the parts of large files; see `vbcgcd.workspace.log.blocks`.
BLOCKS = "blocks.safetensors"
#: Files of which a part can be checked and read alone.
IN_PARTS = frozenset({MODEL, SEGMENT})
#: Files that only a report or a review shows: without them every answer is the same.
DECORATIVE = frozenset({SAMPLE, EXCERPTS, TRACES})
#: What stands for the category of an item that has none.
UNASSIGNED = -1
#: Leading reduced dimensions that a coarse position keeps.
SKETCH = 16
SAMPLE_KIND, SAMPLE_VERSION = "vbcgcd-sample", 1
SEGMENT_KIND, SEGMENT_VERSION = "vbcgcd-posteriors", 1
SEEDLINGS_KIND, SEEDLINGS_VERSION = "vbcgcd-seedlings", 1
TRACES_KIND, TRACES_VERSION = "vbcgcd-traces", 1

__all__ = [
    "BLOCKS",
    "CORRECTIONS",
    "DECORATIVE",
    "EXCERPTS",
    "IN_PARTS",
    "LESSONS",
    "MODEL",
    "SAMPLE",
    "SEEDLINGS",
    "SEGMENT",
    "SKETCH",
    "TABLE",
    "TRACES",
    "UNASSIGNED",
    "Assignments",
    "BaseModel",
    "Excerpts",
    "Sample",
    "SeedlingBed",
    "Segment",
    "SessionTraces",
    "read_content",
]


@dataclass(frozen=True, eq=False)
class Assignments:
    """The items of one session, or of one split.

    Parameters
    ----------
    reference : list of str (N,), or a column of Arrow
    category : int array (N,)
        -1 for an item that fits none well enough.
    probability, second_probability, novelty : float array (N,)
        Kept in single precision. The probability of an unassigned item is that of belonging to none.
    second : int array (N,)
        The next best category, of an unassigned item the best; -1 for none.
    """

    reference: Any
    category: Array
    probability: Array
    second: Array
    second_probability: Array
    novelty: Array

    def __post_init__(self) -> None:
        for name in ("probability", "second_probability", "novelty"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=np.float32))

    def __len__(self) -> int:
        return len(self.category)

    @property
    def margin(self) -> Array:
        """How much more probable the category is than the next, array (N,)."""
        return np.asarray(self.probability - self.second_probability)

    def name_of(self, row: int) -> str:
        """Reference of one item."""
        reference = self.reference[int(row)]
        return reference if isinstance(reference, str) else str(reference.as_py())

    def columns(self) -> dict[str, Any]:
        """Columns of Arrow by name."""
        arrow, reference = check_pyarrow(), self.reference
        if isinstance(reference, list):
            reference = arrow.array(reference, arrow.string())
        return {
            "reference": reference,
            "category": arrow.array(self.category, arrow.int64()),
            "probability": arrow.array(self.probability, arrow.float32()),
            "second": arrow.array(self.second, arrow.int64()),
            "second_probability": arrow.array(self.second_probability, arrow.float32()),
            "novelty": arrow.array(self.novelty, arrow.float32()),
        }

    def as_bytes(self) -> bytes:
        """A Parquet table with one row for each item."""
        return parquet_bytes(self.columns())

    @classmethod
    def read(cls, path: Path) -> Assignments:
        """From a file that holds `as_bytes`."""
        return cls.from_columns(parquet_columns(path.read_bytes()))

    @classmethod
    def from_columns(cls, columns: Mapping[str, Any]) -> Assignments:
        """From columns of Arrow by name; further ones are left out."""
        numbers = ("category", "probability", "second", "second_probability", "novelty")
        arrays = {name: numbers_of(columns[name]) for name in numbers}
        return cls(reference=columns["reference"], **arrays)


@dataclass(frozen=True, eq=False)
class Sample:
    """Coarse positions of some items.

    Parameters
    ----------
    rows : int array (M,)
        Rows in the assignments.
    sketch : float32 array (M, at most 16)
        Leading dimensions of the reduced embeddings.
    """

    rows: Array
    sketch: Array

    @classmethod
    def of(cls, rows: Array, reduced: Array) -> Sample:
        """From reduced embeddings (M, D)."""
        return cls(rows.astype(np.int64), reduced[:, :SKETCH].astype(np.float32))

    def as_bytes(self) -> bytes:
        """A safetensors archive."""
        arrays = {"rows": self.rows, "sketch": self.sketch}
        return archive_bytes(SAMPLE_KIND, SAMPLE_VERSION, arrays, {})

    @classmethod
    def read(cls, path: Path) -> Sample:
        """From a file that holds `as_bytes`."""
        arrays, _ = read_archive(path, SAMPLE_KIND, SAMPLE_VERSION)
        return cls(arrays["rows"], arrays["sketch"])


@dataclass(frozen=True)
class Excerpts:
    """Short texts or thumbnails of typical items, ``{"reference", "text"}`` or ``{"reference", "jpeg"}``.

    Parameters
    ----------
    by_category : dict of id -> list of dict
    """

    by_category: Mapping[int, list[Mapping[str, str]]]

    def as_bytes(self) -> bytes:
        """A JSON object."""
        return to_json({str(category): parts for category, parts in self.by_category.items()})

    @classmethod
    def read(cls, path: Path) -> Excerpts:
        """From a file that holds `as_bytes`."""
        values = json.loads(path.read_bytes())
        return cls({int(category): parts for category, parts in values.items()})


@dataclass(frozen=True, eq=False)
class Segment:
    """Posteriors that a commit added or replaced, in the order of ``ids``."""

    posterior: Posterior
    ids: tuple[int, ...]

    def as_bytes(self) -> bytes:
        """A safetensors archive."""
        return b"".join(self.as_parts())

    def as_parts(self) -> Iterator[bytes | memoryview]:
        """`as_bytes`, piece by piece."""
        from vbcgcd.discovery.model_file import posterior_arrays

        values = {"ids": list(self.ids), "structure": self.posterior.structure}
        return archive_parts(SEGMENT_KIND, SEGMENT_VERSION, posterior_arrays(self.posterior), values)

    @classmethod
    def read(cls, path: Path, check: Check | None = None) -> Segment:
        """From a file that holds `as_bytes`; factors stay in it if they are large."""
        from vbcgcd.discovery.model_file import posterior_from_arrays

        arrays, values = read_archive(path, SEGMENT_KIND, SEGMENT_VERSION, mapped=("factor",), check=check)
        return cls(posterior_from_arrays(arrays, values["structure"]), tuple(values["ids"]))


@dataclass(frozen=True, eq=False)
class SeedlingBed:
    """All seedlings that there are after a commit."""

    seedlings: Seedlings

    def as_bytes(self) -> bytes:
        """A safetensors archive."""
        values = {"structure": self.seedlings.posterior.structure}
        return archive_bytes(SEEDLINGS_KIND, SEEDLINGS_VERSION, self.seedlings.arrays(), values)

    @classmethod
    def read(cls, path: Path) -> SeedlingBed:
        """From a file that holds `as_bytes`."""
        from vbcgcd.discovery.seedlings import Seedlings

        arrays, values = read_archive(path, SEEDLINGS_KIND, SEEDLINGS_VERSION)
        seedlings = Seedlings.from_arrays(arrays, values["structure"])
        assert seedlings is not None  # a commit without any has no such file
        return cls(seedlings)


@dataclass(frozen=True, eq=False)
class SessionTraces:
    """What the items of a session said about their categories, by rising id, arrays (K,).

    See `vbcgcd.discovery.traces.Traces`.
    """

    category: Array
    count: Array
    shift: Array
    spread: Array
    halves: Array
    smaller: Array

    @classmethod
    def of(cls, traces: Traces, ids: Sequence[int]) -> SessionTraces:
        """From what a session left; ``ids`` are the categories in the order of their posteriors."""
        category = np.array(ids, dtype=np.int64)[traces.category]
        order = np.argsort(category)
        parts = (traces.count, traces.shift, traces.spread, traces.halves, traces.smaller)
        return cls(category[order], *(part[order] for part in parts))

    def as_bytes(self) -> bytes:
        """A safetensors archive."""
        return archive_bytes(
            TRACES_KIND, TRACES_VERSION, {f.name: getattr(self, f.name) for f in fields(self)}, {}
        )

    @classmethod
    def read(cls, path: Path) -> SessionTraces:
        """From a file that holds `as_bytes`."""
        arrays, _ = read_archive(path, TRACES_KIND, TRACES_VERSION)
        return cls(**{f.name: arrays[f.name] for f in fields(cls)})


@dataclass(frozen=True, eq=False)
class BaseModel:
    """What a base session learned: a file that ``CategoryDiscoverer.load`` reads too.

    Parameters
    ----------
    knowledge : Knowledge
    ids : tuple of int
        Categories, in the order of the posteriors.
    options : Options
    n_features : int
        Numbers in an embedding.
    """

    knowledge: Knowledge
    ids: tuple[int, ...]
    options: Options
    n_features: int

    def as_bytes(self) -> bytes:
        """A safetensors archive."""
        return b"".join(self.as_parts())

    def as_parts(self) -> Iterator[bytes | memoryview]:
        """`as_bytes`, piece by piece."""
        from vbcgcd.discovery.model_file import model_parts

        values = {
            "params": asdict(self.options),
            "n_sessions": 0,
            "n_discovered": 0,
            "n_features": self.n_features,
            "feature_names": [],
        }
        births = np.zeros(len(self.ids), dtype=np.int64)
        return model_parts(self.knowledge, np.array(self.ids), births, values)

    @classmethod
    def read(cls, path: Path, check: Check | None = None) -> BaseModel:
        """From a file that holds `as_bytes`; factors stay in it if they are large."""
        from vbcgcd.discovery.model_file import read_model
        from vbcgcd.discovery.options import Options

        knowledge, classes, _, values = read_model(path, mapped=True, check=check)
        return cls(knowledge, tuple(classes.tolist()), Options(**values["params"]), values["n_features"])


_READERS = {
    TABLE: Assignments.read,
    SAMPLE: Sample.read,
    EXCERPTS: Excerpts.read,
    SEEDLINGS: SeedlingBed.read,
    LESSONS: SessionLessons.read,
    CORRECTIONS: Corrections.read,
    TRACES: SessionTraces.read,
}


#: What may be read in parts, each of them checked.
_LARGE_READERS = {SEGMENT: Segment.read, MODEL: BaseModel.read}


def read_content(path: Path, check: Check | None = None) -> Any:
    """The value in a file of a commit, by the file's name.

    Parameters
    ----------
    path : Path
    check : callable, optional
        Called before a part of the file is used, where the file as a whole has not been checked.
    """
    if path.name in _LARGE_READERS:
        return _LARGE_READERS[path.name](path, check)
    return _READERS[path.name](path)
