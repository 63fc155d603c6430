import os

import pytest

from vbcgcd.errors import DiskError, WorkspaceDamaged
from vbcgcd.workspace.log.durable import (
    digest,
    disk_errors,
    file_digest,
    from_json,
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
    with pytest.raises(WorkspaceDamaged, match="damaged"):
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
    with pytest.raises(DiskError, match="No space left") as raised, disk_errors(tmp_path):
        replace_synced(target, b"new")
    assert raised.value.cause.errno == 28
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_new_file_never_replaces_one(tmp_path):
    write_synced(tmp_path / "x", b"1")
    with pytest.raises(FileExistsError):
        write_synced(tmp_path / "x", b"2")
