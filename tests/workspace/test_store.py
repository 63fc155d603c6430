import json
import os
import re
from pathlib import Path

import pytest

from vbcgcd.errors import InputError
from vbcgcd.workspace.commits import Draft
from vbcgcd.workspace.store import NOTHING, Store


def note(text):
    return Draft("note", changes={"text": text}, files={"a.txt": lambda path: path.write_text(text)})


@pytest.fixture
def store(tmp_path):
    made = Store.create(tmp_path / "w", note("one"))
    for text in ("two", "three"):
        with made.writer("note"):
            made.append(note(text), made.head())
    return made


def test_commits_come_back_in_order(store):
    found = store.commits(store.head())
    assert [c.changes["text"] for c in found] == ["one", "two", "three"]
    assert [c.number for c in found] == [1, 2, 3]
    assert store.file(found[1], "a.txt").read_text() == "two"
    assert store.verify() == 8


def test_only_what_is_new_is_read(store):
    head = store.head()
    with store.writer("note"):
        store.append(note("four"), head)
    assert [c.number for c in store.commits(store.head(), after=head)] == [4]


def test_what_lies_beyond_head_is_ignored_then_removed(store):
    beyond = store.folder(4)
    beyond.mkdir()
    (beyond / "commit.json").write_text("half")
    (store.path / "commits" / f".new-{'a' * 32}").mkdir()
    (store.path / f".new-{'b' * 32}").mkdir()
    (store.path / "commits" / ".DS_Store").write_text("not ours")
    (store.path / ".HEAD.123").write_text("half")
    assert len(Store(store.path).commits(store.head())) == 3
    with store.writer("note"):
        left = sorted(p.name for p in (store.path / "commits").iterdir())
        assert left == [".DS_Store", "000001", "000002", "000003"]
        assert not list(store.path.glob(".new-*"))
        assert not (store.path / ".HEAD.123").exists()


def test_a_change_of_a_record_is_noticed(store):
    path = store.folder(2) / "commit.json"
    path.write_bytes(path.read_bytes().replace(b"two", b"owt"))
    with pytest.raises(InputError, match=r"000002/commit.json was changed"):
        store.commits(store.head())


def test_a_truncated_file_is_noticed_on_opening(store):
    (store.folder(2) / "a.txt").write_text("tw")
    with pytest.raises(InputError, match=r"a.txt has 2 bytes, written were 3"):
        store.commits(store.head())


def test_a_changed_file_is_noticed_on_reading(store):
    (store.folder(2) / "a.txt").write_text("TWO")
    found = store.commits(store.head())
    with pytest.raises(InputError, match=r"a.txt was changed"):
        store.file(found[1], "a.txt")
    with pytest.raises(InputError, match=r"a.txt was changed"):
        store.verify()


@pytest.mark.parametrize("name", ["commits/000003/commit.json", "commits/000001/a.txt", "HEAD"])
def test_a_missing_file_is_noticed(store, name):
    (store.path / name).unlink()
    with pytest.raises(InputError, match=f"{re.escape(name)} is (damaged or )?missing"):
        store.commits(store.head())


@pytest.mark.parametrize("content", [b"", b"3", b'{"commit": 3}', b"\x00\x00"])
def test_a_broken_head_is_noticed(store, content):
    (store.path / "HEAD").write_bytes(content)
    with pytest.raises(InputError, match="HEAD is damaged"):
        store.head()


def test_a_head_of_another_history_is_noticed(store):
    first = store.commits(store.head())[0]
    (store.path / "HEAD").write_text(json.dumps({"commit": 1, "sha256": first.parent or "x"}))
    with pytest.raises(InputError, match="was changed"):
        store.commits(store.head())


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), OSError(30, "Read-only file system")]
)
def test_a_disk_that_refuses_leaves_everything(store, tree, monkeypatch, error):
    before = tree(store.path)

    def refuse(*args, **kwargs):
        raise error

    with store.writer("note"):
        monkeypatch.setattr(os, "rename", refuse)
        with pytest.raises(InputError, match=error.strerror):
            store.append(note("four"), store.head())
    assert tree(store.path) == before


def test_an_interruption_leaves_everything(store, tree):
    before = tree(store.path)

    def interrupted(path):
        path.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), store.writer("note"):
        store.append(Draft("note", files={"a.txt": interrupted}), store.head())
    assert tree(store.path) == before


def test_a_writer_without_lock_is_caught(store, tree):
    old = store.head()
    with store.writer("note"):
        store.append(note("four"), old)
        before = tree(store.path)
        with pytest.raises(InputError, match="changed in spite of its lock"):
            store.append(note("four again"), old)
        assert tree(store.path) == before


def test_a_place_that_is_taken(store, tmp_path):
    with pytest.raises(InputError, match=r"a workspace at .* already"):
        Store.create(store.path, note("x"))
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("precious")
    with pytest.raises(InputError, match="not an empty folder"):
        Store.create(tmp_path / "full", note("x"))
    with pytest.raises(InputError, match=r"no folder .*missing"):
        Store.create(tmp_path / "missing" / "w", note("x"))


