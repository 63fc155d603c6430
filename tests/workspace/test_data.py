"""Data in and out of a workspace: what vectors stand for, columns that are remembered, frames, notebooks."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.dataset
import pyarrow.parquet
import pytest

from vbcgcd.errors import InputError, WorkspaceWarning
from vbcgcd.items import vector_items
from vbcgcd.workspace import Workspace

TOPICS = {
    "cat": "purring cat",
    "dog": "barking dog",
    "owl": "hooting owl",
    3: "galloping horse",
    4: "slow snail",
}


def words(blobs):
    return [f"{TOPICS[name]} number {i}" for i, name in enumerate(blobs.labels)], [
        f"{list(TOPICS.values())[k]} item {i}" for i, k in enumerate(blobs.truth)
    ]


@pytest.fixture
def tables(blobs, tmp_path):
    """Labelled and unlabelled Parquet files of vectors with their texts."""
    texts = words(blobs)
    paths = []
    for name, rows, text, more in (
        ("labelled", blobs.rows, texts[0], {"team": blobs.labels.tolist()}),
        ("batch", blobs.batch, texts[1], {"customer": [f"c{i}" for i in range(len(blobs.batch))]}),
    ):
        paths.append(tmp_path / f"{name}.parquet")
        table = pyarrow.table({"vec": rows.tolist(), "note": text, "other": text, **more})
        pyarrow.parquet.write_table(table, paths[-1])
    return paths


def learned(path, tables, **settings):
    workspace = Workspace.init(path / "w", model={"count": "evidence", "prior_strength": 20.0}, **settings)
    workspace.learn(tables[0], embedding="vec", text="note", label="team")
    return workspace


def test_vectors_decide_and_their_texts_name_and_show(tables, tmp_path):
    workspace = learned(tmp_path, tables)
    record = workspace.discover(tables[1], n_novel=2)
    assert {"horse", "snail"} <= set(" ".join(record.novel.values()).replace(",", "").split())
    info = workspace.categories(n_samples=2, items=True, only=record.novel)[0]
    assert any(word in info.sample_texts[0] for word in ("horse", "snail"))
    assert len(workspace.items("text~SNAIL")) == 20
    assert workspace.embedder["kind"] == "embedding"
    moved = workspace.move_items(workspace.items("text~snail")[0], "cat")
    assert moved.items[0].after == 0


def test_vectors_with_texts_in_memory_keep_excerpts(blobs, tmp_path):
    texts, batch = words(blobs)
    workspace = Workspace.init(
        tmp_path / "w", excerpts=2, model={"count": "evidence", "prior_strength": 20.0}
    )
    workspace.learn(vector_items(blobs.rows, texts=texts, labels=blobs.labels, source="memory"))
    record = workspace.discover(vector_items(blobs.batch, texts=batch), n_novel=2)
    assert "snail" in " ".join(record.novel.values())
    with pytest.warns(WorkspaceWarning, match="not there any more"):
        assert len(workspace.items("text~snail")) == 2


def test_columns_of_the_first_learn_are_remembered(tables, tmp_path):
    workspace = learned(tmp_path, tables)
    assert workspace.config()["columns"] == {"text": "note", "embedding": "vec", "label": "team"}
    record = workspace.discover(tables[1])  # two columns of strings: the remembered one shows
    assert record.columns == {"embedding": "vec", "text": "note"}
    workspace.configure(columns={"text": "other"})
    assert workspace.config()["columns"]["text"] == "other"
    assert workspace.read(tables[1]).columns["text"] == "other"
    assert workspace.read(tables[1], embedding="vec", text="note").columns["text"] == "note"
    workspace.undo()
    assert workspace.config()["columns"]["text"] == "note"


def test_columns_given_to_init_count_where_a_table_has_them(tables, tmp_path):
    workspace = Workspace.init(
        tmp_path / "w", columns={"label": "team", "embedding": "vec"}, kind="embedding"
    )
    workspace.learn(tables[0])
    assert len(workspace.categories()) == 3
    assert workspace.read(tables[1]).labels is None


def test_kind_of_init_settles_what_a_table_holds(tables, tmp_path):
    data = pd.DataFrame({"text": ["a", "b"], "embedding": [[1.0, 2.0], [3.0, 4.0]], "label": ["x", "y"]})
    workspace = Workspace.init(tmp_path / "w", kind="embedding")
    assert workspace.read(data).kind == "embedding"
    with pytest.raises(InputError, match="the vectors decide"):
        Workspace.init(tmp_path / "v").read(data)


@pytest.mark.parametrize("columns", [{"colour": "x"}, "text", {"text": 3}, {"text": ["a"]}])
def test_impossible_columns(tmp_path, columns):
    with pytest.raises(InputError, match="column"):
        Workspace.init(tmp_path / "w", columns=columns)
    assert not (tmp_path / "w").exists()


def test_a_record_is_a_table_of_its_items(tables, tmp_path):
    workspace = learned(tmp_path, tables)
    record = workspace.discover(tables[1], n_novel=2, keep=["customer"])
    frame = record.to_pandas()
    assert frame.columns.tolist()[:4] == ["reference", "category", "name", "probability"]
    assert frame["customer"].tolist() == [f"c{i}" for i in range(len(frame))]
    assert frame["category"].value_counts().to_dict() == dict(record.counts)
    pd.testing.assert_frame_equal(pd.DataFrame(record), frame, check_dtype=False)
    assert record.to_polars().height == record.rows
    stored = {item.reference: item for item in workspace.items("session=1")}
    for row in record:
        item = stored[row["reference"]]
        assert (row["category"], row["second"]) == (item.category, -1 if item.second is None else item.second)
        assert row["probability"] == pytest.approx(item.probability)
    assert "keep" not in workspace.history()[-1].parameters
    with pytest.raises(InputError, match="session=1"):
        workspace.sessions()[1].to_pandas()


def test_carried_columns_never_hide_an_answer(tables, tmp_path):
    workspace = learned(tmp_path, tables)
    data = pd.read_parquet(tables[1]).rename(columns={"customer": "name"})
    answers = workspace.predict(data, keep=True)
    rows = list(answers.rows())
    assert rows[0]["input_name"] == "c0"
    assert rows[0]["name"] in {"cat", "dog", "owl"}
    assert json.dumps(rows[0])


def test_lists_and_datasets_are_data(tables, tmp_path, blobs):
    workspace = learned(tmp_path, tables)
    dataset = pyarrow.dataset.dataset(tables[1])
    by_path = workspace.predict(tables[1]).category
    np.testing.assert_array_equal(workspace.predict(dataset).category, by_path)
    records = pd.read_parquet(tables[1]).to_dict("records")
    records = [{**row, "vec": row["vec"].tolist()} for row in records]
    np.testing.assert_array_equal(workspace.predict(records).category, by_path)


def test_long_texts_of_a_list_take_no_more_than_they_need():
    from vbcgcd.workspace.batch import load_items

    items, _ = load_items(["a" * 10_000_000, *["b"] * 1000, None], {})
    assert items.kind == "text"
    assert items.values[-1] == ""


def test_a_folder_of_tables_is_known_again(tables, tmp_path):
    workspace = learned(tmp_path, tables)
    folder = tmp_path / "stream"
    pyarrow.dataset.write_dataset(pyarrow.parquet.read_table(tables[1]), folder, format="parquet")
    workspace.discover(folder, n_novel=2)
    assert len(workspace.items("text~snail")) == 20
    with pytest.raises(InputError, match="already used"):
        workspace.discover(folder)


def test_a_copy_of_a_file_is_known_by_its_content(tables, tmp_path):
    workspace = learned(tmp_path, tables)
    workspace.discover(tables[1], n_novel=2)
    copy = tmp_path / "copy.parquet"
    copy.write_bytes(Path(tables[1]).read_bytes())
    same = f"copy.parquet has the same content as {Path(tables[1]).name}, which was already used in session 1"
    with pytest.raises(InputError, match=same):
        workspace.discover(copy)


HOSTILE = "<script>alert(1)</script>"


def test_notebooks_show_names_texts_and_pictures_escaped(blobs, tmp_path):
    rng = np.random.default_rng(0)
    pictures = rng.integers(0, 255, size=(len(blobs.rows), 8, 8, 3), dtype=np.uint8)
    workspace = Workspace.init(tmp_path / "w", excerpts=2, model={"prior_strength": 20.0})
    workspace.learn(vector_items(blobs.rows, images=pictures, labels=blobs.labels, source=HOSTILE))
    workspace.rename("cat", HOSTILE)
    page = workspace._repr_html_()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert '<img src="data:image/jpeg;base64,' in page
    texts = vector_items(
        blobs.rows, texts=[HOSTILE] * len(blobs.rows), references=[f"{HOSTILE}{i}" for i in range(90)]
    )
    record = workspace.discover(texts, n_novel=0)
    for part in (record, workspace.predict(texts), workspace.sessions()[-1]):
        assert "<script" not in part._repr_html_()
    assert "... and 70 more" in record._repr_html_()
