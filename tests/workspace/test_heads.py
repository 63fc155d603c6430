"""A workspace with a second opinion: it follows from the posteriors, so every command leaves it exact."""

import numpy as np
import pytest

from vbcgcd.discovery import head_choice
from vbcgcd.workspace import Workspace


@pytest.fixture
def headed(blobs, tmp_path, monkeypatch):
    """A workspace that learned cat, dog and owl and found two more, with a head although it is not needed."""
    settings = head_choice.Settings(0.1, 0.5, np.zeros(1), 1.0)
    monkeypatch.setattr(head_choice, "choose_settings", lambda *arguments: (1e-2, settings))
    workspace = Workspace.init(
        tmp_path / "headed", model={"n_components": 6, "prior_strength": 20.0, "head": "direction"}
    )
    workspace.learn(blobs.rows, blobs.labels)
    workspace.discover(blobs.batch, n_novel=2)
    return workspace


def probabilities(workspace, rows):
    knowledge = workspace.snapshot().knowledge
    return np.exp(knowledge.log_probabilities(knowledge.reduced(rows)))


def test_the_head_takes_part_in_answers(headed, blobs):
    knowledge = headed.snapshot().knowledge
    reduced = knowledge.reduced(blobs.probe)
    density = knowledge.classifier.log_density(reduced, knowledge.posterior)
    want = knowledge.head.log_probabilities(reduced, density, knowledge.posterior)
    np.testing.assert_array_equal(np.log(probabilities(headed, blobs.probe)), np.log(np.exp(want)))
    ids = np.array(headed.snapshot().state.ids)
    np.testing.assert_array_equal(headed.predict(blobs.probe).category, ids[want.argmax(axis=1)])


def test_undo_brings_back_the_same_answers_after_every_command(headed, blobs):
    chosen = headed.items("category=3")[:3]
    for command in (
        lambda: headed.merge([3, 0]),
        lambda: headed.split(4, blobs.batch, 2),
        lambda: headed.drop(1),
        lambda: headed.move_items(chosen, 0, data=blobs.batch),
        lambda: headed.discover(blobs.probe, n_novel=1),
        lambda: headed.learn(blobs.rows, blobs.labels, update_known=True),
    ):
        before = probabilities(headed, blobs.probe)
        command()
        after = probabilities(headed, blobs.probe)
        assert after.shape != before.shape or not np.array_equal(before, after)
        np.testing.assert_allclose(after.sum(axis=1), 1)
        headed.undo()
        np.testing.assert_array_equal(probabilities(headed, blobs.probe), before)


def test_a_move_and_its_reverse_leave_no_trace(headed, blobs):
    before = probabilities(headed, blobs.probe)
    item = headed.items("category=3")[:1]
    headed.move_items(item, 0, data=blobs.batch)
    headed.unlabel_items(headed.items("state=moved"), data=blobs.batch)
    np.testing.assert_array_equal(probabilities(headed, blobs.probe), before)


def test_it_is_written_once_and_survives_export_and_reopening(headed, blobs, tmp_path):
    before = probabilities(headed, blobs.probe)
    np.testing.assert_array_equal(probabilities(Workspace.open(headed.path), blobs.probe), before)
    headed.export(tmp_path / "out.zip")
    again = Workspace.import_(tmp_path / "out.zip", tmp_path / "again")
    np.testing.assert_array_equal(probabilities(again, blobs.probe), before)
