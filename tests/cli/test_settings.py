import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbcgcd import InputError
from vbcgcd.cli.settings import changes_of, looked_up, pair, value_of

CONFIG = {"model": {"count": "silhouette"}, "sample": 200, "embedder": None}


@pytest.mark.parametrize(
    ("given", "value"),
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
def test_values_are_json(given, value):
    assert value_of(given) == value


@given(st.text(alphabet=st.characters(categories=["Ll"]), min_size=5))
def test_other_values_are_texts(text):
    assert value_of(text) == (None if text == "null" else {"false": False}.get(text, text))


def test_parts_are_put_into_the_present_value():
    given = [("model.covariance", "full"), ("model.dtype", "float64"), ("sample", 3)]
    changes = changes_of(given, CONFIG)
    assert changes == {
        "model": {"count": "silhouette", "covariance": "full", "dtype": "float64"},
        "sample": 3,
    }
    assert CONFIG["model"] == {"count": "silhouette"}


@pytest.mark.parametrize("key", ["sample.x", "model."])
def test_what_has_no_parts_is_refused(key):
    with pytest.raises(InputError, match="not a part"):
        changes_of([(key, 1)], CONFIG)


@pytest.mark.parametrize("key", ["nothing", "nothing.x", "path", "self", "cache"])
def test_what_is_no_setting_is_refused(key):
    with pytest.raises(InputError, match="no setting"):
        changes_of([(key, 1)], CONFIG)


def test_values_are_looked_up():
    assert looked_up(CONFIG, "model.count") == "silhouette"
    assert looked_up(CONFIG, "model.other") is None
    for key in ("nothing", "sample.x"):
        with pytest.raises(InputError, match="no setting"):
            looked_up(CONFIG, key)


def test_pairs_are_split_at_the_first_sign():
    assert pair("a=b=c", "--set") == ("a", "b=c")
    for wrong in ("a", "=b", ""):
        with pytest.raises(InputError, match="--set"):
            pair(wrong, "--set")
