import errno
import os
import stat

import pytest

from vbcgcd.archive import atomic_file, sync_folder
from vbcgcd.errors import DiskError


@pytest.fixture
def target(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    return path


def write(target, data):
    with atomic_file(target) as out:
        out.write(data)


def test_readers_see_the_old_file_until_all_is_written(target):
    with atomic_file(target) as out:
        out.write(b"new")
        assert target.read_bytes() == b"old"
    assert target.read_bytes() == b"new"
    assert [p.name for p in target.parent.iterdir()] == ["file"]


@pytest.mark.parametrize("failure", [OSError("disk full"), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize("function", ["os.fsync", "pathlib.Path.replace"])
def test_a_failure_leaves_the_old_file_and_nothing_else(target, monkeypatch, function, failure):
    def fail(*args):
        raise failure

    with monkeypatch.context() as patch:
        patch.setattr(function, fail)
        with pytest.raises(type(failure)):
            write(target, b"new")
    assert target.read_bytes() == b"old"
    assert [p.name for p in target.parent.iterdir()] == ["file"]


def test_an_error_of_the_writer_leaves_no_new_file(tmp_path):
    with pytest.raises(TypeError):
        write(tmp_path / "new", "text where bytes belong")
    assert list(tmp_path.iterdir()) == []


def test_permissions_are_those_of_the_old_file_or_of_any_new_one(target):
    target.chmod(0o640)
    write(target, b"new")
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    mask = os.umask(0o027)
    try:
        write(target.with_name("fresh"), b"new")
    finally:
        os.umask(mask)
    assert stat.S_IMODE(target.with_name("fresh").stat().st_mode) == 0o640


def test_a_missing_folder_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        write(tmp_path / "absent" / "file", b"")


def test_a_folder_that_is_not_synced_is_reported_and_the_error_says_that_the_file_is_there(
    target, monkeypatch
):
    def fail(handle):
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(DiskError, match="was written, but the disk has not confirmed it") as raised:
        write(target, b"new")
    assert raised.value.done
    assert target.read_bytes() == b"new"
    with pytest.raises(OSError, match="Input/output"):
        sync_folder(target.parent)


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOTSUP])
def test_disks_that_do_not_sync_folders_are_used_as_they_are(target, monkeypatch, number):
    def fail(handle):
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(number, "")

    monkeypatch.setattr(os, "fsync", fail)
    write(target, b"new")
    assert target.read_bytes() == b"new"


def test_a_private_file_is_its_owners_alone(tmp_path):
    with atomic_file(tmp_path / "x", private=True) as out:
        out.write(b"1")
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o600
