import pytest

from vbcgcd.errors import InputError
from vbcgcd.workspace import Workspace


def test_there_is_an_end_to_undo_and_redo(animals):
    with pytest.raises(InputError):
        animals.redo()
    assert [animals.undo().of_command for _ in range(2)] == ["discover", "learn"]
    with pytest.raises(InputError):
        animals.undo()
    assert [animals.redo().of_command for _ in range(2)] == ["learn", "discover"]
    animals.undo()
    animals.rename(0, "tom")
    with pytest.raises(InputError):
        animals.redo()


def test_undo_of_a_command_that_is_meant_refuses_another(animals):
    meant = animals.rename(0, "puss").commit
    later = animals.rename(1, "hound").commit
    with pytest.raises(InputError) as caught:
        animals.undo(commit=meant)
    assert caught.value.option == "commit"
    assert animals.undo(commit=later).of_commit == later
    assert animals.undo(commit=meant).of_commit == meant
    with pytest.raises(InputError) as caught:
        animals.redo(commit=later)
    assert caught.value.option == "commit"
    assert animals.redo(commit=meant).of_commit == meant


@pytest.mark.parametrize("name", ["path", "self", "cls", "colour"])
def test_a_setting_that_is_none_is_told_with_those_that_are(animals, tmp_path, tree, name):
    before = tree(tmp_path)
    with pytest.raises(InputError, match=f"'{name}'"):
        Workspace.init(tmp_path / "w", **{name: 1})
    for given in (name, "cache", "lock_timeout", "changes"):
        with pytest.raises(InputError, match=f"'{given}'"):
            animals.configure(**{given: 1})
    assert tree(tmp_path) == before


def test_settings_can_be_read_changed_and_undone(animals, blobs):
    assert animals.config()["reject"] is None
    assert (animals.predict(blobs.probe).category >= 0).all()
    assert animals.configure(reject=0.05).config["reject"] == 0.05
    refused = animals.predict(blobs.probe)
    assert (refused.category == -1).any()
    assert {n for n, c in zip(refused.name, refused.category, strict=True) if c == -1} == {"none of these"}
    assert (animals.predict(blobs.probe, reject=0).category >= 0).all()
    animals.undo()
    assert animals.config()["reject"] is None
    with pytest.raises(InputError):
        animals.configure()
