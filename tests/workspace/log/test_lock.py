import os
import signal
import subprocess
import sys
import threading

import pytest

from vbcgcd.errors import DiskError, WorkspaceBusy
from vbcgcd.workspace.log.lock import WriteLock

HOLD = """
import sys, time
from pathlib import Path
from vbcgcd.workspace.log.lock import WriteLock
with WriteLock(Path(sys.argv[1]), "discover"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_writer_hears_who_is_writing(tmp_path):
    message = f"process {os.getpid()} on .*merge, since .*wait"
    with WriteLock(tmp_path / ".lock", "merge"), pytest.raises(WorkspaceBusy, match=message):
        WriteLock(tmp_path / ".lock", "drop").__enter__()
    assert (tmp_path / ".lock").read_bytes() == b""
    with WriteLock(tmp_path / ".lock", "drop"):
        pass


def test_a_writer_can_wait(tmp_path):
    first = WriteLock(tmp_path / ".lock", "merge")
    first.__enter__()
    timer = threading.Timer(0.1, first.__exit__, (None, None, None))
    timer.start()
    with WriteLock(tmp_path / ".lock", "drop", timeout=10):
        assert '"drop"' in (tmp_path / ".lock").read_text()
    timer.join()


def test_a_killed_holder_lets_go(tmp_path):
    path = tmp_path / ".lock"
    child = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "held\n"
    with pytest.raises(WorkspaceBusy, match=f"process {child.pid}"):
        WriteLock(path, "drop").__enter__()
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    with WriteLock(path, "drop"):
        pass


def test_a_folder_that_cannot_be_written(tmp_path, monkeypatch):
    def refuse(*args):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(DiskError, match="Read-only file system") as raised:
        WriteLock(tmp_path / ".lock", "drop").__enter__()
    assert raised.value.cause.errno == 30
