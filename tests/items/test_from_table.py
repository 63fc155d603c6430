import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vbcgcd.errors import InputError
from vbcgcd.items import read_items
from vbcgcd.items.from_table import open_table
from vbcgcd.items.tables import TABLES


@pytest.fixture
def table(tmp_path):
    def write(text, name="t.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize("ending", TABLES)
def test_an_empty_file_is_said_to_be_empty(tmp_path, ending):
    path = tmp_path / f"t{ending}"
    path.touch()
    with pytest.raises(InputError, match="empty"):
        open_table(path)


def test_other_endings_are_no_tables(tmp_path):
    with pytest.raises(InputError, match=r"t\.xlsx.*\.csv"):
        open_table(tmp_path / "t.xlsx")


@pytest.mark.parametrize(("ending", "text"), [(".CSV", "a,b\n1,2\n"), (".ndjson", '{"a": 1, "b": 2}')])
def test_endings_are_known_in_any_case(tmp_path, ending, text):
    path = tmp_path / f"t{ending}"
    path.write_text(text)
    assert open_table(path).names == ["a", "b"]


def test_a_partly_labelled_table(table):
    items = read_items(table("text,label\nhi,2\nbye,\nwho,10\n"))
    assert (items.kind, items.values, items.references) == ("text", ["hi", "bye", "who"], ["0", "1", "2"])
    assert items.labels.tolist() == [2, None, 10]
    assert items.labelled.tolist() == [True, False, True]
    assert items.columns == {"text": "text", "label": "label"}


def test_a_split_reads_its_rows_and_keeps_their_numbers(table):
    text = "part,text\n" + "".join(f"{'ab'[i % 2]} ,t{i}\n" for i in range(2500))
    items = read_items(table(text), split=("part", "b"))
    assert len(items) == 1250
    assert items.values[-1] == "t2499"
    assert items.references[:2] == ["1", "3"]
    assert items.labels is None


def test_ids_name_the_items_if_they_differ(table):
    assert read_items(table("id,text\na,x\nb,y\n")).references == ["a", "b"]
    repeated = read_items(table("id,text\na,x\na,y\n"))
    assert repeated.references == ["0", "1"]
    assert "id" not in repeated.columns
    with pytest.raises(InputError) as caught:
        read_items(table("id,text\na,x\na,y\n"), id="id")
    assert caught.value.option == "id"


def test_images_are_relative_to_the_table(table, tmp_path):
    (tmp_path / "p").mkdir()
    for name in ("p/a.png", "b.jpg"):
        (tmp_path / name).touch()
    items = read_items(table("path,label\np/a.png,x\n b.jpg,y\n"))
    assert items.kind == "image"
    assert items.values == [tmp_path / "p" / "a.png", tmp_path / "b.jpg"]
    assert all(path.is_absolute() for path in items.values)
    assert items.references == ["p/a.png", "b.jpg"]
    again = read_items(table("path,label\nb.jpg,x\nb.jpg,y\n"))
    assert again.references == ["0", "1"]
    absolute = read_items(table(f"path,label\n{tmp_path / 'b.jpg'},x\n", "u.csv"))
    assert absolute.values == [tmp_path / "b.jpg"]


def test_a_table_whose_images_are_all_missing_is_refused_single_ones_are_left_to_others(table, tmp_path):
    with pytest.raises(InputError, match=r"3 of 3 .*'a\.png'"):
        read_items(table("image\na.png\nb.png\nc.png\n"))
    (tmp_path / "a.png").touch()
    assert len(read_items(table("image\na.png\nb.png\nc.png\n"))) == 3


def test_embeddings_of_a_table_are_the_written_numbers(table):
    rows = np.random.default_rng(0).normal(size=(5, 3))
    lines = [json.dumps({"emb": row.tolist(), "label": "a"}) for row in rows]
    items = read_items(table("\n".join(lines), "t.jsonl"))
    np.testing.assert_array_equal(items.values, rows)
    text = "label,emb\n" + "".join(f'a,"{row.tolist()}"\n' for row in rows)
    np.testing.assert_array_equal(read_items(table(text)).values, rows)
    text = "c,a,b,label\n" + "".join(",".join(map(repr, row.tolist())) + ",z\n" for row in rows)
    np.testing.assert_array_equal(read_items(table(text)).values, rows)


@pytest.mark.parametrize(
    ("text", "name", "options", "words"),
    [
        ("text,label\n", "t.csv", {}, "has no rows"),
        ("\n\n", "t.jsonl", {}, "has no rows"),
        ('{"text": "a"}\n{"text": 3}', "t.jsonl", {}, "'text' .* line 2, holds '3' \\(int\\)"),
        ('{"emb": [1, 2]}\n{"emb": "x"}', "t.jsonl", {}, "'emb' .* line 2"),
        ('{"text": 1, "title": "a"}\n{"text": "b", "title": 3}', "t.jsonl", {}, "not clear"),
        ('{"text": "a"}\n{"text": 3}', "t.jsonl", {"text": "text"}, "line 2, holds '3' \\(int\\)"),
        ('{"text": "a", "label": 1}\n{"text": "b", "label": "x"}', "t.jsonl", {}, "mix numbers"),
        ("text\nhi\n", "t.csv", {"split": ("part", "a")}, "'part'"),
        ("text\nhi\n", "t.csv", {"split": "part"}, "'part'"),
        (
            "s,text\nx,hi\n",
            "t.csv",
            {"split": ("s", "a")},
            "'a'.*'s'.*'x'",
        ),
        ("text\nhi\n", "t.csv", {"label": "label"}, "'label'"),
    ],
)
def test_one_clear_error(table, text, name, options, words):
    with pytest.raises(InputError, match=words) as caught:
        read_items(table(text, name), **options)
    if options and "holds" not in words:
        assert caught.value.option == next(iter(options))


words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8).filter(str.strip)


@given(st.lists(words, min_size=1, max_size=5))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_texts_survive_json_lines(tmp_path, texts):
    path = tmp_path / "law.jsonl"
    path.write_text("\n".join(json.dumps({"text": t, "n": 1}) for t in texts), encoding="utf-8")
    assert read_items(path, text="text").values == texts


def test_empty_texts_are_kept_for_whoever_embeds_them_to_name(tmp_path):
    (tmp_path / "t.csv").write_text("text,label\nhi,a\n ,b\n,c\n")
    items = read_items(tmp_path / "t.csv")
    assert items.values == ["hi", "", ""]
    assert items.labels.tolist() == ["a", "b", "c"]


def test_other_columns_are_kept_as_they_are(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a", "n": 1, "tags": ["x"]}\n{"text": "b", "label": "l"}\n')
    assert read_items(path, keep=["n"]).kept == {"n": [1, None]}
    assert list(read_items(path, keep=["n, text"]).kept) == ["n", "text"]
    everything = read_items(path, keep=True).kept
    assert list(everything) == ["text", "n", "tags", "label"]
    assert everything["tags"] == [["x"], None]
    assert read_items(path).kept == {}
    with pytest.raises(InputError, match="no column 'm' to keep"):
        read_items(path, keep=["m"])


def test_vectors_with_their_texts_from_one_table(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "a", "v": [1, 2], "label": 1}\n{"text": "", "v": [3, 4]}\n')
    items = read_items(path, kind="embedding")
    assert items.values.tolist() == [[1, 2], [3, 4]]
    assert items.contents == ["a", ""]
    assert items.columns == {"embedding": "v", "text": "text", "label": "label"}
