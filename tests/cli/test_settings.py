from dataclasses import asdict, fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbcgcd import InputError
from vbcgcd.cli.settings import look_up, merge_settings, parse_value
from vbcgcd.discovery.options import Options
from vbcgcd.workspace import Workspace

CONFIG = {"model": {"count": "silhouette"}, "sample": 200, "embedder": None}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("0.5", 0.5),
        ("true", True),
        ("null", None),
        ("None", None),
        ('"3"', "3"),
        ("[1, 2]", [1, 2]),
    ],
)
def test_values_are_json(text, value):
    assert parse_value(text) == value


@given(st.text(alphabet=st.characters(categories=["Ll"]), min_size=5))
def test_other_values_are_texts(text):
    assert parse_value(text) == (None if text == "null" else {"false": False}.get(text, text))


def test_parts_are_put_into_the_present_value():
    values = [("model.covariance", "full"), ("model.dtype", "float64"), ("sample", 3)]
    changes = merge_settings(values, CONFIG)
    assert changes == {
        "model": {"count": "silhouette", "covariance": "full", "dtype": "float64"},
        "sample": 3,
    }
    assert CONFIG["model"] == {"count": "silhouette"}


@pytest.mark.parametrize("key", ["sample.x", "model."])
def test_what_has_no_parts_is_refused(key):
    with pytest.raises(InputError, match="parts"):
        merge_settings([(key, 1)], CONFIG)


@pytest.mark.parametrize("key", ["nothing", "nothing.x", "path", "self", "cache"])
def test_what_is_no_setting_is_refused(key):
    with pytest.raises(InputError, match="no setting"):
        merge_settings([(key, 1)], CONFIG)


def test_values_are_look_up():
    assert look_up(CONFIG, "model.count") == "silhouette"
    assert look_up(CONFIG, "model.covariance") == "full"  # not set, but in effect
    for key in ("nothing", "sample.x", "model.other"):
        with pytest.raises(InputError):
            look_up(CONFIG, key)


def test_init_without_a_name_uses_the_empty_folder_you_are_in(run, place, monkeypatch):
    (place / "here").mkdir()
    monkeypatch.chdir(place / "here")
    run("init")
    assert Workspace.open(place / "here").config()["embedder"] is None


def test_settings_of_init_reach_the_workspace(run, place):
    options = ("--with", "minilm", "--kind", "text", "--excerpts", 4, "--reject", 0.05)
    parts = ("--set", "model.covariance=diagonal", "--set", "model.n_components=7", "--set", 'names="number"')
    run("init", "n", *options, *parts)
    config = Workspace.open(place / "n").config()
    assert config["model"] == {"covariance": "diagonal", "n_components": 7}
    values = {key: config[key] for key in ("embedder", "kind", "excerpts", "reject", "names")}
    assert values == {"embedder": "minilm", "kind": "text", "excerpts": 4, "reject": 0.05, "names": "number"}


def test_an_embedder_that_is_a_path_is_found_from_everywhere(run, place):
    (place / "tuned").mkdir()
    run("init", "n", "--with", "tuned")
    assert Workspace.open(place / "n").config()["embedder"] == str(place / "tuned")


def test_settings_are_shown_and_changed(run, run_json, animals):
    assert run_json("config")["sample"] == 200
    assert run("config", "model.n_components").stdout == "6\n"
    assert run("config", "model.svi_steps").stdout == "300\n"
    assert "sample is now 50" in run("config", "sample", 50).output
    assert 'names is now "number"' in run("config", "names", "number").output
    assert run_json("config", "reject", "0.1")["reject"] == 0.1
    assert run_json("config", "reject", "null")["reject"] is None
    run("config", "embedder_options.device", "cpu")
    run("config", "embedder_options.batch_size", 8)
    assert run_json("config")["embedder_options"] == {"device": "cpu", "batch_size": 8}
    commits = len(run_json("sessions", "--all")["commands"])
    assert "is already" in run("config", "sample", 50).output
    assert len(run_json("sessions", "--all")["commands"]) == commits


def test_options_of_the_model_are_listed(run, run_json, animals):
    listed = run_json("config", "model")["options"]
    assert [row["option"] for row in listed] == [option.name for option in fields(Options)]
    chosen = {row["option"]: row["value"] for row in listed if row["set"]}
    assert chosen == {"count": "evidence", "n_components": 6, "prior_strength": 20}
    assert {row["option"]: row["default"] for row in listed} == asdict(Options())
    assert all(row["value"] == row["default"] for row in listed if not row["set"])
    first = run("config", "model").stdout.splitlines()[2]
    assert first.split(maxsplit=3)[:3] == ["n_components", "6", "384"]


def test_a_device_that_is_not_here_is_refused(run, animals):
    error = run("config", "model.device", "abacus", code=2).stderr
    assert error.count("\n") == 1
    assert "device 'abacus' is not available on this machine; use 'auto', 'cpu'" in error
    assert run("config", "model.device").stdout == "null\n"
    assert 'model.device is now "auto"' in run("config", "model.device", "auto").output
