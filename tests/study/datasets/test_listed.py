import shutil

import pytest

from vbcgcd.errors import InputError
from vbcgcd.study.datasets import load_items

WNIDS = ["n03", "n01", "n02"]


@pytest.fixture
def tiny(tmp_path, picture):
    top = tmp_path / "tiny-imagenet-200"
    for wnid in WNIDS:
        for i in range(2):
            picture(top / "train" / wnid / "images" / f"{wnid}_{i}.JPEG")
        (top / "train" / wnid / f"{wnid}_boxes.txt").write_text("n03_0.JPEG\t0\t0\t1\t1\n")
    for i in range(3):
        picture(top / "val" / "images" / f"val_{i}.JPEG")
    picture(top / "test" / "images" / "test_0.JPEG")
    lines = [f"val_{i}.JPEG\t{wnid}\t0\t0\t3\t3\n" for i, wnid in enumerate(WNIDS)]
    (top / "val" / "val_annotations.txt").write_text("".join(lines))
    (top / "wnids.txt").write_text("\n".join(WNIDS) + "\n")
    (top / "words.txt").write_text("n00\tentity\nn01\tcrane, bird\nn02\tcrane\nn03\tgoldfish, fish\n")
    return top


def test_train_folders_and_annotated_pictures(tiny):
    for path in (tiny, tiny.parent):
        data = load_items(path)
        assert (data.name, data.kind) == ("tinyimagenet", "image")
        assert data.class_names == ("crane (n01)", "crane (n02)", "goldfish")
        assert data.train.labels.tolist() == [0, 0, 1, 1, 2, 2]
        assert data.train.references[0] == "train/n01/images/n01_0.JPEG"
        assert data.test.labels.tolist() == [2, 0, 1]
        assert data.test.values[0] == tiny / "val" / "images" / "val_0.JPEG"
        assert all(p.is_file() and p.is_absolute() for p in [*data.train.values, *data.test.values])


def test_without_words_the_ids_are_the_names(tiny):
    (tiny / "words.txt").unlink()
    assert load_items(tiny).class_names == ("n01", "n02", "n03")


@pytest.mark.parametrize("lost", ["wnids.txt", "val/val_annotations.txt", "val/images", "train/n02", "train"])
def test_what_is_missing_is_named_in_tiny_imagenet(tiny, lost):
    path = tiny / lost
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    with pytest.raises(InputError, match=rf"{lost}.* is missing"):
        load_items(tiny)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("val/val_annotations.txt", "val_0.JPEG\tn99\t0\n", "Line 1 .* unknown wnid"),
        ("val/val_annotations.txt", "val_0.JPEG\n", "Line 1 .* unknown wnid"),
        ("val/val_annotations.txt", "val_9.JPEG\tn01\n", "val_9.JPEG .* line 1"),
        ("val/val_annotations.txt", "\n", "val_annotations.txt is empty"),
        ("wnids.txt", "n01\nn04\n", "n04.images"),
    ],
)
def test_lists_that_do_not_fit_in_tiny_imagenet(tiny, name, text, words):
    (tiny / name).write_text(text)
    with pytest.raises(InputError, match=words):
        load_items(tiny)


def test_a_class_without_pictures(tiny):
    for file in (tiny / "train" / "n02" / "images").iterdir():
        file.unlink()
    with pytest.raises(InputError, match=r"n02.images"):
        load_items(tiny)


def test_a_list_that_is_not_text(tiny):
    (tiny / "wnids.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=r"wnids\.txt .*UTF-8"):
        load_items(tiny)


FILES = ["002.Jay/b_1.jpg", "001.Wren/a_1.jpg", "001.Wren/a_2.jpg", "002.Jay/b_2.jpg"]


@pytest.fixture
def cub(tmp_path, picture):
    top = tmp_path / "CUB_200_2011"
    for file in FILES:
        picture(top / "images" / file)
    (top / "images.txt").write_text("".join(f"{i} {f}\n" for i, f in enumerate(FILES, 1)))
    (top / "image_class_labels.txt").write_text("1 2\n2 1\n3 1\n4 2\n")
    (top / "train_test_split.txt").write_text("1 1\n2 1\n3 0\n4 0\n")
    (top / "classes.txt").write_text("2 002.Jay\n1 001.Wren\n")
    return top


def test_the_lists_are_followed(cub):
    for path in (cub, cub.parent):
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
def test_what_is_missing_is_named_in_cub200(cub, lost):
    path = cub / lost
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    with pytest.raises(InputError, match=rf"{lost} is missing"):
        load_items(cub)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        (
            "image_class_labels.txt",
            "1 2\n2 1\n3 1\n",
            "image_class_labels.txt .* id 4",
        ),
        ("image_class_labels.txt", "1 2\n2 1\n3 1\n4 9\n", "Image 4 .* class '9'"),
        ("train_test_split.txt", "1 1\n2 1\n3 0\n4 x\n", "Image 4 .* split 'x'"),
        ("train_test_split.txt", "1 1\n2 1\n3 1\n4 1\n", "test part is empty"),
        ("images.txt", "1 002.Jay/b_1.jpg\n1 x\n", "Line 2 .* each id once"),
        ("images.txt", "one\n", "Line 1 .* is 'one'"),
        ("classes.txt", "", "classes.txt is empty"),
    ],
)
def test_lists_that_do_not_fit_in_cub200(cub, name, text, words):
    (cub / name).write_text(text)
    with pytest.raises(InputError, match=words):
        load_items(cub)


def test_missing_pictures_are_counted(cub):
    (cub / "images" / FILES[1]).unlink()
    with pytest.raises(InputError, match=r"1 of 4 .* images/001\.Wren/a_1\.jpg"):
        load_items(cub)
