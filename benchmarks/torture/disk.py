"""A disk between the program and the real one: it counts, fails, dies, and forgets what was not synced."""

from __future__ import annotations

import builtins
import contextlib
import io
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from vbcgcd.workspace.log.asides import machine
from vbcgcd.workspace.log.turn import TURN

#: Kinds of calls, and the functions of each.
KINDS: dict[str, tuple[str, ...]] = {
    "open": ("open",),
    "write": ("write",),
    "fsync": ("fsync",),
    "rename": ("rename", "replace"),
    "mkdir": ("mkdir",),
    "unlink": ("unlink", "rmdir"),
}


#: A number that no process has.
DEAD = 2**30


class Killed(BaseException):
    """The process is dead: no code may catch this, and every further call raises it again."""


@dataclass
class Disk:
    """What happens to calls that concern ``folder``.

    Parameters
    ----------
    folder : Path
    kill_at : int, optional
        Die before the call with this number.
    fault : (kind, number, errno), optional
        Let the call of this kind with this number fail.
    """

    folder: Path
    kill_at: int | None = None
    fault: tuple[str, int, int] | None = None
    calls: Counter[str] = field(default_factory=Counter)
    dead: bool = False
    hit: bool = False
    handles: dict[int, Path] = field(default_factory=dict)
    unsynced: set[Path] = field(default_factory=set)
    renames: list[tuple[Path, Path, bytes | None]] = field(default_factory=list)

    def event(self, kind: str) -> None:
        """Count a call, before it is made; it may fail, or the process may die."""
        if self.dead or self.calls.total() == self.kill_at:
            self.dead = True
            raise Killed
        self.calls[kind] += 1
        if self.fault is not None and (kind, self.calls[kind] - 1) == self.fault[:2]:
            self.hit = True
            number = self.fault[2]
            raise OSError(number, os.strerror(number))

    def concerns(self, target: Any) -> bool:
        """Whether a path or handle is one of the folder."""
        if isinstance(target, int):
            return target in self.handles
        try:
            return os.path.abspath(os.fsdecode(target)).startswith(str(self.folder))
        except TypeError:
            return False

    @contextlib.contextmanager
    def between(self) -> Iterator[Disk]:
        """Stand between the program and the disk."""
        real = {name: getattr(os, name) for names in KINDS.values() for name in names}
        real |= {"close": os.close, "fdopen": os.fdopen}
        opened = builtins.open
        for kind, names in KINDS.items():
            for name in names:
                setattr(os, name, self._wrapped(kind, name, real[name]))
        os.close = self._closing(real["close"])
        os.fdopen = self._fdopen(real["fdopen"])  # type: ignore[assignment]
        io.open = builtins.open = self._reading(opened)  # type: ignore[assignment]
        try:
            yield self
        finally:
            for name, function in real.items():
                setattr(os, name, function)
            io.open = builtins.open = opened  # type: ignore[assignment]

    def _wrapped(self, kind: str, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(target: Any, *args: Any, **kwargs: Any) -> Any:
            relative = kwargs.get("dir_fd") in self.handles if kwargs.get("dir_fd") is not None else False
            if not relative and not self.concerns(target):
                return real(target, *args, **kwargs)
            self.event(kind)
            old = self._old(args[0]) if kind == "rename" else None
            result = real(target, *args, **kwargs)
            self._remember(kind, target, args, result, old)
            return result

        return call

    def _old(self, target: Any) -> bytes | None:
        path = Path(target)
        return path.read_bytes() if path.is_file() else None

    def _remember(
        self, kind: str, target: Any, args: tuple[Any, ...], result: Any, old: bytes | None
    ) -> None:
        if kind == "open":
            self.handles[result] = Path(os.fsdecode(target)).absolute()
            if args and args[0] & os.O_CREAT:
                self.unsynced.add(self.handles[result])
        elif kind == "write":
            self.unsynced.add(self.handles[target])
        elif kind == "fsync":
            path = self.handles[target]
            self.unsynced.discard(path)
            self.renames = [entry for entry in self.renames if path not in (entry[0].parent, entry[1].parent)]
        elif kind == "rename":
            source, goal = Path(target).absolute(), Path(args[0]).absolute()
            self.renames.append((source, goal, old))
            self.unsynced = {
                goal / path.relative_to(source) if path.is_relative_to(source) else path
                for path in self.unsynced
            }

    def _closing(self, real: Callable[[int], None]) -> Callable[[int], None]:
        def close(handle: int) -> None:
            self.handles.pop(handle, None)
            real(handle)

        return close

    def _fdopen(self, real: Callable[..., Any]) -> Callable[..., Any]:
        disk = self

        class Raw(io.FileIO):
            def write(self, data: Any) -> int:
                disk.event("write")
                return super().write(data)

        def fdopen(handle: int, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
            if handle not in disk.handles or mode != "wb":
                return real(handle, mode, *args, **kwargs)
            return io.BufferedWriter(Raw(handle, "wb"))

        return fdopen

    def _reading(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def opening(file: Any, *args: Any, **kwargs: Any) -> Any:
            if not isinstance(file, int) and kwargs.get("opener") is None and self.concerns(file):
                self.event("open")
            return real(file, *args, **kwargs)

        return opening

    def bury(self) -> None:
        """Let nobody take this process, which lives on, for the one that was killed while it had a turn."""
        for path in self.folder.rglob(TURN):
            path.write_text(f"{machine()} {DEAD} 1")

    def lose_power(self, rng: np.random.Generator) -> None:
        """Forget some of what was not synced: renames, and the ends of files."""
        for source, target, old in reversed(self.renames):
            if rng.random() < 0.5 and target.exists() and not source.exists() and source.parent.is_dir():
                target.rename(source)
                if old is not None:
                    target.write_bytes(old)
        for path in self.unsynced:
            if path.is_file() and rng.random() < 0.8:
                data = path.read_bytes()
                path.write_bytes(data[: int(rng.integers(0, len(data) + 1))])
