"""Sources of rows: files of NumPy, Parquet and Arrow, in blocks of one size."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbcgcd.blocks import ArrayBlocks, RowBlocks, in_blocks, is_source, loaded, open_rows
from vbcgcd.errors import InputError
from vbcgcd.items import read_items
from vbcgcd.marks import MANIFEST, UNFINISHED, write_mark

ROWS = np.random.default_rng(0).standard_normal((1000, 5)).astype(np.float32)


def vectors(rows, kind="list"):
    values = pa.array(rows.ravel())
    if kind == "fixed":
        return pa.FixedSizeListArray.from_arrays(values, rows.shape[1])
    offsets = pa.array(np.arange(0, rows.size + 1, rows.shape[1], dtype=np.int32))
    return pa.ListArray.from_arrays(offsets, values)


def write_arrow(path, table, *, stream):
    opened = pa.ipc.new_stream if stream else pa.ipc.new_file
    with opened(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=137)


@pytest.fixture(params=["npy", "parquet", "numbers", "fixed", "folder", "arrow", "stream", "array"])
def source(request, tmp_path):
    kind, path = request.param, tmp_path / "rows.parquet"
    if kind == "array":
        return open_rows(ROWS)
    if kind == "npy":
        np.save(tmp_path / "rows.npy", ROWS)
        return open_rows(tmp_path / "rows.npy")
    if kind == "numbers":
        table = pa.table({f"x{i}": ROWS[:, i] for i in range(5)} | {"text": ["a"] * len(ROWS)})
        pq.write_table(table, path, row_group_size=300)
        return open_rows(str(path))
    if kind == "folder":
        for i, part in enumerate(np.array_split(ROWS, 3)):
            pq.write_table(pa.table({"embedding": vectors(part)}), tmp_path / f"part-{i}.parquet")
        return open_rows(tmp_path)
    table = pa.table({"id": np.arange(len(ROWS)), "embedding": vectors(ROWS, kind)})
    if kind in ("arrow", "stream"):
        write_arrow(tmp_path / "rows.arrow", table, stream=kind == "stream")
        return open_rows(tmp_path / "rows.arrow")
    pq.write_table(table, path, row_group_size=300)
    return open_rows(path)


def test_every_source_has_the_same_rows_in_blocks_of_any_size(source):
    assert isinstance(source, RowBlocks)
    assert (len(source), source.width) == ROWS.shape
    for size in (1, 137, 999, 1000, 5000):
        blocks = list(in_blocks(source, size))
        assert [start for start, _ in blocks] == list(range(0, 1000, size))
        assert {len(rows) for _, rows in blocks[:-1]} <= {size}
        np.testing.assert_array_equal(np.concatenate([rows for _, rows in blocks]), ROWS)


def test_every_source_gives_single_rows(source):
    for rows in (np.array([0, 3, 299, 300, 700, 999]), np.arange(1000), np.array([], dtype=int)):
        np.testing.assert_array_equal(source.take(rows), ROWS[rows])
    np.testing.assert_array_equal(loaded(source), ROWS)


def test_single_rows_of_a_table_keep_all_their_digits(tmp_path):
    rows = 1e8 + ROWS.astype(np.float64)
    pq.write_table(pa.table({"embedding": vectors(rows)}), tmp_path / "rows.parquet", row_group_size=300)
    np.testing.assert_array_equal(
        open_rows(tmp_path / "rows.parquet").take(np.array([5, 700])), rows[[5, 700]]
    )


@given(st.lists(st.integers(0, 7), max_size=12), st.integers(1, 9))
def test_blocks_do_not_depend_on_the_pieces(lengths, size):
    total = sum(lengths)

    class Pieces:
        width = 2

        def __len__(self):
            return total

        def pieces(self):
            rows, at = np.arange(2.0 * total).reshape(-1, 2), 0
            for length in lengths:
                yield rows[at : at + length]
                at += length

        def take(self, rows):
            raise NotImplementedError

    blocks = list(in_blocks(Pieces(), size))
    assert [len(rows) for _, rows in blocks] == [min(size, total - i) for i in range(0, total, size)]
    if total:
        flat = np.concatenate([rows for _, rows in blocks]).ravel()
        np.testing.assert_array_equal(flat, np.arange(2.0 * total))


def test_what_is_a_source():
    assert is_source("rows.npy")
    assert is_source(ArrayBlocks(ROWS))
    assert not is_source(ROWS)
    assert not is_source(ROWS.tolist())


def test_a_value_that_is_not_finite_is_named(tmp_path):
    rows = ROWS.copy()
    rows[613, 2] = np.nan
    np.save(tmp_path / "rows.npy", rows)
    with pytest.raises(InputError, match=r"Row 613 of .*rows\.npy contains NaN or infinity in column 2"):
        loaded(tmp_path / "rows.npy")
    pq.write_table(pa.table({"embedding": vectors(rows)}), tmp_path / "rows.parquet", row_group_size=100)
    with pytest.raises(InputError, match=r"Row 613 of .*rows\.parquet contains NaN"):
        loaded(tmp_path / "rows.parquet")


@pytest.mark.parametrize("ending", [".npy", ".parquet", ".arrow"])
def test_a_broken_file_is_named(tmp_path, ending):
    path = tmp_path / f"rows{ending}"
    path.write_bytes(b"no rows at all")
    with pytest.raises(InputError, match=r"rows\.\w+ cannot be read as"):
        open_rows(path)


def test_a_broken_shard_is_named(tmp_path):
    for i in range(3):
        pq.write_table(pa.table({"embedding": vectors(ROWS)}), tmp_path / f"part-{i}.parquet")
    whole = (tmp_path / "part-1.parquet").read_bytes()
    (tmp_path / "part-1.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"part-1\.parquet cannot be read as Parquet.*leave it out"):
        open_rows(tmp_path)


def test_files_of_another_width_are_named(tmp_path):
    for i, width in enumerate((5, 4)):
        pq.write_table(pa.table({"embedding": vectors(ROWS[:, :width])}), tmp_path / f"part-{i}.parquet")
    with pytest.raises(
        InputError, match=r"part-1\.parquet has rows of 4 numbers, and .*part-0\.parquet of 5"
    ):
        open_rows(tmp_path)


def test_vectors_of_different_lengths_are_refused(tmp_path):
    pq.write_table(pa.table({"embedding": [[1.0, 2.0], [3.0]]}), tmp_path / "rows.parquet")
    with pytest.raises(InputError, match=r"Row 1 of .* has 1 numbers instead of 2"):
        loaded(tmp_path / "rows.parquet")


def test_a_missing_vector_is_named(tmp_path):
    pq.write_table(pa.table({"embedding": [[1.0, 2.0], None]}), tmp_path / "rows.parquet")
    with pytest.raises(InputError, match=r"Row 1 of .* has no vector"):
        loaded(tmp_path / "rows.parquet")


def test_of_several_columns_one_must_be_chosen(tmp_path):
    table = pa.table({"a": vectors(ROWS), "b": vectors(ROWS + 1)})
    pq.write_table(table, tmp_path / "rows.parquet")
    with pytest.raises(InputError, match="several columns of vectors, 'a', 'b'"):
        open_rows(tmp_path / "rows.parquet")
    np.testing.assert_array_equal(loaded(open_rows(tmp_path / "rows.parquet", column="b")), ROWS + 1)
    with pytest.raises(InputError, match="no column of vectors 'c'"):
        open_rows(tmp_path / "rows.parquet", column="c")


def test_what_cannot_be_opened(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        open_rows(tmp_path / "nothing.npy")
    with pytest.raises(InputError, match="holds no rows"):
        open_rows(tmp_path)
    np.save(tmp_path / "rows.npy", np.array(["a", {}], dtype=object))
    with pytest.raises(InputError, match="cannot be read as an array of NumPy"):
        open_rows(tmp_path / "rows.npy")
    np.save(tmp_path / "rows.npy", np.zeros(3))
    with pytest.raises(InputError, match=r"array \(rows, columns\)"):
        open_rows(tmp_path / "rows.npy")
    with pytest.raises(InputError, match="must be a path, an array or a RowBlocks, got int"):
        open_rows(3)


def test_a_source_that_changes_while_it_is_read(tmp_path):
    class Shrinking(ArrayBlocks):
        def __len__(self):
            return 1001

    with pytest.raises(InputError, match="announced 1001 rows and gave 1000"):
        loaded(Shrinking(ROWS))


def test_a_folder_of_which_shards_are_missing_is_refused(tmp_path):
    for name in ("a", "b"):
        pq.write_table(pa.table({"embedding": vectors(ROWS)}), tmp_path / f"{name}.parquet")
    listed = [{"name": p.name, "bytes": p.stat().st_size} for p in sorted(tmp_path.iterdir())]
    write_mark(tmp_path / UNFINISHED, {"job": {"command": "embed"}})
    with pytest.raises(InputError, match="unfinished output of vbcgcd embed"):
        open_rows(tmp_path)
    write_mark(tmp_path / MANIFEST, {"shards": listed})
    assert len(open_rows(tmp_path)) == 2000
    (tmp_path / "b.parquet").unlink()
    for reader in (open_rows, read_items):
        with pytest.raises(InputError, match=r"is not whole: b\.parquet is missing"):
            reader(tmp_path)


@pytest.mark.parametrize("ending", ["npy", "parquet", "feather"])
@pytest.mark.parametrize("other", [ROWS[::-1], ROWS[:300], ROWS[:, :4]])
def test_a_file_that_changes_between_two_passes_is_one_error(tmp_path, ending, other):
    path = tmp_path / f"rows.{ending}"

    def write(rows):
        if ending == "npy":
            return np.save(path, rows)
        table = pa.table({"embedding": vectors(np.ascontiguousarray(rows))})
        return pq.write_table(table, path) if ending == "parquet" else pa.feather.write_feather(table, path)

    write(ROWS)
    source = open_rows(path)
    list(in_blocks(source, 256))
    write(other)
    os.utime(path, ns=(1, 1))  # whatever the clock of the file system can tell apart
    for read in (lambda: list(in_blocks(source, 256)), lambda: source.take(np.array([1, 900]))):
        with pytest.raises(InputError, match=r"rows\.\w+ was changed while it was being read"):
            read()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros(4), r"rows\.npy holds values of shape \(4,\)"),
        (np.zeros((0, 3)), r"rows\.npy holds values of shape \(0, 3\)"),
        (np.zeros((4, 3), complex), r"rows\.npy .* type complex128; write an array"),
        (np.full((4, 3), "a"), r"rows\.npy .* type <U1; write an array"),
        (np.full((4, 3), None), r"rows\.npy .* it holds Python objects"),
        (
            np.where(np.eye(4) == 1, np.nan, 0)[1:],
            r"Row 0 of .*rows\.npy contains NaN or infinity in column 1",
        ),
    ],
)
def test_a_file_of_numpy_that_is_of_no_use_is_named(tmp_path, values, message):
    np.save(tmp_path / "rows.npy", values, allow_pickle=True)
    with pytest.raises(InputError, match=message):
        loaded(tmp_path / "rows.npy")


def test_a_file_is_named_once(tmp_path):
    pq.write_table(pa.table({"embedding": [[1.0, 2.0], [3.0]]}), tmp_path / "rows.parquet")
    with pytest.raises(InputError, match="instead of 2") as caught:
        loaded(tmp_path / "rows.parquet")
    assert str(caught.value).count("rows.parquet") == 1


def test_an_empty_path_is_not_the_present_folder(tmp_path, monkeypatch):
    (tmp_path / "rows.PARQUET").touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="The path of the rows is empty"):
        open_rows("")
