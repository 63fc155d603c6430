import errno
import json
import os
import stat

import pytest

from vbcgcd.errors import DiskError, WorkspaceDamaged
from vbcgcd.workspace.log.commits import is_workspace
from vbcgcd.workspace.log.disk import (
    digest,
    disk_errors,
    exists,
    file_digest,
    from_json,
    make_folder,
    read_file,
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


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ESTALE])
def test_what_passes_is_called_passing_and_nothing_destructive_is_advised(tmp_path, monkeypatch, number):
    def refuse(path):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("pathlib.Path.read_bytes", refuse)
    with pytest.raises(DiskError, match="This passes") as raised:
        read_file(tmp_path / "HEAD")
    assert raised.value.cause.errno == number
    assert not any(word in str(raised.value) for word in ("damaged", "restore", "repair", "init"))
    with pytest.raises(DiskError, match="This passes"):
        is_workspace(tmp_path)
    with pytest.raises(DiskError, match="This passes"), disk_errors(tmp_path):
        refuse(tmp_path)


def test_only_a_missing_file_is_damage(tmp_path, monkeypatch):
    with pytest.raises(WorkspaceDamaged, match="missing"):
        read_file(tmp_path / "HEAD")
    with pytest.raises(WorkspaceDamaged):
        read_file(tmp_path)

    def refuse(path):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("pathlib.Path.read_bytes", refuse)
    with pytest.raises(DiskError, match="you may read"):
        read_file(tmp_path / "HEAD")


def test_a_disk_that_does_not_answer_is_not_an_answer(tmp_path, monkeypatch):
    assert exists(tmp_path)
    assert not exists(tmp_path / "x")

    def fail(path):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "lstat", fail)
    with pytest.raises(DiskError):
        exists(tmp_path)


def test_files_and_folders_are_their_owners_alone(tmp_path):
    make_folder(tmp_path / "d")
    write_synced(tmp_path / "d" / "x", b"1")
    assert stat.S_IMODE((tmp_path / "d").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "d" / "x").stat().st_mode) == 0o600


def test_nested_json_is_one_clear_error(tmp_path):
    with pytest.raises(WorkspaceDamaged):
        from_json(b"[" * 100_000, tmp_path / "x.json")
    assert json.loads(to_json({"a": 1})) == {"a": 1}
