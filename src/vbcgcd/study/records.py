"""What a run gave, as typed records, and the file that keeps them: one JSON line per finished run."""

from __future__ import annotations

import hashlib
import json
import math
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

import vbcgcd
from vbcgcd.errors import DiskError
from vbcgcd.record import plain
from vbcgcd.study.methods import Run, options_of
from vbcgcd.study.plans import PlanOrigin
from vbcgcd.study.scoring import PROTOCOLS, Accuracies, ClusterScore, SessionScore, StreamScore, share
from vbcgcd.study.stability import IdStability
from vbcgcd.study.streams.scoring import StreamResult

#: Raised whenever scoring or a method changes what a run would give: older runs are then repeated.
REVISION = 6
Score = TypeVar("Score", SessionScore, StreamScore, ClusterScore)
_OPTIONAL = ("stream", "stability", "test_clusters", "session_clusters", "calibration_error")

__all__ = ["PlanResult", "Results", "RunRecord", "SessionEvaluation", "identity", "run_key"]


@dataclass(frozen=True)
class SessionEvaluation:
    """One session of a run: accuracy under both protocols, how its rows were judged, what it cost.

    Parameters
    ----------
    frozen, joint : SessionScore
    stream : StreamScore
    n_novel, n_discovered : int
        Truly novel classes, and novel categories that the method made.
    n_categories : int
        Categories known after the session.
    nbytes : int or None
        Bytes that the method keeps between sessions; None where it does not report them.
    seconds : float
    peak_bytes : int
        Memory of the session above what was held before it.
    """

    frozen: SessionScore
    joint: SessionScore
    stream: StreamScore
    n_novel: int
    n_discovered: int
    n_categories: int
    nbytes: int | None
    seconds: float
    peak_bytes: int


@dataclass(frozen=True)
class PlanResult:
    """Outcome of one method over one plan.

    Parameters
    ----------
    base, base_joint : float
        Test accuracy on the labelled classes after `fit`, under each protocol.
    sessions : tuple of SessionEvaluation
    fit_seconds : float
    fit_peak_bytes : int
    stream : StreamResult or None
        How each session was judged, where the plan is a realistic stream.
    stability : IdStability or None
        Whether items of earlier sessions keep their ids; None in records of earlier versions.
    test_clusters, session_clusters : ClusterScore or None
        Of the test rows and of the rows of the last session, after it; None in records of earlier versions.
    calibration_error : float or None
        Expected calibration error over the test rows after the last session, frozen scoring; None where the
        method reports no probabilities, and in records of earlier versions.
    """

    base: float
    base_joint: float
    sessions: tuple[SessionEvaluation, ...]
    fit_seconds: float
    fit_peak_bytes: int
    stream: StreamResult | None = None
    stability: IdStability | None = None
    test_clusters: ClusterScore | None = None
    session_clusters: ClusterScore | None = None
    calibration_error: float | None = None

    def accuracies(self, protocol: str = "frozen") -> Accuracies:
        """Test accuracy along the run under a protocol, "frozen" or "joint"."""
        if protocol == "joint":
            return Accuracies(self.base_joint, tuple(s.joint for s in self.sessions))
        return Accuracies(self.base, tuple(s.frozen for s in self.sessions))

    @property
    def scores(self) -> tuple[SessionScore, ...]:
        """Frozen scores of the sessions."""
        return self.accuracies().scores

    @property
    def final(self) -> SessionScore:
        """Frozen scores after the last session."""
        return self.accuracies().final

    @property
    def forgetting(self) -> float:
        """M_f, frozen."""
        return self.accuracies().forgetting

    @property
    def discovery(self) -> float:
        """M_d, frozen."""
        return self.accuracies().discovery


