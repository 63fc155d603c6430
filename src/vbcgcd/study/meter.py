"""What a step costs: seconds and memory."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from types import TracebackType

_STATM = Path("/proc/self/statm")
_SAMPLING_SECONDS = 0.02

__all__ = ["Meter"]


class Meter:
    """Context manager that measures the seconds spent inside and the memory used above that on entry.

    Memory is the resident size of the process, sampled fifty times a second on Linux; elsewhere it is the
    growth of the process's high-water mark.

    Attributes
    ----------
    seconds : float
    peak_bytes : int
    """

    seconds: float = 0.0
    peak_bytes: int = 0

    def __enter__(self) -> Meter:
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
        while not self._stop.wait(_SAMPLING_SECONDS):
            self._peak = max(self._peak, _resident())


def _resident() -> int:
    """Bytes of the process in memory now (Linux) or at most so far; 0 where the system does not report it."""
    try:
        import resource
    except ImportError:
        return 0
    try:
        return int(_STATM.read_text().split()[1]) * resource.getpagesize()
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
