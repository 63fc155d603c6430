import json
import os
import stat

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors.numpy import save, save_file

from vbcgcd import mapped
from vbcgcd.archive import META, archive_bytes, read_archive, write_archive
from vbcgcd.errors import DiskError, InputError, MissingFileError

ARRAYS = {"a": np.arange(6.0).reshape(2, 3), "b": np.array([1, 2], dtype=np.int8), "none": np.empty((0, 4))}
VALUES = {"x": [1, "two", None, 0.1], "y": {"z": True}}


@pytest.fixture
def path(tmp_path):
    """A file with an archive."""
    write_archive(tmp_path / "model", "thing", 2, ARRAYS, VALUES)
    return tmp_path / "model"


def test_what_is_written_is_read(path):
    arrays, values = read_archive(path, "thing", 2)
    assert values == VALUES
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], array)
        assert arrays[name].dtype == array.dtype
        assert arrays[name].shape == array.shape


def test_arrays_of_any_layout(tmp_path):
    array = np.arange(12.0).reshape(3, 4)
    layouts = {"transposed": array.T, "strided": array[:, ::2], "backwards": array[::-1]}
    write_archive(tmp_path / "m", "thing", 1, layouts, None)
    found, _ = read_archive(tmp_path / "m", "thing", 1)
    for name, layout in layouts.items():
        np.testing.assert_array_equal(found[name], layout)


@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8).filter(
            lambda n: n != "__metadata__"
        ),
        hnp.arrays(
            st.sampled_from(["f8", "f4", "f2", "i8", "u8", "i4", "u4", "i2", "u2", "i1", "u1", "?"]),
            hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
        ),
        max_size=5,
    )
)
def test_bytes_are_those_of_safetensors(arrays):
    meta = {META: json.dumps({"kind": "thing", "version": 1, "values": ["é", 1]})}
    assert archive_bytes("thing", 1, arrays, ["é", 1]) == save(arrays, metadata=meta)


def test_large_arrays_can_stay_in_the_file(path, monkeypatch):
    noted = []
    monkeypatch.setattr(mapped, "LARGE", 40)
    arrays, _ = read_archive(
        path, "thing", 2, mapped=("a", "b", "none"), check=lambda *part: noted.append(part)
    )
    assert isinstance(arrays["a"], mapped.MappedRows)
    assert isinstance(arrays["b"], np.ndarray)
    data = path.read_bytes()
    unread = data.index(ARRAYS["a"].tobytes())
    assert all(
        stop <= unread or start >= unread + ARRAYS["a"].nbytes for start, stop in noted if stop > start
    )
    np.testing.assert_array_equal(np.asarray(arrays["a"]), ARRAYS["a"])
    covered = {byte for start, stop in noted for byte in range(start, stop)}
    assert covered == set(range(len(data)))
    monkeypatch.setattr(mapped, "LARGE", 48)
    assert isinstance(read_archive(path, "thing", 2, mapped=("a",))[0]["a"], np.ndarray)


def test_rows_in_a_file_are_written_again_without_being_held(path, tmp_path, monkeypatch):
    monkeypatch.setattr(mapped, "LARGE", 0)
    monkeypatch.setattr("vbcgcd.archive._ROWS", 1)
    arrays, values = read_archive(path, "thing", 2, mapped=("a",))
    write_archive(tmp_path / "again", "thing", 2, arrays, values)
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_paths_may_be_strings(tmp_path):
    write_archive(str(tmp_path / "m"), "thing", 1, ARRAYS, 5)
    assert read_archive(str(tmp_path / "m"), "thing", 1)[1] == 5


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.99])
def test_truncated_files_are_refused(path, share):
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    with pytest.raises(InputError) as caught:
        read_archive(path, "thing", 2)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("data", [b"hello", b"\x00" * 100, b"\xff" * 100])
def test_other_files_are_refused(tmp_path, data):
    (tmp_path / "m").write_bytes(data)
    with pytest.raises(InputError):
        read_archive(tmp_path / "m", "thing", 1)


