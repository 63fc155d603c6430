import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from vbcgcd.errors import InputError
from vbcgcd.workspace import Workspace
from vbcgcd.workspace.lock import WriteLock

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
PREDICT = """
import sys
import time
import numpy as np
from vbcgcd.workspace import Workspace
found = Workspace.open(sys.argv[1]).predict(np.load(sys.argv[2]), reject=0.05)
parts = (found.category, found.probability, found.novelty, found.second, found.second_probability)
print("".join(part.tobytes().hex() for part in parts), found.name)
"""


def run(*arguments):
    done = subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_another_process_predicts_bit_for_bit_the_same(animals, blobs, tmp_path):
    np.save(tmp_path / "probe.npy", blobs.probe)
    found = animals.predict(blobs.probe, reject=0.05)
    parts = (found.category, found.probability, found.novelty, found.second, found.second_probability)
    expected = "".join(part.tobytes().hex() for part in parts)
    assert run("-c", PREDICT, animals.path, tmp_path / "probe.npy") == f"{expected} {found.name}\n"


def test_two_objects_see_each_others_commits(animals, blobs, answers):
    other = Workspace.open(animals.path)
    animals.rename(0, "tom")
    assert other.category("tom").id == 0
    other.merge([0, 1], name="pet")
    animals.drop("pet")
    assert answers(animals, blobs.probe) == answers(other, blobs.probe)


def test_a_folder_replaced_by_an_older_copy_is_read_anew(animals, template, blobs, answers):
    before = answers(animals, blobs.probe)
    animals.drop(0)
    shutil.rmtree(animals.path)
    shutil.copytree(template, animals.path)
    assert answers(animals, blobs.probe) == before


def bad_files(folder):
    """Files that no command can use."""
    (folder / "empty.csv").write_text("")
    (folder / "header.csv").write_text("text,label\n")
    (folder / "columns.csv").write_text("colour,size\nred,big\nblue,small\n")
    (folder / "cut.npy").write_bytes(b"\x93NUMPY\x01")
    (folder / "pictures").mkdir()
    np.save(folder / "wide.npy", np.ones((4, 9)))
    np.save(folder / "nan.npy", np.full((4, 6), np.nan))
    names = (
        "empty.csv",
        "header.csv",
        "columns.csv",
        "cut.npy",
        "pictures",
        "wide.npy",
        "nan.npy",
        "gone.csv",
    )
    return [folder / name for name in names]


def commands(workspace, data):
    return [
        lambda: workspace.learn(data, label="label" if data.suffix == ".csv" else None),
        lambda: workspace.discover(data),
        lambda: workspace.predict(data),
        lambda: workspace.split("cat", data),
        lambda: workspace.explain(data),
    ]


def test_bad_files_are_one_clear_error_and_change_nothing(animals, tmp_path, tree):
    files = bad_files(tmp_path)
    before = tree(animals.path)
    for data in files:
        for command in commands(animals, data):
            with pytest.raises(InputError):
                command()
    assert tree(animals.path) == before


@pytest.mark.parametrize("n_novel", [-1, 1.5, 1000, "two"])
def test_a_wrong_number_changes_nothing(animals, blobs, tree, n_novel):
    before = tree(animals.path)
    with pytest.raises(InputError, match="n_novel must be"):
        animals.discover(blobs.batch, n_novel)
    assert tree(animals.path) == before


def writing_commands(workspace, blobs):
    return {
        "learn": lambda: workspace.learn(blobs.rows, blobs.labels),
        "discover": lambda: workspace.discover(blobs.batch, n_novel=1),
        "rename": lambda: workspace.rename(0, "tom"),
        "merge": lambda: workspace.merge([0, 1]),
        "split": lambda: workspace.split(0, blobs.rows),
        "drop": lambda: workspace.drop(0),
        "undo": workspace.undo,
        "configure": lambda: workspace.configure(reject=0.1),
    }


def test_a_held_lock_stops_every_writer_and_no_reader(animals, blobs, tree):
    before = tree(animals.path)
    with WriteLock(animals.path / ".lock", "discover"):
        for command in writing_commands(animals, blobs).values():
            with pytest.raises(InputError, match=f"being changed by process {os.getpid()}"):
                command()
        assert len(animals.predict(blobs.probe)) == 40
        assert len(Workspace.open(animals.path).categories()) == 5
    assert tree(animals.path) == before


@pytest.mark.parametrize("call", ["mkdir", "rename", "replace", "fsync"])
def test_a_disk_that_refuses_changes_nothing(animals, blobs, tree, monkeypatch, call):
    before = tree(animals.path)

    def refuse(*args, **kwargs):
        raise OSError(30, "Read-only file system")

    for command in writing_commands(animals, blobs).values():
        monkeypatch.setattr(os, call, refuse)
        with pytest.raises(InputError, match="Read-only file system"):
            command()
        monkeypatch.undo()
        assert tree(animals.path) == before


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="nothing is read-only for root")
def test_a_read_only_folder_can_be_read(animals, blobs):
    folders = [animals.path, *(p for p in animals.path.rglob("*") if p.is_dir())]
    try:
        for folder in folders:
            folder.chmod(0o555)
        (animals.path / ".lock").chmod(0o444)
        assert len(Workspace.open(animals.path).predict(blobs.probe)) == 40
        with pytest.raises(InputError, match="Cannot write"):
            animals.drop(0)
    finally:
        for folder in folders:
            folder.chmod(0o755)


