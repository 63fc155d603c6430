"""Shards to read: blocks that cover every row once, and one clear error for each kind of trouble."""

import os
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lake import WIDTH, columns_of, rows_of, vectors, write_lake

from vbcgcd.errors import InputError, MissingFileError, NothingToDo
from vbcgcd.shards import open_shards


@pytest.mark.parametrize("block_rows", [1, 60, 100, 10_000])
def test_blocks_cover_every_row_once_and_in_order(lake, block_rows):
    data = columns_of(lake)
    read = [rows for block in data.blocks(block_rows) for rows in data.read(block)]
    assert [r for rows in read for r in rows.references] == [f"r{i}" for i in range(420)]
    assert np.array_equal(np.concatenate([rows.vectors for rows in read]), rows_of(420)[0])
    assert [x for rows in read for x in rows.labels] == rows_of(420)[1].tolist()


def test_a_shard_of_many_row_groups_is_several_blocks(lake):
    data = columns_of(lake)
    assert len(data.shards) == 5
    assert len(data.blocks(50)) == 10
    assert len(data.blocks()) == 5


@pytest.mark.parametrize("form", ["list", "numbered", "float64", "float16"])
def test_embeddings_in_every_form(tmp_path, form):
    rows, _ = rows_of(30)
    (tmp_path / "lake").mkdir()
    if form == "numbered":
        table = pa.table({f"e{i}": rows[:, i] for i in range(WIDTH)})
    elif form == "list":
        table = pa.table({"embedding": pa.array(rows.tolist(), pa.list_(pa.float32()))})
    else:
        table = pa.table({"embedding": vectors(rows.astype(form))})
    pq.write_table(table, tmp_path / "lake" / "a.parquet")
    data = open_shards(tmp_path / "lake")
    [read] = data.read(data.shards[0])
    assert data.width == WIDTH
    np.testing.assert_allclose(read.vectors, rows, rtol=1e-2)
    assert read.vectors.dtype == (np.float64 if form == "float64" else np.float32)
    assert read.references[:2] == ["a.parquet:0", "a.parquet:1"]


def test_one_file_is_a_lake_of_one_shard(lake):
    assert [s.name for s in columns_of(lake / "part-001.parquet").shards] == ["part-001.parquet"]


def test_subfolders_count_and_hidden_files_do_not(lake):
    (lake / "day=2").mkdir()
    shutil.copy(lake / "part-000.parquet", lake / "day=2" / "x.parquet")
    (lake / "_notes.parquet").write_text("no")
    (lake / ".part-000.parquet.abc").write_text("no")
    assert next(s.name for s in columns_of(lake).shards) == "day=2/x.parquet"
    assert len(columns_of(lake).shards) == 6


def broken(lake):
    path = lake / "part-002.parquet"
    path.write_bytes(path.read_bytes()[:-20])


def no_column(lake):
    pq.write_table(pa.table({"id": ["x"]}), lake / "part-002.parquet")


def other_width(lake):
    write_lake(lake / "more", np.ones((5, 3), np.float32), ["a"] * 5, n_shards=1)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (broken, r"part-002.parquet is not a complete Parquet file \(.*write it again, or leave it out"),
        (no_column, r"part-002.parquet has no column 'embedding'; its columns are 'id'"),
        (other_width, r"has embeddings of 8 numbers, but .*part-000.parquet has 3; embed all shards alike"),
    ],
)
def test_a_shard_that_does_not_fit_is_named(lake, damage, message):
    damage(lake)
    with pytest.raises(InputError, match=message):
        columns_of(lake)


def test_a_list_of_another_length_is_found_when_it_is_read(tmp_path):
    (tmp_path / "lake").mkdir()
    for name, width in (("a", 3), ("b", 4)):
        table = pa.table({"embedding": pa.array([[0.5] * width] * 4)})
        pq.write_table(table, tmp_path / "lake" / f"{name}.parquet")
    data = open_shards(tmp_path / "lake")
    with pytest.raises(InputError, match=r"b\.parquet has embeddings of 4 numbers, but .* have 3"):
        list(data.read(data.shards[1]))
    ragged = pa.table({"embedding": pa.array([[0.5] * 3, [0.5] * 4, [0.5] * 2])})
    pq.write_table(ragged, tmp_path / "lake" / "a.parquet")
    data = open_shards(tmp_path / "lake", embedding="embedding")
    with pytest.raises(InputError, match=r"Row 1 of .*a\.parquet has an embedding of \d numbers, but row 0"):
        list(data.read(data.shards[0]))


def test_a_row_without_an_embedding_is_named(tmp_path):
    pq.write_table(pa.table({"embedding": [[0.5], [0.5], None]}), tmp_path / "a.parquet")
    data = open_shards(tmp_path, embedding="embedding")
    with pytest.raises(InputError, match=r"a\.parquet has an empty cell in row 2"):
        list(data.read(data.shards[0]))


def test_a_shard_that_vanishes_or_changes_is_named(lake):
    data = columns_of(lake)
    os.remove(lake / "part-001.parquet")
    with pytest.raises(MissingFileError, match=r"part-001.parquet has vanished .* does only what is missing"):
        list(data.read(data.shards[1]))
    shutil.copy(lake / "part-000.parquet", lake / "part-001.parquet")
    with pytest.raises(InputError, match=r"part-001.parquet was changed while it was being read"):
        list(data.read(data.shards[1]))


def test_what_is_not_finite_is_named(tmp_path):
    rows, _ = rows_of(20)
    rows[13, 2] = np.nan
    data = columns_of(write_lake(tmp_path / "lake", rows, n_shards=2))
    with pytest.raises(InputError, match=r"Row 3 of .*part-001.parquet contains NaN"):
        list(data.read(data.shards[1]))


def test_empty_places(tmp_path):
    with pytest.raises(MissingFileError, match="no file or folder"):
        open_shards(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"holds no Parquet files; give a folder of \.parquet shards"):
        open_shards(tmp_path)
    np.save(tmp_path / "rows.npy", np.zeros((2, 3)))
    with pytest.raises(InputError, match=r"rows\.npy is no \.parquet file"):
        open_shards(tmp_path / "rows.npy")
    write_lake(tmp_path / "lake", np.empty((0, 3), np.float32), n_shards=1)
    with pytest.raises(NothingToDo, match="no rows"):
        open_shards(tmp_path / "lake")
