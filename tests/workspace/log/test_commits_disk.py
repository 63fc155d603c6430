import os
import signal
import subprocess
import sys
import threading

import pytest

from vbcgcd.errors import DiskError, WorkspaceBusy, WorkspaceDamaged
from vbcgcd.workspace.log.commits import (
    WriteLock,
    digest,
    disk_errors,
    file_digest,
    from_json,
    is_workspace,
    replace_synced,
    to_json,
    write_synced,
)


def test_equal_values_give_equal_bytes():
    assert to_json({"b": [1, 2.5], "a": "é"}) == to_json({"a": "é", "b": [1, 2.5]})
    assert from_json(to_json({"a": "é<b>"}), None) == {"a": "é<b>"}


def test_what_is_no_json_cannot_be_written():
    with pytest.raises(ValueError):
        to_json({"a": float("nan")})


@pytest.mark.parametrize("data", [b"", b"{", b"[1]", b"\xff"])
def test_a_damaged_file_is_one_clear_error(data, tmp_path):
    with pytest.raises(WorkspaceDamaged):
        from_json(data, tmp_path / "x.json")


def test_digests_of_bytes_and_files_agree(tmp_path):
    write_synced(tmp_path / "x", b"abc")
    assert file_digest(tmp_path / "x") == digest(b"abc")
    assert digest(b"abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_a_replacement_that_fails_leaves_the_file(tmp_path, monkeypatch):
    target = tmp_path / "HEAD"
    replace_synced(target, b"old")

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DiskError) as raised, disk_errors(tmp_path):
        replace_synced(target, b"new")
    assert raised.value.cause.errno == 28
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_new_file_never_replaces_one(tmp_path):
    write_synced(tmp_path / "x", b"1")
    with pytest.raises(FileExistsError):
        write_synced(tmp_path / "x", b"2")


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": "zip"}', "\x00"])
def test_a_folder_says_that_it_is_a_workspace(animals, tmp_path, content):
    assert is_workspace(animals.path)
    assert not is_workspace(tmp_path)
    (tmp_path / "workspace.json").write_text(content)
    assert not is_workspace(tmp_path)


HOLD = """
import sys, time
from pathlib import Path
from vbcgcd.workspace.log.commits import WriteLock
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
