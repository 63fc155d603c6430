import numpy as np
import pytest

from vbcgcd.errors import InputError
from vbcgcd.workspace import Workspace
from vbcgcd.workspace.posteriors import Shelf


def parts(posterior, rows):
    return [getattr(posterior, name)[rows].tobytes() for name in ("mean", "kappa", "nu", "factor")]


def test_known_posteriors_are_bit_identical_after_further_sessions(animals, blobs):
    before = animals._shelf.knowledge(animals._history.state).posterior
    animals.discover(blobs.batch + 30.0, n_novel=1)
    animals.learn(blobs.rows[:10] - 40.0, ["eel"] * 10)
    again = Workspace.open(animals.path)
    after = again._shelf.knowledge(again._history.state).posterior
    assert len(after) == len(before) + 2
    assert parts(after, slice(0, 5)) == parts(before, slice(0, 5))


def test_what_is_in_memory_is_what_is_on_disk(animals, blobs):
    """The same posteriors whether they were gathered step by step or read at once."""
    animals.merge([0, 3])
    animals.discover(blobs.batch + 30.0, n_novel=1)
    animals.undo()
    animals.drop(2)
    state = animals._history.state
    grown = animals._shelf.knowledge(state).posterior
    read = Shelf(animals._store, animals._history).knowledge(state).posterior
    assert parts(grown, slice(None)) == parts(read, slice(None))
    assert len(read) == len(state.where) == 3


def test_a_model_of_the_state_predicts_as_the_workspace(animals, blobs):
    state = animals._history.state
    model = animals._shelf.model(state)
    ids = np.array(list(state.where))
    np.testing.assert_array_equal(ids[model.predict(blobs.probe)], animals.predict(blobs.probe).category)
    np.testing.assert_array_equal(
        model.predict_proba(blobs.probe).max(axis=1), animals.predict(blobs.probe).probability
    )
    np.testing.assert_array_equal(model.novelty(blobs.probe), animals.predict(blobs.probe).novelty)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_every_structure_lives_on_disk(tmp_path, blobs, answers, covariance):
    settings = {"count": "evidence", "covariance": covariance}
    workspace = Workspace.init(tmp_path / "w", model=settings)
    workspace.learn(blobs.rows, blobs.labels)
    workspace.discover(blobs.batch, n_novel=2)
    workspace.merge([0, 1])
    workspace.split(2, blobs.rows)
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
        lambda: fresh.split(0, blobs.rows),
    ):
        with pytest.raises(InputError, match="learned nothing yet"):
            action()
