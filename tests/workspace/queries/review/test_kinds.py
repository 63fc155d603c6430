"""Every kind of question on made streams where the answer is known."""

import numpy as np
import pytest

from vbcgcd.workspace import Workspace
from vbcgcd.workspace.queries.review.evidence import shared_odds
from vbcgcd.workspace.queries.review.same import WEIGHTS


def test_pieces_of_one_class_are_the_same(pieces):
    [asked] = pieces.questions("same")
    assert (asked.id, asked.categories) == ("same-8-9", (8, 9))
    assert asked.probability > 0.9
    assert asked.affected == min(side.size for side in asked.sides)
    assert asked.command == "vbcgcd categories merge 8 9"
    assert {item.category for item in asked.sides[0].typical} == {8}


def test_different_classes_are_not_the_same(world):
    world.session({0: 10, 1: 10, 10: 20, 11: 20}, n_novel=2)
    assert world.questions("same") == ()


def test_what_was_compared_before_is_less_surely_the_same():
    def odds(gap, labelled=False, apart=False, size=0.0):
        return shared_odds(WEIGHTS, gap=gap, labelled=labelled, apart=apart, size=size)

    assert odds(0.5) > odds(2.0) > odds(2.0, apart=True) > odds(2.0, labelled=True) > 0
    assert odds(2.0, size=-1.0) > odds(2.0) > odds(2.0, size=1.0)
    assert odds(3.0) == pytest.approx(1 / (1 + np.exp(-(WEIGHTS["common"] + 3 * WEIGHTS["gap"]))))


def test_a_label_for_two_classes_is_two_things(world):
    rows, truth = world.rows(dict.fromkeys(range(8), 30))
    truth[truth == 1] = 0
    here = Workspace.init(world.folder / "mixed", model={"prior_strength": 20.0})
    here.learn(rows, truth)
    [asked] = here.review(kind="two").questions
    assert (asked.id, asked.command) == ("two-0", "vbcgcd categories split 0")
    assert asked.facts["smaller"] == pytest.approx(0.5, abs=0.1)


def test_odd_items_are_the_most_doubtful_of_a_category(world):
    world.means[1] = world.means[0] + 0.9
    world.here = Workspace.init(world.folder / "a", model={"prior_strength": 20.0, "unassigned": False})
    world.here.learn(*world.rows(dict.fromkeys(range(8), 30)))
    world.session({0: 60, 1: 60, 2: 60})
    for asked in world.questions("odd"):
        own = world.here.items(f"category={asked.categories[0]}", "session=1", "probability<=0.75")
        doubts = sorted((1 - item.probability for item in own), reverse=True)[:12]
        assert [1 - item.probability for item in asked.items] == doubts
        assert asked.gain == pytest.approx(sum(doubts))
        assert asked.facts["doubtful"] == len(own)
    assert {asked.id for asked in world.questions("odd")} == {"odd-0", "odd-1"}


def test_unassigned_items_and_doubts_are_labelled_first(world):
    between = (world.means[0] + world.means[1]) / 2 + 0.1 * world.rng.normal(size=(3, 8))
    world.session({0: 20, 1: 20}, extra=between)
    asked = world.questions("label")
    assert {item.reference for question in asked for item in question.items} >= {"40", "41", "42"}
    assert asked[0].gain >= asked[-1].gain


def test_a_seedling_is_asked_about_with_its_items(world):
    world.means[2] += 1.5
    record = world.session(dict.fromkeys(range(8), 15))
    groups = world.questions("group")
    assert sorted(len(question.items) for question in groups) == sorted(record.seedlings)
    asked = max(groups, key=lambda question: len(question.items))
    assert {int(item.reference) // 15 for item in asked.items} == {2}
    assert {item.category for item in asked.items} == {None}
    assert asked.needs_category
    world.here.accept(asked.id, to="moved on", create=True, without=[1])
    [made] = [category for category in world.here.entries() if category.name == "moved on"]
    assert len(world.here.items(f"category={made.id}")) == len(asked.items) - 1
    assert asked.id not in {question.id for question in world.questions("group") if len(question.items) > 1}


def test_unassigned_items_without_a_seedling_go_where_they_are_most_like(world, monkeypatch):
    monkeypatch.setattr("vbcgcd.workspace.queries.review.group.seedling_rows", lambda snapshot: {})
    world.means[2] += 1.5
    world.session(dict.fromkeys(range(8), 15))
    [asked] = [question for question in world.questions("group") if question.id == "near-2"]
    assert not asked.needs_category
    world.here.accept(asked.id)
    moved = world.here.items("state=moved")
    assert [item.reference for item in moved] == sorted(item.reference for item in asked.items)
    assert {item.category for item in moved} == {2}


def drifting(world, shift):
    world.here = Workspace.init(world.folder / "d", model={"prior_strength": 20.0, "unassigned": False})
    world.here.learn(*world.rows(dict.fromkeys(range(8), 30)))
    for session in range(6):
        if session == 4:
            world.means[2] += shift
        world.session(dict.fromkeys(range(8), 15))
    return world.questions("drift")


def test_a_category_that_moves_has_drifted(world):
    asked = drifting(world, 1.0)[0]
    assert (asked.id, asked.facts["since"]) == ("drift-2", 5)
    assert asked.probability > 0.9
    assert len(asked.items) == 30
    assert "lie elsewhere" in asked.reason


def test_without_a_move_nothing_has_drifted(world):
    assert drifting(world, 0.0) == ()


def test_a_category_that_gets_no_items_any_more_is_stale(world):
    for session in range(6):
        world.session({k: 15 for k in range(8) if k != 5 or session < 2})
    [asked] = world.questions("stale")
    assert (asked.id, asked.facts["last"], asked.facts["silent"]) == ("stale-5", 2, 4)
    assert asked.facts["expected"] == pytest.approx(15 / 120 * 4 * 105, rel=0.2)  # a few are unassigned
    world.here.accept("stale-5")
    assert world.here.category(5, retired=True).status == "dropped"
