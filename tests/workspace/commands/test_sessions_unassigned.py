"""Items that fit no category and groups that wait: stored, undone, redone, exported and kept by commands."""

import numpy as np
import pytest

from support import WARNING, assert_same_seedlings
from vbcgcd.workspace import SeedlingInfo, Workspace
from vbcgcd.workspace.log.files import Assignments

FILE = "seedlings.safetensors"


def files(workspace, commit):
    return {file.name for file in (workspace.path / "commits" / f"{commit:06d}").iterdir()}


@pytest.fixture
def left(animals, blobs, leave):
    """A session (2, commit 4) that left seven items unassigned, and seedlings of five and three items."""
    leave(7, [3, 5])
    animals.discover(blobs.probe + 9, n_novel=1)
    return animals


def test_an_unassigned_item_has_no_category_and_its_best_one_as_second(left, blobs):
    table = Assignments.read(left.path / "commits" / "000004" / "assignments.parquet")
    assert (table.category[:7] == -1).all()
    assert (table.category[7:] >= 0).all()
    assert np.isin(table.second[:7], left.snapshot().state.ids).all()
    np.testing.assert_allclose(table.probability[:7], 0.75, atol=1e-4)
    assert (table.second_probability[:7] <= 0.25 + 1e-6).all()


def test_the_record_keeps_what_the_session_left(left):
    record = left.sessions()[-1]
    assert (record.unassigned, record.seedlings, record.warnings) == (7, (3, 5), (WARNING,))
    assert -1 not in record.counts
    assert sum(record.counts.values()) == record.known_rows + record.novel_rows == record.rows - 7
    assert Workspace.open(left.path).sessions()[-1] == record
    values = record.as_json()
    assert (values["unassigned"], values["seedlings"], values["warnings"]) == (7, [3, 5], [WARNING])


def test_a_category_remembers_the_session_of_its_seedling(animals, blobs, leave):
    leave(0, [], grown=True)
    record = animals.discover(blobs.probe + 9, n_novel=1)
    assert record.grown == dict.fromkeys(record.novel, 1)
    assert Workspace.open(animals.path).sessions()[-1].grown == record.grown


def test_the_record_keeps_what_came_back(animals, blobs, leave):
    first = animals.discover(blobs.probe + 9, n_novel=1)
    (found,) = first.novel
    leave(0, [], returned={found: 12})
    record = animals.discover(blobs.probe + 9, n_novel=0)
    assert record.returned == {found: 12}
    assert Workspace.open(animals.path).sessions()[-1].returned == record.returned
    assert record.as_json()["returned"] == {str(found): 12}


@pytest.mark.parametrize("named", [False, True])
def test_a_category_found_last_week_is_recognised_when_it_comes_back(tmp_path, named):
    rng = np.random.default_rng(0)
    centres = 0.8 * rng.normal(size=(15, 32))

    def week(known, novel):
        which = np.repeat(np.arange(15), [known] * 12 + [novel] * 3)
        return (centres[which] + rng.normal(size=(len(which), 32))).astype(np.float32)

    workspace = Workspace.init(tmp_path / "weeks")
    workspace.learn(week(20, 0), np.repeat(np.arange(12), 20))
    first = workspace.discover(week(5, 25))
    assert first.n_novel == 3
    if named:  # a name does not make it a labelled one, which the projection would have seen
        for i, category in enumerate(first.novel):
            workspace.rename(category, f"kind {i}")
    second = Workspace.open(workspace.path).discover(week(3, 40))
    assert second.novel == {}
    assert set(second.returned) <= set(first.novel)
    assert sum(second.returned.values()) >= 60


def test_a_session_may_assign_nothing(animals, blobs, leave):
    leave(len(blobs.probe), [])
    record = animals.discover(blobs.probe, n_novel=0)
    assert (record.counts, record.mean_probability, record.known_rows) == ({}, None, 0)
    assert animals.count_items() == 190
    assert animals.count_unassigned() == len(blobs.probe)


def test_a_session_that_leaves_nothing_writes_no_file(animals, blobs):
    record = animals.discover(blobs.probe + 9, n_novel=1)
    assert FILE not in files(animals, record.commit)
    assert animals.snapshot().state.seedlings is None
    assert (animals.unassigned(), animals.seedlings(), animals.count_unassigned()) == ((), (), 0)


