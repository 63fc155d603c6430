import pytest

from vbcgcd.errors import InputError
from vbcgcd.study.datasets import load_items


@pytest.fixture
def root(tmp_path, picture):
    for label, n in (("cat", 10), ("ant", 5)):
        for i in range(n):
            picture(tmp_path / "pets" / label / f"{i}.png")
    return tmp_path / "pets"


def test_a_seeded_stratified_split(root):
    data = load_items(root)
    assert (data.name, data.class_names) == ("pets", ("ant", "cat"))
    assert data.test.labels.tolist() == [0, 1, 1]
    assert len(data.train) == 12
    assert not set(data.train.references) & set(data.test.references)
    assert load_items(root, seed=0).test.references == data.test.references
    assert load_items(root, seed=1).test.references != data.test.references
    assert len(load_items(root, test_share=0.4).test) == 6


def test_pictures_without_a_class(root, picture):
    picture(root / "stray.png")
    with pytest.raises(InputError, match=r"1 pictures of .* lie in no class folder"):
        load_items(root)


def test_a_file_is_no_folder(root):
    with pytest.raises(InputError, match="is not a folder"):
        load_items(root / "cat" / "0.png", layout="folder")
