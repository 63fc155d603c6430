import os
import signal
import subprocess
import sys
import threading

import pytest

from vbcgcd.errors import DiskError, InputError, WorkspaceBusy
from vbcgcd.workspace.log import lock
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
    message = rf"\b{os.getpid()}\b.*merge"
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
    with pytest.raises(WorkspaceBusy):
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
    with pytest.raises(DiskError) as raised:
        WriteLock(tmp_path / ".lock", "drop").__enter__()
    assert raised.value.cause.errno == 30


def test_a_lock_that_is_a_link_is_refused_and_its_target_left(tmp_path):
    victim = tmp_path / "thesis.txt"
    victim.write_text("precious")
    (tmp_path / ".lock").symlink_to(victim)
    with pytest.raises(InputError, match="link"):
        WriteLock(tmp_path / ".lock", "drop").__enter__()
    (tmp_path / ".lock").unlink()
    os.link(victim, tmp_path / ".lock")
    with pytest.raises(InputError, match="link"):
        WriteLock(tmp_path / ".lock", "drop").__enter__()
    assert victim.read_text() == "precious"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_lock_that_is_a_pipe_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / ".lock")
    with pytest.raises(InputError, match="ordinary file"):
        WriteLock(tmp_path / ".lock", "drop").__enter__()


@pytest.mark.parametrize("call", ["ftruncate", "write", "lseek"])
def test_a_disk_that_is_full_does_not_matter_to_the_lock(tmp_path, monkeypatch, call):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, call, full)
    with WriteLock(tmp_path / ".lock", "drop") as held:
        assert held.excludes()


def test_locks_that_do_nothing_are_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "_acquire", lambda handle: None)
    with WriteLock(tmp_path / ".lock", "drop") as held:
        assert not held.excludes()


def test_where_there_are_no_locks_writers_go_on(tmp_path, monkeypatch):
    def unknown(handle):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(lock, "_acquire", unknown)
    with WriteLock(tmp_path / ".lock", "drop") as held:
        assert not held.excludes()
