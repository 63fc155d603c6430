"""Kill a process at random moments of learn, discover, merge and import: the workspace stays whole.

    python benchmarks/kill_workspace.py            200 kills at random moments
    python benchmarks/kill_workspace.py --steps    a kill before every single step on the disk

After each kill the workspace has to open at the state before the command or after it, with predictions that
are identical to the last bit, and the next writer has to find nothing in its way. Needs a system with fork.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from vbcgcd.errors import VbcgcdError
from vbcgcd.workspace import Workspace

#: Calls that change the disk, or wait for it.
STEPS = ("rename", "replace", "fsync", "mkdir", "unlink", "rmdir")
OPTIONS: dict[str, Any] = {"names": "number", "model": {"n_components": 12, "count": "evidence"}}


@dataclass(frozen=True)
class Trial:
    """A command, the folder it starts from, and what predictions are before and after it."""

    name: str
    template: Path
    action: Callable[[Path], object]
    before: str
    after: str
    seconds: float


def fingerprint(path: Path, rows: np.ndarray) -> str:
    """What a workspace at ``path`` answers, as a digest; it checks every file on the way."""
    if not (path / "workspace.json").exists():
        return "nothing"
    workspace = Workspace.open(path)
    workspace.verify()
    state = hashlib.sha256(repr([(c.id, c.name) for c in workspace.categories()]).encode())
    if workspace.categories():
        found = workspace.predict(rows)
        for part in (found.category, found.probability, found.novelty, found.second_probability):
            state.update(np.ascontiguousarray(part).tobytes())
    return state.hexdigest()


def trials(folder: Path, names: tuple[str, ...]) -> tuple[list[Trial], np.ndarray]:
    """Small workspaces of digits at several stages, and the named commands (or all) to be killed there."""
    rows, labels = load_digits(return_X_y=True)
    base, batch, probe = np.flatnonzero(labels[:400] < 6)[:120], slice(400, 520), rows[600:640]
    empty, learned, export = folder / "empty", folder / "learned", folder / "export.zip"
    Workspace.init(empty, **OPTIONS)
    shutil.copytree(empty, learned)
    workspace = Workspace.open(learned)
    workspace.learn(rows[base], labels[base])
    workspace.export(export)
    vacant = folder / "vacant"
    vacant.mkdir()
    commands: list[tuple[str, Path, Callable[[Path], object]]] = [
        ("learn", empty, lambda path: Workspace.open(path).learn(rows[base], labels[base])),
        ("discover", learned, lambda path: Workspace.open(path).discover(rows[batch], n_novel=3)),
        ("merge", learned, lambda path: Workspace.open(path).merge([0, 1], name="round")),
        ("import", vacant, lambda path: Workspace.import_(export, removed(path))),
        ("import-in", vacant, lambda path: Workspace.import_(export, path)),
    ]
    found = []
    for name, template, action in commands:
        if names and name not in names:
            continue
        target = folder / f"{name}-whole"
        shutil.copytree(template, target)
        start = time.perf_counter()
        killed_child(lambda action=action, target=target: action(target))  # type: ignore[misc]
        seconds = time.perf_counter() - start
        found.append(
            Trial(name, template, action, fingerprint(template, probe), fingerprint(target, probe), seconds)
        )
    return found, probe


def removed(path: Path) -> Path:
    """The path, without the empty folder that may be there."""
    if path.exists():
        path.rmdir()
    return path


def killed_child(
    action: Callable[[], object], *, after: float | None = None, step: int | None = None
) -> bool:
    """Run ``action`` in a child and kill it, after some seconds or before a step; whether it was killed."""
    pid = os.fork()
    if pid == 0:
        os.close(2)
        if step is not None:
            _die_at(step)
        try:
            action()
        finally:
            os._exit(0)
    if after is not None:
        time.sleep(after)
        os.kill(pid, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(pid, 0)[1])


def _die_at(step: int) -> None:
    """Let this process die before its ``step``-th call that touches the disk."""
    count = 0

    def counting(call: Callable[..., object]) -> Callable[..., object]:
        def wrapped(*args: object, **kwargs: object) -> object:
            nonlocal count
            if count == step:
                os.kill(os.getpid(), signal.SIGKILL)
            count += 1
            return call(*args, **kwargs)

        return wrapped

    for name in STEPS:
        setattr(os, name, counting(getattr(os, name)))


def check(trial: Trial, target: Path, probe: np.ndarray) -> str:
    """Say "before" or "after"; raise if the workspace is anything else, or if the command now fails."""
    found = fingerprint(target, probe)
    if found not in (trial.before, trial.after):
        raise AssertionError(f"{trial.name}: the workspace is neither as before nor as after")
    state = "before" if found == trial.before else "after"
    if state == "before":
        trial.action(target)  # nothing that the killed process left behind is in the way
        if fingerprint(target, probe) != trial.after:
            raise AssertionError(f"{trial.name}: a second attempt gives another result")
    left = [*target.rglob(".new-*"), *target.rglob(".HEAD*"), *target.parent.glob(f".{target.name}.new-*")]
    if state == "before" and left:
        raise AssertionError(f"{trial.name}: left behind after the next command: {left}")
    return state


def run_one(trial: Trial, folder: Path, probe: np.ndarray, **how: float | int) -> str:
    """Copy the template, kill the command in it, check what is there."""
    target = folder / "target"
    shutil.copytree(trial.template, target)
    try:
        killed = killed_child(lambda: trial.action(target), **how)  # type: ignore[arg-type]
        return check(trial, target, probe) if killed else "finished"
    finally:
        shutil.rmtree(target, ignore_errors=True)
        for aside in folder.glob(".target.new-*"):
            shutil.rmtree(aside)


def random_kills(
    n: int, folder: Path, *, names: tuple[str, ...] = (), seed: int = 0
) -> Counter[tuple[str, str]]:
    """Kill at random moments: half of them anywhere, half around the end, where the disk is written.

    A child that is done before it can be killed is not counted.
    """
    commands, probe = trials(folder, names)
    rng = np.random.default_rng(seed)
    outcome: Counter[tuple[str, str]] = Counter()
    while outcome.total() < n:
        trial = commands[outcome.total() % len(commands)]
        share = rng.uniform(0, 1.2) if rng.random() < 0.5 else rng.uniform(0.7, 1.5)
        state = run_one(trial, folder, probe, after=float(share * trial.seconds))
        outcome[trial.name, state] += state != "finished"
    return outcome


def every_step(folder: Path, *, names: tuple[str, ...] = ()) -> Counter[tuple[str, str]]:
    """Kill before the first step on the disk, before the second, and so on until the command ends."""
    commands, probe = trials(folder, names)
    outcome: Counter[tuple[str, str]] = Counter()
    for trial in commands:
        step, state = 0, ""
        while state != "finished":
            state = run_one(trial, folder, probe, step=step)
            outcome[trial.name, state] += state != "finished"
            step += 1
    return outcome


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", action="store_true", help="kill before every step on the disk instead")
    parser.add_argument("--command", action="append", help="only this command; may be given several times")
    options = parser.parse_args()
    names = tuple(options.command or ())
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        try:
            folder = Path(name)
            if options.steps:
                outcome = every_step(folder, names=names)
            else:
                outcome = random_kills(options.kills, folder, names=names, seed=options.seed)
        except (AssertionError, VbcgcdError) as error:
            sys.exit(f"FAILED: {error}")
    for (command, state), count in sorted((+outcome).items()):
        print(f"{command:10s} {state:8s} {count:4d}")
    seconds = time.perf_counter() - start
    print(f"{outcome.total()} kills in {seconds:.0f} s: the workspace was whole after every one")


if __name__ == "__main__":
    main()