def test_seedlings_are_the_same_after_opening(left):
    assert left.snapshot().state.seedlings == 4
    before = left.snapshot().knowledge.seedlings
    again = Workspace.open(left.path)
    assert_same_seedlings(again.snapshot().knowledge.seedlings, before)
    assert again.seedlings() == (SeedlingInfo(5, 2), SeedlingInfo(3, 2))
    assert again.verify() == left.verify()


def test_undo_and_redo_go_back_and_forth(left, blobs, leave):
    first = left.snapshot().knowledge.seedlings
    leave(2, [8])
    record = left.discover(blobs.probe - 9, n_novel=0)
    second = left.snapshot().knowledge.seedlings
    assert FILE in files(left, record.commit)
    assert (left.count_unassigned(), len(left.unassigned())) == (9, 9)
    for workspace in (left, Workspace.open(left.path)):
        workspace.undo()
        assert_same_seedlings(workspace.snapshot().knowledge.seedlings, first)
        assert workspace.count_unassigned() == 7
        workspace.undo()
        assert workspace.snapshot().knowledge.seedlings is None
        assert workspace.unassigned() == ()
        workspace.redo()
        workspace.redo()
        assert_same_seedlings(workspace.snapshot().knowledge.seedlings, second)
        assert workspace.count_unassigned() == 9


def test_seedlings_end_when_a_session_leaves_none(left, blobs, leave):
    leave(0, [])
    record = left.discover(blobs.probe - 9, n_novel=0)
    assert FILE not in files(left, record.commit)
    assert left.snapshot().state.seedlings is None
    assert left.seedlings() == ()


def test_a_session_that_leaves_them_as_they_were_does_not_write_them_again(left, blobs, leave):
    leave(0, None)
    record = left.discover(blobs.probe - 9, n_novel=0)
    assert FILE not in files(left, record.commit)
    assert left.snapshot().state.seedlings == 4
    assert record.seedlings == (3, 5)


def test_the_next_session_is_given_the_seedlings(left, blobs, monkeypatch):
    given = []

    def stop(rows, knowledge, options, **arguments):
        given.append(knowledge.seedlings)
        raise InterruptedError

    monkeypatch.setattr("vbcgcd.workspace.commands.sessions.run_session", stop)
    with pytest.raises(InterruptedError):
        Workspace.open(left.path).discover(blobs.probe - 9)
    assert_same_seedlings(given[0], left.snapshot().knowledge.seedlings)


@pytest.mark.parametrize(
    "command",
    [
        lambda workspace, blobs: workspace.merge([0, 4]),
        lambda workspace, blobs: workspace.split("cat", blobs.rows, n_parts=2),
        lambda workspace, blobs: workspace.drop(3),
        lambda workspace, blobs: workspace.rename(0, "lion"),
        lambda workspace, blobs: workspace.learn(blobs.rows + 50, blobs.labels, update_known=True),
        lambda workspace, blobs: workspace.learn(blobs.rows + 50, ["emu"] * len(blobs.rows)),
        lambda workspace, blobs: workspace.configure(reject=0.1),
    ],
    ids=["merge", "split", "drop", "rename", "teach", "learn", "configure"],
)
def test_other_commands_keep_them_as_they_are(left, blobs, command):
    before, items = left.snapshot().knowledge.seedlings, {item.reference for item in left.unassigned()}
    command(left, blobs)
    for workspace in (left, Workspace.open(left.path)):
        assert workspace.snapshot().state.seedlings == 4
        assert_same_seedlings(workspace.snapshot().knowledge.seedlings, before)
        assert {item.reference for item in workspace.unassigned()} == items


def test_seedlings_change_no_prediction(animals, blobs, leave, answers):
    leave(0, [4])
    before = answers(animals, blobs.probe)
    animals.discover(blobs.probe, n_novel=0)
    assert answers(animals, blobs.probe) == before


def test_export_and_import_keep_them(left, blobs, tmp_path, answers):
    left.export(tmp_path / "w.zip")
    copy = Workspace.import_(tmp_path / "w.zip", tmp_path / "copy")
    assert_same_seedlings(copy.snapshot().knowledge.seedlings, left.snapshot().knowledge.seedlings)
    assert copy.unassigned() == left.unassigned()
    assert copy.sessions() == left.sessions()
    assert answers(copy, blobs.probe) == answers(left, blobs.probe)
