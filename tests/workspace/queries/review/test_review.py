"""The list: its order, ids that last, dismissals that are remembered, and what is refused."""

import json

import numpy as np
import pytest

from vbcgcd.errors import InputError
from vbcgcd.workspace import Workspace
from vbcgcd.workspace.queries.review.dismissed import Dismissal, is_open
from vbcgcd.workspace.queries.review.evidence import Finding
from vbcgcd.workspace.queries.review.label import _different


def ids(here, **options):
    return [question.id for question in here.review(None, **options).questions]


def test_the_most_worthwhile_is_first_whatever_its_kind(pieces):
    found = pieces.here.review(None)
    ranks = [question.rank for question in found.questions]
    assert ranks == sorted(ranks, reverse=True)
    assert found.total == len(found.questions) == sum(found.counts.values())
    assert found.questions[0].id == "same-8-9"
    assert found.places == tuple(range(1, found.total + 1))
    assert pieces.here.review(2).questions == found.questions[:2]


def test_a_list_of_one_kind_keeps_the_places_of_all(pieces):
    every = ids(pieces.here)
    for kind in ("same", "label", "odd"):
        found = pieces.here.review(None, kind=kind)
        assert [every[place - 1] for place in found.places] == [question.id for question in found.questions]


def test_questions_can_be_written_as_json(pieces):
    values = json.loads(json.dumps(pieces.here.review().as_json()))
    first = values["questions"][0]
    assert first["id"] == "same-8-9"
    assert first["gain"] == pytest.approx(first["probability"] * first["affected"])
    assert {side["category"] for side in first["sides"]} == {8, 9}
    assert set(first["sides"][0]["typical"][0]) >= {"reference", "text", "probability"}
    assert values["commit"] == pieces.here.last_commit


def test_ids_last_while_the_workspace_grows(pieces):
    before = ids(pieces.here, kind="same")
    pieces.session({2: 10, 3: 10})
    assert ids(pieces.here, kind="same") == before
    assert ids(Workspace.open(pieces.here.path)) == ids(pieces.here)


def test_a_question_is_found_by_its_id_and_by_its_place(pieces):
    assert pieces.here.question("same-8-9") == pieces.here.question(1)


def test_accepting_is_the_command_itself(pieces):
    result = pieces.here.accept("same-8-9")
    assert (result.command, list(result.retired)) == ("merge", [8, 9])
    assert pieces.here.last_command().command == "merge"
    assert ids(pieces.here, kind="same") == []
    pieces.here.undo()
    assert ids(pieces.here, kind="same") == ["same-8-9"]


def test_a_question_that_is_settled_cannot_be_accepted_again(pieces):
    pieces.here.accept("same-8-9")
    with pytest.raises(InputError, match=r"same-8-9 is not open any more: 'novel-8'.*was merged into"):
        pieces.here.accept("same-8-9")


def test_an_item_that_was_corrected_since_is_named(pieces):
    asked = pieces.questions("label")
    assert asked
    item = asked[0].items[0]
    pieces.here.move_items(item, 0)
    with pytest.raises(InputError, match=rf"item '{item.reference}'.*was moved"):
        pieces.here.accept(asked[0].id, to=1)


def test_a_dismissed_question_does_not_come_back(pieces):
    done = pieces.here.dismiss("same-8-9")
    assert (done.question, pieces.here.last_command().command) == ("same-8-9", "dismiss")
    assert "same-8-9" not in ids(pieces.here)
    assert pieces.here.review().dismissed == 1
    pieces.session({2: 10, 3: 10})
    assert "same-8-9" not in ids(Workspace.open(pieces.here.path))
    with pytest.raises(InputError, match=r"same-8-9 was dismissed \(commit 4\)"):
        pieces.here.accept("same-8-9")


def test_undo_and_redo_of_a_dismissal(pieces):
    before = ids(pieces.here)
    pieces.here.dismiss("same-8-9")
    pieces.here.undo()
    assert ids(pieces.here) == before
    pieces.here.redo()
    assert "same-8-9" not in ids(pieces.here)


