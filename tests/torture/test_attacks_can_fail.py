"""The attacks find defects that are planted for them."""

import contextlib
import os
from pathlib import Path

import numpy as np
import pytest

from torture import concurrency, damage, faults, kills, power
from torture.table import LOSS, TRACEBACK, WRONG
from vbcgcd.workspace.log import disk, packs, store, writing

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
RNG = np.random.default_rng


def test_flips_find_a_missing_digest(monkeypatch):
    def unchecked(self, commit, name):
        return self.folder(commit.number) / name

    monkeypatch.setattr(store.Store, "file", unchecked)
    counts = damage.flips(RNG(0), 200)
    assert counts[WRONG] + counts[TRACEBACK] > 0


def test_flips_find_a_pack_that_is_trusted(monkeypatch):
    def unchecked(self, name):
        path = self.path / name
        return path.read_bytes() if path.exists() else None

    monkeypatch.setattr(packs.Pack, "read", unchecked)
    counts = damage.flips(RNG(0), 200)
    assert counts[WRONG] + counts[TRACEBACK] > 0


def test_kills_find_a_head_that_moves_too_early(monkeypatch):
    real = writing._claim

    def early(store, aside, parent):
        data = (aside / "commit.json").read_bytes()
        head = writing.Head(parent.number + 1, disk.digest(data))
        writing.replace_file(store.path / "HEAD", head.as_bytes(store.about_digest))
        with contextlib.suppress(Exception):
            real(store, aside, parent)
            return
        os.rename(aside, store.folder(parent.number + 1))

    kills.world()
    monkeypatch.setattr(writing, "_claim", early)
    assert kills.every_call(RNG(0), 150)[LOSS] > 0


def test_faults_find_an_error_that_is_swallowed(monkeypatch):
    def swallowed(path, data, *, sync=True):
        with contextlib.suppress(OSError):
            Path(path).write_bytes(data)

    faults.world()
    monkeypatch.setattr(writing, "write_synced", swallowed)
    counts = faults.writing(RNG(0), 300)
    assert counts[WRONG] + counts[LOSS] > 0


def test_faults_find_a_raw_error(monkeypatch):
    @contextlib.contextmanager
    def raw(path, outcome=""):
        yield

    faults.world()
    monkeypatch.setattr(writing, "disk_errors", raw)
    assert faults.writing(RNG(0), 60)[TRACEBACK] > 0


def test_power_failures_find_a_missing_sync(monkeypatch):
    power.world()

    def forgetful(path, data, *, sync=True):
        disk.write_synced(path, data, sync=False)

    monkeypatch.setattr(writing, "write_synced", forgetful)
    counts = power.power_failures(RNG(0), 60)
    assert counts[LOSS] + counts[WRONG] > 0


def test_writers_without_locks_find_that_turns_are_needed(monkeypatch):
    """Without turns and with a rename that replaces, the old way of moving HEAD loses work."""

    def claim(store, aside, parent):
        target = store.folder(parent.number + 1)
        with contextlib.suppress(OSError):
            os.rename(target, target.with_name(f".gone-{os.getpid()}-{aside.name[-6:]}"))
        os.rename(aside, target)

    concurrency.world()
    monkeypatch.setattr(writing, "_claim", claim)
    monkeypatch.setattr(writing, "turn", lambda path: contextlib.nullcontext())
    counts = concurrency.without_locks(RNG(0), 60)
    assert counts[LOSS] + counts[WRONG] + counts[TRACEBACK] > 0