def test_there_is_an_end_to_undo_and_redo(animals):
    with pytest.raises(InputError, match="nothing to redo"):
        animals.redo()
    assert [animals.undo().of_command for _ in range(2)] == ["discover", "learn"]
    with pytest.raises(InputError, match="nothing left to undo"):
        animals.undo()
    assert [animals.redo().of_command for _ in range(2)] == ["learn", "discover"]
    animals.undo()
    animals.rename(0, "tom")
    with pytest.raises(InputError, match="nothing to redo"):
        animals.redo()


def test_the_embedder_is_remembered(template):
    workspace = Workspace.open(template)
    assert workspace.embedder == {
        "name": "array",
        "kind": "embedding",
        "fingerprint": "array",
        "dimension": 6,
    }
    assert workspace.last_commit == 3
    assert "5 categories" in repr(workspace)


def test_another_embedder_is_refused_by_every_command(tmp_path, words, tree):
    texts = [f"{word} {i}" for word in ("card", "rain") for i in range(8)]
    workspace = Workspace.init(tmp_path / "w", embedder=words, model={"count": "evidence"})
    workspace.learn(texts, np.repeat(["pay", "wet"], 8))
    before = tree(workspace.path)
    words.fingerprint = "words-2"
    for command in (workspace.discover, workspace.predict, workspace.explain):
        with pytest.raises(InputError, match=r"made with the embedder 'words' \(fingerprint words-1\)"):
            command(texts)
    assert tree(workspace.path) == before


def test_tables_of_texts_work_from_end_to_end(tmp_path, words):
    rows = [f"u{w}{i},{w} {w} now {i},{w}ing" for w in ("card", "rain", "table") for i in range(8)]
    (tmp_path / "base.csv").write_text("\n".join(["id,text,intent", *rows]))
    new = [f'{{"text": "{w} {w} now {i}"}}' for w in ("music", "rain") for i in range(8)]
    (tmp_path / "week.jsonl").write_text("\n".join(new))
    workspace = Workspace.init(tmp_path / "w", embedder=words, model={"count": "evidence"})
    learned = workspace.learn(tmp_path / "base.csv")
    assert set(learned.categories.values()) == {"carding", "raining", "tableing"}
    found = workspace.discover(tmp_path / "week.jsonl", n_novel=1)
    assert found.novel_rows == 8
    assert workspace.predict(tmp_path / "base.csv").references[0] == "ucard0"
    [novel] = found.categories
    samples = {c.id: c.samples for c in workspace.categories()}
    assert set(samples[novel]) <= {str(i) for i in range(8)}
    assert samples[0][0].startswith("ucard")


def test_killed_at_random_moments_it_is_whole():
    told = run(BENCHMARKS / "kill_workspace.py", "--kills", 8)
    assert "8 kills" in told
    assert "whole after every one" in told


def test_killed_before_every_step_on_the_disk_it_is_whole():
    told = run(BENCHMARKS / "kill_workspace.py", "--steps", "--command", "merge")
    assert "merge      before" in told
    assert "merge      after" in told


def test_a_year_grows_only_by_what_is_new(tmp_path, monkeypatch, tree):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import year

    settings = {"model": {"count": "evidence", "n_components": 8}, "sample": 0}
    workspace, stream, weeks = year.run(tmp_path / "w", weeks=9, rows=120, **settings)
    quiet = [week.grown for week in weeks if week.novel == 0]
    assert len(quiet) >= 4
    assert max(quiet) < 1.1 * min(quiet)  # no matter how many categories there are by then
    posterior = workspace._shelf.knowledge(workspace._history.state).posterior
    each = posterior.nbytes / len(posterior)
    found = [week for week in weeks if week.novel]
    assert found
    for week in found:
        assert week.grown < max(quiet) + week.novel * (each + 400) + 600
    before = tree(tmp_path / "w" / "commits")
    workspace.discover(stream.batch(1, 120), n_novel=0)
    after = tree(tmp_path / "w" / "commits")
    assert {name: after[name] for name in before} == before


def test_undo_of_a_command_that_is_meant_refuses_another(animals):
    meant = animals.rename(0, "puss").commit
    later = animals.rename(1, "hound").commit
    with pytest.raises(InputError, match=rf"command {later} \(rename\) came in between"):
        animals.undo(commit=meant)
    assert animals.undo(commit=later).of_commit == later
    assert animals.undo(commit=meant).of_commit == meant
    with pytest.raises(InputError, match="in between"):
        animals.redo(commit=later)
    assert animals.redo(commit=meant).of_commit == meant


