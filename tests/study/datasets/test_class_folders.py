import shutil

import pytest

from vbcgcd.errors import InputError
from vbcgcd.study.datasets import load_items


@pytest.fixture
def root(tmp_path, picture):
    for part, n in (("train", 3), ("val", 2)):
        for label in ("n3", "n1", "n2"):
            for i in range(n):
                picture(tmp_path / "mini" / part / label / f"{i}.png")
    return tmp_path / "mini"


def test_val_is_the_test_part(root):
    data = load_items(root)
    assert (data.name, data.class_names) == ("mini", ("n1", "n2", "n3"))
    assert data.train.labels.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert data.test.labels.tolist() == [0, 0, 1, 1, 2, 2]
    assert data.test.references[0] == "val/n1/0.png"
    assert all(p.is_file() and p.is_absolute() for p in [*data.train.values, *data.test.values])


def test_val_joins_train_beside_a_test_part(root):
    shutil.copytree(root / "val", root / "test")
    data = load_items(root)
    assert len(data.train) == 15
    assert {r.partition("/")[0] for r in data.test.references} == {"test"}


def test_a_test_folder_without_classes_is_not_the_test_part(root, picture):
    picture(root / "test" / "unknown.png")
    assert {r.partition("/")[0] for r in load_items(root).test.references} == {"val"}


@pytest.mark.parametrize("how", ["argument", "path", "file"])
def test_a_list_selects_classes(root, how, tmp_path):
    text = "# chosen\nn3 a fish, swimming\n\nn1\n"
    options = {"classes": ["n3", "n1"]} if how == "argument" else {}
    if how == "path":
        (tmp_path / "list.txt").write_text(text)
        options = {"classes": tmp_path / "list.txt"}
    if how == "file":
        (root / "classes.txt").write_text(text)
    data = load_items(root, **options)
    assert data.class_names == ("n1", "n3")
    assert (len(data.train), len(data.test)) == (6, 4)


def test_classes_that_are_not_there(root):
    with pytest.raises(InputError, match="n9"):
        load_items(root, classes=["n1", "n9"])
    with pytest.raises(InputError) as caught:
        load_items(root, classes=[])
    assert caught.value.option == "classes"
    with pytest.raises(InputError, match=r"no\.txt"):
        load_items(root, classes=root / "no.txt")


def test_imagenet100_has_100_classes(tmp_path, root):
    with pytest.raises(InputError) as caught:
        load_items(root, layout="imagenet100")
    assert caught.value.option == "classes"
    names = [f"n{i:03d}" for i in range(103)]
    for part in ("train", "val"):
        for name in names:
            (tmp_path / "full" / part / name).mkdir(parents=True)
            (tmp_path / "full" / part / name / "a.JPEG").touch()
    data = load_items(tmp_path / "full", layout="imagenet100", classes=names[3:])
    assert (data.name, data.class_names) == ("imagenet100", tuple(names[3:]))


@pytest.mark.parametrize(
    ("lost", "words"),
    [
        ("val", "val or test .* train"),
        ("val/n2", "val.n2"),
    ],
)
def test_what_is_missing_is_named(root, lost, words):
    shutil.rmtree(root / lost)
    with pytest.raises(InputError, match=words):
        load_items(root)


def test_without_train_it_must_be_said(root):
    shutil.rmtree(root / "train")
    with pytest.raises(InputError, match="folder train"):
        load_items(root, layout="class-folders")
    with pytest.raises(InputError, match="folder train"):
        load_items(root, layout="imagenet100")


@pytest.fixture
def pets(tmp_path, picture):
    for label, n in (("cat", 10), ("ant", 5)):
        for i in range(n):
            picture(tmp_path / "pets" / label / f"{i}.png")
    return tmp_path / "pets"


def test_a_seeded_stratified_split(pets):
    data = load_items(pets)
    assert (data.name, data.class_names) == ("pets", ("ant", "cat"))
    assert data.test.labels.tolist() == [0, 1, 1]
    assert len(data.train) == 12
    assert not set(data.train.references) & set(data.test.references)
    assert load_items(pets, seed=0).test.references == data.test.references
    assert load_items(pets, seed=1).test.references != data.test.references
    assert len(load_items(pets, test_share=0.4).test) == 6


def test_pictures_without_a_class(pets, picture):
    picture(pets / "stray.png")
    with pytest.raises(InputError, match=r"1 .* no class folder"):
        load_items(pets)


def test_a_file_is_not_a_folder(pets):
    with pytest.raises(InputError, match="not a folder"):
        load_items(pets / "cat" / "0.png", layout="folder")
