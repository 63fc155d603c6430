import numpy as np
import pytest

from vbcgcd.errors import InputError, MissingFileError
from vbcgcd.study.datasets import LAYOUTS, dataset_parts, load_dataset, load_items
from vbcgcd.study.datasets.load import find_layout


def test_every_layout_has_a_name_and_says_in_one_line_what_it_expects():
    assert set(LAYOUTS) == {
        *("cifar100", "tinyimagenet", "imagenet100", "class-folders", "cub200", "folder", "table", "npz"),
    }
    for name in LAYOUTS:
        layout = find_layout(name)
        assert layout.name == name
        assert layout.expects
        assert "\n" not in layout.expects


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("what", ["empty folder", "text file"])
def test_every_layout_refuses_what_is_not_its_own(tmp_path, name, what):
    path = tmp_path / "a.txt"
    if what == "empty folder":
        path = tmp_path / "folder"
        path.mkdir()
    else:
        path.write_text("hello")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError):
        load_items(path, layout=name)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_path_without_a_known_layout_lists_them(tmp_path):
    (tmp_path / "a.docx").touch()
    with pytest.raises(InputError, match=r"docx .* cifar100: .* npz: "):
        load_items(tmp_path / "a.docx")


def test_a_layout_that_is_not_known(tmp_path):
    with pytest.raises(InputError) as caught:
        load_items(tmp_path, layout="cifar")
    assert caught.value.option == "layout"


def test_nothing_there(tmp_path):
    with pytest.raises(MissingFileError):
        load_items(tmp_path / "none")
    with pytest.raises(MissingFileError, match="Fetch it first"):
        load_items("hf:owner/name")


def test_options_that_are_none_are_not_given(tmp_path):
    np.savez(tmp_path / "d.npz", x=np.eye(4), y=[0, 0, 1, 1])
    data = load_items(tmp_path / "d.npz", layout="npz", classes=None, seed=None, text=None)
    assert len(data.train) == len(data.test) == 2


def test_embeddings_are_ready_for_a_study_and_need_no_embedder(tmp_path):
    np.savez(tmp_path / "d.npz", x=np.eye(4, dtype=np.float16), y=["b", "b", "a", "a"])
    data = load_dataset(tmp_path / "d.npz")
    assert (data.name, data.class_names, data.train_x.dtype) == ("d", ("a", "b"), np.float32)
    assert sorted(data.train_y.tolist()) == sorted(data.test_y.tolist()) == [0, 1]
    with pytest.raises(InputError) as caught:
        load_dataset(tmp_path / "d.npz", embedder="minilm")
    assert caught.value.option == "embedder"


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
    with pytest.raises(InputError) as caught:
        dataset_parts(tmp_path / "t.csv", split="absent")
    assert caught.value.option == "split"


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


def test_a_missing_dataset_has_no_parts(tmp_path):
    with pytest.raises(MissingFileError):
        dataset_parts(tmp_path / "absent")
