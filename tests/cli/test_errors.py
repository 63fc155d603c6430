"""Errors of users: one clear message on the error stream, the exit code of its kind, and no file changed."""

import errno
import json
import os
import shlex
import stat

import numpy as np
import pytest

from vbcgcd.cli.common import ExitCode
from vbcgcd.workspace.log.lock import WriteLock


@pytest.fixture
def data(place):
    """Files that something is wrong with."""
    rng = np.random.default_rng(0)
    np.savez(place / "wide.npz", x=rng.normal(size=(5, 9)))
    np.savez(place / "nan.npz", x=np.full((5, 6), np.nan))
    np.savez(place / "no-rows.npz", x=np.zeros((0, 6)))
    numbers = "1,2,3,4,5,6"
    texts = {
        "empty.csv": "",
        "header.csv": "text,label\n",
        "texts.csv": "text,label\nhello,a\nbye,b\n",
        "two.csv": f"text,{','.join(f'e{k}' for k in range(8))}\nhello,1,2,3,4,5,6,7,8\n",
        "mixed.jsonl": '{"embedding": [1, 2, 3, 4, 5, 6]}\n{"embedding": "hello"}\n',
        "mixed-labels.jsonl": f'{{"v": [{numbers}], "label": 1}}\n{{"v": [{numbers}], "label": "x"}}\n',
        "images.csv": "image,label\na.png,x\nb.png,y\n",
        "sheet.xlsx": "x",
        "broken.zip": "x",
    }
    for name, text in texts.items():
        (place / name).write_text(text)
    (place / "latin.csv").write_bytes("text,label\ncafé,a\n".encode("latin-1"))
    (place / "folder").mkdir()


#: A command line, and what its message has to name: the file, value, option or command that matters.
CASES = {
    "learn ../absent.csv": "../absent.csv",
    "learn ../empty.csv": "../empty.csv",
    "learn ../header.csv": "no rows",
    "learn ../no-rows.npz": "../no-rows.npz",
    "discover ../wide.npz": "9",
    "discover ../nan.npz": "NaN",
    "predict ../texts.csv": "../texts.csv",
    "learn ../two.csv": "../two.csv",
    "learn ../mixed.jsonl": "../mixed.jsonl",
    "learn ../mixed-labels.jsonl": "'x'",
    "learn ../latin.csv": "line 2",
    "learn ../images.csv": "2 of 2",
    "learn ../sheet.xlsx": "sheet.xlsx",
    "learn .": "workspace",
    "learn ../folder": "../folder",
    "learn ../batch.npz": "label",
    "learn ../labelled.npz": "session 0",
    "discover ../batch.npz": "session 1",
    "learn ../labelled.npz --label z --again": "'z'",
    "learn ../texts.csv --text body": "'body'",
    "learn": "DATA",
    "discover ../batch.npz --again --n-novel -1": "--n-novel",
    "discover ../batch.npz --n-novel 51 --again": "from 0 to 50",
    "discover ../batch.npz --again --n-novel 99999999999999999999": "from 0 to 50",
    "discover .": "is a workspace",
    "predict ../probe.npz --reject 2": "2",
    "predict ../probe.npz -o ../probe.npz": "--output",
    "predict ../texts.csv -o ../texts.csv": "--output: ../texts.csv is the data",
    "predict ../texts.csv -o ../folder/../texts.csv": "is the data",
    "predict ../probe.npz -o ../no/x.csv": "--output: There is no folder",
    "predict ../probe.npz -o x.txt": "'.txt'",
    "predict ../probe.npz --split x": "--split",
    "explain nothing": "'nothing'",
    "explain ../probe.npz --row 40": "39",
    "explain ../a.png": "../a.png",
    "categories show 99": "99",
    "categories show 1000000000000000000000000": "'1000000000000000000000000'",
    "categories show cta": "Did you mean 0 'cat'?",
    "categories rename 0 dog": "'dog'",
    "categories rename 0 ''": "empty",
    "categories merge 0": "two",
    "categories merge 0 cat": "different",
    "categories split 0 ../probe.npz --parts 99": "198",
    "categories split 0 ../probe.npz --name x": "2",
    "categories split 0 .": "is a workspace",
    "categories drop x": "'x'",
    "categories undo": "'vbcgcd undo'",
    "categories redo": "redo",
    "categories --sort weight": "--sort",
    "categories --json show 0": "Put --json after 'show'",
    "categories --all drop 0": "Put --all after 'drop'",
    "redo": "redo",
    "init": "workspace",
    "init inner": "inside the workspace",
    "init ../folder/x/y": "folder",
    "init ../probe.npz": "is a file",
    "init ../n --set x": "--set",
    "init ../n --set colour=1": "'colour'",
    "init ../n --set model.colour=1": "'colour'",
    "init ../n --set reject.x=1": "'reject.x'",
    "init ../n --kind video": "'video'",
    "import ../absent.zip ../n": "../absent.zip",
    "import ../probe.npz ../n": "not an export",
    "import ../broken.zip inner": "inside the workspace",
    "export ../broken.zip": "--force",
    "export ../no/x.zip": "no folder",
    "config colour": "'colour'",
    "config colour 1": "'colour'",
    "config sample many": "'many'",
    "config model.covariance full": "model",
    "report -o x.txt": "--output",
    "report -o ../no/x.html": "no folder",
    "status -w ../folder": "'vbcgcd init ../folder'",
    "status -w ../absent": "../absent",
}


