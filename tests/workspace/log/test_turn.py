import errno
import os
import subprocess
import sys
import threading
import time

import pytest

from vbcgcd.workspace.log import turn as turns
from vbcgcd.workspace.log.asides import machine
from vbcgcd.workspace.log.turn import turn


def test_one_after_the_other(tmp_path):
    inside, most = [], []

    def work():
        for _ in range(20):
            with turn(tmp_path):
                inside.append(1)
                most.append(len(inside))
                time.sleep(0.0005)
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 80
    assert list(tmp_path.iterdir()) == []


def test_the_turn_of_a_dead_process_is_over_at_once(tmp_path):
    code = (
        "import os, sys, pathlib; from vbcgcd.workspace.log.turn import turn\n"
        "with turn(pathlib.Path(sys.argv[1])): os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    assert (tmp_path / ".turn").exists()
    start = time.monotonic()
    with turn(tmp_path):
        assert time.monotonic() - start < 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", ["", "elsewhere 1 1", "?"])
def test_the_turn_of_somebody_unknown_is_over_when_it_is_old(tmp_path, content, monkeypatch):
    (tmp_path / ".turn").write_text(content)
    os.utime(tmp_path / ".turn", (0, 0))
    with turn(tmp_path):
        pass
    (tmp_path / ".turn").write_text(content)
    monkeypatch.setattr(turns, "WATCHED", 0.05)
    start = time.monotonic()
    with turn(tmp_path):
        assert time.monotonic() - start >= 0.05


def test_the_turn_of_a_living_process_is_waited_for(tmp_path, monkeypatch):
    (tmp_path / ".turn").write_text(f"{machine()} {turns._process(os.getpid())}")
    assert not turns._is_gone(tmp_path / ".turn")
    (tmp_path / ".turn").write_text(f"{machine()} {os.getpid()} 1")  # the number was given to another one
    assert turns._is_gone(tmp_path / ".turn")


def test_a_disk_without_links_takes_turns_too(tmp_path, monkeypatch):
    def refuse(*args):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    with turn(tmp_path):
        assert (tmp_path / ".turn").exists()
    assert list(tmp_path.iterdir()) == []
