import numpy as np
import pytest

from vbcgcd.workspace import Workspace
from vbcgcd.workspace.queries.members import members_of


def weights(workspace, category):
    found = members_of(workspace.snapshot(), category)
    return {(m.item.session, int(m.item.reference)): m.weight_in(category) for m in found}


def test_items_belong_and_teach_as_their_session_says(animals, blobs):
    labelled = weights(animals, 0)
    assert {key for key, weight in labelled.items() if weight == 1} == {(0, i) for i in range(30)}
    assert all(weight == 0 for key, weight in labelled.items() if key[0] == 1)  # guesses teach nothing known
    found = weights(animals, 3)
    assert sum(found.values()) == pytest.approx({c.id: c.taught for c in animals.categories()}[3])


def test_they_follow_merges_moves_and_splits(animals, blobs):
    merged = next(iter(animals.merge([0, 3]).categories))
    before = weights(animals, merged)
    assert len(before) == len(animals.items(f"category={merged}"))
    item = animals.items("session=0", f"category={merged}")[4]
    animals.move_items(item, 1, data=blobs.rows)
    assert set(before) - set(weights(animals, merged)) == {(0, 4)}
    assert weights(animals, 1)[0, 4] == 1
    parts = animals.split(merged, blobs.rows, n_parts=2).categories
    together = [weights(animals, part) for part in parts]
    assert sum(len(part) for part in together) == 29  # those of the batch were not there
    assert not set(together[0]) & set(together[1])


def test_doubtful_items_teach_without_belonging(blobs, tmp_path):
    model = {"count": "evidence", "n_components": 6, "prior_strength": 20.0, "relabel": "em"}
    workspace = Workspace.init(tmp_path / "w", model=model)
    workspace.learn(blobs.rows, blobs.labels)
    record = workspace.discover(blobs.batch, n_novel=2)
    outside = 0
    for category in record.novel:
        members = members_of(workspace.snapshot(), category)
        taught = {c.id: c.taught for c in workspace.categories()}[category]
        assert sum(m.weight_in(category) for m in members) == pytest.approx(taught, rel=1e-5)
        outside += sum(not m.belongs for m in members)
    assert outside > 0


def test_what_was_not_recorded_is_unknown(animals, blobs, leave):
    leave(2, [5])
    [new] = animals.discover(blobs.probe, n_novel=1).novel
    members = members_of(animals.snapshot(), new)
    assert {m.taught for m in members} == {None}
    assert all(m.belongs for m in members)
    assert np.unique([m.item.session for m in members]).tolist() == [2]
