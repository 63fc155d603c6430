import sys

import numpy as np
import pytest

from vbcgcd.errors import InputError
from vbcgcd.items import read_items
from vbcgcd.items.parquet import ParquetTable
from vbcgcd.items.tables import BLOCK

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def written(tmp_path):
    def write(columns):
        path = tmp_path / "t.parquet"
        pq.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), path)
        return path

    return write


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("fixed", [True, False])
def test_vectors_keep_their_type_over_blocks(written, dtype, fixed):
    rows = np.random.default_rng(0).normal(size=(BLOCK + 7, 3)).astype(dtype)
    flat = pa.array(rows.ravel())
    offsets = pa.array(np.arange(0, rows.size + 1, 3, dtype=np.int32))
    column = pa.FixedSizeListArray.from_arrays(flat, 3) if fixed else pa.ListArray.from_arrays(offsets, flat)
    items = read_items(written({"vec": column, "label": pa.array(["a"] * len(rows)).dictionary_encode()}))
    assert (items.kind, items.values.dtype) == ("embedding", dtype)
    np.testing.assert_array_equal(items.values, rows)
    assert set(items.labels) == {"a"}


def test_columns_of_numbers_keep_their_type(written):
    rows = np.random.default_rng(0).normal(size=(4, 9)).astype(np.float32)
    items = read_items(written({f"f{i}": rows[:, i] for i in range(9)}))
    assert items.values.dtype == np.float32
    np.testing.assert_array_equal(items.values, rows)


def test_types_of_the_file_are_kept(written):
    path = written({"text": ["12", "x"], "label": pa.array([3, None], pa.int32()), "id": [7, 8]})
    items = read_items(path)
    assert items.values == ["12", "x"]
    assert items.labels.tolist() == [3, None]
    assert items.references == ["7", "8"]


@pytest.mark.parametrize(
    ("columns", "options", "words"),
    [
        ({"v": [[1.0, 2.0], [1.0]]}, {}, "row 1: 1 .* 2"),
        ({"v": [[1.0, 2.0], None]}, {}, "row 1: .*empty"),
        (
            {"v": [[1.0, float("nan")]]},
            {},
            "1 of 1 .*'0', position 1",
        ),
        ({"n": [1.0], "m": [1.0]}, {"text": "n"}, "row 0.*'1.0'"),
        ({"p": [1.0, None], "q": [1.0, 2.0]}, {}, "'p'.* row 1: .*empty"),
        ({"v": [[1.0]], "w": [1.0]}, {"embedding": ["v", "w"]}, "'v'.* number"),
    ],
)
def test_cells_that_cannot_be_used(written, columns, options, words):
    with pytest.raises(InputError, match=words):
        read_items(written(columns), **options)


def test_two_columns_of_one_name(written):
    with pytest.raises(InputError, match="'a'"):
        ParquetTable(written(pa.table([[1], [2]], names=["a", "a"])))


def test_a_table_without_rows(written):
    with pytest.raises(InputError, match="no rows"):
        read_items(written({"text": pa.array([], pa.string())}))


@pytest.mark.parametrize("keep", [30, 100, -5])
def test_a_truncated_file(written, keep):
    path = written({"text": ["a"] * 1000, "n": np.arange(1000)})
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(InputError):
        read_items(path)


def test_damaged_pages(written):
    path = written({"text": [f"a{i}" for i in range(1000)]})
    data = bytearray(path.read_bytes())
    data[4:400] = bytes(396)
    path.write_bytes(data)
    with pytest.raises(InputError):
        read_items(path)


def test_strings_that_are_no_strings(written):
    column = pa.array([b"ok", b"caf\xe9"]).view(pa.string())
    with pytest.raises(InputError, match="utf-8"):
        read_items(written({"text": column}))


def test_without_pyarrow_the_package_is_named(written, monkeypatch):
    path = written({"text": ["a"]})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(InputError, match="pyarrow"):
        read_items(path)
