"""Hostile exports: mutations of a valid one, every digest computed again, and what an import makes of them.

``attack(rng, n)`` mutates records, arrays, tables, bytes and the zip file itself. Each outcome must be a
workspace that works, or one `VbcgcdError` of one line that leaves nothing behind.
"""

from __future__ import annotations

import copy
import hashlib
import io
import json
import shutil
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from PIL import Image

from vbcgcd import Workspace
from vbcgcd.discovery.seedlings import Seedlings
from vbcgcd.discovery.session import run_session
from vbcgcd.errors import VbcgcdError
from vbcgcd.workspace.commands import sessions

Members = dict[str, bytes]

#: Seconds after which an import counts as hanging.
SLOW = 20.0
#: Values that stand where others are expected.
NASTY: tuple[Any, ...] = (
    *(
        None,
        True,
        -1,
        0,
        10**12,
        -(10**12),
        2**63,
        1e308,
        -0.5,
        1.5,
        "",
        "x",
        "../../etc/passwd",
        "/etc/passwd",
    ),
    *("\ud800", "a\x00b", "x" * 5000, [], {}, [[]], {"a": 1}, [1, 2, 3], "NaN", "2026-13-45", "\u202e"),
    *(float("nan"), float("inf"), [-1], [10**9], {"0": -1}, {"x": "y"}),
)


def sample(folder: Path) -> Members:
    """The members of a valid export: pictures, all commands, every kind of file."""
    rng = np.random.default_rng(0)
    patterns = rng.integers(0, 256, (12, 64)).astype(float)
    labelled = {f"c{k}": _pictures(patterns[[k]], 8, rng) for k in range(3)}
    _write(folder / "labelled", labelled)
    _write(folder / "batch", {"": _pictures(patterns[[0, 1, 3, 4]], 10, rng)})
    options = {"embedder": "pixels", "embedder_options": {"size": 8, "grey": True}, "excerpts": 2}
    model = {"n_components": 4, "prior_strength": 12.0}
    workspace = Workspace.init(folder / "w", cache=False, model=model, **options)
    workspace.learn(folder / "labelled")
    novel = list(workspace.discover(folder / "batch", 2).novel)
    workspace.rename(novel[0], "found")
    workspace.merge([0, 1], name="both")
    workspace.undo()
    workspace.redo()
    workspace.move_items(workspace.items(f"category={novel[1]}")[:2], novel[0])
    workspace.split(novel[0], n_parts=2)
    workspace.reject_items(workspace.items("state=moved")[0])
    workspace.drop(novel[1])
    workspace.configure(reject=0.05)
    _write(folder / "more", {"": _pictures(patterns[[0, 1]], 8, rng)})
    with mock.patch.object(sessions, "run_session", _with_a_seedling):
        workspace.discover(folder / "more", 0)
    workspace.learn(folder / "labelled", update_known=True, again=True)
    workspace.undo()
    workspace.export(folder / "w.zip")
    with zipfile.ZipFile(folder / "w.zip") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _with_a_seedling(*args: Any, **options: Any) -> Any:
    """`run_session`, and a group that waits: real ones depend on the data too delicately."""
    knowledge, outcome = run_session(*args, **options)
    group = knowledge.posterior.take([0])
    seedlings = Seedlings(group, np.array([3.0]), np.array([9.0]), np.array([options["session"]]))
    return replace(knowledge, seedlings=seedlings), replace(outcome, seedlings=(3,), lessons_=None)


def _pictures(patterns: Any, each: int, rng: np.random.Generator) -> list[Any]:
    noisy = patterns.repeat(each, axis=0) + rng.normal(0, 40, (each * len(patterns), 64))
    return [np.clip(row, 0, 255).astype(np.uint8).reshape(8, 8) for row in noisy]


def _write(folder: Path, pictures: dict[str, list[Any]]) -> None:
    for name, values in pictures.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        for number, value in enumerate(values):
            Image.fromarray(value).save(folder / name / f"{number:03d}.png")


def linked(members: Members) -> Members:
    """The members with every digest and length computed again, as an attacker would."""
    out, parent = dict(members), None
    folders = sorted({name.split("/")[1] for name in members if name.count("/") == 2})
    for folder in folders:
        path = f"commits/{folder}/commit.json"
        try:
            values = json.loads(out[path])
            for name, mark in values["files"].items():
                data = out.get(f"commits/{folder}/{name}")
                if data is not None and isinstance(mark, dict) and "sha256" in mark:
                    mark["bytes"], mark["sha256"] = len(data), hashlib.sha256(data).hexdigest()
            values["parent"] = parent
            out[path] = json.dumps(values, sort_keys=True).encode("utf-8", "surrogatepass")
        except (KeyError, ValueError, TypeError, AttributeError, RecursionError):
            pass
        parent = hashlib.sha256(out.get(path, b"")).hexdigest()
    try:
        head = json.loads(out["HEAD"])
        out["HEAD"] = json.dumps({**head, "sha256": parent}).encode()
    except (KeyError, ValueError, TypeError):
        pass
    return out


