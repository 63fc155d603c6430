import json
import os
import re
from pathlib import Path

import pytest
from notes import Text, note, three_notes

from vbcgcd.errors import (
    DiskError,
    InputError,
    MissingFileError,
    WorkspaceBusy,
    WorkspaceDamaged,
    WorkspaceWarning,
)
from vbcgcd.workspace.log import lock
from vbcgcd.workspace.log.asides import aside_name
from vbcgcd.workspace.log.commits import Draft
from vbcgcd.workspace.log.disk import digest
from vbcgcd.workspace.log.store import NOTHING, Store


class Failing:
    """A content that cannot be written."""

    def __init__(self, error):
        self.error = error

    def as_bytes(self):
        raise self.error


FULL = OSError(28, "No space left on device")


@pytest.fixture
def store(tmp_path):
    return three_notes(tmp_path / "w")


def test_commits_come_back_in_order(store):
    found = store.commits(store.head())
    assert [c.changes["text"] for c in found] == ["one", "two", "three"]
    assert [c.number for c in found] == [1, 2, 3]
    assert store.file(found[1], "a.txt").read_text() == "two"
    assert store.verify() == 8


def test_only_what_is_new_is_read(store):
    head = store.head()
    with store.writer("note"):
        store.append(note("four"), head)
    assert [c.number for c in store.commits(store.head(), after=head)] == [4]


def test_half_a_commit_beyond_head_is_ignored_then_set_aside(store):
    beyond = store.folder(4)
    beyond.mkdir()
    (beyond / "commit.json").write_text("half")
    assert len(Store(store.path).commits(store.head())) == 3
    with pytest.warns(WorkspaceWarning, match="Commit 4 was set aside"), store.writer("note"):
        store.append(note("four"), store.head())
    [aside] = (store.path / "set-aside").iterdir()
    assert (aside / "commit.json").read_text() == "half"
    assert store.verify() == 10


def test_what_dead_writers_left_is_removed_and_nothing_else(store, monkeypatch):
    own, strange = aside_name(), f".new-{'0' * 32}"
    for name in (own, strange):
        (store.path / "commits" / name).mkdir()
        (store.path / name).write_text("half")
    for name in (".DS_Store", "²", "7", "notes"):
        (store.path / "commits" / name).mkdir()
    monkeypatch.setattr(lock, "_acquire", lambda handle: None)
    with store.writer("note"):  # where locks do nothing, somebody may be writing to any of them
        assert (store.path / own).exists()
    monkeypatch.undo()
    with store.writer("note"):
        store.append(note("four"), store.head())
    left = sorted(p.name for p in (store.path / "commits").iterdir())
    assert left == sorted([".DS_Store", "000001", "000002", "000003", "000004", "7", "notes", "²", strange])
    assert not (store.path / own).exists()
    assert (store.path / strange).exists()  # it may be of another machine that is writing now
    os.utime(store.path / strange, (0, 0))
    with store.writer("note"):
        assert not (store.path / strange).exists()


def test_a_change_of_a_record_is_noticed(store):
    path = store.folder(2) / "commit.json"
    path.write_bytes(path.read_bytes().replace(b"two", b"owt"))
    with pytest.raises(WorkspaceDamaged):
        store.commits(store.head())


def test_a_truncated_file_is_noticed_on_opening(store):
    (store.folder(2) / "a.txt").write_text("tw")
    with pytest.raises(WorkspaceDamaged, match=r"a\.txt .* 2 .* 3"):
        store.commits(store.head())


def test_a_changed_file_is_noticed_on_reading(store):
    (store.folder(2) / "a.txt").write_text("TWO")
    found = store.commits(store.head())
    with pytest.raises(WorkspaceDamaged):
        store.file(found[1], "a.txt")
    with pytest.raises(WorkspaceDamaged):
        store.verify()


@pytest.mark.parametrize("name", ["commits/000003/commit.json", "commits/000001/a.txt", "HEAD"])
def test_a_missing_file_is_noticed(store, name):
    (store.path / name).unlink()
    with pytest.raises(WorkspaceDamaged, match=re.escape(name)):
        store.commits(store.head())


@pytest.mark.parametrize("content", [b"", b"3", b'{"commit": 3}', b"\x00\x00"])
def test_a_broken_head_is_noticed(store, content):
    (store.path / "HEAD").write_bytes(content)
    with pytest.raises(WorkspaceDamaged):
        store.head()


