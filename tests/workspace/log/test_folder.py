import os
from pathlib import Path

import pytest

from vbcgcd.errors import DiskError, InputError, MissingFileError, WorkspaceBusy
from vbcgcd.workspace.log.asides import aside_name
from vbcgcd.workspace.log.commits import Draft
from vbcgcd.workspace.log.lock import WriteLock
from vbcgcd.workspace.log.store import Store

FULL = OSError(28, "No space left on device")


class Failing:
    """A content that cannot be written."""

    def as_bytes(self):
        raise FULL


def note(text):
    return Draft("note", changes={"text": text})


@pytest.fixture
def store(tmp_path):
    return Store.create(tmp_path / "w", note("one"))


def test_a_place_that_is_taken(store, tmp_path):
    with pytest.raises(InputError, match="already"):
        Store.create(store.path, note("x"))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("precious")
    with pytest.raises(InputError, match="not an empty"):
        Store.create(tmp_path / "full", note("x"))
    with pytest.raises(MissingFileError):
        Store.create(tmp_path / "missing" / "w", note("x"))


def test_the_empty_folder_one_stands_in_becomes_a_workspace(tmp_path, monkeypatch, tree):
    (tmp_path / "w").mkdir()
    monkeypatch.chdir(tmp_path / "w")
    made = Store.create(Path.cwd(), note("x"))
    assert made.head().number == 1
    assert sorted(p.name for p in Path().iterdir()) == [".lock", "HEAD", "commits", "workspace.json"]
    assert list(tree(made.path)) == list(tree(Store.create(tmp_path / "v", note("x")).path))


def test_what_a_killed_init_left_in_a_folder_is_in_nobodys_way(tmp_path):
    (tmp_path / "commits").mkdir()
    with pytest.raises(InputError):
        Store.create(tmp_path, note("x"))  # these commits may be somebody's
    (tmp_path / aside_name()).mkdir()
    assert Store.create(tmp_path, note("x")).verify() == 3
    assert not list(tmp_path.glob(".new-*"))


def test_what_another_machine_may_be_making_is_left_alone_for_a_day(tmp_path):
    aside = tmp_path / f".new-{'0' * 32}"
    aside.mkdir()
    (tmp_path / "commits").mkdir()
    with pytest.raises(WorkspaceBusy, match="creating"):
        Store.create(tmp_path, note("x"))
    assert aside.exists()
    os.utime(aside, (0, 0))
    assert Store.create(tmp_path, note("x")).verify() == 3


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "w").write_text("x")
    with pytest.raises(InputError):
        Store.create(tmp_path / "w", note("x"))


def test_an_empty_folder_is_empty_again_where_making_fails(tmp_path):
    with pytest.raises(DiskError):
        Store.create(tmp_path, Draft("note", files={"a": Failing()}))
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_where_making_fails(tmp_path):
    with pytest.raises(DiskError):
        Store.create(tmp_path / "w", Draft("note", files={"a": Failing()}))
    assert list(tmp_path.iterdir()) == []


def test_asides_of_the_dead_are_swept_and_those_of_the_living_stay(tmp_path):
    dead, living = (tmp_path / f".w{aside_name()}" for _ in range(2))
    dead.mkdir()
    living.mkdir()
    with WriteLock(living / ".lock", "init"):
        Store.create(tmp_path / "w", note("x"))
        assert not dead.exists()
        assert living.exists()


def test_a_workspace_made_meanwhile_stays(tmp_path, monkeypatch, tree):
    """Two processes make one in the same empty folder; the other is through when this one gets the lock."""
    enter, theirs = WriteLock.__enter__, {}

    def late(lock):
        monkeypatch.setattr(WriteLock, "__enter__", enter)
        Store.create(tmp_path, note("theirs"))
        theirs.update(tree(tmp_path))
        return enter(lock)

    monkeypatch.setattr(WriteLock, "__enter__", late)
    with pytest.raises(InputError):
        Store.create(tmp_path, note("ours"))
    assert tree(tmp_path) == theirs


def test_files_that_appear_while_making_fails_stay(tmp_path):
    class Slow:
        def as_bytes(self):
            (tmp_path / "thesis.txt").write_text("precious")
            (tmp_path / "pictures").mkdir()
            raise FULL

    with pytest.raises(DiskError):
        Store.create(tmp_path, Draft("note", files={"a": Slow()}))
    assert sorted(part.name for part in tmp_path.iterdir()) == ["pictures", "thesis.txt"]
