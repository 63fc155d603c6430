import shutil

import pytest

from vbcgcd.errors import InputError
from vbcgcd.study.datasets import load_items

FILES = ["002.Jay/b_1.jpg", "001.Wren/a_1.jpg", "001.Wren/a_2.jpg", "002.Jay/b_2.jpg"]


@pytest.fixture
def root(tmp_path, picture):
    top = tmp_path / "CUB_200_2011"
    for file in FILES:
        picture(top / "images" / file)
    (top / "images.txt").write_text("".join(f"{i} {f}\n" for i, f in enumerate(FILES, 1)))
    (top / "image_class_labels.txt").write_text("1 2\n2 1\n3 1\n4 2\n")
    (top / "train_test_split.txt").write_text("1 1\n2 1\n3 0\n4 0\n")
    (top / "classes.txt").write_text("2 002.Jay\n1 001.Wren\n")
    return top


def test_the_lists_are_followed(root):
    for path in (root, root.parent):
        data = load_items(path)
        assert (data.name, data.class_names) == ("cub200", ("001.Wren", "002.Jay"))
        assert data.train.references == ["images/002.Jay/b_1.jpg", "images/001.Wren/a_1.jpg"]
        assert data.train.labels.tolist() == [1, 0]
        assert data.test.references == ["images/001.Wren/a_2.jpg", "images/002.Jay/b_2.jpg"]
        assert data.test.labels.tolist() == [0, 1]
        assert all(p.is_file() for p in data.train.values)


@pytest.mark.parametrize(
    "lost", ["images.txt", "image_class_labels.txt", "train_test_split.txt", "classes.txt", "images"]
)
def test_what_is_missing_is_named(root, lost):
    path = root / lost
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    with pytest.raises(InputError, match=rf"{lost} is missing\. Expected: images\.txt"):
        load_items(root)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        (
            "image_class_labels.txt",
            "1 2\n2 1\n3 1\n",
            "image_class_labels.txt .* different images, first id 4",
        ),
        ("image_class_labels.txt", "1 2\n2 1\n3 1\n4 9\n", "Image 4 .* class '9'"),
        ("train_test_split.txt", "1 1\n2 1\n3 0\n4 x\n", "Image 4 .* split 'x'"),
        ("train_test_split.txt", "1 1\n2 1\n3 1\n4 1\n", "test part is empty"),
        ("images.txt", "1 002.Jay/b_1.jpg\n1 x\n", "Line 2 .* each id once"),
        ("images.txt", "one\n", "Line 1 .* is 'one'"),
        ("classes.txt", "", "classes.txt is empty"),
    ],
)
def test_lists_that_do_not_fit(root, name, text, words):
    (root / name).write_text(text)
    with pytest.raises(InputError, match=words):
        load_items(root)


def test_missing_pictures_are_counted(root):
    (root / "images" / FILES[1]).unlink()
    with pytest.raises(InputError, match=r"1 of 4 pictures .* first images/001\.Wren/a_1\.jpg"):
        load_items(root)
