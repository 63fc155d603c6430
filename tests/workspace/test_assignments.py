import builtins
import importlib

import numpy as np
import pytest

from vbcgcd.errors import InputError
from vbcgcd.workspace.assignments import (
    Assignments,
    check_pyarrow,
    read_assignments,
    read_sample,
    write_assignments,
    write_sample,
)


def test_assignments_survive_the_disk(tmp_path):
    given = Assignments(
        ["a", "é<b>", "x/y.png"],
        np.array([0, 7, 7]),
        np.array([0.5, 0.25, 1.0]),
        np.array([7, -1, 0]),
        np.array([0.25, 0.0, 0.0]),
        np.array([0.1, 0.2, 0.3]),
    )
    write_assignments(tmp_path / "a.parquet", given)
    found = read_assignments(tmp_path / "a.parquet")
    assert [found.name_of(i) for i in range(3)] == given.reference
    assert found.category.tolist() == [0, 7, 7]
    assert found.second.tolist() == [7, -1, 0]
    np.testing.assert_array_equal(found.margin, [0.25, 0.25, 1.0])
    np.testing.assert_array_equal(found.novelty, np.float32([0.1, 0.2, 0.3]))


def test_samples_keep_the_leading_dimensions(tmp_path):
    reduced = np.arange(40.0).reshape(2, 20)
    write_sample(tmp_path / "s", np.array([3, 9]), reduced)
    rows, sketch = read_sample(tmp_path / "s")
    assert rows.tolist() == [3, 9]
    np.testing.assert_array_equal(sketch, reduced[:, :16].astype(np.float32))


def test_without_pyarrow_the_extra_is_named(monkeypatch, fresh, blobs, tree):
    real = builtins.__import__
    before = tree(fresh.path)

    def missing(name, *args):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *args)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(InputError, match=r"vbcgcd\[tables\]"):
        check_pyarrow()
    with pytest.raises(InputError, match=r"vbcgcd\[tables\]"):
        fresh.learn(blobs.rows, blobs.labels)
    assert tree(fresh.path) == before
