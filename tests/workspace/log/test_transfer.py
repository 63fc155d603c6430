import io
import zipfile

import pytest

from vbcgcd.errors import DiskError, InputError, MissingFileError, WorkspaceDamaged
from vbcgcd.workspace import Workspace


@pytest.fixture
def exported(animals, tmp_path):
    animals.merge([0, 1], name="<pet>")
    animals.undo()
    done = animals.export(tmp_path / "animals.zip")
    assert (done.commits, done.bytes) == (5, (tmp_path / "animals.zip").stat().st_size)
    return tmp_path / "animals.zip"


def test_an_import_is_the_same_workspace(animals, exported, blobs, answers, tree, tmp_path):
    copy = Workspace.import_(exported, tmp_path / "copy", trust=True)
    assert tree(copy.path) == tree(animals.path)
    assert answers(copy, blobs.probe) == answers(animals, blobs.probe)
    assert copy.history() == animals.history()
    assert copy.redo().of_command == "merge"


def test_equal_workspaces_give_equal_files(animals, exported, tmp_path):
    animals.export(tmp_path / "again.zip")
    assert exported.read_bytes() == (tmp_path / "again.zip").read_bytes()


def test_an_export_replaces_a_file_whole_or_not_at_all(animals, tmp_path, monkeypatch):
    target = tmp_path / "x.zip"
    target.write_text("old")

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(zipfile.ZipFile, "writestr", full)
    with pytest.raises(DiskError):
        animals.export(target)
    assert target.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["animals", "x.zip"]


@pytest.mark.parametrize(("name", "error"), [("no/x.zip", MissingFileError), ("animals", InputError)])
def test_an_export_to_nowhere(animals, tmp_path, name, error):
    with pytest.raises(InputError) as caught:
        animals.export(tmp_path / name)
    assert type(caught.value) is error


def changed(file, edit):
    """The zip file with some members edited: name, data -> (name, data) or None."""
    with zipfile.ZipFile(file) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for member in filter(None, (edit(*member) for member in members)):
            archive.writestr(*member)
    file.write_bytes(out.getvalue())


@pytest.mark.parametrize(
    ("edit", "error", "message"),
    [
        (lambda n, d: (f"../{n}", d), InputError, "not an export"),
        (lambda n, d: (n, d) if "commits" not in n else None, InputError, "not an export"),
        (lambda n, d: (n, d) if n != "HEAD" else None, InputError, "not an export"),
        (lambda n, d: (n, d + b" ") if n.endswith(".parquet") else (n, d), WorkspaceDamaged, "bytes instead"),
        (lambda n, d: (n, d[:-1] + b"?") if n.endswith("tensors") else (n, d), WorkspaceDamaged, "changed"),
        (lambda n, d: (n, d.replace(b'"cat"', b'"cow"')), WorkspaceDamaged, "was changed"),
        (lambda n, d: (n.replace("000005", "000007"), d), WorkspaceDamaged, "missing"),
    ],
)
def test_a_file_that_was_tampered_with_is_refused(exported, tmp_path, edit, error, message):
    changed(exported, edit)
    with pytest.raises(error, match=message):
        Workspace.import_(exported, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    assert not list(tmp_path.glob(".copy*"))


def test_commits_beyond_head_are_refused(exported, tmp_path):
    with zipfile.ZipFile(exported, "a") as archive:
        archive.writestr("commits/000009/commit.json", "{}")
    with pytest.raises(WorkspaceDamaged):
        Workspace.import_(exported, tmp_path / "copy")


def test_what_is_no_zip(tmp_path, exported):
    exported.write_bytes(exported.read_bytes()[:-100])
    with pytest.raises(WorkspaceDamaged):
        Workspace.import_(exported, tmp_path / "copy")
    with pytest.raises(MissingFileError):
        Workspace.import_(tmp_path / "gone.zip", tmp_path / "copy")


def test_an_import_does_not_overwrite(exported, animals, tree):
    before = tree(animals.path)
    with pytest.raises(InputError):
        Workspace.import_(exported, animals.path)
    assert tree(animals.path) == before


@pytest.mark.parametrize("name", ["HEAD", "workspace.json", ".lock", "commits/000001/x.zip"])
def test_an_export_does_not_replace_a_part_of_the_workspace(animals, tree, name):
    before = tree(animals.path)
    with pytest.raises(InputError):
        animals.export(animals.path / name)
    assert tree(animals.path) == before
