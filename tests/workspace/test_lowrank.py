"""A workspace with low-rank covariances in half precision: every command works and can be undone."""

import numpy as np
import pytest

from vbcgcd.bayes import recover_statistics
from vbcgcd.workspace import Workspace

WAYS = (
    {"covariance": "lowrank", "covariance_rank": 4},
    {"covariance": "lowrank", "covariance_rank": 4, "storage": "half"},
    {"storage": "half"},
)


@pytest.fixture(params=WAYS, ids=str)
def small_state(request, blobs, tmp_path):
    """A workspace that learned cat, dog and owl and found two more."""
    model = {"count": "evidence", "n_components": 6, "prior_strength": 20.0, **request.param}
    workspace = Workspace.init(tmp_path / "small", model=model)
    workspace.learn(blobs.rows, blobs.labels)
    workspace.discover(blobs.batch, n_novel=2)
    return workspace


def probabilities(workspace, rows):
    knowledge = workspace.snapshot().knowledge
    return np.exp(knowledge.log_probabilities(knowledge.reduced(rows)))


def test_undo_brings_back_the_same_answers_after_every_command(small_state, blobs):
    chosen = small_state.items("category=3")[:3]
    for command in (
        lambda: small_state.merge([3, 0]),
        lambda: small_state.split(4, blobs.batch, 2),
        lambda: small_state.drop(1),
        lambda: small_state.move_items(chosen, 0, data=blobs.batch),
        lambda: small_state.discover(blobs.probe, n_novel=1),
        lambda: small_state.learn(blobs.rows, blobs.labels, update_known=True),
    ):
        before = probabilities(small_state, blobs.probe)
        command()
        after = probabilities(small_state, blobs.probe)
        assert after.shape != before.shape or not np.array_equal(before, after)
        np.testing.assert_allclose(after.sum(axis=1), 1)
        small_state.undo()
        np.testing.assert_array_equal(probabilities(small_state, blobs.probe), before)


def test_a_move_and_its_reverse_leave_no_trace(small_state, blobs):
    before = probabilities(small_state, blobs.probe)
    item = small_state.items("category=3")[:1]
    small_state.move_items(item, 0, data=blobs.batch)
    small_state.unlabel_items(small_state.items("state=moved"), data=blobs.batch)
    np.testing.assert_array_equal(probabilities(small_state, blobs.probe), before)


def test_a_merge_has_the_counts_and_the_trace_of_its_parts(small_state):
    known = small_state.snapshot().knowledge
    parts = recover_statistics(known.prior, known.posterior.take([0, 3]))
    small_state.merge([0, 3])
    after = small_state.snapshot().knowledge
    merged = recover_statistics(after.prior, after.posterior.take([-1]))
    assert merged.count[0] == pytest.approx(parts.count.sum())
    assert merged.diagonal.sum() == pytest.approx(parts.merged().diagonal.sum(), rel=0.01)


def test_it_survives_export_and_reopening(small_state, blobs, tmp_path):
    before = probabilities(small_state, blobs.probe)
    np.testing.assert_array_equal(probabilities(Workspace.open(small_state.path), blobs.probe), before)
    small_state.export(tmp_path / "out.zip")
    again = Workspace.import_(tmp_path / "out.zip", tmp_path / "again")
    np.testing.assert_array_equal(probabilities(again, blobs.probe), before)
