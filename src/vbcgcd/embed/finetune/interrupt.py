"""Ctrl-C between two steps instead of within one."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

__all__ = ["DeferredInterrupt"]


class DeferredInterrupt:
    """Inside, the first Ctrl-C only sets ``requested``; a second one interrupts at once.

    Signals reach the main thread alone; in any other thread this does nothing.

    Examples
    --------
    >>> with DeferredInterrupt() as interrupt:
    ...     interrupt.requested
    False
    """

    def __init__(self) -> None:
        self.requested = False
        self._before: Any = None

    def __enter__(self) -> DeferredInterrupt:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
