import json

import numpy as np
import pytest

from vbcgcd.errors import InputError
from vbcgcd.items import Items
from vbcgcd.items.tables import TABLES
from vbcgcd.study.datasets import load_items
from vbcgcd.study.datasets.load import layout_of
from vbcgcd.study.datasets.tables import join_items


@pytest.fixture
def table(tmp_path):
    def write(text, name="t.csv"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    return write


def rows(*splits, header="split"):
    return f"{header},label,text\n" + "".join(f"{s},{'ba'[i % 2]},t{i}\n" for i, s in enumerate(splits))


@pytest.mark.parametrize(
    ("splits", "train", "test"),
    [
        (["train", "Train", "test", "TEST "], [0, 1], [2, 3]),
        (["train", "val", "dev", "test"], [0, 1, 2], [3]),
        (["train", "training", "validation", "valid"], [0, 1], [2, 3]),
    ],
)
def test_a_column_has_the_parts(table, splits, train, test):
    data = load_items(table(rows(*splits)))
    assert data.train.values == [f"t{i}" for i in train]
    assert data.test.values == [f"t{i}" for i in test]
    assert data.train.references == [str(i) for i in train]
    assert data.train.labels.tolist() == [1 - i % 2 for i in train]
    assert (data.name, data.class_names) == ("t", ("a", "b"))


def test_the_column_can_be_named(table):
    path = table(rows("train", "test", header="part of"))
    assert load_items(path, split="part of", text="text").test.values == ["t1"]


def test_without_a_split_the_seed_decides(table):
    path = table("label,text\n" + "".join(f"{i % 2},t{i}\n" for i in range(20)))
    data = load_items(path, test_share=0.3, seed=4, name="mine")
    assert (data.name, len(data.train), len(data.test)) == ("mine", 14, 6)
    assert load_items(path, test_share=0.3, seed=4).test.values == data.test.values
    assert load_items(path, test_share=0.3, seed=5).test.values != data.test.values


def test_a_split_column_with_other_values_is_not_one(table):
    data = load_items(table(rows(*("0123456789"), header="fold")))
    assert (len(data.train), len(data.test)) == (8, 2)


def test_tables_of_embeddings_and_columns(table):
    text = "".join(json.dumps({"v": [i, 1.0], "w": [0], "k": i % 2}) + "\n" for i in range(10))
    data = load_items(table(text, "t.jsonl"), embedding="v", label="k")
    assert data.kind == "embedding"
    assert data.train.values.shape == (8, 2)
    assert data.class_names == ("0", "1")


@pytest.mark.parametrize("val", [True, False])
def test_a_folder_of_tables(table, val):
    table("text,label\nx,a\ny,b\n", "d/train.csv")
    path = table('{"text": "z", "label": "b"}', "d/test.jsonl")
    if val:
        table("text,label\nv,c\n", "d/validation.csv")
    data = load_items(path.parent)
    assert data.name == "d"
    assert sorted(data.train.values) == (["v", "x", "y"] if val else ["x", "y"])
    assert len(set(data.train.references)) == len(data.train)
    assert data.class_names == (("a", "b", "c") if val else ("a", "b"))
    assert data.test.labels.tolist() == [1]


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        (rows("train", "test"), {"seed": 1}, "test_share and seed"),
        (rows("train", "train"), {}, "only train"),
        (rows("test", "test"), {}, "only test"),
        (rows("a", "b"), {"split": "split"}, "'a'; use dev, test"),
        (rows("a", "b"), {"split": "part"}, "'part' .* split, label, text"),
        ("text\nx\ny\n", {}, "2 of 2 .* no label"),
        ("text,label\nx,a\ny,\n", {}, "1 of 2 .* no label"),
        ("text,label\nx,a\n", {"classes": ["a"]}, "classes cannot .* table"),
        ("text,label\nx,a\n", {"colour": 1}, "colour cannot"),
        ("a,b,label\nx,y,z\n", {}, "not clear"),
    ],
)
def test_one_clear_error(table, text, options, words):
    with pytest.raises(InputError, match=words):
        load_items(table(text), **options)


def test_folders_of_tables_that_do_not_fit(table):
    path = table("text,label\nx,a\n", "d/train.csv").parent
    with pytest.raises(InputError, match="train and test"):
        load_items(path)
    table("text,label\nx,1\n", "d/test.csv")
    with pytest.raises(InputError, match="numbers in one part"):
        load_items(path)
    with pytest.raises(InputError) as caught:
        load_items(path, split="s")
    assert caught.value.option == "split"
    with pytest.raises(InputError) as caught:
        load_items(path, seed=3)
    assert caught.value.option == "seed"
    table('{"text": "z", "label": "b"}', "d/test.jsonl")
    with pytest.raises(InputError, match=r"test\.csv and test\.jsonl"):
        load_items(path)


@pytest.mark.data
def test_clinc150(real_data):
    data = load_items(real_data / "clinc150.csv")
    assert (data.kind, len(data.train), len(data.test), len(data.class_names)) == ("text", 18000, 4500, 150)
    assert (np.bincount(data.train.labels) == 120).all()
    with np.load(real_data / "clinc150-minilm.npz") as arrays:
        assert data.class_names == tuple(arrays["names"])
        np.testing.assert_array_equal(data.test.labels, arrays["test_y"])


@pytest.mark.parametrize("suffix", TABLES)
def test_every_kind_of_table_is_recognised(tmp_path, suffix):
    (tmp_path / f"t{suffix}").touch()
    assert layout_of(tmp_path / f"t{suffix}").name == "table"


def texts(*labels):
    references = [str(i) for i in range(len(labels))]
    return Items("text", [f"t{i}" for i in references], references, "m", np.array(labels))


def vectors(d, label=0):
    return Items("embedding", np.ones((1, d)), ["0"], "m", np.array([label]))


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ([texts("a"), texts(1)], "mix labels"),
        ([texts("a"), vectors(2)], "different kinds"),
        ([vectors(3), vectors(2)], "different shapes"),
        ([texts("a"), Items("text", ["x"], ["0"], "n")], "no labels"),
    ],
)
def test_items_that_cannot_be_joined(parts, words):
    with pytest.raises(InputError, match=words):
        join_items(parts, "ab")


def test_joined_items_follow_each_other():
    joined = join_items([texts("a", "b"), texts("long")], ["x/", "y/"])
    assert joined.references == ["x/0", "x/1", "y/0"]
    assert joined.labels.tolist() == ["a", "b", "long"]
    assert join_items([vectors(2), vectors(2, 5)], "ab").values.shape == (2, 2)
