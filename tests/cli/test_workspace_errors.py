"""Wrong input: one clear message on the error stream, exit code 2, and no file changed."""

import errno
import os
import shlex

import numpy as np
import pytest

from vbcgcd.workspace.lock import WriteLock


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


CASES = {
    "learn ../absent.csv": "There is no file or folder ../absent.csv",
    "learn ../empty.csv": "../empty.csv is empty",
    "learn ../header.csv": "has no rows",
    "learn ../no-rows.npz": "no-rows.npz is empty",
    "discover ../wide.npz": "have 6 numbers, those of ../wide.npz have 9",
    "discover ../nan.npz": "NaN",
    "predict ../texts.csv": "This workspace is for embeddings, ../texts.csv holds texts",
    "learn ../two.csv": "could hold text ('text') or embedding",
    "learn ../mixed.jsonl": "../mixed.jsonl",
    "learn ../mixed-labels.jsonl": "mix numbers (1) and strings ('x')",
    "learn ../latin.csv": "is not UTF-8 in line 2",
    "learn ../images.csv": "2 of 2 image files",
    "learn ../sheet.xlsx": "Unsupported file type '.xlsx'",
    "learn .": ". is a workspace, not data",
    "learn ../folder": "holds no pictures",
    "learn ../batch.npz": "has no labels; say with --label",
    "learn ../labelled.npz": "is session 0 already",
    "discover ../batch.npz": "give --again to use it once more",
    "learn ../labelled.npz --label z --again": "no array 'z'",
    "learn ../texts.csv --text body": "no column 'body'",
    "learn": "Missing argument 'DATA'",
    "discover ../batch.npz --n-novel 0": "--n-novel",
    "discover ../batch.npz --n-novel 51 --again": "--n-novel must be a whole number from 0 to 50",
    "discover ../batch.npz --again --n-novel 99999999999999999999": "leave it out to estimate it",
    "discover .": "is a workspace",
    "predict ../probe.npz --reject 2": "reject must be",
    "predict ../probe.npz -o ../probe.npz": "not known by its ending",
    "predict ../texts.csv -o ../texts.csv": "is the data itself",
    "predict ../texts.csv -o ../folder/../texts.csv": "is the data itself",
    "predict ../probe.npz -o ../no/x.csv": "There is no folder",
    "predict ../probe.npz -o x.txt": ".csv, .jsonl, .parquet",
    "predict ../probe.npz --split x": "--split takes",
    "explain nothing": "There is no file 'nothing' (this workspace is for embeddings)",
    "explain ../probe.npz --row 40": "at most 39",
    "explain ../a.png": "../a.png",
    "categories show 99": "There is no category 99",
    "categories show 1000000000000000000000000": "There is no category '1000000000000000000000000'",
    "categories show cta": "did you mean 0 'cat'?",
    "categories rename 0 dog": "'dog' is the name of category 1",
    "categories rename 0 ''": "must be text that is not empty",
    "categories merge 0": "at least two",
    "categories merge 0 cat": "different categories",
    "categories split 0 ../probe.npz --parts 30": "takes at least 60",
    "categories split 0 ../probe.npz --name x": "2 different names",
    "categories split 0 .": "is a workspace",
    "categories drop x": "There is no category 'x'",
    "categories undo": "Use 'vbcgcd undo'",
    "categories redo": "nothing to redo",
    "categories --sort weight": "--sort",
    "categories --json show 0": "--json stands before 'show'",
    "categories --all drop 0": "--all stands before 'drop'",
    "redo": "nothing to redo",
    "init": "There is a workspace at",
    "init inner": "would lie inside the workspace",
    "init ../folder/x/y": "There is no folder",
    "init ../probe.npz": "is a file",
    "init ../n --set x": "--set takes",
    "init ../n --set colour=1": "no setting 'colour'",
    "init ../n --set model.colour=1": "no option 'colour'",
    "init ../n --set reject.x=1": "not a part of a setting",
    "init ../n --kind video": "kind must be one of",
    "import ../broken.zip ../n": "is not a complete export",
    "import ../absent.zip ../n": "There is no file ../absent.zip",
    "import ../probe.npz ../n": "is not an export",
    "import ../broken.zip inner": "would lie inside the workspace",
    "export ../broken.zip": "exists already",
    "export ../no/x.zip": "there is no folder",
    "config colour": "no setting 'colour'",
    "config colour 1": "no setting 'colour'",
    "config sample many": "sample must be a whole number",
    "config model.covariance full": "cannot change after the base session",
    "report -o x.txt": "ends in .html",
    "report -o ../no/x.html": "there is no folder",
    "status -w ../folder": "make one with 'vbcgcd init ../folder'",
    "status -w ../absent": "There is no workspace at ../absent",
}


