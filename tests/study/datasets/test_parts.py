import numpy as np
import pytest

from vbcgcd import InputError
from vbcgcd.study.datasets import dataset_parts

TABLE = "split,label,text\ntrain,a,one\ntest,b,two\nval,b,three\ntrain,b,four\n"


def test_a_table_with_a_usual_split_column_has_two_parts(tmp_path):
    (tmp_path / "t.csv").write_text(TABLE)
    parts, names = dataset_parts(tmp_path / "t.csv")
    assert set(parts) == {"train", "test"}
    assert sorted(parts["train"].values) == ["four", "one", "three"]
    assert names == ("a", "b")
    assert parts["test"].labels.tolist() == [1]


def test_a_table_without_one_has_one_part_and_keeps_its_labels(tmp_path):
    (tmp_path / "t.csv").write_text("label,text\na,one\nb,two\n")
    parts, names = dataset_parts(tmp_path / "t.csv")
    assert set(parts) == {""}
    assert names is None
    assert parts[""].labels.tolist() == ["a", "b"]


def test_the_split_column_can_be_named(tmp_path):
    (tmp_path / "t.csv").write_text(TABLE.replace("split", "fold"))
    assert set(dataset_parts(tmp_path / "t.csv", split="fold")[0]) == {"train", "test"}
    with pytest.raises(InputError, match="no column 'absent'"):
        dataset_parts(tmp_path / "t.csv", split="absent")


def test_arrays_of_one_and_of_two_parts(tmp_path):
    np.savez(tmp_path / "one.npz", x=np.eye(4), y=[0, 0, 1, 1])
    np.savez(
        tmp_path / "two.npz", train_x=np.eye(4), train_y=[0, 1, 0, 1], test_x=np.eye(4), test_y=[1, 0, 1, 0]
    )
    assert set(dataset_parts(tmp_path / "one.npz")[0]) == {""}
    parts, names = dataset_parts(tmp_path / "two.npz")
    assert set(parts) == {"train", "test"}
    assert names == ("0", "1")


def test_folders_of_pictures(tmp_path):
    image = pytest.importorskip("PIL.Image")
    for place in ("flat/a", "flat/b", "split/train/a", "split/train/b", "split/test/a", "split/test/b"):
        (tmp_path / place).mkdir(parents=True)
        image.new("RGB", (4, 4)).save(tmp_path / place / "x.png")
    assert set(dataset_parts(tmp_path / "flat")[0]) == {""}
    assert set(dataset_parts(tmp_path / "split")[0]) == {"train", "test"}


def test_nothing_there_is_one_error(tmp_path):
    with pytest.raises(InputError, match="absent"):
        dataset_parts(tmp_path / "absent")
