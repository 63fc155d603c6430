"""Results on disk: one JSON line per finished run, so that an interrupted study goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
import math
import os
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import vbcgcd
from vbcgcd.errors import InputError
from vbcgcd.study.methods import METHODS, make_method
from vbcgcd.study.plans import Plan
from vbcgcd.study.runner import Bound, Dataset, PlanResult, run_plan, upper_bound

Record = dict[str, Any]
#: Raised whenever scoring or a method changes what a run would give: older runs are then made again.
REVISION = 1

__all__ = ["Job", "Record", "Records", "job_key", "run_job"]


@dataclass(frozen=True)
class Job:
    """One run: a method with options, over a plan.

    Parameters
    ----------
    method : str
        Name of a method.
    options : dict
        Override the method's own.
    number_known : bool
        Whether the number of novel classes is given.
    supervised : bool
        Only the supervised upper bound, no discovery.
    """

    method: str
    options: dict[str, Any] = field(default_factory=dict)
    number_known: bool = True
    supervised: bool = False


class Records:
    """The runs of a study, in one file of JSON lines.

    Lines are only ever appended. A line that was cut off by a crash is passed over.

    Parameters
    ----------
    folder : path
        Made when the first run is added.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.path = Path(folder) / "runs.jsonl"

    def read(self) -> dict[str, Record]:
        """Finished runs by key; the last one where a run was repeated."""
        if not self.path.exists():
            return {}
        found: dict[str, Record] = {}
        for number, line in enumerate(self.path.read_bytes().split(b"\n"), start=1):
            try:
                record = json.loads(line.decode("utf-8"))
                found[record["key"]] = record
            except (ValueError, KeyError, TypeError):
                if line.strip():
                    warnings.warn(f"{self.path}, line {number} is cut off and was passed over.", stacklevel=2)
        return found

    def check_writable(self) -> None:
        """Raise before the work if a run could not be written down after it."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with open(self.path, "ab"):
                pass
        except OSError as error:
            raise InputError(
                f"Cannot write to {self.path}: {error.strerror}; choose another --out."
            ) from None

    def add(self, record: Record) -> None:
        """Append one run; it is on the disk when this returns."""
        line = json.dumps(_plain(record), ensure_ascii=False, separators=(",", ":"))
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            whole = not self.path.exists() or self.path.stat().st_size == 0 or _ends_line(self.path)
            with open(self.path, "ab") as file:
                file.write(("" if whole else "\n").encode() + line.encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise InputError(
                f"Cannot write to {self.path}: {error.strerror}; choose another --out."
            ) from None


def job_key(job: Job, data_digest: str, plan_digest: str) -> str:
    """Name of a run: the same method, options, data, plan and version give the same key."""
    content = {
        "version": vbcgcd.__version__,
        "revision": REVISION,
        "data": data_digest,
        "plan": plan_digest,
        "method": job.method,
        "options": {**METHODS[job.method].options, **job.options},
        "number_known": job.number_known,
        "supervised": job.supervised,
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:20]


def run_job(
    job: Job,
    data: Dataset,
    plan: Plan,
    key: str,
    *,
    progress: Callable[[str], None] = lambda text: None,
) -> Record:
    """Run a job and write down everything that tables and figures need."""

    def make() -> Any:
        return make_method(job.method, **job.options)

    result = (
        None
        if job.supervised
        else run_plan(make(), data, plan, number_known=job.number_known, progress=progress)
    )
    bound = upper_bound(make, data, plan, base=None if result is None else result.base, progress=progress)
    record: Record = _plain(
        {
            "key": key,
            "version": vbcgcd.__version__,
            "revision": REVISION,
            "data": data.name,
            "data_digest": data.digest,
            "plan": plan.about,
            "method": job.method,
            "options": job.options,
            "number_known": job.number_known,
            "result": None if result is None else _result(result),
            "bound": _bound(bound),
        }
    )
    return record


def _result(result: PlanResult) -> dict[str, Any]:
    sessions = [
        {
            **{k: v for k, v in asdict(s).items() if k not in ("frozen", "joint", "stream")},
            "frozen": s.frozen._asdict(),
            "joint": s.joint._asdict(),
            "stream": s.stream._asdict(),
        }
        for s in result.sessions
    ]
    return {**asdict(result), "sessions": sessions}


def _bound(bound: Bound) -> dict[str, Any]:
    return {"base": bound.base, "scores": [s._asdict() for s in bound.scores]}


def _plain(value: Any) -> Any:
    """Values as JSON knows them; NaN becomes null."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _ends_line(path: Path) -> bool:
    with open(path, "rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"