#: Of these, nothing is wrong with the input; there is only nothing to do.
NOTHING = {"learn ../header.csv", "learn ../no-rows.npz", "learn ../folder", "categories redo", "redo"}


@pytest.mark.parametrize("line", CASES)
def test_wrong_input_is_one_message_and_changes_nothing(line, run, animals, data, tree, place):
    before = tree(place)
    result = run(*shlex.split(line), code=ExitCode.NOTHING if line in NOTHING else ExitCode.INPUT)
    assert CASES[line] in " ".join(result.stderr.replace("│", " ").split())
    assert result.stdout == ""
    assert tree(place) == before


def test_nothing_to_undo_is_not_wrong_input(run, place, monkeypatch):
    run("init", "new")
    monkeypatch.chdir(place / "new")
    assert run("undo", code=ExitCode.NOTHING).stderr == "Error: Nothing to undo.\n"


@pytest.mark.parametrize(
    "line",
    [
        "learn x.csv",
        "discover x.csv",
        "predict x.csv",
        "explain hello",
        "categories",
        "categories show 1",
        "undo",
        "redo",
        "sessions",
        "config",
        "report",
        "export x.zip",
        "status",
        "verify",
    ],
)
def test_without_a_workspace_every_command_says_how_to_make_one(line, run, place):
    assert "vbcgcd init NAME" in run(*line.split(), code=2).stderr
    assert list(place.iterdir()) == []


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("discover ../batch.npz", "learn"),
        ("predict ../batch.npz", "learn"),
        ("explain hello", "learn"),
        ("categories show cat", "learn"),
        ("categories drop 0", "learn"),
        ("learn ../batch.npz", "label"),
    ],
)
def test_what_needs_a_base_session_says_so(line, word, run, template, tree, monkeypatch, place):
    run("init", "new")
    (place / "batch.npz").write_bytes((template / "batch.npz").read_bytes())
    monkeypatch.chdir(place / "new")
    before = tree(place)
    assert word in run(*line.split(), code=2).stderr
    assert tree(place) == before


def test_a_damaged_export_is_told_from_wrong_input(run, place, data, tree):
    before = tree(place)
    assert "broken.zip" in run("import", "broken.zip", "n", code=ExitCode.DAMAGED).stderr
    assert tree(place) == before


def test_another_writer_is_named(run, animals, tree):
    with WriteLock(animals / ".lock", "discover"):
        before = tree(animals)
        for line in ("learn ../labelled.npz", "categories drop 0", "undo", "config sample 1"):
            message = run(*line.split(), code=ExitCode.BUSY).stderr
            assert f"process {os.getpid()}" in message
            assert "discover, since" in message
        assert tree(animals) == before
        run("categories")  # readers need not wait
    run("categories", "drop", 0)


def test_a_disk_that_cannot_be_written_is_one_message(run, animals, tree, monkeypatch):
    def refuse(*args, **kwargs):
        raise OSError(errno.EROFS, "Read-only file system")

    before = tree(animals)
    monkeypatch.setattr("vbcgcd.workspace.log.lock.os.open", refuse)
    for line in ("learn ../labelled.npz", "categories rename 0 lion", "undo"):
        assert "Read-only file system" in run(*line.split(), code=ExitCode.DISK).stderr
    monkeypatch.undo()
    monkeypatch.chdir(animals)
    monkeypatch.setattr("vbcgcd.archive.tempfile.mkstemp", refuse)
    for line in ("predict ../probe.npz -o out.csv", "report"):
        assert "Read-only file system" in run(*line.split(), code=ExitCode.DISK).stderr
    monkeypatch.undo()
    assert tree(animals) == before