def test_whoever_says_that_two_differ_has_said_it_of_what_they_are_merged_into(world):
    world.session({0: 10, 1: 10, 10: 60}, n_novel=3)
    pairs = ids(world.here, kind="same")
    assert set(pairs) == {"same-8-9", "same-8-10", "same-9-10"}
    world.here.dismiss("same-8-9")
    world.here.accept("same-9-10")
    assert ids(world.here, kind="same") == []


@pytest.mark.parametrize(
    ("probability", "affected", "back"),
    [(0.5, 10, False), (0.6, 19, False), (0.5, 20, True), (0.92, 10, True), (0.89, 10, False)],
)
def test_a_dismissed_question_comes_back_if_its_evidence_changed_clearly(probability, affected, back):
    finding = Finding("same-1-2", "same", probability, affected, 20.0)
    assert is_open(finding, Dismissal(3, 0.5, 10.0)) is back
    assert is_open(finding, None)


def test_a_dismissal_is_exported_and_imported(pieces, tmp_path):
    pieces.here.dismiss("same-8-9")
    pieces.here.export(tmp_path / "all.zip")
    again = Workspace.import_(tmp_path / "all.zip", tmp_path / "again")
    assert ids(again) == ids(pieces.here)
    assert again.review().dismissed == 1


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("same-8", "There is no question 'same-8'"),
        ("same-8-77", "there is no category 77"),
        ("two-3", "the evidence no longer asks for it"),
        ("label-99-1", "no session of commit 99"),
        ("label-3-999", "has no item 999"),
        ("0", "none has the number 0"),
        ("9999", "none has the number 9999"),
        ("", "There is no question ''"),
    ],
)
def test_unknown_questions(pieces, key, message):
    before = pieces.here.last_commit
    for act in (pieces.here.question, pieces.here.accept, pieces.here.dismiss):
        with pytest.raises(InputError, match=message):
            act(key)
    assert pieces.here.last_commit == before


@pytest.mark.parametrize("place", ["1", " 1 ", 1])
def test_answers_take_an_id_and_no_place_of_the_list(pieces, place):
    before, first = pieces.here.last_commit, pieces.here.question(1).id
    assert pieces.here.question(place).id == first
    for act in (pieces.here.accept, pieces.here.dismiss):
        with pytest.raises(InputError, match=f"by its id. Number .* is {first} now") as caught:
            act(place)
        assert caught.value.option == "question"
    assert pieces.here.last_commit == before


def test_bad_answers_change_nothing(pieces):
    label, before = pieces.questions("label")[0].id, pieces.here.last_commit
    with pytest.raises(InputError, match="takes no category"):
        pieces.here.accept("same-8-9", to=3)
    with pytest.raises(InputError, match="none has the number 7"):
        pieces.here.accept(label, to=3, without=[7])
    with pytest.raises(InputError, match="All items are left out"):
        pieces.here.accept(label, to=3, without=[1])
    with pytest.raises(InputError, match="no category 'nowhere'"):
        pieces.here.accept(label, to="nowhere")
    with pytest.raises(InputError, match="kind"):
        pieces.here.review(kind="best")
    with pytest.raises(InputError, match="n must be"):
        pieces.here.review(-1)
    assert pieces.here.last_commit == before


def test_an_empty_workspace_has_nothing_to_ask(tmp_path):
    with pytest.raises(InputError, match="This workspace is empty"):
        Workspace.init(tmp_path / "empty").review()


def test_a_workspace_without_traces_is_reviewed_too(pieces):
    for file in pieces.here.path.rglob("traces.safetensors"):
        file.unlink()
    with pytest.warns(UserWarning, match="traces"):
        assert "same-8-9" in ids(Workspace.open(pieces.here.path))


def test_chosen_labels_are_of_different_pairs():
    gain, pair = np.array([5.0, 4.9, 4.8, 3.0, 2.0]), np.array([0, 0, 0, 1, 2])
    chosen = [place for place, _ in _different(gain, pair)]
    assert chosen[:2] == [0, 3]
    assert sorted(chosen) == [0, 1, 2, 3, 4]
