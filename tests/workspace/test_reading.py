import pytest

from vbcgcd.errors import InputError
from vbcgcd.workspace import Workspace


def test_items_without_a_file_are_shown_by_their_reference(animals):
    [view, *_] = animals.overview().categories
    shown = animals.shown(view.typical)
    assert [part.reference for part in shown] == [item.reference for item in view.typical]
    assert not any(part.text or part.jpeg for part in shown)


def test_only_the_categories_asked_for_are_looked_up(animals, monkeypatch):
    animals.merge(["dog", 3], name="mix")
    everything = animals.categories(retired=True)
    looked_up = []
    query = animals._query()
    typical = query.ledger.typical
    monkeypatch.setattr(query.ledger, "typical", lambda k, n: looked_up.append(k) or typical(k, n))
    assert animals.categories(only=[4, 2, 1, 99]) == tuple(c for c in everything if c.id in (2, 4))
    assert looked_up == [2, 4]
    some = animals.categories(only={0, 1}, retired=True)
    assert some == tuple(c for c in everything if c.id in (0, 1))
    assert animals.categories(only=()) == ()


def test_the_last_command_and_what_a_redo_would_bring_back(animals):
    assert (animals.last_command().command, animals.next_redo()) == ("discover", None)
    renamed = animals.rename(0, "tom").commit
    told = animals.last_command()
    assert (told.commit, told.command, told.undone) == (renamed, "rename", False)
    animals.undo()
    assert animals.last_command().command == "discover"
    back = animals.next_redo()
    assert (back.commit, back.parameters["name"], back.undone) == (renamed, "tom", True)
    animals.undo()
    assert (animals.last_command().command, animals.next_redo().command) == ("learn", "discover")
    animals.redo()
    assert (animals.last_command().command, animals.next_redo().commit) == ("discover", renamed)
    Workspace.open(animals.path).drop(4)
    assert (animals.last_command().command, animals.next_redo()) == ("drop", None)


def test_before_anything_was_learned_the_last_command_is_init(fresh):
    assert (fresh.last_command().command, fresh.next_redo()) == ("init", None)


def test_a_target_is_checked_without_writing(animals, tmp_path, tree):
    before = tree(tmp_path)
    for name, message in (
        ("animals/HEAD", "belongs to the workspace itself"),
        ("animals/commits/x.csv", "belongs to the workspace itself"),
        ("animals", "is a folder"),
        ("no/x.csv", "no folder"),
    ):
        with pytest.raises(InputError, match=message):
            animals.check_target(tmp_path / name)
    animals.check_target(str(tmp_path / "x.csv"))
    assert tree(tmp_path) == before


@pytest.mark.parametrize("embedder", [5, "pixels", object()])
def test_only_an_embedder_is_an_embedder(template, embedder):
    with pytest.raises(InputError, match="embedder must be an object with the protocol"):
        Workspace.open(template, embedder=embedder)
