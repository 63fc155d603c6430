"""Tiny workspaces, every command that writes, and all that a workspace answers as one value."""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import os
import shutil
import tempfile
import warnings
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from vbcgcd.errors import WorkspaceWarning
from vbcgcd.workspace import Workspace, packing
from vbcgcd.workspace.log import packs

WORDS = ("cat", "dog", "owl", "eel", "bee", "ant")
OPTIONS: dict[str, Any] = {
    "names": "number",
    "excerpts": 1,
    "sample": 6,
    "model": {"count": "evidence", "n_components": 4, "prior_strength": 20.0},
}


class TinyEmbedder:
    """Texts such as "cat 3" to four numbers."""

    name, kind, fingerprint, batch_size, dimension = "tiny", "text", "tiny-1", 64, 4
    means = 8 * np.random.default_rng(5).normal(size=(len(WORDS), 4))

    def embed(self, items: Any) -> np.ndarray:
        """One row for each text."""
        rows = []
        for text in items:
            rng = np.random.default_rng(zlib.crc32(str(text).encode()))
            rows.append(self.means[WORDS.index(str(text).split()[0])] + rng.normal(size=4))
        return np.array(rows)


EMBEDDER = TinyEmbedder()


def texts(words: str, start: int = 0, n: int = 6) -> list[str]:
    """Texts of some words."""
    return [f"{word} {start + i}" for word in words.split() for i in range(n)]


BASE, LABELS = texts("cat dog owl"), np.repeat(["cat", "dog", "owl"], 6)
FIRST, SECOND = texts("cat eel", 10), texts("dog bee owl", 20)
PROBE = texts("cat dog owl eel bee ant", 90, 1)


def opened(path: Path) -> Workspace:
    """A workspace, with the tiny embedder and no cache."""
    return Workspace.open(path, embedder=EMBEDDER, cache=False)


@dataclass(frozen=True)
class Command:
    """Something that writes.

    Parameters
    ----------
    name : str
    template : str
        The workspace that it starts from; "" for none.
    action : callable
        Called with the path of the workspace.
    """

    name: str
    template: str
    action: Callable[[Path], object]


@dataclass(frozen=True)
class World:
    """Templates of workspaces, an export, and the commands."""

    folder: Path
    commands: tuple[Command, ...]

    def template(self, name: str) -> Path:
        """The folder of a template."""
        return self.folder / name

    def copy(self, name: str, target: Path) -> Path:
        """A fresh copy of a template, or an empty place."""
        clear(target)
        if name:
            shutil.copytree(self.folder / name, target)
        return target


@contextlib.contextmanager
def small_packs() -> Iterator[None]:
    """Packs of 2, 4, 8, ... commits, so that a few commits use them all; known warnings are not shown."""
    before = packs.FAN, packing.FAN
    packs.FAN, packing.FAN = 2, 2
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WorkspaceWarning)
            yield
    finally:
        packs.FAN, packing.FAN = before


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """An empty folder, in memory if possible: what the disk does is played, and the real one is slow."""
    with tempfile.TemporaryDirectory(dir=_memory(), prefix="vbcgcd-torture-") as folder:
        yield Path(folder)


def _memory() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


@functools.cache
def world() -> World:
    """The templates, made once for this process."""
    folder = Path(tempfile.mkdtemp(dir=_memory(), prefix="vbcgcd-torture-"))
    atexit.register(_remove, folder, os.getpid())
    with small_packs():
        path = folder / "empty"
        Workspace.init(path, embedder=EMBEDDER, cache=False, **OPTIONS)
        _grow(folder, "empty", "learned", lambda w: w.learn(BASE, LABELS))
        _grow(folder, "learned", "grown", lambda w: w.discover(FIRST, n_novel=1))
        _grow(folder, "grown", "named", lambda w: w.rename("cat", "tom"))
        _grow(folder, "grown", "corrected", lambda w: w.move_items(["1@1", "2@1"], "owl", data=FIRST))
        _grow(folder, "named", "merged", lambda w: w.merge(["dog", "owl"], name="animal"))
        _grow(folder, "merged", "undone", lambda w: w.undo())
        _grow(
            folder,
            "undone",
            "rich",
            lambda w: w.discover(SECOND, n_novel=1),
            lambda w: w.configure(reject=0.05),
        )
        shutil.copytree(folder / "rich", folder / "loose")
        shutil.rmtree(folder / "loose" / "packs")
        (folder / "vacant").mkdir()
        opened(folder / "rich").export(folder / "export.zip")
    return World(folder, _commands(folder / "export.zip"))