@dataclass(frozen=True)
class RunRecord:
    """A finished run: what was run, on what, and what came out.

    Parameters
    ----------
    key : str
        Names the run; see `run_key`.
    run : Run
    data, data_digest : str
        Name and fingerprint of the dataset.
    plan : PlanOrigin
    result : PlanResult or None
        None for a supervised run, which has a bound only.
    bound : Accuracies
        The supervised upper bound.
    version : str
        Version of vbcgcd that ran it.
    revision : int
        Revision of the study's code.
    """

    key: str
    run: Run
    data: str
    data_digest: str
    plan: PlanOrigin
    result: PlanResult | None
    bound: Accuracies
    version: str = vbcgcd.__version__
    revision: int = REVISION

    @property
    def sessions(self) -> tuple[SessionEvaluation, ...]:
        """The sessions; empty for a supervised run."""
        return () if self.result is None else self.result.sessions

    def accuracies(self, protocol: str) -> Accuracies:
        """Test accuracy along the run; a supervised run has none."""
        assert self.result is not None
        return self.result.accuracies(protocol)

    def share(self, protocol: str) -> float:
        """Final All as a share of the run's own bound; NaN unless the protocol is "frozen"."""
        return share(self.accuracies(protocol), self.bound) if protocol == "frozen" else math.nan

    @property
    def seconds(self) -> float:
        """Of `fit` and all sessions; NaN for a supervised run."""
        if self.result is None:
            return math.nan
        return self.result.fit_seconds + sum(s.seconds for s in self.result.sessions)

    @property
    def ids_kept(self) -> float:
        """Share of the items of earlier sessions that keep their id and its meaning; NaN if not measured."""
        stability = None if self.result is None else self.result.stability
        return math.nan if stability is None else stability.share

    @property
    def calibration_error(self) -> float:
        """Calibration error of the method's own probabilities on test rows; NaN if it reports none."""
        error = None if self.result is None else self.result.calibration_error
        return math.nan if error is None else error

    @property
    def bound_discovery(self) -> float:
        """M_d of the bound; NaN where the method learned all sessions at once."""
        return self.bound.discovery if len(self.bound.scores) == len(self.sessions) else math.nan

    def as_json(self) -> dict[str, Any]:
        """The record in plain values; NaN becomes None."""
        result, bound = plain(self.result), plain(self.bound)
        for session in [] if result is None else result["sessions"]:
            session["found"] = session.pop("n_discovered")
        scores = [*bound["scores"], *(s[k] for s in (result or {}).get("sessions", ()) for k in PROTOCOLS)]
        for score in scores:
            if score["later"] is None:
                del score["later"]
        # What only realistic streams have, and what records of earlier versions lack.
        for part, names in ((result, _OPTIONAL), (bound, ("macro",))):
            for name in () if part is None else names:
                if part[name] is None:
                    del part[name]
        return {
            "key": self.key,
            "version": self.version,
            "revision": self.revision,
            "data": self.data,
            "data_digest": self.data_digest,
            "plan": plain(self.plan),
            "method": self.run.method,
            "options": plain(self.run.options),
            "number_known": self.run.number_known,
            "result": result,
            "bound": bound,
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> RunRecord:
        """A record from what `as_json` gave, in this version or an earlier one."""
        result, bound = content["result"], content["bound"]
        run = Run(content["method"], content["options"], content["number_known"], supervised=result is None)
        return cls(
            content["key"],
            run,
            content["data"],
            content.get("data_digest", ""),
            PlanOrigin.from_json(content["plan"]),
            None if result is None else _plan_result(result),
            Accuracies(
                _number(bound["base"]),
                tuple(_score(SessionScore, s) for s in bound["scores"]),
                _number(bound.get("macro")),
            ),
            content.get("version", ""),
            content.get("revision", 0),
        )


def _plan_result(content: Mapping[str, Any]) -> PlanResult:
    sessions = [
        SessionEvaluation(
            _score(SessionScore, s["frozen"]),
            _score(SessionScore, s["joint"]),
            _score(StreamScore, s["stream"]),
            s["n_novel"],
            s["found"],
            s["n_categories"],
            s["nbytes"],
            s["seconds"],
            s["peak_bytes"],
        )
        for s in content["sessions"]
    ]
    base, joint = _number(content["base"]), _number(content["base_joint"])
    stream, stability = content.get("stream"), content.get("stability")
    test, session = (content.get(name) for name in ("test_clusters", "session_clusters"))
    return PlanResult(
        base,
        joint,
        tuple(sessions),
        content["fit_seconds"],
        content["fit_peak_bytes"],
        None if stream is None else StreamResult.from_json(stream),
        None if stability is None else IdStability.from_json(stability),
        None if test is None else _score(ClusterScore, test),
        None if session is None else _score(ClusterScore, session),
        content.get("calibration_error"),
    )


def _score(kind: type[Score], content: Mapping[str, Any]) -> Score:
    return kind(**{f.name: _number(content.get(f.name)) for f in fields(kind)})


def _number(value: Any) -> Any:
    return math.nan if value is None else value


def identity(run: Run, version: str = vbcgcd.__version__, revision: int = REVISION) -> dict[str, Any]:
    """All that decides a run besides its data and plan: method, all its options, version of the code."""
    return {
        "version": version,
        "revision": revision,
        "method": run.method,
        "options": plain(options_of(run)),
        "number_known": run.number_known,
        "supervised": run.supervised,
    }


def run_key(run: Run, data_digest: str, plan_digest: str) -> str:
    """Name of a run: equal for the same `identity`, data and plan."""
    content = {**identity(run), "data": data_digest, "plan": plan_digest}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:20]


class Results:
    """The finished runs of a folder, in one file of JSON lines.

    Lines are only ever appended. A line that a crash cut off is skipped with a warning.

    Parameters
    ----------
    folder : path
        Created when the first run is added.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.path = Path(folder) / "runs.jsonl"

    def read(self) -> dict[str, RunRecord]:
        """Finished runs by key; the last one where a run was repeated."""
        if not self.path.exists():
            return {}
        records: dict[str, RunRecord] = {}
        for number, line in enumerate(self.path.read_bytes().split(b"\n"), start=1):
            if not line.strip():
                continue
            try:
                record = RunRecord.from_json(json.loads(line.decode("utf-8")))
            except Exception:  # a line that was cut off, or that somebody edited
                warnings.warn(f"{self.path}, line {number} is incomplete and was skipped.", stacklevel=2)
            else:
                records[record.key] = record
        return records

    def check_writable(self) -> None:
        """Raise before the work if a run could not be written after it."""
        self._append(b"")

    def add(self, record: RunRecord) -> None:
        """Append one run; it is on the disk when this returns."""
        line = json.dumps(record.as_json(), ensure_ascii=False, separators=(",", ":"))
        self._append(line.encode() + b"\n")

    def _append(self, content: bytes) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with open(self.path, "a+b") as file:
                if content and file.tell():
                    file.seek(-1, os.SEEK_END)
                    content = content if file.read(1) == b"\n" else b"\n" + content
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise DiskError.writing(self.path, error) from None
