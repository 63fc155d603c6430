import hashlib
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbcgcd import mapped
from vbcgcd.errors import DiskError, WorkspaceDamaged
from vbcgcd.workspace.log import blocks
from vbcgcd.workspace.log.blocks import BlockCheck, Blocks, write_contents
from vbcgcd.workspace.log.files import BLOCKS, MODEL, SEGMENT, TABLE


@dataclass
class Parts:
    """A content that is written in pieces."""

    pieces: list

    def as_bytes(self):
        return b"".join(self.pieces)

    def as_parts(self):
        return iter(self.pieces)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Blocks of eight bytes, and every file of more than ten is large."""
    monkeypatch.setattr(blocks, "BLOCK", 8)
    monkeypatch.setattr(mapped, "LARGE", 10)


def sha(data):
    return hashlib.sha256(data).digest()


@given(pieces=st.lists(st.binary(max_size=40), max_size=6))
def test_files_hold_what_was_given_whatever_its_pieces(tmp_path_factory, pieces):
    folder = tmp_path_factory.mktemp("pieces")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK", 8)
        patch.setattr(mapped, "LARGE", 10)
        marks = write_contents(folder, {MODEL: Parts(pieces)})
        data = b"".join(pieces)
        assert (folder / MODEL).read_bytes() == data
        assert marks[MODEL].bytes == len(data)
        assert marks[MODEL].sha256 == hashlib.sha256(data).hexdigest()
        assert (BLOCKS in marks) == (len(data) > 10)
        if BLOCKS in marks:
            found = Blocks.read(folder / BLOCKS).digests[MODEL]
            expected = [sha(data[start : start + 8]) for start in range(0, len(data), 8)]
            assert [row.tobytes() for row in found] == expected


def test_only_large_files_that_are_read_in_parts_have_digests_of_their_parts(tmp_path):
    large, little = Parts([b"x" * 30]), Parts([b"x" * 10])
    marks = write_contents(tmp_path, {MODEL: large, TABLE: large, SEGMENT: little})
    assert set(marks) == {MODEL, TABLE, SEGMENT, BLOCKS}
    assert set(Blocks.read(tmp_path / BLOCKS).digests) == {MODEL}


@pytest.fixture
def checked(tmp_path):
    """A large file, what checks it, and its content."""
    data = bytes(range(30))
    marks = write_contents(tmp_path, {MODEL: Parts([data])})
    digests = Blocks.read(tmp_path / BLOCKS).digests[MODEL]
    return tmp_path / MODEL, lambda: BlockCheck(tmp_path / MODEL, marks[MODEL], digests), bytearray(data)


def test_a_part_is_refused_if_a_byte_of_it_was_changed_and_no_other_part_is(checked):
    path, check_of, data = checked
    for place in range(30):
        changed = bytearray(data)
        changed[place] ^= 1
        path.write_bytes(changed)
        check = check_of()
        for start, stop in ((0, 8), (3, 20), (16, 17), (24, 30), (29, 30)):
            if start // 8 <= place // 8 <= (stop - 1) // 8:
                with pytest.raises(WorkspaceDamaged, match=r"was changed.*repair"):
                    check(start, stop)
            else:
                check(start, stop)


def test_a_part_is_read_once(checked, monkeypatch):
    path, check_of, _ = checked
    check = check_of()
    check(0, 30)
    path.unlink()
    check(5, 12)


def test_a_file_that_was_cut_off_is_refused_at_once(checked):
    path, check_of, data = checked
    path.write_bytes(data[:-1])
    with pytest.raises(WorkspaceDamaged, match="29 bytes instead of 30"):
        check_of()
    path.unlink()
    with pytest.raises(WorkspaceDamaged, match="missing"):
        check_of()


def test_a_failing_disk_is_no_damage(checked, monkeypatch):
    check = checked[1]()

    def fail(*args, **kwargs):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("builtins.open", fail)
    with pytest.raises(DiskError):
        check(0, 8)


@pytest.mark.parametrize(
    "digests",
    [
        {"other": np.zeros((1, 32), np.uint8)},
        {MODEL: np.zeros((1, 31), np.uint8)},
        {MODEL: np.zeros((1, 32))},
    ],
    ids=["other file", "other length", "other type"],
)
def test_digests_that_no_release_wrote_are_refused(tmp_path, digests):
    (tmp_path / BLOCKS).write_bytes(Blocks(digests).as_bytes())
    with pytest.raises(WorkspaceDamaged):
        Blocks.read(tmp_path / BLOCKS)