def test_a_head_of_another_history_is_noticed(store):
    first = store.commits(store.head())[0]
    (store.path / "HEAD").write_text(json.dumps({"commit": 1, "sha256": first.parent or "x"}))
    with pytest.raises(WorkspaceDamaged):
        store.commits(store.head())


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), OSError(30, "Read-only file system")]
)
def test_a_disk_that_refuses_leaves_everything(store, tree, monkeypatch, error):
    before = tree(store.path)

    def refuse(*args, **kwargs):
        raise error

    with store.writer("note"):
        monkeypatch.setattr(os, "rename", refuse)
        with pytest.raises(DiskError) as raised:
            store.append(note("four"), store.head())
    assert raised.value.cause is error
    assert tree(store.path) == before


def test_an_interruption_leaves_everything(store, tree):
    before = tree(store.path)

    files = {"a.txt": Text("whole"), "b.txt": Failing(KeyboardInterrupt())}
    with pytest.raises(KeyboardInterrupt), store.writer("note"):
        store.append(Draft("note", files=files), store.head())
    assert tree(store.path) == before


def test_a_writer_without_lock_is_caught(store, tree):
    old = store.head()
    with store.writer("note"):
        store.append(note("four"), old)
        before = tree(store.path)
        with pytest.raises(WorkspaceBusy):
            store.append(note("four again"), old)
        assert tree(store.path) == before


@pytest.mark.parametrize("content", ["{}", '{"format": "zip", "version": 1}', "hello"])
def test_what_is_no_workspace(tmp_path, content):
    with pytest.raises(MissingFileError):
        Store(tmp_path)
    (tmp_path / "workspace.json").write_text(content)
    with pytest.raises((InputError, WorkspaceDamaged)):
        Store(tmp_path)


def test_a_later_format_is_refused_on_opening(store):
    about = store.path / "workspace.json"
    about.write_text(about.read_text().replace('"version": 1', '"version": 7'))
    (store.path / "HEAD").write_bytes(store.head().as_bytes(digest(about.read_bytes())))
    with pytest.raises(InputError, match="version 7"):
        Store(store.path)


def test_the_chain_begins_with_nothing(store):
    first, *_ = store.commits(store.head(), after=NOTHING)
    assert (first.number, first.parent) == (NOTHING.number + 1, NOTHING.sha256)


def test_every_file_of_a_commit_is_synced_once(store, monkeypatch):
    synced, real = [], os.fsync

    def fsync(handle):
        synced.append(os.readlink(f"/proc/self/fd/{handle}"))
        real(handle)

    if not os.path.exists("/proc/self/fd"):
        pytest.skip("the names of open files are not known here")
    monkeypatch.setattr(os, "fsync", fsync)
    with store.writer("note"):
        store.append(note("four"), store.head())
    names = [Path(name).name for name in synced if not os.path.isdir(name)]
    assert names.count("a.txt") == names.count("commit.json") == 1
    assert len([name for name in synced if name.startswith(f"{store.path}/.new-")]) == 1  # the next HEAD
    assert str(store.path / "commits") in synced
    assert str(store.path) in synced


@pytest.mark.parametrize(
    "name", ["workspace.json", "HEAD", "head", ".lock", "commits/x.zip", "commits/000001/a.txt"]
)
def test_parts_of_the_workspace_are_no_targets(store, tmp_path, name):
    (tmp_path / "elsewhere").symlink_to(store.path)
    (tmp_path / "link.zip").symlink_to(store.path / name)
    for path in (store.path / name, tmp_path / "elsewhere" / name, tmp_path / "link.zip"):
        with pytest.raises(InputError, match="belongs"):
            store.check_target(path)
    for path in (store.path / "report.html", tmp_path / "HEAD"):
        store.check_target(path)


@pytest.mark.parametrize("content", [b"", b'{"commit": 3}', b"\x00\x00"])
def test_a_broken_head_is_told_once(store, content):
    (store.path / "HEAD").write_bytes(content)
    with pytest.raises(WorkspaceDamaged) as raised:
        store.head()
    assert str(raised.value).count("restore the workspace") == str(raised.value).count("HEAD") == 1
