"""Frames and Series of pandas, polars and Arrow as data."""

import numpy as np
import pandas
import polars
import pyarrow
import pytest

from vbcgcd.errors import InputError
from vbcgcd.items.frames import FrameTable, is_frame, is_series, list_of
from vbcgcd.items.from_table import table_items

COLUMNS = {"ref": ["a", "b", "c"], "body": ["hello", None, "bye"], "intent_name": ["greet", "", None]}
FRAMES = {"pandas": pandas.DataFrame, "polars": polars.DataFrame, "arrow": pyarrow.table}
SERIES = {"pandas": pandas.Series, "polars": polars.Series, "arrow": pyarrow.array}


@pytest.mark.parametrize("library", FRAMES)
def test_columns_are_guessed_as_in_files(library):
    items = table_items(FrameTable(FRAMES[library](COLUMNS)))
    assert (items.kind, items.values, items.references) == ("text", ["hello", "", "bye"], ["a", "b", "c"])
    assert items.labels.tolist() == ["greet", None, None]
    assert items.columns == {"text": "body", "label": "intent_name", "id": "ref"}


@pytest.mark.parametrize("library", FRAMES)
def test_columns_can_be_chosen_and_rows_split(library):
    frame = FRAMES[library]({"one": ["x", "y"], "two": ["p", "q"], "part": ["train", "test"]})
    items = table_items(FrameTable(frame), text="two", split=("part", "test"))
    assert (items.values, items.references) == (["q"], ["1"])


@pytest.mark.parametrize("library", FRAMES)
def test_numbers_and_lists_are_embeddings(library):
    wide = FRAMES[library]({f"e{i}": [float(i), 1.0] for i in range(8)})
    np.testing.assert_array_equal(table_items(FrameTable(wide)).values[0], np.arange(8.0))
    lists = FRAMES[library]({"embedding": [[1.0, 2.0], [3.0, 4.0]]})
    np.testing.assert_array_equal(table_items(FrameTable(lists)).values, [[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize("library", FRAMES)
def test_frames_and_series_are_told_apart(library):
    frame, column = FRAMES[library](COLUMNS), SERIES[library](["a", None])
    assert (is_frame(frame), is_series(frame)) == (True, False)
    assert (is_frame(column), is_series(column)) == (False, True)
    assert list_of(column) == ["a", None]


def test_what_is_no_frame_is_left_to_others():
    for data in ([1, 2], np.zeros((2, 2)), "path.csv", {"text": ["a"]}):
        assert not is_frame(data)
        assert not is_series(data)


def test_an_empty_frame_and_a_repeated_column_are_errors():
    with pytest.raises(InputError, match="no rows"):
        table_items(FrameTable(pandas.DataFrame({"text": []})))
    with pytest.raises(InputError, match="more than one column named 'a'"):
        FrameTable(pandas.DataFrame([[1, 2]], columns=["a", "a"]))


def test_more_rows_than_a_block():
    frame = pandas.DataFrame({"text": [f"t{i}" for i in range(2500)]}, index=range(10, 2510))
    items = table_items(FrameTable(frame))
    assert items.values[-1] == "t2499"
    assert items.references[-1] == "2509"  # by its index


def test_the_index_of_a_frame_names_its_items():
    frame = pandas.DataFrame({"body": ["hello", "so", "bye"], "part": ["x", "y", "x"]}, index=[7, 3, 9])
    assert table_items(FrameTable(frame), text="body").references == ["7", "3", "9"]
    assert table_items(FrameTable(frame), text="body", split=("part", "x")).references == ["7", "9"]
    assert table_items(FrameTable(frame[1:].assign(id=["a", "b"])), text="body").references == ["a", "b"]


@pytest.mark.parametrize("index", [None, ["a", "b", "a"], ["a", "b", None], [("a", 1), ("a", 2), ("b", 1)]])
def test_an_index_that_does_not_name_the_rows_is_left_out(index):
    if index and isinstance(index[0], tuple):
        index = pandas.MultiIndex.from_tuples(index)
    frame = pandas.DataFrame({"body": ["hello", "so", "bye"]}, index=index)
    assert table_items(FrameTable(frame)).references == ["0", "1", "2"]
