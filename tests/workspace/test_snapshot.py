from dataclasses import replace
from pathlib import Path

import pytest

from vbcgcd.errors import InputError
from vbcgcd.workspace import Workspace, queries
from vbcgcd.workspace.snapshot import Snapshot


def parts(posterior, rows):
    return [getattr(posterior, name)[rows].tobytes() for name in ("mean", "kappa", "nu", "factor")]


def test_known_posteriors_are_bit_identical_after_further_sessions(animals, blobs):
    before = animals.snapshot().knowledge.posterior
    animals.discover(blobs.batch + 30.0, n_novel=1)
    animals.learn(blobs.rows[:10] - 40.0, ["eel"] * 10)
    again = Workspace.open(animals.path)
    after = again.snapshot().knowledge.posterior
    assert len(after) == len(before) + 2
    assert parts(after, slice(0, 5)) == parts(before, slice(0, 5))


def test_what_is_in_memory_is_what_is_on_disk(animals, blobs):
    """The same posteriors whether they were gathered step by step or read at once."""
    animals.merge([0, 3])
    animals.discover(blobs.batch + 30.0, n_novel=1)
    animals.undo()
    animals.drop(2)
    now = animals.snapshot()
    grown, read = now.knowledge.posterior, Snapshot(now.store).refresh().knowledge.posterior
    assert parts(grown, slice(None)) == parts(read, slice(None))
    assert len(read) == len(now.state.ids) == 3


def test_nothing_that_was_just_written_is_read_back(fresh, blobs, monkeypatch):
    reads = []
    for name in ("read_bytes", "open"):
        real = getattr(Path, name)

        def reading(path, *args, real=real, **kwargs):
            if "commits" in path.parts and args[:1] != ("xb",):
                reads.append(path.name)
            return real(path, *args, **kwargs)

        monkeypatch.setattr(Path, name, reading)
    monkeypatch.setattr("vbcgcd.workspace.snapshot.read_content", lambda path: reads.append(path.name))
    fresh.learn(blobs.rows, blobs.labels)
    fresh.discover(blobs.batch, n_novel=2)
    fresh.merge([0, 3])
    fresh.split(1, blobs.rows, n_parts=2)
    assert len(fresh.categories()) == 5
    assert fresh.overview().items == 190
    assert len(fresh.predict(blobs.probe)) == 40
    assert fresh.sessions()[-1].rows == 100
    assert reads == []


def test_a_snapshot_stays_what_it_was(animals, blobs):
    before = animals.snapshot()
    known = parts(before.knowledge.posterior, slice(None))
    names = [c.name for c in queries.list_categories(before)]
    animals.rename(0, "tom")
    animals.merge([1, 3])
    animals.discover(blobs.batch + 30.0, n_novel=1)
    assert before.head.number == 3
    assert [c.name for c in queries.list_categories(before)] == names
    assert parts(replace(before, _answers={}).knowledge.posterior, slice(None)) == known
    assert before.refresh().head == animals.snapshot().head


def test_commits_of_others_are_taken_in_from_the_log(animals, blobs, answers):
    before = animals.snapshot()
    other = Workspace.open(animals.path)
    other.merge([0, 3])
    other.discover(blobs.batch + 30.0, n_novel=1)
    after = before.refresh()
    assert after.head.number == 5
    assert parts(after.knowledge.posterior, slice(None)) == parts(
        other.snapshot().knowledge.posterior, slice(None)
    )
    assert after.refresh() is after


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_every_structure_lives_on_disk(tmp_path, blobs, answers, covariance):
    settings = {"count": "evidence", "covariance": covariance}
    workspace = Workspace.init(tmp_path / "w", model=settings)
    workspace.learn(blobs.rows, blobs.labels)
    workspace.discover(blobs.batch, n_novel=2)
    workspace.merge([0, 1])
    workspace.split(2, blobs.rows, n_parts=2)
    assert answers(Workspace.open(tmp_path / "w"), blobs.probe) == answers(workspace, blobs.probe)
    assert [c.id for c in workspace.categories()] == [3, 4, 5, 6, 7]


def test_known_categories_that_learn_are_stored_anew_and_can_be_undone(tmp_path, blobs, answers):
    settings = {"count": "evidence", "update_known": True}
    workspace = Workspace.init(tmp_path / "w", model=settings)
    workspace.learn(blobs.rows, blobs.labels)
    before = answers(workspace, blobs.probe)
    taught = [c.taught for c in workspace.categories()]
    workspace.discover(blobs.batch, n_novel=2)
    assert all(now.taught > was for now, was in zip(workspace.categories(), taught, strict=False))
    assert answers(Workspace.open(tmp_path / "w"), blobs.probe) == answers(workspace, blobs.probe)
    workspace.undo()
    assert answers(workspace, blobs.probe) == before


def test_nothing_is_known_before_the_base_session(fresh, blobs):
    for action in (
        lambda: fresh.predict(blobs.probe),
        lambda: fresh.discover(blobs.batch),
        lambda: fresh.merge([0, 1]),
        lambda: fresh.drop(0),
        lambda: fresh.explain(blobs.probe),
        lambda: fresh.split(0, blobs.rows, n_parts=2),
    ):
        with pytest.raises(InputError, match="is empty"):
            action()
