"""A day with frames: data in from pandas and polars, answers out to them."""

import pandas
import polars
import pytest

from vbcgcd import Workspace
from vbcgcd.errors import InputError

ROWS = {
    "message": ["pay card", "card money", "rain wind", "wind weather"] * 3,
    "team": ["bank", "bank", "sky", "sky"] * 3,
}


@pytest.fixture(params=[pandas.DataFrame, polars.DataFrame], ids=["pandas", "polars"])
def frame(request):
    return request.param


@pytest.fixture
def taught(tmp_path, words, frame):
    workspace = Workspace.init(tmp_path / "w", embedder=words, model={"count": "evidence"})
    record = workspace.learn(frame(ROWS), label="team")
    assert record.novel == {0: "bank", 1: "sky"}
    return workspace


def test_a_frame_in_and_a_frame_out(taught, frame):
    asked = frame({"message": ["card", "wind"], "id": ["x", "y"]})
    answers = taught.predict(asked)
    assert answers.references == ["x", "y"]
    for table in (answers.to_pandas(), answers.to_polars(), pandas.DataFrame(answers)):
        assert list(table["reference"]) == ["x", "y"]
        assert list(table["name"]) == ["bank", "sky"]
        assert table.shape == (2, 9)


def test_a_series_is_a_list_of_texts(taught, frame):
    column = frame({"message": ["card", "wind"]})["message"]
    assert taught.predict(column).name == taught.predict(["card", "wind"]).name == ["bank", "sky"]


def test_a_frame_of_numbers_with_labels(tmp_path, frame):
    numbers = frame({"a": [0.0, 0.1, 5.0, 5.1] * 3, "b": [0.0, 0.2, 5.0, 5.2] * 3})
    workspace = Workspace.init(tmp_path / "w", model={"count": "evidence"})
    workspace.learn(numbers, ["low", "low", "high", "high"] * 3)
    assert set(workspace.predict(numbers).name) == {"low", "high"}
    with pytest.raises(InputError, match="cannot be passed together"):
        workspace.learn(numbers, [0] * 12, label="a")


def test_explain_takes_a_text(taught):
    assert taught.explain("card money").candidates[0].name == "bank"
    with pytest.raises(InputError, match="no file or folder"):
        taught.explain("missing.csv")
