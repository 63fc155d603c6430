import numpy as np
import pytest

from vbcgcd import CategoryDiscoverer
from vbcgcd.tabular import Picture, Tabular, html_table


class Answers(Tabular):
    def columns_of_rows(self):
        return {"a": np.array([1, 2]), "p": np.array([0.5, np.nan]), "v": np.eye(2), "t": ["x", None]}


def test_rows_are_plain():
    assert list(Answers()) == [
        {"a": 1, "p": 0.5, "v": [1.0, 0.0], "t": "x"},
        {"a": 2, "p": None, "v": [0.0, 1.0], "t": None},
    ]
    assert Answers().to_pandas()["v"].tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert Answers().to_polars().shape == (2, 4)


def test_cells_are_escaped_and_pictures_cannot_break_out():
    page = html_table([{"<b>": "<i>", "p": Picture('AAA"><script>'), "n": 0.123456}], 1)
    assert "<b>" not in page
    assert "<i>" not in page
    assert "<script" not in page
    assert "0.123<" in page
    assert html_table([], 0) == ""


@pytest.mark.parametrize("names", [["a", "b"], [3, 7]])
def test_the_record_of_an_estimator_is_a_table(names):
    rows = np.array([[0.0], [0.5], [1.0], [8.0], [8.5], [9.0]])
    model = CategoryDiscoverer().fit(rows, np.repeat(names, 3))
    record = model.discover([[0.4], [8.4], [30.0], [30.5], [31.0], [31.5]], n_novel=1)
    frame = record.to_pandas()
    assert frame["category"].tolist() == record.labels_.tolist()
    np.testing.assert_array_equal(frame["unassigned"], record.is_unassigned_)
    own = frame[~frame["unassigned"]]
    assert (own["second"] != own["category"]).all()
    assert (own["probability"] + own["second_probability"] <= 1 + 1e-6).all()
    place = {label: k for k, label in enumerate(model.classes_.tolist())}
    for row in own.to_dict("records"):
        assert row["probability"] == pytest.approx(record.probabilities_[row["row"], place[row["category"]]])
