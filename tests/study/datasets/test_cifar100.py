import io
import pickle
import struct
import tarfile

import numpy as np
import pytest

from vbcgcd.errors import InputError
from vbcgcd.study.datasets import load_items

NAMES = ["apple", "bear", "cloud"]


class OldPickler(pickle._Pickler):
    """Writes strings as Python 2 did: as byte strings, which is how the published files hold them."""

    dispatch = dict(pickle._Pickler.dispatch)  # noqa: RUF012

    def save_old(self, obj):
        data = obj.encode("latin1") if isinstance(obj, str) else obj
        self.write(pickle.BINSTRING + struct.pack("<i", len(data)) + data)
        self.memoize(obj)

    dispatch[str] = dispatch[bytes] = save_old


def pickled(content):
    out = io.BytesIO()
    OldPickler(out, protocol=2).dump(content)
    return out.getvalue().replace(b"numpy._core.multiarray", b"numpy.core.multiarray")


@pytest.fixture
def parts():
    rng = np.random.default_rng(0)
    return {
        "train": (rng.integers(0, 256, (6, 3072), dtype=np.uint8), [2, 0, 1, 2, 0, 1]),
        "test": (rng.integers(0, 256, (3, 3072), dtype=np.uint8), [1, 2, 0]),
    }


@pytest.fixture
def files(parts):
    """Contents of the Python version."""
    made = {
        part: pickled({"data": x, "fine_labels": y, "coarse_labels": y, "filenames": ["a.png"] * len(y)})
        for part, (x, y) in parts.items()
    }
    return {**made, "meta": pickled({"fine_label_names": NAMES, "coarse_label_names": ["thing"]})}


def write(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


def archive(path, files, top="cifar-100-python"):
    with tarfile.open(path, "w:gz") as out:
        for name, data in files.items():
            member = tarfile.TarInfo(f"{top}/{name}")
            member.size = len(data)
            out.addfile(member, io.BytesIO(data))
    return path


def binary(parts):
    made = {
        f"{part}.bin": b"".join(bytes([9, label]) + row.tobytes() for row, label in zip(x, y, strict=True))
        for part, (x, y) in parts.items()
    }
    return {**made, "fine_label_names.txt": "\n".join([*NAMES, ""]).encode()}


def check(data, parts):
    assert (data.name, data.kind, data.class_names) == ("cifar100", "image", tuple(NAMES))
    for part, (x, y) in parts.items():
        items = getattr(data, part)
        assert items.labels.tolist() == y
        assert items.values.shape == (len(y), 32, 32, 3)
        assert items.values.dtype == np.uint8
        # The published rows are a red, a green and a blue plane, each row by row.
        for n, row, column, colour in [(0, 0, 0, 0), (1, 5, 7, 2), (2, 31, 0, 1)]:
            assert items.values[n, row, column, colour] == x[n, 1024 * colour + 32 * row + column]
        assert items.references[0] == f"{part}/0"


@pytest.mark.parametrize("version", ["python", "binary"])
@pytest.mark.parametrize("place", ["folder", "above", "archive"])
def test_every_published_form(tmp_path, parts, files, version, place):
    files = files if version == "python" else binary(parts)
    usual = f"cifar-100-{version}"
    if place == "archive":
        path = archive(tmp_path / f"{usual}.tar.gz", files, usual)
    else:
        path = write(tmp_path / usual, files)
        path = path.parent if place == "above" else path
    check(load_items(path), parts)
    check(load_items(path, layout="cifar100"), parts)


@pytest.mark.parametrize("lost", ["train", "test", "meta"])
def test_a_missing_file_is_named(tmp_path, files, lost):
    del files[lost]
    with pytest.raises(InputError, match=rf"lacks {lost}\."):
        load_items(write(tmp_path / "cifar-100-python", files))


def test_an_archive_of_something_else(tmp_path):
    with pytest.raises(InputError, match="train, test, meta"):
        load_items(archive(tmp_path / "other.tar.gz", {"readme": b"x"}))


@pytest.mark.parametrize("share", [0.0, 0.2, 0.9])
def test_a_truncated_archive(tmp_path, files, share):
    path = archive(tmp_path / "c.tar.gz", files)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    with pytest.raises(InputError, match="complete archive"):
        load_items(path)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("train", b"\x80\x02", "train .* be read"),
        ("train", pickled({"data": np.zeros((1, 3072), np.uint8)}), "train .* fine_labels"),
        ("test", pickled({"data": np.zeros((1, 9), np.uint8), "fine_labels": [0]}), "3072 bytes"),
        (
            "test",
            pickled({"data": np.zeros((1, 3072), np.uint8), "fine_labels": ["x"]}),
            "list of integers",
        ),
        (
            "test",
            pickled({"data": np.zeros((1, 3072), np.uint8), "fine_labels": [0, 1]}),
            "1 values but 2 labels",
        ),
        (
            "test",
            pickled({"data": np.zeros((1, 3072), np.uint8), "fine_labels": [7]}),
            "7 to 7, .* 3",
        ),
        ("test", pickled({"data": np.zeros((0, 3072), np.uint8), "fine_labels": []}), "no pictures"),
        ("meta", pickled({"label_names": NAMES}), "meta .* fine_label_names"),
    ],
)
def test_broken_content(tmp_path, files, name, content, words):
    with pytest.raises(InputError, match=words):
        load_items(write(tmp_path / "c", {**files, name: content}))


def test_a_truncated_binary_file(tmp_path, parts):
    files = binary(parts)
    files["test.bin"] = files["test.bin"][:-1]
    with pytest.raises(InputError, match=r"test\.bin .* 9221 .* 3074"):
        load_items(write(tmp_path / "c", files))


def test_options_of_other_layouts_are_refused(tmp_path, files):
    with pytest.raises(InputError) as caught:
        load_items(write(tmp_path / "c", files), seed=1)
    assert caught.value.option == "seed"
