import errno
import json
import os
import shutil
from pathlib import Path

import pytest

from vbcgcd.errors import DiskError, MissingFileError, WorkspaceDamaged, WorkspaceWarning
from vbcgcd.workspace import Workspace


@pytest.fixture
def named(animals):
    """Commits 1 to 3, and two renames: commits 4 and 5."""
    animals.rename(0, "tom")
    animals.rename(1, "rex")
    return animals


def names(path):
    return [category.name for category in Workspace.open(path).categories()][:2]


def test_a_whole_workspace_stays_as_it_is(named, tree):
    before = tree(named.path)
    result = Workspace.repair(named.path)
    assert (result.commit, result.before, result.changed) == (5, 5, False)
    assert tree(named.path) == before


@pytest.mark.parametrize("name", ["commits/000005/commit.json", "commits/000004/commit.json"])
@pytest.mark.parametrize("how", ["missing", "cut", "changed"])
def test_damage_returns_to_the_last_whole_commit(named, name, how):
    path = named.path / name
    data = path.read_bytes()
    path.unlink()
    if how != "missing":
        path.write_bytes(data[:10] if how == "cut" else data.replace(b'"time": "2', b'"time": "3'))
    with pytest.raises(WorkspaceDamaged, match="run repair"):
        Workspace.open(named.path)
    result = Workspace.repair(named.path)
    last = int(name.split("/")[1]) - 1
    assert (result.commit, result.before) == (last, 5)
    assert len(result.set_aside) == 5 - last
    assert names(named.path) == {4: ["tom", "dog"], 3: ["cat", "dog"]}[last]
    again = Workspace.open(named.path)
    again.rename(2, "hoot")
    assert again.verify() > 0
    assert len(list((named.path / "set-aside").iterdir())) == 5 - last  # nothing was deleted


def test_a_damaged_table_returns_to_the_commit_before_its_session(named, blobs, answers, template):
    path = named.path / "commits/000003/assignments.parquet"
    path.write_bytes(path.read_bytes()[:-4] + b"XXXX")
    assert Workspace.repair(named.path).commit == 2
    assert len(Workspace.open(named.path).categories()) == 3


@pytest.mark.parametrize("content", [None, b"", b"{}", b'{"commit": 5, "sha256": "00"}', "letter", "number"])
def test_without_head_the_last_whole_commit_is_in_effect(named, content):
    head, last = (named.path / "HEAD").read_bytes(), named.snapshot().head.sha256.encode()
    (named.path / "HEAD").unlink()
    if isinstance(content, str):
        other = last.replace(last[:1], b"0" if last[:1] != b"0" else b"1", 1)
        content = head.replace(last, other) if content == "letter" else head.replace(b": 5", b": 7")
    if content is not None:
        (named.path / "HEAD").write_bytes(content)
    with pytest.raises(WorkspaceDamaged):
        Workspace.open(named.path)
    result = Workspace.repair(named.path)
    assert result.commit == 5
    assert "HEAD" in result.rewritten
    assert names(named.path) == ["tom", "rex"]


def test_head_from_a_backup_returns_to_the_newest_commit(named):
    head = (named.path / "HEAD").read_bytes()
    named.rename(0, "kit")
    named.rename(0, "puss")
    (named.path / "HEAD").write_bytes(head)
    result = Workspace.repair(named.path)
    assert (result.commit, result.before, result.returned) == (7, 5, (6, 7))
    assert names(named.path) == ["puss", "rex"]


def test_commits_that_were_set_aside_come_back(named):
    head = (named.path / "HEAD").read_bytes()
    named.rename(0, "kit")
    named.rename(0, "puss")
    (named.path / "HEAD").write_bytes(head)
    with pytest.warns(WorkspaceWarning), Workspace.open(named.path)._writing("drop"):
        pass
    assert not (named.path / "commits/000006").exists()
    assert Workspace.repair(named.path).returned == (6, 7)
    assert names(named.path) == ["puss", "rex"]