@pytest.mark.parametrize("line", CASES)
def test_wrong_input_is_one_message_and_changes_nothing(line, run, animals, data, tree, place):
    before = tree(place)
    result = run(*shlex.split(line), code=2)
    assert CASES[line] in " ".join(result.stderr.replace("│", " ").split())
    assert result.stdout == ""
    assert tree(place) == before


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
        ("categories show cat", "vbcgcd learn"),
        ("categories drop 0", "category 0"),
        ("undo", "nothing left to undo"),
        ("learn ../batch.npz", "no labels"),
    ],
)
def test_what_needs_a_base_session_says_so(line, word, run, template, tree, monkeypatch, place):
    run("init", "new")
    (place / "batch.npz").write_bytes((template / "batch.npz").read_bytes())
    monkeypatch.chdir(place / "new")
    before = tree(place)
    assert word in run(*line.split(), code=2).stderr
    assert tree(place) == before


def test_another_writer_is_named(run, animals, tree):
    with WriteLock(animals / ".lock", "discover"):
        before = tree(animals)
        for line in ("learn ../labelled.npz", "categories drop 0", "undo", "config sample 1"):
            message = run(*line.split(), code=2).stderr
            assert f"process {os.getpid()}" in message
            assert "discover, since" in message
        assert tree(animals) == before
        run("categories")  # readers need not wait
    run("categories", "drop", 0)


def test_a_disk_that_cannot_be_written_is_one_message(run, animals, tree, monkeypatch):
    def refuse(*args, **kwargs):
        raise OSError(errno.EROFS, "Read-only file system")

    before = tree(animals)
    monkeypatch.setattr("vbcgcd.workspace.lock.os.open", refuse)
    for line in ("learn ../labelled.npz", "categories rename 0 lion", "undo"):
        assert "Read-only file system" in run(*line.split(), code=2).stderr
    monkeypatch.setattr("tempfile.mkstemp", refuse)
    for line in ("predict ../probe.npz -o out.csv", "report"):
        assert "Read-only file system" in run(*line.split(), code=2).stderr
    monkeypatch.undo()
    assert tree(animals) == before


@pytest.mark.skipif(getattr(os, "geteuid", int)() == 0, reason="the superuser may write everywhere")
def test_a_folder_without_permission_is_one_message(run, animals, tree):
    before = tree(animals)
    animals.chmod(0o555)
    try:
        assert "Permission denied" in run("predict", "../probe.npz", "-o", "out.csv", code=2).stderr
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
    assert max(map(len, output.splitlines())) <= 100
    assert len(output) < 3000


def test_other_embedders_are_refused(run, letters, tree, place, monkeypatch):
    np.savez(place / "other.npz", x=np.ones((3, 6)), embedder="minilm", fingerprint="f" * 32)
    before = tree(place)
    message = run("discover", "../other.npz", code=2).stderr
    assert "This workspace is for texts" in message
    monkeypatch.setattr("vbcgcd.workspace.data.make_embedder", lambda name, *, kind, **o: other)

    class Other:
        name, kind, fingerprint, batch_size, dimension = "other", "text", "other-1", 64, 6

    other = Other()
    message = run("discover", "../batch.csv", "--again", code=2).stderr
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
