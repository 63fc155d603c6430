import io

import numpy as np
import pytest

from vbcgcd.errors import InputError
from vbcgcd.items import read_items


@pytest.fixture
def saved(tmp_path):
    def save(array=None, **arrays):
        path = tmp_path / ("a.npz" if arrays else "a.npy")
        if arrays:
            np.savez(path, **arrays)
        else:
            np.save(path, array)
        return path

    return save


@pytest.mark.parametrize(
    ("array", "kind", "dtype"),
    [
        (np.ones((2, 3), np.float16), "embedding", np.float16),
        (np.ones((2, 3), np.float32), "embedding", np.float32),
        (np.ones((2, 3), np.int8), "embedding", np.float64),
        (np.ones((2, 4, 5, 3), np.uint8), "image", np.uint8),
    ],
)
def test_the_kind_is_that_of_the_array(saved, array, kind, dtype):
    items = read_items(saved(array))
    assert (items.kind, items.values.dtype, items.references) == (kind, dtype, ["0", "1"])
    np.testing.assert_array_equal(items.values, array)
    assert items.labels is None


def test_strings_are_texts(saved):
    assert read_items(saved(np.array(["a", "bc"]))).values == ["a", "bc"]


def test_arrays_x_and_y(saved):
    items = read_items(saved(x=np.eye(3), y=np.array([2, 0, 1], np.uint8)))
    assert items.labels.tolist() == [2, 0, 1]
    assert items.columns == {"embedding": "x", "label": "y"}


def test_other_arrays_can_be_chosen(saved):
    path = saved(
        train_x=np.eye(2), train_y=np.array(["a", "b"]), test_x=np.ones((1, 2)), key=np.array([5, 6])
    )
    items = read_items(path, embedding="train_x", label="train_y", id="key")
    assert items.labels.tolist() == ["a", "b"]
    assert items.references == ["5", "6"]
    assert items.columns == {"embedding": "train_x", "label": "train_y", "id": "key"}


def test_only_the_arrays_in_use_are_loaded(saved):
    path = saved(x=np.eye(2), other=np.array([{}], dtype=object))
    assert len(read_items(path)) == 2


@pytest.mark.parametrize(
    ("arrays", "options", "words", "option"),
    [
        ({"z": np.eye(2)}, {}, "'x'.* z", None),
        ({"train_x": np.eye(2)}, {}, "'train_x'", None),
        ({"x": np.eye(2)}, {"label": "y"}, "'y'", None),
        ({"x": np.eye(2), "y": np.arange(3)}, {}, "2 .*\\(3,\\)", "label"),
        ({"x": np.eye(2), "y": np.array([0.5, 1])}, {}, "whole numbers", "label"),
        ({"x": np.array([[1, np.nan]])}, {}, "1 of 1", None),
        ({"x": np.zeros((0, 3))}, {}, "is empty", None),
        ({"x": np.zeros((3, 0))}, {}, "is empty", None),
        ({"x": np.zeros(3)}, {}, "\\(3,\\).* float64", None),
        ({"x": np.array(3.0)}, {}, "float64", None),
        ({"x": np.zeros((2, 4, 4, 3))}, {}, "float64", None),
        ({"x": np.zeros((2, 2), complex)}, {}, "complex128", None),
        ({"x": np.array([[1, "a"]], dtype=object)}, {}, "pickles", None),
        ({"x": np.eye(2), "y": np.array([1, "a"], dtype=object)}, {}, "pickles", None),
        ({"x": np.eye(2)}, {"kind": "image"}, "embeddings.*images", "kind"),
        ({"x": np.eye(2)}, {"kind": "sound"}, "'sound'", "kind"),
        ({"x": np.eye(2)}, {"text": "x", "image": "x"}, "Only one of", "text"),
        ({"x": np.eye(2)}, {"kind": "text", "image": "x"}, "'kind'", "image"),
        ({"x": np.eye(2), "k": np.zeros(2)}, {"id": "k"}, "not unique", "id"),
        ({"x": np.eye(2)}, {"split": ("a", "b")}, "'split'", "split"),
    ],
)
def test_one_clear_error(saved, arrays, options, words, option):
    with pytest.raises(InputError, match=words) as caught:
        read_items(saved(**arrays), **options)
    assert caught.value.option == option


def test_one_array_has_no_columns(saved):
    with pytest.raises(InputError) as caught:
        read_items(saved(np.eye(2)), label="y")
    assert caught.value.option == "label"


@pytest.mark.parametrize("name", ["a.npy", "a.npz"])
@pytest.mark.parametrize("content", [b"", b"not an array", b"\x93NUMPY", b"PK\x03\x04"])
def test_files_that_are_no_arrays(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError):
        read_items(path)


@pytest.mark.parametrize("share", [0.3, 0.7, 0.95])
def test_truncated_files(saved, share):
    x = np.random.default_rng(0).normal(size=(200, 20))
    for path in (saved(x), saved(x=x, y=np.zeros(200))):
        data = path.read_bytes()
        path.write_bytes(data[: int(len(data) * share)])
        with pytest.raises(InputError):
            read_items(path)


def test_a_damaged_member(tmp_path):
    buffer = io.BytesIO()
    np.savez_compressed(buffer, x=np.random.default_rng(0).normal(size=(200, 20)))
    data = bytearray(buffer.getvalue())
    data[2000:2100] = bytes(100)
    path = tmp_path / "a.npz"
    path.write_bytes(data)
    with pytest.raises(InputError):
        read_items(path)


def test_endings_that_lie(saved, tmp_path):
    one = tmp_path / "b.npz"
    one.write_bytes(saved(np.eye(2)).read_bytes())
    with pytest.raises(InputError, match=r"to \.npy"):
        read_items(one)
    several = tmp_path / "b.npy"
    several.write_bytes(saved(x=np.eye(2)).read_bytes())
    with pytest.raises(InputError, match=r"to \.npz"):
        read_items(several)


@pytest.mark.parametrize("order", ["<", ">"])
def test_letters_that_do_not_exist_are_one_clear_error(tmp_path, order):
    texts = np.array(["ab", "cd"], dtype=f"{order}U2")
    np.save(tmp_path / "x.npy", texts)
    assert read_items(tmp_path / "x.npy").values == ["ab", "cd"]
    data = (tmp_path / "x.npy").read_bytes()
    (tmp_path / "x.npy").write_bytes(data[:-16] + b"\x7f" * 16)
    with pytest.raises(InputError, match="a letter that does not exist"):
        read_items(tmp_path / "x.npy")


def test_vectors_with_their_texts_from_one_file(saved):
    items = read_items(saved(x=np.eye(2), words=np.array(["a", "b"])), embedding="x", text="words")
    assert (items.kind, items.contents) == ("embedding", ["a", "b"])
    assert items.columns == {"embedding": "x", "text": "words"}
    with pytest.raises(InputError, match="values but 1 contents"):
        read_items(saved(x=np.eye(2), words=np.array(["a"])), embedding="x", text="words")
