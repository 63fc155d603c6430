import numpy as np
import pytest

from vbcgcd.errors import InputError
from vbcgcd.items.tables import TABLES, Block, open_table


@pytest.mark.parametrize("ending", TABLES)
def test_an_empty_file_is_said_to_be_empty(tmp_path, ending):
    path = tmp_path / f"t{ending}"
    path.touch()
    with pytest.raises(InputError, match="is empty"):
        open_table(path)


def test_other_endings_are_no_tables(tmp_path):
    with pytest.raises(InputError, match=r"tables end in \.csv"):
        open_table(tmp_path / "t.xlsx")


@pytest.mark.parametrize(("ending", "text"), [(".CSV", "a,b\n1,2\n"), (".ndjson", '{"a": 1, "b": 2}')])
def test_endings_are_known_in_any_case(tmp_path, ending, text):
    path = tmp_path / f"t{ending}"
    path.write_text(text)
    assert open_table(path).names == ["a", "b"]


def test_a_filtered_block_keeps_rows_together():
    block = Block({"a": ["x", "y", "z"], "b": np.arange(6).reshape(3, 2)}, [5, 6, 9])
    kept = block.filtered(np.array([True, False, True]))
    assert kept.columns["a"] == ["x", "z"]
    assert kept.columns["b"].tolist() == [[0, 1], [4, 5]]
    assert kept.places == [5, 9]
    assert block.filtered(np.ones(3, dtype=bool)) is block
