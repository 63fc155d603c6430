import numpy as np
import pytest

from vbcgcd.errors import InputError
from vbcgcd.study.datasets import Dataset, load_items


@pytest.fixture
def saved(tmp_path):
    def save(**arrays):
        np.savez(tmp_path / "d.npz", **arrays)
        return tmp_path / "d.npz"

    return save


def four(y=(0, 2), **more):
    x = np.eye(2, dtype=np.float16)
    return {"train_x": x, "train_y": np.array(y), "test_x": x, "test_y": np.array(y), **more}


def test_codes_into_names(saved):
    data = load_items(saved(**four(names=np.array(["x", "y", "z"]))))
    assert (data.name, data.kind, data.class_names) == ("d", "embedding", ("x", "y", "z"))
    assert data.train.labels.tolist() == [0, 2]
    assert data.train.values.dtype == np.float16


def test_without_names_the_labels_are_the_names(saved):
    data = load_items(saved(**four((10, 9))))
    assert (data.class_names, data.test.labels.tolist()) == (("9", "10"), [1, 0])
    data = load_items(saved(**four(("b", "a"))))
    assert (data.class_names, data.test.labels.tolist()) == (("a", "b"), [1, 0])
    data = load_items(saved(**four(("b", "a"), names=np.array(["b", "c", "a"]))))
    assert data.test.labels.tolist() == [0, 2]


def test_pictures_and_a_split_by_seed(saved):
    data = load_items(saved(x=np.zeros((10, 4, 4, 3), np.uint8), y=np.repeat([0, 1], 5)), seed=1)
    assert (data.kind, len(data.train), data.test.labels.tolist()) == ("image", 8, [0, 1])


@pytest.mark.parametrize(
    ("arrays", "options", "words"),
    [
        (
            {"train_x": np.eye(2), "train_y": np.arange(2)},
            {},
            "test_x, test_y.* train_x",
        ),
        ({"x": np.eye(2)}, {}, "lacks y"),
        ({"z": np.eye(2)}, {}, "lacks x, y"),
        (four(names=np.array(["a", "b"])), {}, "0 to 2, .* 2 class"),
        (four(names=np.array(["a", "b", "a"])), {}, "names .* distinct"),
        (four(names=np.arange(3)), {}, "names .* distinct"),
        (four(), {"test_share": 0.5}, "test_share"),
        (four(names=np.array([{}], dtype=object)), {}, "pickles"),
        ({**four(), "test_x": np.eye(2)[:, :1]}, {}, "2 .* train .* 1 in test"),
        ({**four(), "train_y": np.array([0.5, 1])}, {}, "whole numbers"),
    ],
)
def test_one_clear_error(saved, arrays, options, words):
    with pytest.raises(InputError, match=words):
        load_items(saved(**arrays), **options)


@pytest.mark.data
@pytest.mark.parametrize(
    ("file", "kind", "train", "test", "classes", "shape"),
    [
        ("cifar100-efficientnet-lite0.npz", "embedding", 50000, 10000, 100, (512,)),
        ("cifar100-images-small.npz", "image", 5000, 1000, 100, (32, 32, 3)),
        ("clinc150-minilm.npz", "embedding", 18000, 4500, 150, (384,)),
    ],
)
def test_real_files(real_data, file, kind, train, test, classes, shape):
    data = load_items(real_data / file)
    assert (data.kind, len(data.train), len(data.test), len(data.class_names)) == (kind, train, test, classes)
    assert data.train.values.shape[1:] == shape
    assert data.class_names == tuple(sorted(data.class_names))
    assert len(set(np.bincount(data.test.labels))) == 1


def test_datasets_have_fingerprints():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((4, 3)), np.arange(4)
    data = Dataset(x, y, x, y)
    assert data.digest == Dataset(x.copy(), y.astype(np.int32), x.copy(), y, "another name").digest
    assert data.digest != Dataset(x, y, x + 1e-9, y).digest
    assert data.digest != Dataset(x, y[::-1], x, y).digest


def test_codes_have_class_names_and_names_are_their_own():
    x = np.eye(2)
    data = Dataset(x, np.arange(2), x, np.arange(2), class_names=("cat", "dog"))
    assert [data.class_name(label) for label in (np.int64(1), 0, 2, "cow")] == ["dog", "cat", "2", "cow"]