@pytest.mark.parametrize("name", ["path", "self", "cls", "colour"])
def test_a_setting_that_is_none_is_told_with_those_that_are(animals, tmp_path, tree, name):
    before = tree(tmp_path)
    with pytest.raises(InputError, match=f"no setting '{name}'; the settings are kind, embedder"):
        Workspace.init(tmp_path / "w", **{name: 1})
    for given in (name, "cache", "lock_timeout", "changes"):
        with pytest.raises(InputError, match=f"no setting '{given}'; the settings are kind, embedder"):
            animals.configure(**{given: 1})
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"embedder": 5}, "embedder must be an object with the protocol"),
        ({"embedder": np.mean}, "embedder must be an object with the protocol"),
        ({"lock_timeout": -1}, "lock_timeout must be"),
        ({"model": {"covariance": "round"}}, "covariance must be one of"),
    ],
)
def test_a_wrong_option_makes_no_workspace(tmp_path, options, message):
    with pytest.raises(InputError, match=message):
        Workspace.init(tmp_path / "w", **options)
    assert list(tmp_path.iterdir()) == []


def test_the_embedder_may_be_a_path(tmp_path, animals):
    assert Workspace.init(tmp_path / "w", embedder=Path("a/b")).config()["embedder"] == str(Path("a/b"))
    assert animals.configure(embedder=Path("a/b")).config["embedder"] == str(Path("a/b"))


def test_a_file_is_used_once_unless_told_otherwise(animals, blobs, tmp_path, tree):
    np.savez(tmp_path / "monday.npz", x=blobs.batch)
    animals.discover(tmp_path / "monday.npz", n_novel=0)
    copy = Path(shutil.copy(tmp_path / "monday.npz", tmp_path / "copy.npz"))
    before = tree(animals.path)
    with pytest.raises(
        InputError, match=r"^copy\.npz is session 2 already \(discover, \S+ \d\d:\d\d\); give again=True to"
    ):
        animals.discover(copy)
    assert tree(animals.path) == before
    assert animals.discover(copy, n_novel=0, again=True).session == 3
    assert animals.history()[-1].parameters == {"n_novel": 0, "again": True}
    animals.undo()
    animals.undo()
    assert animals.discover(copy, n_novel=0).session == 4
    np.savez(tmp_path / "labelled.npz", x=blobs.batch[:9], y=["cat"] * 9)
    animals.learn(tmp_path / "labelled.npz")
    with pytest.raises(InputError, match=r"labelled\.npz is session 5 already \(learn"):
        animals.learn(tmp_path / "labelled.npz", update_known=True)
    assert animals.discover(tmp_path / "labelled.npz", n_novel=0).session == 6  # another command


def test_other_rows_of_a_file_are_other_data(tmp_path, words):
    rows = [f"{w} {w} {i},{w},{'ab'[i % 2]}" for w in ("card", "rain") for i in range(16)]
    (tmp_path / "all.csv").write_text("\n".join(["text,label,part", *rows]))
    workspace = Workspace.init(tmp_path / "w", embedder=words, model={"count": "evidence"})
    for part in "ab":
        assert workspace.learn(tmp_path / "all.csv", split=("part", part)).rows == 16
    with pytest.raises(InputError, match=r"all\.csv is session 0 already"):
        workspace.learn(tmp_path / "all.csv", split=("part", "a"))


def test_a_folder_is_used_again_once_something_in_it_changed(tmp_path):
    image = pytest.importorskip("PIL.Image")

    class Colours:
        name, kind, dimension, fingerprint, batch_size = "colours", "image", 3, "colours-1", 64

        def embed(self, items):
            return np.array([np.asarray(item, dtype=float).mean(axis=(0, 1)) for item in items])

    for i in range(12):
        (tmp_path / "data" / "ab"[i % 2]).mkdir(parents=True, exist_ok=True)
        colour = (9 * i, 200 * (i % 2), 5)
        image.new("RGB", (2, 2), colour).save(tmp_path / "data" / "ab"[i % 2] / f"{i}.png")
    workspace = Workspace.init(tmp_path / "w", embedder=Colours(), cache=False, model={"count": "evidence"})
    workspace.learn(tmp_path / "data")
    with pytest.raises(
        InputError, match=r"^data is session 0 already \(learn, .*\) and has not changed since;"
    ):
        workspace.learn(str(tmp_path / "data") + "/b/..")
    shutil.copytree(tmp_path / "data", tmp_path / "other")
    assert workspace.learn(tmp_path / "other").session == 1  # another folder
    later = time.time() + 5
    os.utime(tmp_path / "data" / "a" / "0.png", (later, later))
    assert workspace.learn(tmp_path / "data").session == 2
    assert workspace.learn(tmp_path / "other", again=True).session == 3
