import os
import stat

import pytest

from vbcgcd.archive import atomic_file


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
