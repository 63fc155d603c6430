"""How a commit comes to count: with a lock and without, from any HEAD, and on a disk that fails."""

import errno
import os
import shutil
import stat

import pytest
from notes import note, three_notes

from vbcgcd.errors import DiskError, WorkspaceBusy, WorkspaceDamaged, WorkspaceWarning
from vbcgcd.workspace import Workspace
from vbcgcd.workspace.log import lock, turn
from vbcgcd.workspace.log.store import Store


def texts(store):
    return [commit.changes["text"] for commit in store.commits(store.head())]


@pytest.fixture
def store(tmp_path):
    return three_notes(tmp_path / "w")


@pytest.fixture
def no_locks(monkeypatch):
    """Nothing keeps a second writer out, and it does not wait for the turn of the first."""
    monkeypatch.setattr(lock, "_acquire", lambda handle: None)
    monkeypatch.setattr(turn, "WATCHED", 0.0)


def test_a_writer_that_was_stopped_before_it_moved_head_has_committed(store):
    old = (store.path / "HEAD").read_bytes()
    with store.writer("note"):
        store.append(note("four"), store.head())
    (store.path / "HEAD").write_bytes(old)
    again = Store(store.path)
    assert texts(again) == ["one", "two", "three", "four"]
    with again.writer("note"):  # which brings HEAD up to date
        assert again.named().number == 4
        again.append(note("five"), again.head())
    assert texts(Store(store.path))[-2:] == ["four", "five"]


def test_of_two_writers_without_a_lock_one_commits_and_the_other_hears_it(store, no_locks):
    """The second one sweeps and commits between the first one's last look at HEAD and its rename."""
    other, parent = Store(store.path), store.head()
    real = os.rename

    def late(source, target):
        if os.fspath(target).endswith("000004"):
            os.rename = real
            with other.writer("note"):
                other.append(note("theirs"), other.head())
        return real(source, target)

    with store.writer("note"):
        os.rename = late
        try:
            with pytest.raises(WorkspaceBusy, match="changed nothing"):
                store.append(note("ours"), parent)
        finally:
            os.rename = real
    assert texts(Store(store.path)) == ["one", "two", "three", "theirs"]
    assert Store(store.path).verify() == 10


def test_a_slow_writer_does_not_take_back_what_others_built_on_its_commit(store, no_locks):
    """It is stopped between the rename and HEAD; two others commit meanwhile."""
    other, real = Store(store.path), os.replace

    def late(source, target):
        os.replace = real
        for text in ("five", "six"):
            with other.writer("note"):
                other.append(note(text), other.head())
        return real(source, target)

    with store.writer("note"):
        os.replace = late
        try:
            store.append(note("four"), store.head())
        finally:
            os.replace = real
    assert store.named().number == 6
    assert texts(Store(store.path)) == ["one", "two", "three", "four", "five", "six"]


def restored(store, number):
    """Two more commits, and HEAD as it was at an earlier one."""
    old = (store.path / "HEAD").read_bytes()
    for text in ("four", "five"):
        with store.writer("note"):
            store.append(note(text), store.head())
    (store.path / "HEAD").write_bytes(old)
    return Store(store.path)


def test_newer_commits_are_reported_set_aside_and_never_deleted(store):
    store = restored(store, 3)
    with pytest.warns(WorkspaceWarning, match="commits up to 5"):
        assert texts(store) == ["one", "two", "three"]
    with pytest.warns(WorkspaceWarning, match="Commits 4 to 5 were set aside"), store.writer("note"):
        store.append(note("other"), store.head())
    assert texts(Store(store.path)) == ["one", "two", "three", "other"]
    aside = sorted((store.path / "set-aside").iterdir())
    assert [(part / "a.txt").read_text() for part in aside] == ["four", "five"]


def test_a_number_that_is_taken_by_something_else_is_freed(store):
    (store.folder(5)).mkdir()
    (store.folder(5) / "x").write_text("?")
    with store.writer("note"):
        _, head = store.append(note("four"), store.head())
        with pytest.warns(WorkspaceWarning, match="Commit 5 was set aside"):
            store.append(note("five"), head)
    assert texts(Store(store.path))[-1] == "five"


@pytest.mark.parametrize("step", range(6))  # two files, their folder, HEAD, commits, the workspace
@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
def test_every_sync_that_fails_is_reported_and_tells_the_truth(store, monkeypatch, step, number):
    calls, real = [], os.fsync

    def fsync(handle):
        calls.append(handle)
        if len(calls) == step + 1:
            raise OSError(number, os.strerror(number))
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    with store.writer("note"), pytest.raises(DiskError) as raised:
        store.append(note("four"), store.head())
    done, message = raised.value.done, str(raised.value)
    assert raised.value.cause.errno == number
    assert ("nothing was changed" in message) == (not done)
    assert ("was carried out" in message) == done
    assert texts(Store(store.path)) == ["one", "two", "three", *(["four"] if done else [])]


def test_a_changed_workspace_file_is_noticed(store):
    about = store.path / "workspace.json"
    about.write_text(about.read_text().replace('"created": "2', '"created": "3'))
    with pytest.raises(WorkspaceDamaged, match=r"workspace\.json was changed"):
        Store(store.path)


def test_an_early_head_without_that_digest_is_read_and_gets_one(store):
    (store.path / "HEAD").write_bytes(store.head().as_bytes())
    early = Store(store.path)
    with early.writer("note"):
        early.append(note("four"), early.head())
    assert b"about" in (store.path / "HEAD").read_bytes()


def test_a_head_that_is_a_link_is_replaced_and_its_target_left(store, tmp_path):
    shutil.copy(store.path / "HEAD", tmp_path / "elsewhere")
    before = (tmp_path / "elsewhere").read_bytes()
    (store.path / "HEAD").unlink()
    (store.path / "HEAD").symlink_to(tmp_path / "elsewhere")
    with store.writer("note"):
        store.append(note("four"), store.head())
    assert (tmp_path / "elsewhere").read_bytes() == before
    assert not (store.path / "HEAD").is_symlink()


def test_all_files_are_their_owners_alone(tmp_path, blobs):
    mask = os.umask(0o022)
    try:
        workspace = Workspace.init(tmp_path / "w", excerpts=2, model={"count": "evidence"})
        workspace.learn(blobs.rows, blobs.labels)
        workspace.export(tmp_path / "w.zip")
        copy = Workspace.import_(tmp_path / "w.zip", tmp_path / "copy")
    finally:
        os.umask(mask)
    for path in (workspace.path, copy.path, tmp_path / "w.zip"):
        for part in (path, *path.rglob("*")):
            assert stat.S_IMODE(part.stat().st_mode) == (0o700 if part.is_dir() else 0o600), part
