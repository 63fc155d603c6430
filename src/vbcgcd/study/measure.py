"""Seconds and memory of one step."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from types import TracebackType

__all__ = ["Measured"]

_STATM = Path("/proc/self/statm")
_EVERY_SECONDS = 0.02


class Measured:
    """Context manager: ``seconds`` spent inside, and ``peak_bytes`` of memory above what was held on entry.

    Memory is the process's resident size, sampled fifty times a second where the system tells it (Linux), and
    the growth of its high-water mark elsewhere.
    """

    seconds: float = 0.0
    peak_bytes: int = 0

    def __enter__(self) -> Measured:
        self._stop = threading.Event()
        self._base = self._peak = _resident()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()
        self._start = time.perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.seconds = time.perf_counter() - self._start
        self._stop.set()
        self._watcher.join()
        self.peak_bytes = max(self._peak, _resident()) - self._base

    def _watch(self) -> None:
        while not self._stop.wait(_EVERY_SECONDS):
            self._peak = max(self._peak, _resident())


def _resident() -> int:
    """Bytes of the process in memory now (Linux) or at most so far; 0 where the system does not tell."""
    try:
        import resource
    except ImportError:
        return 0
    try:
        return int(_STATM.read_text().split()[1]) * resource.getpagesize()
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