def _remove(folder: Path, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def _grow(folder: Path, before: str, after: str, *actions: Callable[[Workspace], object]) -> None:
    shutil.copytree(folder / before, folder / after)
    for action in actions:
        action(opened(folder / after))


def _commands(export: Path) -> tuple[Command, ...]:
    def init(path: Path) -> object:
        return Workspace.init(path, embedder=EMBEDDER, cache=False, **OPTIONS)

    return (
        Command("init", "", init),
        Command("init inside", "vacant", init),
        Command("learn", "empty", lambda path: opened(path).learn(BASE, LABELS)),
        Command("discover", "learned", lambda path: opened(path).discover(FIRST, n_novel=1)),
        Command("rename", "grown", lambda path: opened(path).rename("cat", "tom")),
        Command("merge", "named", lambda path: opened(path).merge(["dog", "owl"], name="animal")),
        Command("split", "grown", lambda path: opened(path).split("dog", BASE, 2)),
        Command("move", "grown", lambda path: opened(path).move_items(["1@1", "2@1"], "owl", data=FIRST)),
        Command("move to a new one", "corrected", _move_to_a_new_one),
        Command("confirm", "grown", lambda path: opened(path).confirm_items("3@1", data=FIRST)),
        Command("reject", "corrected", lambda path: opened(path).reject_items("1@1", data=FIRST)),
        Command("unlabel", "corrected", lambda path: opened(path).unlabel_items(["1@1", "2@1"])),
        Command("split what was corrected", "corrected", lambda path: opened(path).split("owl", BASE, 2)),
        Command("drop", "rich", lambda path: opened(path).drop("owl")),
        Command("undo", "rich", lambda path: opened(path).undo()),
        Command("redo", "undone", lambda path: opened(path).redo()),
        Command("configure", "named", lambda path: opened(path).configure(reject=0.1)),
        Command("import", "", lambda path: Workspace.import_(export, path)),
        Command("import inside", "vacant", lambda path: Workspace.import_(export, path)),
        Command("repair", "rich", lambda path: Workspace.repair(path)),
    )


def _move_to_a_new_one(path: Path) -> object:
    return opened(path).move_items(["1@1", "4@1"], "emu", create=True, data=FIRST)


def clear(target: Path) -> None:
    """Remove a workspace and what lies beside it."""
    shutil.rmtree(target, ignore_errors=True)
    for aside in target.parent.glob(f".{target.name}.*"):
        shutil.rmtree(aside, ignore_errors=True)


def answers(path: Path, *, times: bool = False) -> str:
    """All that a workspace answers, as a digest; "nothing" where there is none.

    Parameters
    ----------
    path : Path
    times : bool
        Whether when something was done counts too: within one workspace it must never change.
    """
    if not times and not (path / "workspace.json").exists():
        return "nothing"
    workspace = opened(path)
    parts: list[Any] = [workspace.config(), workspace.categories(retired=True), workspace.unassigned()]
    parts.append(workspace.items())
    history = [replace(info, time="") for info in workspace.history()]
    parts += [workspace.history() if times else history, workspace.seedlings(), workspace.count_items()]
    if times:
        parts += [workspace.sessions(), workspace.snapshot().store.about]
    state = hashlib.sha256(repr(parts).encode())
    if workspace.snapshot().state.model is not None:
        found = workspace.predict(PROBE)
        for part in (found.category, found.probability, found.novelty, found.second_probability):
            state.update(np.ascontiguousarray(part).tobytes())
    return state.hexdigest()


@functools.cache
def before_and_after(name: str) -> tuple[str, str]:
    """What the workspace of a command answers before it and after it."""
    here = world()
    command = next(command for command in here.commands if command.name == name)
    with scratch() as folder:
        path = here.copy(command.template, folder / "w")
        before = answers(path)
        command.action(path)
        return before, answers(path)
