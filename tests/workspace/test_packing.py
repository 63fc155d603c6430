"""Reads do not take a file per session, and say the same with packs and without."""

import os
import shutil
from pathlib import Path

import pytest

from vbcgcd.workspace import Workspace, packing
from vbcgcd.workspace.log import packs
from vbcgcd.workspace.log.files import SAMPLE, TABLE


@pytest.fixture
def long(animals, blobs, monkeypatch):
    """Twenty commits in packs of 2, 4, 8, ...: sessions, renames, a merge, and some that are undone."""
    monkeypatch.setattr(packs, "FAN", 2)
    monkeypatch.setattr(packing, "FAN", 2)
    for i in range(7):
        animals.discover(blobs.batch[i * 10 : i * 10 + 12], n_novel=1 if i == 3 else None)
        animals.rename(0, f"cat {i}")
    animals.merge([1, 3])
    animals.discover(blobs.batch[:9])
    animals.undo()
    return animals


def asked(workspace, blobs, answers):
    """Everything that packs have a part in."""
    return [
        answers(workspace, blobs.probe),
        workspace.categories(retired=True),
        workspace.overview().map,
        workspace.overview().categories,
        workspace.unassigned(),
        workspace.sessions(),
        workspace.history(),
        workspace.count_items(),
    ]


def test_answers_are_the_same_without_packs(long, blobs, answers):
    grown, opened = asked(long, blobs, answers), asked(Workspace.open(long.path), blobs, answers)
    assert (long.path / "packs/000001-000016").is_dir()
    shutil.rmtree(long.path / "packs")
    assert opened == asked(Workspace.open(long.path), blobs, answers)
    assert grown == opened


@pytest.mark.parametrize("name", ["records.json", "pack.json", TABLE, SAMPLE])
def test_a_damaged_pack_changes_no_answer(long, blobs, answers, name):
    expected = asked(Workspace.open(long.path), blobs, answers)
    for path in long.path.glob(f"packs/*/{name}"):
        data = path.read_bytes()
        path.write_bytes(data[: len(data) // 2] + b"!" + data[len(data) // 2 + 1 :])
    assert asked(Workspace.open(long.path), blobs, answers) == expected


def test_packs_of_another_history_change_no_answer(long, blobs, answers, template, tmp_path):
    other = Workspace.open(shutil.copytree(template, tmp_path / "other"))
    for i in range(17):
        other.rename(0, f"dog {i}")
    expected = asked(Workspace.open(other.path), blobs, answers)
    shutil.rmtree(other.path / "packs")
    shutil.copytree(long.path / "packs", other.path / "packs")
    assert asked(Workspace.open(other.path), blobs, answers) == expected
    other = Workspace.open(other.path)
    other.rename(0, "wolf")
    now = other.snapshot()
    assert [pack.last for pack in now.store.packs.covering(1, 16, now.digest_of)] == [16]


def test_few_files_are_read_however_many_sessions_there_are(long, blobs, monkeypatch):
    opened, real = [], Path.read_bytes

    def reading(path):
        opened.append(path)
        return real(path)

    monkeypatch.setattr(Path, "read_bytes", reading)
    Workspace.open(long.path).categories()
    of_commits = [path for path in opened if "commits" in path.parts]
    assert len(of_commits) <= 6, of_commits


def test_what_is_packed_is_not_kept_commit_by_commit(long):
    kept = [key for key in long.snapshot()._memory.contents if key[1] in (TABLE, SAMPLE)]
    assert all(number > long.last_commit - 3 for number, _ in kept)


def test_a_disk_that_takes_no_packs_stops_nobody(animals, monkeypatch, blobs):
    monkeypatch.setattr(packs, "FAN", 2)
    monkeypatch.setattr(packing, "FAN", 2)
    real = os.mkdir

    def full(path, *args, **kwargs):
        if "packs" in str(path):
            raise OSError(28, "No space left on device")
        real(path, *args, **kwargs)

    monkeypatch.setattr(os, "mkdir", full)
    animals.rename(0, "tom")
    assert not (animals.path / "packs").exists()
    assert Workspace.open(animals.path).category(0).name == "tom"


def test_an_old_workspace_is_packed_little_by_little(long, monkeypatch, blobs, answers):
    expected = asked(Workspace.open(long.path), blobs, answers)[0]
    shutil.rmtree(long.path / "packs")
    monkeypatch.setattr(packing.pack, "__kwdefaults__", {"seconds": 0.0})
    again = Workspace.open(long.path)
    n_packs = []
    for i in range(4):
        again.rename(0, f"tom {i}")
        n_packs.append(len(list((long.path / "packs").iterdir())))
    assert n_packs == [1, 2, 3, 4]
    Workspace.repair(long.path)
    assert (long.path / "packs/000001-000016").is_dir()
    assert asked(Workspace.open(long.path), blobs, answers)[0][1:] == expected[1:]
