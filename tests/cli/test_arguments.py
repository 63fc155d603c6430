import pytest

from vbcgcd import InputError
from vbcgcd.cli.arguments import column_options, complete_category, complete_setting, key_value


def test_a_workspace_is_found_in_folders_above_by_option_and_by_variable(run, run_json, animals, monkeypatch):
    (animals / "notes" / "deep").mkdir(parents=True)
    monkeypatch.chdir(animals / "notes" / "deep")
    assert run_json("status")["workspace"] == str(animals)
    monkeypatch.chdir(animals.parent)
    assert "vbcgcd init" in run("status", code=2).stderr
    assert run_json("status", "--workspace", "animals")["workspace"] == str(animals)
    monkeypatch.setenv("VBCGCD_WORKSPACE", "animals")
    assert run_json("status")["workspace"] == str(animals)


def test_a_file_of_another_program_does_not_make_a_workspace(run, place):
    (place / "workspace.json").write_text('{"version": 2, "projects": {}}')
    assert "vbcgcd init" in run("status", code=2).output


def test_only_columns_that_were_given_are_passed_on():
    assert column_options() == {}
    assert column_options(text="body", embedding=["v"], split="part=a=b") == {
        "text": "body",
        "embedding": "v",
        "split": ("part", "a=b"),
    }
    assert column_options(embedding=["a", "b"]) == {"embedding": ["a", "b"]}


def test_pairs_are_split_at_the_first_sign():
    assert key_value("a=b=c", "set") == ("a", "b=c")
    for pair in ("a", "=b", ""):
        with pytest.raises(InputError) as error:
            key_value(pair, "set")
        assert error.value.option == "set"


class Context:
    """Options on the command line before the word to complete."""

    def __init__(self, **params):
        self.params = params


def test_categories_are_completed_by_id_and_by_name(animals):
    assert complete_category(Context(workspace=None), "") == [
        ("0", "cat"),
        ("1", "dog"),
        ("2", "owl"),
        ("3", "novel-3"),
        ("4", "novel-4"),
    ]
    assert complete_category(Context(), "no") == [("novel-3", "id 3"), ("novel-4", "id 4")]
    assert complete_category(Context(workspace=str(animals)), "3") == [("3", "novel-3")]


def test_settings_are_completed():
    assert complete_setting(Context(), "sa") == ["sample"]
    assert "model.covariance" in complete_setting(Context(), "model.")


def test_completion_never_fails(place):
    assert complete_category(Context(), "x") == []
    assert complete_category(None, None) == []
    assert complete_setting(None, None) == []
    assert complete_category(Context(workspace=str(place / "absent")), "") == []
