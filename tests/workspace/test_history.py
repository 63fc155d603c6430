import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbcgcd.errors import InputError
from vbcgcd.workspace.history import Category, History
from vbcgcd.workspace.log.commits import Commit
from vbcgcd.workspace.queries.categories import find_category


def commit(history, command, **changes):
    return history.after(Commit(len(history.commits) + 1, command, "", None, {}, changes, {}, {}, ""))


def born(i, name=None, **further):
    return Category(i, name or f"c{i}", "label", 0, **further).as_json()


@pytest.fixture
def history():
    made = commit(History(), "init", config={"reject": None})
    made = commit(made, "learn", session=0, model=True, categories=[born(0), born(1)], posteriors=[0, 1])
    return commit(made, "discover", session=1, categories=[born(2)], posteriors=[2])


def test_posteriors_are_pointed_to_by_rising_id(history):
    assert history.state.posterior_places == {0: (2, 0), 1: (2, 1), 2: (3, 0)}
    assert (history.next_id, history.next_session) == (3, 2)
    assert [c.id for c in history.state.live] == [0, 1, 2]


def test_a_merge_retires_and_points(history):
    gone = [born(0, status="merged", into=(3,)), born(2, status="merged", into=(3,))]
    history = commit(history, "merge", categories=[*gone, born(3, parents=(0, 2))], posteriors=[3])
    state = history.state
    assert list(state.posterior_places) == [1, 3]
    assert [state.resolve(i) for i in (0, 1, 2, 3, 99)] == [3, 1, 3, 3, 99]


def test_an_update_moves_the_pointer_and_leaves_the_old_state(history):
    history = commit(history, "learn", session=2, posteriors=[1])
    assert history.state.posterior_places[1] == (4, 0)
    assert history.state_at(3).posterior_places[1] == (2, 1)


def test_an_undo_restores_all_but_the_counters(history):
    before = history.state
    history = commit(history, "discover", session=2, categories=[born(3)], posteriors=[3])
    history = commit(history, "undo", goto=3)
    assert history.state == before
    assert (history.next_id, history.next_session) == (4, 3)
    assert [c.number for c in history.in_effect()] == [1, 2, 3]


def test_seedlings_are_those_of_the_last_commit_that_changed_them(history):
    assert history.state.seedlings is None
    history = commit(history, "discover", session=2, seedlings=2)
    history = commit(history, "rename", categories=[born(0, "other")])
    assert history.state.seedlings == 4
    history = commit(history, "discover", session=3, seedlings=0)
    assert history.state.seedlings is None
    assert commit(history, "undo", goto=5).state.seedlings == 4


OPERATIONS = st.lists(st.sampled_from(["add", "undo", "redo"]), max_size=30)


@given(OPERATIONS)
def test_undo_and_redo_walk_like_a_stack_of_states(operations):
    history = commit(History(), "init")
    past, future = [history.state], []
    for operation in operations:
        if operation == "undo" and len(past) > 1:
            history = commit(history, "undo", goto=history.state.trail[-2])
            future.append(past.pop())
        elif operation == "redo" and future:
            history = commit(history, "redo", goto=history.undone[-1])
            past.append(future.pop())
        elif operation == "add":
            new = history.next_id
            history = commit(
                history, "discover", session=history.next_session, categories=[born(new)], posteriors=[new]
            )
            past.append(history.state)
            future = []
        assert history.state == past[-1]
        assert len(history.undone) == len(future)
        assert len(history.state.trail) == len(past)


def test_a_history_stays_what_it_was(history):
    later = commit(history, "discover", session=2, categories=[born(3)], posteriors=[3])
    assert (len(history.commits), len(later.commits)) == (3, 4)
    assert history.state.ids == [0, 1, 2]
    assert later.commit(4).changes["session"] == 2


def test_categories_are_found_by_id_and_name(animals):
    state = animals.snapshot().state
    assert [find_category(state, key).id for key in (3, "3", "#3", "novel-3", np.int64(3))] == [3] * 5
    animals.rename(0, "3")
    state = animals.snapshot().state
    assert find_category(state, 3).id == find_category(state, "#3").id == 3
    with pytest.raises(InputError, match="name of category 0"):
        find_category(state, "3")
    with pytest.raises(InputError, match=r"'newt'.* 0 '3', 1 'dog'"):
        find_category(state, "newt")
    with pytest.raises(InputError, match=r" 1 'dog'\?$"):
        find_category(state, "dogs")
    for key in (99, -1, "#99", 10**30):
        with pytest.raises(InputError, match="0 to 4"):
            find_category(state, key)
    for key in (True, None, 1.5):
        with pytest.raises(InputError, match="id or its name"):
            find_category(state, key)


def test_of_many_names_some_are_told(animals, blobs, fresh):
    with pytest.raises(InputError, match=r"category 0\. No categories"):
        fresh.category(0)
    animals.learn(blobs.probe[:6] + 50, list("abcdef"))
    with pytest.raises(InputError, match=r" 0 'cat', .* 7 'c' and 3 more"):
        animals.category("newt")


def test_a_retired_category_is_found_only_if_it_may_be(animals):
    animals.merge(["cat", "dog"], name="pet")
    for key in (1, "#1", "1"):
        with pytest.raises(InputError, match=r"1 \('dog'\).*'pet' \(category 5\)"):
            animals.category(key)
        assert animals.category(key, retired=True).into == (5,)
    with pytest.raises(InputError, match="no category 'dog'"):  # names are those of live categories
        animals.category("dog", retired=True)