def test_the_empty_folder_one_stands_in_becomes_a_workspace(tmp_path, monkeypatch, tree):
    (tmp_path / "w").mkdir()
    monkeypatch.chdir(tmp_path / "w")
    made = Store.create(Path.cwd(), note("x"))
    assert made.head().number == 1
    assert sorted(p.name for p in Path().iterdir()) == [".lock", "HEAD", "commits", "workspace.json"]
    assert list(tree(made.path)) == list(tree(Store.create(tmp_path / "v", note("x")).path))


def test_what_a_killed_init_left_in_a_folder_is_in_nobodys_way(tmp_path):
    (tmp_path / "commits").mkdir()
    with pytest.raises(InputError, match="not an empty folder"):
        Store.create(tmp_path, note("x"))  # these commits may be somebody's
    (tmp_path / f".new-{'a' * 32}").mkdir()
    assert Store.create(tmp_path, note("x")).verify() == 4
    assert not list(tmp_path.glob(".new-*"))


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "w").write_text("x")
    with pytest.raises(InputError, match="is a file"):
        Store.create(tmp_path / "w", note("x"))


def test_an_empty_folder_is_empty_again_where_making_fails(tmp_path):
    def fails(path):
        raise OSError(28, "No space left on device")

    with pytest.raises(InputError, match="No space"):
        Store.create(tmp_path, Draft("note", files={"a": fails}))
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_where_making_fails(tmp_path):
    def fails(path):
        raise OSError(28, "No space left on device")

    with pytest.raises(InputError, match="No space"):
        Store.create(tmp_path / "w", Draft("note", files={"a": fails}))
    assert list(tmp_path.iterdir()) == []


def test_asides_of_the_dead_are_swept_and_those_of_the_living_stay(tmp_path):
    from vbcgcd.workspace.lock import WriteLock

    dead, living = tmp_path / ".w.new-1", tmp_path / ".w.new-2"
    dead.mkdir()
    living.mkdir()
    with WriteLock(living / ".lock", "init"):
        Store.create(tmp_path / "w", note("x"))
        assert not dead.exists()
        assert living.exists()


@pytest.mark.parametrize("content", ["{}", '{"format": "zip", "version": 1}', "hello"])
def test_what_is_no_workspace(tmp_path, content):
    with pytest.raises(InputError, match="There is no workspace"):
        Store(tmp_path)
    (tmp_path / "workspace.json").write_text(content)
    with pytest.raises(InputError, match=r"not of a workspace|damaged"):
        Store(tmp_path)


def test_a_later_format_is_refused_on_opening(store):
    about = store.path / "workspace.json"
    about.write_text(about.read_text().replace('"version": 1', '"version": 7'))
    with pytest.raises(InputError, match="update vbcgcd"):
        Store(store.path)


def test_before_the_first_commit():
    assert NOTHING.number == 0


def test_a_workspace_made_meanwhile_stays(tmp_path, monkeypatch, tree):
    """Two processes make one in the same empty folder; the other is through when this one gets the lock."""
    from vbcgcd.workspace.lock import WriteLock

    enter, theirs = WriteLock.__enter__, {}

    def late(lock):
        monkeypatch.setattr(WriteLock, "__enter__", enter)
        Store.create(tmp_path, note("theirs"))
        theirs.update(tree(tmp_path))
        return enter(lock)

    monkeypatch.setattr(WriteLock, "__enter__", late)
    with pytest.raises(InputError, match="already"):
        Store.create(tmp_path, note("ours"))
    assert tree(tmp_path) == theirs


def test_files_that_appear_while_making_fails_stay(tmp_path):
    def fails(path):
        (tmp_path / "thesis.txt").write_text("precious")
        (tmp_path / "pictures").mkdir()
        raise OSError(28, "No space left on device")

    with pytest.raises(InputError, match="No space"):
        Store.create(tmp_path, Draft("note", files={"a": fails}))
    assert sorted(part.name for part in tmp_path.iterdir()) == ["pictures", "thesis.txt"]


@pytest.mark.parametrize(
    "name", ["workspace.json", "HEAD", "head", ".lock", "commits/x.zip", "commits/000001/a.txt"]
)
def test_parts_of_the_workspace_are_no_targets(store, tmp_path, name):
    (tmp_path / "elsewhere").symlink_to(store.path)
    (tmp_path / "link.zip").symlink_to(store.path / name)
    for path in (store.path / name, tmp_path / "elsewhere" / name, tmp_path / "link.zip"):
        with pytest.raises(InputError, match="belongs to the workspace itself"):
            store.check_target(path)
    for path in (store.path / "report.html", tmp_path / "HEAD"):
        store.check_target(path)


@pytest.mark.parametrize("content", [b"", b'{"commit": 3}', b"\x00\x00"])
def test_a_broken_head_is_told_once(store, content):
    (store.path / "HEAD").write_bytes(content)
    with pytest.raises(InputError) as told:
        store.head()
    assert str(told.value).count("restore the workspace") == str(told.value).count("HEAD") == 1
