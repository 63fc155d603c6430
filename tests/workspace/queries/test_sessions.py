from vbcgcd.workspace import Workspace


def test_changes_since_the_last_session(animals, blobs):
    changes = animals.changes()
    assert (changes.session, set(changes.novel), changes.retired) == (1, {3, 4}, {})
    assert sum(changes.gains.values()) == 100
    animals.rename("cat", "tom")
    animals.merge([3, 1], name="mix")
    animals.drop(2)
    animals.undo()
    changes = animals.changes()
    assert changes.renamed == {0: ("cat", "tom")}
    assert changes.novel == {4: "novel-4", 5: "mix"}
    assert changes.retired == {1: "dog"}
    assert [c.command for c in changes.commands] == ["discover", "rename", "merge"]
    assert sum(changes.gains.values()) == 100


def test_the_history_tells_what_was_undone(animals):
    animals.drop(2)
    animals.undo()
    told = [(c.command, c.undone) for c in animals.history()]
    assert told == [
        ("init", False),
        ("learn", False),
        ("discover", False),
        ("drop", True),
        ("undo", False),
    ]
    assert animals.history()[2].parameters == {"n_novel": 2}


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


def test_categories_after_each_session_in_effect(animals, blobs):
    animals.learn(blobs.probe[:20], ["yak"] * 20)
    animals.drop(0)  # after the session: it counts from the next one on
    growth = [(count.session, count.labelled, count.discovered) for count in animals.overview().growth]
    assert growth == [(0, 3, 0), (1, 3, 2), (2, 4, 2)]
    animals.undo()
    animals.undo()
    assert [count.session for count in animals.overview().growth] == [0, 1]
