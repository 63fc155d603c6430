import json

import pytest

from vbcgcd.errors import InputError
from vbcgcd.workspace import commits
from vbcgcd.workspace.commits import Commit, FileMark, check_version


@pytest.fixture
def record():
    return Commit(3, "merge", "2020-01-01", "ab", {"n": 1}, {"x": [1]}, {}, {"a.b": FileMark(2, "cd")}, "0.1")


def test_a_record_survives_json(record, tmp_path):
    values = json.loads(json.dumps(record.as_json()))
    assert Commit.from_json(values, tmp_path) == record


def test_a_later_format_asks_for_an_update(tmp_path):
    with pytest.raises(InputError, match=r"format version 99.*update vbcgcd"):
        check_version(99, tmp_path / "workspace.json")


@pytest.mark.parametrize("version", [None, "1"])
def test_no_version_is_damage(version, tmp_path):
    with pytest.raises(InputError, match="no format version"):
        check_version(version, tmp_path)


def test_an_earlier_format_is_migrated_in_memory(record, tmp_path, monkeypatch):
    old = record.as_json()
    old["action"] = old.pop("command")
    monkeypatch.setattr(commits, "VERSION", 2)
    monkeypatch.setitem(
        commits.MIGRATIONS, 1, lambda v: {**{k: v[k] for k in v if k != "action"}, "command": v["action"]}
    )
    found = Commit.from_json(old, tmp_path)
    assert (found.command, found.version) == ("merge", 2)
    assert old["version"] == 1


def test_a_format_without_migration_says_how_to_go_on(record, tmp_path, monkeypatch):
    monkeypatch.setattr(commits, "VERSION", 3)
    with pytest.raises(InputError, match="export it with a release that reads versions 1 and 2"):
        Commit.from_json(record.as_json(), tmp_path)


def test_missing_parts_are_damage(record, tmp_path):
    values = record.as_json()
    del values["files"]
    with pytest.raises(InputError, match="damaged"):
        Commit.from_json(values, tmp_path)