def test_another_kind_is_refused(path):
    with pytest.raises(InputError, match=r"'thing'.*'other'"):
        read_archive(path, "other", 2)


def test_foreign_tensors_are_refused(tmp_path):
    save_file(ARRAYS, tmp_path / "m")
    with pytest.raises(InputError, match="'thing'"):
        read_archive(tmp_path / "m", "thing", 1)


def test_a_newer_version_is_refused_and_an_older_one_read(path):
    with pytest.raises(InputError, match=r"version 2.* 1"):
        read_archive(path, "thing", 1)
    assert read_archive(path, "thing", 3)[1] == VALUES


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(MissingFileError):
        read_archive(tmp_path / "absent", "thing", 1)


def test_a_folder_is_no_archive(tmp_path):
    with pytest.raises(InputError):
        read_archive(tmp_path, "thing", 1)


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(MissingFileError):
        write_archive(tmp_path / "absent" / "m", "thing", 1, ARRAYS, VALUES)
    assert list(tmp_path.iterdir()) == []


def test_writing_onto_a_folder_leaves_no_stray_files(tmp_path):
    (tmp_path / "m").mkdir()
    with pytest.raises(DiskError):
        write_archive(tmp_path / "m", "thing", 1, ARRAYS, VALUES)
    assert [p.name for p in tmp_path.iterdir()] == ["m"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes anywhere")
def test_a_read_only_folder_is_refused(path):
    path.parent.chmod(0o500)
    try:
        with pytest.raises(InputError):
            write_archive(path, "thing", 2, ARRAYS, 0)
        assert read_archive(path, "thing", 2)[1] == VALUES
    finally:
        path.parent.chmod(0o700)


@pytest.mark.parametrize("failure", [OSError("disk full"), KeyboardInterrupt()], ids=repr)
@pytest.mark.parametrize("function", ["os.fsync", "pathlib.Path.replace"])
def test_a_write_that_fails_midway_leaves_the_old_file(path, monkeypatch, function, failure):
    def fail(*args):
        raise failure

    before = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(function, fail)
        with pytest.raises(DiskError if isinstance(failure, OSError) else type(failure)):
            write_archive(path, "thing", 2, {"a": np.zeros(3)}, 0)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["model"]


def test_values_that_are_no_json_leave_the_old_file(path):
    before = path.read_bytes()
    with pytest.raises(TypeError):
        write_archive(path, "thing", 2, ARRAYS, {"x": object()})
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["model"]


def test_files_have_the_permissions_of_any_new_file(path):
    (path.parent / "plain").touch()
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((path.parent / "plain").stat().st_mode)


def test_a_missing_folder_and_a_full_disk_are_different_errors(tmp_path):
    with pytest.raises(MissingFileError):
        write_archive(tmp_path / "absent" / "x.safetensors", "kind", 1, {}, {})
    with pytest.raises(MissingFileError):
        read_archive(tmp_path / "x.safetensors", "kind", 1)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DiskError):
        write_archive(tmp_path / "pipe", "kind", 1, {}, {})
    assert (tmp_path / "pipe").is_fifo()


def test_a_link_stays_a_link(tmp_path):
    target, link = tmp_path / "real.safetensors", tmp_path / "link.safetensors"
    link.symlink_to(target)
    write_archive(link, "kind", 1, {"x": np.ones(2)}, {})
    assert link.is_symlink()
    np.testing.assert_array_equal(read_archive(target, "kind", 1)[0]["x"], [1, 1])


def test_too_many_open_files_are_not_a_missing_file(tmp_path, monkeypatch):
    """The library that reads the archive calls every failure to open it a missing file."""
    write_archive(tmp_path / "x", "thing", 1, {"a": np.ones(2)}, {})

    def refuse(*args, **kwargs):
        raise FileNotFoundError("No such file or directory")

    monkeypatch.setattr("vbcgcd.archive.safe_open", refuse)
    with pytest.raises(DiskError):
        read_archive(tmp_path / "x", "thing", 1)
    monkeypatch.undo()
    with pytest.raises(MissingFileError):
        read_archive(tmp_path / "y", "thing", 1)
