import hashlib

import numpy as np
import pytest

from vbcgcd.workspace.origin import NOWHERE, Origin, file_mark, origin_of


def test_a_file_is_marked_by_its_content(tmp_path):
    file = tmp_path / "a.csv"
    file.write_bytes(b"x" * 3_000_000)
    expected = hashlib.blake2b(b"x" * 3_000_000, digest_size=16).hexdigest()
    assert file_mark(file) == expected
    origin = origin_of(str(file))
    assert (origin.path, origin.digest) == (str(file), expected)
    assert Origin.from_json(origin.as_json()) == origin


def test_a_relative_path_becomes_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pictures").mkdir()
    origin = origin_of("pictures")
    assert (origin.path, origin.digest) == (str(tmp_path / "pictures"), "")
    assert origin.read > 0


@pytest.mark.parametrize("data", [np.ones((2, 2)), ["a", "b"], "gone.csv", "caf\udce9.csv"])
def test_what_cannot_be_found_again_comes_from_nowhere(data):
    assert origin_of(data) == NOWHERE
    assert NOWHERE.as_json() == {}


@pytest.mark.parametrize("summary", [{}, {"source_path": "/a"}, {"source_path": 1, "source_digest": 2}])
def test_early_records_come_from_nowhere(summary):
    assert Origin.from_json(summary) == NOWHERE
