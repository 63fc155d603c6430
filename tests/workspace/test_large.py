"""Workspaces whose posteriors stay in their files: the same answers, and damage is found where it matters."""

import shutil

import numpy as np
import pytest

from vbcgcd import mapped
from vbcgcd.bayes.stacks import FactorStack
from vbcgcd.errors import WorkspaceDamaged
from vbcgcd.mapped import MappedRows
from vbcgcd.workspace import Workspace
from vbcgcd.workspace.log import blocks
from vbcgcd.workspace.log.files import BLOCKS, MODEL, SEGMENT

OPTIONS = {"count": "evidence", "n_components": 6, "prior_strength": 20.0}
PARTS = ("mean", "kappa", "nu", "factor")


@pytest.fixture
def everything_is_large(monkeypatch):
    monkeypatch.setattr(mapped, "LARGE", 0)
    monkeypatch.setattr(blocks, "BLOCK", 64)


def make(path, blobs):
    """A workspace with posteriors in three commits, and one that was replaced."""
    workspace = Workspace.init(path, model=OPTIONS)
    workspace.learn(blobs.rows, blobs.labels)
    workspace.discover(blobs.batch, n_novel=2)
    more = np.concatenate([blobs.rows[:10] - 40.0, blobs.rows[:5]])
    workspace.learn(more, ["eel"] * 10 + ["cat"] * 5, update_known=True)
    workspace.merge([1, 3])
    return workspace


@pytest.fixture
def large(everything_is_large, blobs, tmp_path):
    return make(tmp_path / "large", blobs)


def bits(posterior):
    return [np.asarray(getattr(posterior, name)).tobytes() for name in PARTS]


def test_answers_are_the_same_to_the_bit(large, blobs, answers, tmp_path, monkeypatch):
    again = Workspace.open(large.path)
    stack = again.snapshot().knowledge.posterior.factor
    assert isinstance(stack, FactorStack)
    assert {type(part.rows) for part in stack.parts} == {MappedRows}
    with monkeypatch.context() as patch:
        patch.setattr(mapped, "LARGE", 2**40)
        small = make(tmp_path / "small", blobs)
        expected = answers(small, blobs.probe)
        assert isinstance(small.snapshot().knowledge.posterior.factor, np.ndarray)
    assert answers(large, blobs.probe) == answers(again, blobs.probe) == expected
    assert bits(again.snapshot().knowledge.posterior) == bits(small.snapshot().knowledge.posterior)


def test_sessions_corrections_and_undo_work_on_it(large, blobs, answers):
    before = answers(large, blobs.probe)
    known = bits(large.snapshot().knowledge.posterior.take([0, 1]))
    again = Workspace.open(large.path)
    again.discover(blobs.batch + 30.0, n_novel=1)
    assert bits(again.snapshot().knowledge.posterior.take([0, 1])) == known
    again.undo()
    assert answers(Workspace.open(large.path), blobs.probe) == before
    again.redo()
    assert again.verify() > 0


def test_a_session_writes_only_what_is_new(large, blobs):
    before = {path: path.read_bytes() for path in large.path.glob("commits/*/*")}
    record = large.discover(blobs.batch + 30.0, n_novel=1)
    assert all(path.read_bytes() == data for path, data in before.items())
    added = {path.name for path in large.path.glob("commits/*/*") if path not in before}
    assert MODEL not in added
    now = Workspace.open(large.path).snapshot()
    segment = now.content(now.history.commit(record.commit), SEGMENT)
    assert segment.ids == tuple(record.novel)
    assert len(segment.posterior) == 1


def test_only_the_parts_that_are_used_are_checked(large, blobs):
    """A damaged factor stops whoever uses it, and nobody else."""
    folder = large.path / "commits/000002"
    commit = large.snapshot().history.commit(2)
    layout = large.snapshot().content(commit, MODEL).knowledge.posterior
    data = bytearray((folder / MODEL).read_bytes())
    last = data.rindex(layout.factor[2].tobytes())
    data[last + 8] ^= 1
    (folder / MODEL).write_bytes(data)
    again = Workspace.open(large.path)
    assert [info.name for info in again.categories()] == [info.name for info in large.entries()]
    with pytest.raises(WorkspaceDamaged, match=r"model.safetensors was changed.*repair"):
        again.predict(blobs.probe)
    with pytest.raises(WorkspaceDamaged):
        again.verify()


def test_digests_of_parts_are_checked_themselves(large):
    path = large.path / "commits/000002" / BLOCKS
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(WorkspaceDamaged, match=r"blocks.safetensors was changed"):
        Workspace.open(large.path).snapshot().knowledge  # noqa: B018


def test_it_travels(large, blobs, answers, tmp_path):
    large.export(tmp_path / "large.zip")
    there = Workspace.import_(tmp_path / "large.zip", tmp_path / "there")
    assert answers(there, blobs.probe) == answers(large, blobs.probe)
    assert (there.path / "commits/000002" / BLOCKS).is_file()


def test_a_release_that_knows_no_parts_reads_it(large, blobs, answers, monkeypatch):
    """And the other way round: whether digests of parts are there, or files are large, changes no answer."""
    expected = answers(large, blobs.probe)
    monkeypatch.setattr(mapped, "LARGE", 2**40)
    monkeypatch.setattr("vbcgcd.workspace.log.store.IN_PARTS", frozenset())
    assert answers(Workspace.open(large.path), blobs.probe) == expected


def test_large_files_without_digests_of_parts_are_checked_as_a_whole(blobs, answers, tmp_path, monkeypatch):
    """As in a workspace that an earlier release wrote."""
    small = make(tmp_path / "old", blobs)
    expected = answers(small, blobs.probe)
    assert not list(small.path.rglob(BLOCKS))
    monkeypatch.setattr(mapped, "LARGE", 0)
    again = Workspace.open(small.path)
    assert isinstance(again.snapshot().knowledge.posterior.factor, FactorStack)
    assert answers(again, blobs.probe) == expected
    shutil.copytree(small.path, tmp_path / "damaged")
    path = tmp_path / "damaged/commits/000002" / MODEL
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(WorkspaceDamaged, match="was changed"):
        Workspace.open(tmp_path / "damaged").snapshot().knowledge  # noqa: B018
