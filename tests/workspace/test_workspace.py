import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from vbcgcd.errors import DiskError, InputError, WorkspaceBusy
from vbcgcd.workspace import Workspace
from vbcgcd.workspace.log.lock import WriteLock

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
    with pytest.raises(InputError) as caught:
        animals.discover(blobs.batch, n_novel)
    assert caught.value.option == "n_novel"
    assert tree(animals.path) == before


def writing_commands(workspace, blobs):
    return {
        "learn": lambda: workspace.learn(blobs.rows, blobs.labels),
        "discover": lambda: workspace.discover(blobs.batch, n_novel=1),
        "rename": lambda: workspace.rename(0, "tom"),
        "merge": lambda: workspace.merge([0, 1]),
        "split": lambda: workspace.split(0, blobs.rows, n_parts=2),
        "drop": lambda: workspace.drop(0),
        "undo": workspace.undo,
        "configure": lambda: workspace.configure(reject=0.1),
    }


def test_a_held_lock_stops_every_writer_and_no_reader(animals, blobs, tree):
    before = tree(animals.path)
    with WriteLock(animals.path / ".lock", "discover"):
        for command in writing_commands(animals, blobs).values():
            with pytest.raises(WorkspaceBusy):
                command()
        assert len(animals.predict(blobs.probe)) == 40
        assert len(Workspace.open(animals.path).categories()) == 5
    assert tree(animals.path) == before


@pytest.mark.parametrize("call", ["open", "mkdir", "rename", "fsync"])
def test_a_disk_that_refuses_changes_nothing(animals, blobs, tree, monkeypatch, call):
    before = tree(animals.path)

    def refuse(*args, **kwargs):
        raise OSError(30, "Read-only file system")

    for command in writing_commands(animals, blobs).values():
        monkeypatch.setattr(os, call, refuse)
        with pytest.raises(DiskError) as raised:
            command()
        assert raised.value.cause.errno == 30
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
        with pytest.raises(DiskError):
            animals.drop(0)
    finally:
        for folder in folders:
            folder.chmod(0o755)


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
        with pytest.raises(InputError, match="words-1"):
            command(texts)
    assert tree(workspace.path) == before


def test_tables_of_texts_work_from_end_to_end(tmp_path, words):
    rows = [f"u{w}{i},{w} {w} now {i},{w}ing" for w in ("card", "rain", "table") for i in range(8)]
    (tmp_path / "base.csv").write_text("\n".join(["id,text,intent", *rows]))
    new = [f'{{"text": "{w} {w} now {i}"}}' for w in ("music", "rain") for i in range(8)]
    (tmp_path / "week.jsonl").write_text("\n".join(new))
    workspace = Workspace.init(tmp_path / "w", embedder=words, model={"count": "evidence"})
    learned = workspace.learn(tmp_path / "base.csv")
    assert set(learned.novel.values()) == {"carding", "raining", "tableing"}
    found = workspace.discover(tmp_path / "week.jsonl", n_novel=1)
    assert found.novel_rows == 8
    assert workspace.predict(tmp_path / "base.csv").references[0] == "ucard0"
    [novel] = found.novel
    samples = {c.id: c.samples for c in workspace.categories()}
    assert set(samples[novel]) <= {str(i) for i in range(8)}
    assert samples[0][0].startswith("ucard")


def test_the_soak_measures_reads_sessions_and_memory(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import soak

    first, last = soak.run(tmp_path / "w", 18, rows=12, marks=(4,))
    assert (first.sessions, last.sessions) == (4, 18)
    assert last.live >= 4
    assert last.opening + last.categories < 5
    assert (tmp_path / "w/packs/000001-000016").is_dir()


def test_a_year_grows_only_by_what_is_new(tmp_path, monkeypatch, tree):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import year

    settings = {"model": {"count": "evidence", "n_components": 8}, "sample": 0}
    workspace, stream, weeks = year.run(tmp_path / "w", weeks=9, rows=120, **settings)
    quiet = [week.grown for week in weeks if week.novel == 0]
    assert len(quiet) >= 4
    assert max(quiet) < 1.1 * min(quiet)  # no matter how many categories there are by then
    posterior = workspace.snapshot().knowledge.posterior
    each = posterior.nbytes / len(posterior)
    found = [week for week in weeks if week.novel]
    assert found
    for week in found:
        lessons = 1600  # which item taught which category, for all novel ones together
        assert week.grown < max(quiet) + week.novel * (each + 400) + 600 + lessons
    before = tree(tmp_path / "w" / "commits")
    workspace.discover(stream.batch(1, 120), n_novel=0)
    after = tree(tmp_path / "w" / "commits")
    assert {name: after[name] for name in before} == before


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"embedder": 5}, "embedder"),
        ({"embedder": np.mean}, "embedder"),
        ({"lock_timeout": -1}, "lock_timeout"),
        ({"model": {"covariance": "round"}}, "covariance"),
    ],
)
def test_a_wrong_option_makes_no_workspace(tmp_path, options, option):
    with pytest.raises(InputError) as caught:
        Workspace.init(tmp_path / "w", **options)
    assert caught.value.option == option
    assert list(tmp_path.iterdir()) == []


def test_the_embedder_may_be_a_path(tmp_path, animals):
    assert Workspace.init(tmp_path / "w", embedder=Path("a/b")).config()["embedder"] == str(Path("a/b"))
    assert animals.configure(embedder=Path("a/b")).config["embedder"] == str(Path("a/b"))


def test_a_target_is_checked_without_writing(animals, tmp_path, tree):
    before = tree(tmp_path)
    for name, message in (
        ("animals/HEAD", "belongs"),
        ("animals/commits/x.csv", "belongs"),
        ("animals", "is a folder"),
        ("no/x.csv", "no folder"),
    ):
        with pytest.raises(InputError, match=message):
            animals.check_target(tmp_path / name)
    animals.check_target(str(tmp_path / "x.csv"))
    assert tree(tmp_path) == before


@pytest.mark.parametrize("embedder", [5, "pixels", object()])
def test_only_an_embedder_is_an_embedder(template, embedder):
    with pytest.raises(InputError) as caught:
        Workspace.open(template, embedder=embedder)
    assert caught.value.option == "embedder"


def test_a_folder_whose_name_is_not_utf8_is_refused_before_anything_is_learned(tmp_path, animals):
    odd = tmp_path / os.fsdecode(b"\xff")
    animals.export(tmp_path / "x.zip")
    for make in (Workspace.init, lambda path: Workspace.import_(tmp_path / "x.zip", path)):
        with pytest.raises(InputError, match="not UTF-8"):
            make(odd)
    assert not odd.exists()
