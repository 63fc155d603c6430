import shutil

import pytest

from vbcgcd.errors import InputError
from vbcgcd.study.datasets import load_items

WNIDS = ["n03", "n01", "n02"]


@pytest.fixture
def root(tmp_path, picture):
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


def test_train_folders_and_annotated_pictures(root):
    for path in (root, root.parent):
        data = load_items(path)
        assert (data.name, data.kind) == ("tinyimagenet", "image")
        assert data.class_names == ("crane (n01)", "crane (n02)", "goldfish")
        assert data.train.labels.tolist() == [0, 0, 1, 1, 2, 2]
        assert data.train.references[0] == "train/n01/images/n01_0.JPEG"
        assert data.test.labels.tolist() == [2, 0, 1]
        assert data.test.values[0] == root / "val" / "images" / "val_0.JPEG"
        assert all(p.is_file() and p.is_absolute() for p in [*data.train.values, *data.test.values])


def test_without_words_the_ids_are_the_names(root):
    (root / "words.txt").unlink()
    assert load_items(root).class_names == ("n01", "n02", "n03")


@pytest.mark.parametrize("lost", ["wnids.txt", "val/val_annotations.txt", "val/images", "train/n02", "train"])
def test_what_is_missing_is_named(root, lost):
    path = root / lost
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    with pytest.raises(InputError, match=rf"{lost}.* is missing\. Expected: wnids\.txt"):
        load_items(root)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("val/val_annotations.txt", "val_0.JPEG\tn99\t0\n", "Line 1 .* names no known wnid"),
        ("val/val_annotations.txt", "val_0.JPEG\n", "Line 1 .* names no known wnid"),
        ("val/val_annotations.txt", "val_9.JPEG\tn01\n", "val_9.JPEG is missing, line 1"),
        ("val/val_annotations.txt", "\n", "val_annotations.txt is empty"),
        ("wnids.txt", "n01\nn04\n", "n04.images is missing"),
    ],
)
def test_lists_that_do_not_fit(root, name, text, words):
    (root / name).write_text(text)
    with pytest.raises(InputError, match=words):
        load_items(root)


def test_a_class_without_pictures(root):
    for file in (root / "train" / "n02" / "images").iterdir():
        file.unlink()
    with pytest.raises(InputError, match=r"n02.images holds no pictures"):
        load_items(root)


def test_a_list_that_is_not_text(root):
    (root / "wnids.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=r"wnids\.txt is not UTF-8"):
        load_items(root)