def test_a_full_disk_while_a_session_is_written_changes_nothing(run, animals, tree, monkeypatch):
    def refuse(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    before = tree(animals)
    monkeypatch.setattr("vbcgcd.workspace.log.disk.os.fsync", refuse)
    for line in ("discover ../batch.npz --again --n-novel 2", "categories rename 0 lion"):
        assert "No space left on device" in run(*line.split(), code=ExitCode.DISK).stderr
    monkeypatch.undo()
    monkeypatch.chdir(animals)
    assert tree(animals) == before


@pytest.mark.skipif(getattr(os, "geteuid", int)() == 0, reason="the superuser may write everywhere")
def test_a_folder_without_permission_is_one_message(run, animals, tree):
    before = tree(animals)
    animals.chmod(0o555)
    try:
        result = run("predict", "../probe.npz", "-o", "out.csv", code=ExitCode.DISK)
        assert "Permission denied" in result.stderr
    finally:
        animals.chmod(0o755)
    assert tree(animals) == before


def test_a_label_of_ten_megabytes_is_refused(run, animals, place, tree):
    (place / "huge.csv").write_text(f"e0,e1,e2,e3,e4,e5,label\n1,2,3,4,5,6,{'a' * 10_000_000}\n")
    before = tree(place)
    message = run("learn", "../huge.csv", code=2).stderr
    assert "has 10000000 characters" in message
    assert len(message) < 500
    assert tree(place) == before


def test_a_text_of_ten_megabytes_is_taken_and_shown_cut(run, letters, place):
    (place / "huge.csv").write_text(f"text\n{'card' * 2_500_000}\ncard card\n")
    output = run("predict", "../huge.csv").output
    assert max(map(len, output.splitlines())) <= 200
    assert len(output) < 3000


def test_other_embedders_are_refused(run, letters, tree, place, monkeypatch):
    np.savez(place / "other.npz", x=np.ones((3, 6)), embedder="minilm", fingerprint="f" * 32)
    (place / "new.csv").write_text("text\nnever embedded before\nnor was this\n")
    before = tree(place)
    message = run("discover", "../other.npz", code=2).stderr
    assert "This workspace is for texts" in message
    monkeypatch.setattr("vbcgcd.workspace.batch.make_embedder", lambda name, *, kind, **o: other)

    class Other:
        name, kind, fingerprint, batch_size, dimension = "other", "text", "other-1", 64, 6

    other = Other()
    message = run("discover", "../new.csv", code=2).stderr
    assert "was made with the embedder 'words'" in message
    assert tree(place) == before


def test_items_that_cannot_be_embedded_are_named_and_the_rest_is_read(run, letters, place):
    (place / "some.csv").write_text('text\ncard card\n""\ntable table\n')
    result = run("predict", "../some.csv", "-o", "out.csv")
    assert "1 of 3 items could not be embedded" in result.stderr
    assert "1: " in result.stderr
    assert (letters / "out.csv").read_text().splitlines()[2].startswith("2,")


def test_an_error_with_json_leaves_standard_output_empty(run, animals):
    result = run("categories", "show", "99", "--json", code=2)
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")


def test_escapes_in_a_message_do_not_reach_the_terminal(run, animals):
    result = run("learn", "\x1b[31mred.csv", code=2)
    assert "\x1b" not in result.stderr
    assert "red.csv" in result.stderr


@pytest.mark.parametrize("line", ["categories rename 0 lion", "config reject 0.1", "undo", "verify"])
def test_a_shortage_that_passes_is_called_passing(run, animals, tree, monkeypatch, line):
    def refuse(path):
        raise OSError(errno.EMFILE, "Too many open files")

    before = tree(animals)
    monkeypatch.setattr("pathlib.Path.read_bytes", refuse)
    message = run(*line.split(), "--workspace", animals, code=ExitCode.DISK).stderr
    monkeypatch.undo()
    assert "Too many open files" in message
    assert "passes" in message
    assert not any(word in message for word in ("damaged", "restore", "init"))
    assert tree(animals) == before


def test_what_was_done_but_not_confirmed_has_a_code_of_its_own(run, animals, monkeypatch):
    def fail(handle):
        if stat.S_ISDIR(os.fstat(handle).st_mode) and (animals / "commits" / "000004").exists():
            raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("vbcgcd.archive.os.fsync", fail)
    message = run("categories", "rename", 0, "lion", code=ExitCode.UNCONFIRMED).stderr
    assert "carried out" in message
    assert "nothing was changed" not in message
    monkeypatch.undo()
    monkeypatch.chdir(animals)
    assert '"lion"' in run("categories", "--json").stdout


def test_repair_tells_what_it_did_and_newer_commits_are_told_of(run, animals):
    assert "Nothing to repair: commit 3" in run("repair").stdout
    head = (animals / "HEAD").read_bytes()
    run("categories", "rename", 0, "lion")
    run("categories", "rename", 0, "puma")
    (animals / "HEAD").write_bytes(head)
    result = run("status")
    assert "Note: HEAD of" in result.stderr
    assert "repair" in result.stderr
    repaired = run("repair").stdout
    assert "Commit 5 is in effect now" in repaired
    assert "2 commits in effect again: 4 and 5" in repaired
    (animals / "commits/000005/commit.json").unlink()
    assert "vbcgcd" not in run("status", code=ExitCode.DAMAGED).stdout
    assert json.loads(run("repair", "--json").stdout)["commit"] == 4
    (animals / "workspace.json").unlink()
    assert "workspace.json" in run("repair", "--workspace", animals).stdout
    run("verify")
