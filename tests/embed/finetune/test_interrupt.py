import signal
import threading

import pytest

from vbcgcd.embed.finetune.interrupt import DeferredInterrupt


def test_the_first_is_noted_and_the_second_interrupts():
    before = signal.getsignal(signal.SIGINT)
    with DeferredInterrupt() as interrupt:
        assert not interrupt.requested
        signal.raise_signal(signal.SIGINT)
        assert interrupt.requested
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_other_threads_are_left_alone():
    seen = []

    def work():
        with DeferredInterrupt() as interrupt:
            seen.append((interrupt.requested, signal.getsignal(signal.SIGINT)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(False, signal.getsignal(signal.SIGINT))]