def test_a_branch_that_was_set_aside_does_not_replace_the_one_in_effect(named):
    head = (named.path / "HEAD").read_bytes()
    named.rename(0, "kit")
    named.rename(0, "puss")
    (named.path / "HEAD").write_bytes(head)
    with pytest.warns(WorkspaceWarning):
        Workspace.open(named.path).rename(0, "felix")
    assert not Workspace.repair(named.path).changed
    assert names(named.path) == ["felix", "rex"]
    assert len(list((named.path / "set-aside").iterdir())) == 2


@pytest.mark.parametrize("how", ["missing", "cut", "changed"])
def test_workspace_json_is_made_anew(named, how):
    about = named.path / "workspace.json"
    text = about.read_text()
    about.unlink()
    if how != "missing":
        about.write_text(text[:20] if how == "cut" else text.replace('"created": "2', '"created": "3'))
    result = Workspace.repair(named.path)
    assert "workspace.json" in result.rewritten
    assert names(named.path) == ["tom", "rex"]
    assert json.loads(about.read_text())["format"] == "vbcgcd-workspace"
    assert Workspace.open(named.path).verify() > 0


@pytest.mark.parametrize("how", ["missing", "changed"])
def test_what_only_reports_show_never_blocks_answers(named, blobs, answers, tmp_path, how):
    expected = answers(named, blobs.probe)
    path = named.path / "commits/000003/sample.safetensors"
    path.unlink()
    if how == "changed":
        path.write_bytes(b"?")
    again = Workspace.open(named.path)
    assert answers(again, blobs.probe) == expected
    assert names(named.path) == ["tom", "rex"]
    with pytest.warns(WorkspaceWarning, match="Only reports show it"):
        again.report(tmp_path / "r.html")
    if how == "changed":
        with pytest.raises(WorkspaceDamaged):
            Workspace.open(named.path).verify()
    result = Workspace.repair(named.path)
    assert (result.commit, result.lost) == (5, ("000003/sample.safetensors",))
    with pytest.warns(WorkspaceWarning, match="Only reports show it"):
        assert Workspace.open(named.path).verify() == 15


def test_a_copy_that_was_taken_while_writing_is_repaired(named, tmp_path):
    """The commits were copied before the last command, and HEAD after it."""
    shutil.copytree(named.path, tmp_path / "copy")
    named.rename(2, "hoot")
    shutil.copy(named.path / "HEAD", tmp_path / "copy" / "HEAD")
    (tmp_path / "copy/commits/000006").mkdir()
    with pytest.raises(WorkspaceDamaged, match="run repair"):
        Workspace.open(tmp_path / "copy")
    assert Workspace.repair(tmp_path / "copy").commit == 5
    assert names(tmp_path / "copy") == ["tom", "rex"]


@pytest.mark.parametrize(("number", "times"), [(errno.EIO, 1), (errno.EMFILE, 99), (errno.EACCES, 99)])
def test_a_file_that_cannot_be_read_now_is_not_taken_for_a_damaged_one(
    named, tree, monkeypatch, number, times
):
    before, real, calls = tree(named.path), Path.read_bytes, []

    def fail(path):
        if path.parts[-2:] == ("000004", "commit.json") and len(calls) < times:
            calls.append(path)
            raise OSError(number, os.strerror(number))
        return real(path)

    monkeypatch.setattr(Path, "read_bytes", fail)
    if times == 1:
        assert not Workspace.repair(named.path).changed
    else:
        with pytest.raises(DiskError):
            Workspace.repair(named.path)
    monkeypatch.undo()
    assert tree(named.path) == before


def test_what_cannot_be_repaired_is_one_clear_error(named, tmp_path):
    with pytest.raises(MissingFileError):
        Workspace.repair(tmp_path)
    shutil.rmtree(named.path / "commits/000001")
    with pytest.raises(WorkspaceDamaged, match="No commit"):
        Workspace.repair(named.path)
