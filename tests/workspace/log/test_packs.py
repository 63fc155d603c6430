import os

import numpy as np
import pytest

from vbcgcd.workspace.log.files import Assignments, Sample
from vbcgcd.workspace.log.packs import FAN, RECORDS, Packs, join_records, wanted
from vbcgcd.workspace.log.rows import Positions, Rows


def test_every_commit_is_in_at_most_one_pack_and_few_are_in_none():
    for last in (0, 1, 15, 16, 17, 255, 256, 257, 4095, 4096, 70_000):
        numbers = [n for first, end in wanted(last) for n in range(first, end + 1)]
        assert numbers == list(range(1, len(numbers) + 1))
        assert last - len(numbers) < FAN
        assert len(wanted(last)) < 4 * FAN


@pytest.fixture
def packs(tmp_path):
    made = Packs(tmp_path)
    made.write(1, 2, "tip2", {RECORDS: join_records([b"one", b"two"]), "x": b"content"})
    made.write(3, 4, "tip4", {RECORDS: join_records([b"three", b"four"])})
    return made


def test_records_come_back(packs):
    assert packs.records(2) == {1: b"one", 2: b"two"}
    assert packs.records(3) == {3: b"three", 4: b"four"}
    assert packs.records(5) == {}
    assert [(pack.first, pack.last, pack.tip) for pack in packs.all()] == [(1, 2, "tip2"), (3, 4, "tip4")]


@pytest.mark.parametrize("name", ["records.json", "pack.json", "x"])
@pytest.mark.parametrize("damage", [lambda data: data[:-5], lambda data: b"?" + data[1:], None])
def test_a_damaged_pack_is_none(packs, name, damage):
    path = packs.folder / "000001-000002" / name
    data = path.read_bytes()
    path.unlink()
    if damage is not None:
        path.write_bytes(damage(data))
    packs.forget()
    [pack, _] = packs.all()
    assert pack.read(name) is None
    if name != "x":
        assert packs.records(1) == {}
    assert packs.records(3) == {3: b"three", 4: b"four"}


def test_only_packs_of_this_history_are_taken(packs):
    tips = {2: "tip2", 4: "other"}
    assert [pack.last for pack in packs.covering(1, 9, tips.get)] == [2]
    packs.write(1, 4, "tip4", {RECORDS: b""})
    assert [(p.first, p.last) for p in packs.covering(1, 9, {2: "tip2", 4: "tip4"}.get)] == [(1, 4)]
    assert [(p.first, p.last) for p in packs.covering(1, 3, {2: "tip2", 4: "tip4"}.get)] == [(1, 2)]


def test_a_pack_of_another_history_is_replaced(packs):
    packs.write(1, 2, "new", {RECORDS: join_records([b"1", b"2"])})
    assert packs.records(1) == {1: b"1", 2: b"2"}
    assert not [name for name in os.listdir(packs.folder) if name.startswith(".")]


def table(*references):
    n = len(references)
    numbers = np.arange(n, dtype=float)
    return Assignments(list(references), np.arange(n), numbers, np.arange(n) - 1, numbers / 2, numbers / 3)


def test_items_of_several_commits_survive_a_pack():
    rows = Rows.joined([Rows.of(3, table("a", "é")), Rows.of(5, table()), Rows.of(7, table("x", "y", "z"))])
    again = Rows.from_bytes(Rows.joined([rows, Rows.of(8, table("w"))]).as_bytes())
    assert again.commit.tolist() == [3, 3, 7, 7, 7, 8]
    assert [again.table.name_of(i) for i in range(6)] == ["a", "é", "x", "y", "z", "w"]
    some = again.only(np.array([3, 8]))
    assert some.commit.tolist() == [3, 3, 8]
    assert [some.table.name_of(i) for i in range(3)] == ["a", "é", "w"]
    np.testing.assert_array_equal(some.table.novelty, np.float32([0, 1 / 3, 0]))
    assert again.only(np.array([3, 7, 8])) is again


def test_positions_of_several_commits_survive_a_pack(tmp_path):
    parts = [
        Positions.of(2, Sample(np.array([0, 4]), np.ones((2, 3), dtype=np.float32))),
        Positions.of(4, Sample(np.array([1]), np.zeros((1, 3), dtype=np.float32))),
    ]
    (tmp_path / "x").write_bytes(Positions.joined(parts).as_bytes())
    again = Positions.read(tmp_path / "x")
    assert again.commit.tolist() == [2, 2, 4]
    assert again.only(np.array([4])).sample.rows.tolist() == [1]