def zipped(members: Members, *, compression: int = zipfile.ZIP_STORED) -> bytes:
    """A zip file of these members."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, compress_type=compression)
    return out.getvalue()


def mutate_record(members: Members, rng: np.random.Generator) -> Members:
    """A nasty value somewhere in a record, a field too many or one too few."""
    names = [name for name in members if name.endswith(".json") or name == "HEAD"]
    name = names[rng.integers(len(names))]
    values = json.loads(members[name])
    for _ in range(rng.integers(1, 3)):
        spots = list(_spots(values))
        box, key = spots[rng.integers(len(spots))]
        how = rng.integers(10)
        if how == 0:
            del box[key]
        elif how == 1 and isinstance(box, dict):
            box[f"more-{rng.integers(9)}"] = copy.deepcopy(NASTY[rng.integers(len(NASTY))])
        elif how == 2 and isinstance(box[key], int) and not isinstance(box[key], bool):
            box[key] += int(rng.choice([-1, 1, 7, -(10**12), 10**15]))
        else:
            box[key] = copy.deepcopy(NASTY[rng.integers(len(NASTY))])
        if not list(_spots(values)):
            break
    return {**members, name: json.dumps(values).encode("utf-8", "surrogatepass")}


def _spots(values: Any) -> Any:
    """Every place in nested values: its container and its key."""
    pairs = (
        values.items() if isinstance(values, dict) else enumerate(values) if isinstance(values, list) else ()
    )
    for key, part in list(pairs):
        yield values, key
        yield from _spots(part)


def mutate_arrays(members: Members, rng: np.random.Generator) -> Members:
    """A number, a shape or a type in an archive of arrays."""
    from safetensors.numpy import load, save

    names = [name for name in members if name.endswith(".safetensors")]
    name = names[rng.integers(len(names))]
    arrays = load(members[name])
    size = int.from_bytes(members[name][:8], "little")
    meta = json.loads(members[name][8 : 8 + size]).get("__metadata__", {})
    key = sorted(arrays)[rng.integers(len(arrays))]
    array = arrays[key].copy()
    how = rng.integers(5)
    if how == 0 and array.size:
        array.flat[rng.integers(array.size)] = rng.choice([-1, 0, 10**9])
    elif how == 1 and array.size and array.dtype.kind == "f":
        array.flat[rng.integers(array.size)] = rng.choice([np.nan, np.inf, -np.inf, -1e30, 1e38, 0.0])
    elif how == 2:
        array = array[..., :-1] if array.ndim else array
    elif how == 3:
        array = array.astype(rng.choice(["int64", "float16", "float32", "float64", "uint8"]))
    else:
        array = array[None] if rng.integers(2) else array.ravel()
    arrays[key] = np.ascontiguousarray(array)
    if rng.integers(8) == 0:
        del arrays[key]
    if rng.integers(3) == 0 and "vbcgcd" in meta:
        values = json.loads(meta["vbcgcd"])
        box, spot = (spots := list(_spots(values)))[rng.integers(len(spots))]
        box[spot] = copy.deepcopy(NASTY[rng.integers(len(NASTY))])
        meta["vbcgcd"] = json.dumps(values).encode("utf-8", "replace").decode()
    return {**members, name: save(arrays, metadata=meta)}


def mutate_table(members: Members, rng: np.random.Generator) -> Members:
    """A cell, a column or the number of rows in a table of items."""
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    names = [name for name in members if name.endswith(".parquet")]
    name = names[rng.integers(len(names))]
    columns = parquet.read_table(io.BytesIO(members[name])).to_pydict()
    column = sorted(columns)[rng.integers(len(columns))]
    row = rng.integers(len(columns[column]))
    how = rng.integers(5)
    if how == 0:
        columns = {key: part[:-1] for key, part in columns.items()}
    elif how == 1:
        del columns[column]
    elif how == 2:
        columns["more"] = [0] * len(columns[column])
    elif how == 3:
        columns[column][row] = None
    elif column != "reference":
        columns[column][row] = [-5, 10**9, 7, float("nan"), 2.5][rng.integers(5 if column[0] in "pn" else 3)]
    out = io.BytesIO()
    try:
        parquet.write_table(arrow.table(columns), out)
    except arrow.ArrowException:
        return mutate_bytes(members, rng)
    return {**members, name: out.getvalue()}


def mutate_bytes(members: Members, rng: np.random.Generator) -> Members:
    """Flipped, lost or random bytes in any member."""
    name = sorted(members)[rng.integers(len(members))]
    return {**members, name: mangled(members[name], rng)}


def mangled(data: bytes, rng: np.random.Generator) -> bytes:
    """A few bytes flipped, cut out, repeated or replaced; sometimes the end is missing."""
    out = bytearray(data)
    for _ in range(rng.integers(1, 4)):
        place, how = int(rng.integers(len(out) + 1)), rng.integers(12)
        if how < 6 and out:
            out[place % len(out)] ^= 1 << int(rng.integers(8))
        elif how < 8:
            out[place : place + int(rng.integers(1, 12))] = b""
        elif how < 9:
            out[place:place] = rng.integers(0, 256, int(rng.integers(1, 12)), dtype=np.uint8).tobytes()
        elif how < 10:
            out[place:place] = out[place : place + int(rng.integers(1, 60))]
        elif how < 11 and out:
            out[place : place + 4] = rng.choice(
                [b"\xff\xff\xff\xff", b"\x00" * 4, b"\xff\xff\xff\x7f", b'"[{,']
            )
        elif rng.integers(3) == 0:
            out[place:] = b""
    return bytes(out)


def mutate_members(members: Members, rng: np.random.Generator) -> Members:
    """A member too many, too few, or under another name."""
    name, how = sorted(members)[rng.integers(len(members))], rng.integers(4)
    others = {key: data for key, data in members.items() if key != name}
    if how == 0:
        return others
    strange = [
        "../evil",
        "/etc/evil",
        "commits/000001/evil.sh",
        "commits/../evil",
        "commits/000099/commit.json",
    ]
    strange += ["local.json", ".lock", "commits/000002/", "C:\\evil", "commits/²/commit.json"]
    target = strange[rng.integers(len(strange))]
    return {**(members if how == 1 else others), target: members[name]}


def hostile(members: Members, rng: np.random.Generator) -> bytes:
    """One hostile export."""
    how = rng.integers(20)
    if how < 9:
        return zipped(linked(mutate_record(members, rng)))
    if how < 13:
        return zipped(linked(mutate_arrays(members, rng)))
    if how < 15:
        return zipped(linked(mutate_table(members, rng)))
    if how < 17:
        return zipped(linked(mutate_bytes(members, rng)))
    if how < 18:
        return zipped(linked(mutate_members(members, rng)))
    if how < 19:
        return mangled(zipped(members), rng)
    return zipped(members, compression=zipfile.ZIP_DEFLATED)


def exercise(workspace: Workspace, out: Path, rng: np.random.Generator) -> None:
    """What a user does with an imported workspace; errors of the package are fine, others are not."""
    probe = [np.zeros((3, 64)), np.ones((3, 64))][rng.integers(2)]
    steps: list[Callable[[], Any]] = [
        *(workspace.categories, workspace.sessions, workspace.history, workspace.changes, workspace.verify),
        *(
            workspace.config,
            workspace.unassigned,
            workspace.seedlings,
            workspace.sources,
            workspace.last_command,
        ),
        lambda: workspace.categories(retired=True, items=True),
        lambda: workspace.predict(probe),
        lambda: workspace.explain(probe),
        lambda: workspace.report(out / "report.html"),
        lambda: workspace.rename(workspace.categories()[0].id, "another name"),
        lambda: workspace.merge([c.id for c in workspace.categories()[:2]]),
        *(workspace.undo, workspace.redo, workspace.undo, workspace.undo),
        lambda: workspace.export(out / "again.zip"),
    ]
    for step in steps:
        try:
            step()
        except VbcgcdError as error:
            if "\n" in str(error):
                raise RuntimeError("an error of several lines") from error


def attempt(data: bytes, folder: Path, rng: np.random.Generator) -> str:
    """What became of one export: "refused", "accepted", or what went wrong."""
    file, target = folder / "hostile.zip", folder / "copy"
    file.write_bytes(data)
    start = time.monotonic()
    try:
        try:
            workspace = Workspace.import_(file, target, cache=False)
        except VbcgcdError as error:
            left = [path.name for path in folder.iterdir() if path != file]
            outcome = "left behind" if left else "several lines" if "\n" in str(error) else "refused"
            if outcome != "refused":
                print(outcome, left, repr(error))
        else:
            exercise(workspace, folder, rng)
            outcome = "accepted"
    except Exception:
        traceback.print_exc()
        outcome = "traceback"
    finally:
        for path in folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    return "slow" if time.monotonic() - start > SLOW else outcome


def attack(rng: np.random.Generator, n: int) -> dict[str, int]:
    """Import ``n`` hostile exports; counts of outcomes, of which only "refused" and "accepted" are good."""
    counts: Counter[str] = Counter(refused=0, accepted=0)
    with tempfile.TemporaryDirectory() as place, warnings.catch_warnings():
        warnings.simplefilter("error")
        members = sample(Path(place))
        folder = Path(place) / "here"
        folder.mkdir()
        for _ in range(n):
            counts[attempt(hostile(members, rng), folder, rng)] += 1
    return dict(counts)


if __name__ == "__main__":
    print(attack(np.random.default_rng(0), 2000))
