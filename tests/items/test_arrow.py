import numpy as np
import pyarrow
import pyarrow.dataset
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
import pytest

from vbcgcd.errors import InputError
from vbcgcd.items import read_items, tables
from vbcgcd.items.arrow import arrow_folder, is_arrow_dataset
from vbcgcd.items.from_table import table_items

TABLE = pyarrow.table({"text": ["hello", "bye", "hi"], "label": ["a", "b", None], "n": [1, 2, 3]})


def written(path, form):
    if form == "feather":
        pyarrow.feather.write_feather(TABLE, path)
        return
    make = pyarrow.ipc.new_stream if form == "stream" else pyarrow.ipc.new_file
    with path.open("wb") as file, make(file, TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=2)


@pytest.mark.parametrize("form", ["file", "stream", "feather"])
def test_files_of_arrow(tmp_path, form):
    path = tmp_path / ("a.feather" if form == "feather" else "a.arrow")
    written(path, form)
    items = read_items(path, keep=["n"])
    assert items.values == ["hello", "bye", "hi"]
    assert items.labels.tolist() == ["a", "b", None]
    assert items.kept == {"n": [1, 2, 3]}


@pytest.mark.parametrize("cut", [3, 20, 200])
def test_a_damaged_file_is_one_error(tmp_path, cut):
    written(tmp_path / "a.arrow", "file")
    content = (tmp_path / "a.arrow").read_bytes()
    (tmp_path / "a.arrow").write_bytes(content[:cut])
    with pytest.raises(InputError, match="Arrow"):
        read_items(tmp_path / "a.arrow")


@pytest.fixture
def folder(tmp_path):
    pyarrow.dataset.write_dataset(
        TABLE, tmp_path / "data", format="parquet", partitioning=["n"], partitioning_flavor="hive"
    )
    (tmp_path / "data" / "_SUCCESS").touch()
    return tmp_path / "data"


def test_a_folder_of_parquet_is_one_table(folder, monkeypatch):
    monkeypatch.setattr(tables, "BLOCK", 2)
    items = read_items(folder, keep=True)
    assert dict(zip(items.values, items.kept["n"], strict=True)) == {"hello": 1, "bye": 2, "hi": 3}
    assert items.columns == {"text": "text", "label": "label"}


def test_only_the_columns_that_are_needed_are_read(folder):
    data = pyarrow.dataset.dataset(folder, partitioning="hive")

    class Watched:
        schema, asked = data.schema, []

        def to_batches(self, columns, **options):
            self.asked.append(columns)
            return data.to_batches(columns=columns, **options)

    table_items(arrow_folder(Watched()), text="text")
    assert Watched.asked[-1] == ["text", "label"]


def test_a_dataset_in_memory(folder):
    data = pyarrow.dataset.dataset(folder, partitioning="hive")
    assert is_arrow_dataset(data)
    assert not is_arrow_dataset(np.zeros(3))


def test_a_folder_with_pictures_stays_one_of_pictures(folder):
    (folder / "cat").mkdir()
    (folder / "cat" / "1.png").touch()
    assert read_items(folder).kind == "image"


def test_two_formats_in_one_folder(folder):
    written(folder / "a.arrow", "file")
    with pytest.raises(InputError, match=r"\.arrow and \.parquet"):
        read_items(folder)


def test_a_damaged_folder_is_one_error(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(InputError, match="not a complete"):
        read_items(tmp_path)
