import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbcgcd.workspace.commits import Commit
from vbcgcd.workspace.state import Category, History


def commit(history, command, **changes):
    history.append(Commit(len(history.commits) + 1, command, "", None, {}, changes, {}, {}, ""))


def born(i, name=None, **further):
    return Category(i, name or f"c{i}", "label", 0, **further).as_json()


@pytest.fixture
def history():
    made = History()
    commit(made, "init", config={"reject": None})
    commit(made, "learn", session=0, model=True, categories=[born(0), born(1)], posteriors=[0, 1])
    commit(made, "discover", session=1, categories=[born(2)], posteriors=[2])
    return made


def test_posteriors_are_pointed_to_by_rising_id(history):
    assert history.state.where == {0: (2, 0), 1: (2, 1), 2: (3, 0)}
    assert (history.next_id, history.next_session) == (3, 2)
    assert [c.id for c in history.state.live] == [0, 1, 2]


def test_a_merge_retires_and_points(history):
    gone = [born(0, status="merged", into=(3,)), born(2, status="merged", into=(3,))]
    commit(history, "merge", categories=[*gone, born(3, parents=(0, 2))], posteriors=[3])
    state = history.state
    assert list(state.where) == [1, 3]
    assert [state.resolved(i) for i in (0, 1, 2, 3, 99)] == [3, 1, 3, 3, 99]


def test_an_update_moves_the_pointer_and_leaves_the_old_state(history):
    commit(history, "learn", session=2, posteriors=[1])
    assert history.state.where[1] == (4, 0)
    assert history.states[3].where[1] == (2, 1)


def test_an_undo_restores_all_but_the_counters(history):
    before = history.state
    commit(history, "discover", session=2, categories=[born(3)], posteriors=[3])
    commit(history, "undo", goto=3)
    assert history.state == before
    assert (history.next_id, history.next_session) == (4, 3)
    assert [c.number for c in history.in_effect()] == [1, 2, 3]


OPERATIONS = st.lists(st.sampled_from(["add", "undo", "redo"]), max_size=30)


@given(OPERATIONS)
def test_undo_and_redo_walk_like_a_stack_of_states(operations):
    history = History()
    commit(history, "init")
    past, future = [history.state], []
    for operation in operations:
        if operation == "undo" and len(past) > 1:
            commit(history, "undo", goto=history.state.trail[-2])
            future.append(past.pop())
        elif operation == "redo" and future:
            commit(history, "redo", goto=history.undone[-1])
            past.append(future.pop())
        elif operation == "add":
            new = history.next_id
            commit(
                history, "discover", session=history.next_session, categories=[born(new)], posteriors=[new]
            )
            past.append(history.state)
            future = []
        assert history.state == past[-1]
        assert len(history.undone) == len(future)
        assert len(history.state.trail) == len(past)
