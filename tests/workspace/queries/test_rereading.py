import numpy as np
import pytest

from vbcgcd.errors import InputError
from vbcgcd.workspace import Workspace
from vbcgcd.workspace.queries.rereading import items_again, read_again, vectors_again


@pytest.fixture
def files(blobs, tmp_path):
    """A labelled session of a file, and one of an array."""
    workspace = Workspace.init(tmp_path / "w", model={"count": "evidence", "n_components": 6})
    np.savez(tmp_path / "first.npz", x=blobs.rows, y=blobs.labels)
    workspace.learn(tmp_path / "first.npz", embedding="x", label="y")
    workspace.discover(blobs.batch, n_novel=2)
    return workspace


def test_what_is_there_is_read_and_the_rest_is_explained(files, blobs, tmp_path):
    now, items = files.snapshot(), [*files.items("session=0")[3:5], files.items("session=1")[7]]
    found = read_again(now, files._embedding(now), items)
    assert found.places == [0, 1]
    np.testing.assert_array_equal(found.vectors, now.knowledge.reduced(blobs.rows[3:5]))
    np.testing.assert_array_equal(found.values, blobs.rows[3:5])
    assert "did not come from a file" in str(found.problems[0])
    every = read_again(now, files._embedding(now), items, blobs.batch)
    assert (every.places, every.problems) == ([0, 1, 2], [])
    np.testing.assert_allclose(every.vectors[2], now.knowledge.reduced(blobs.batch[[7]])[0], rtol=1e-5)
    with pytest.raises(InputError, match="did not come from a file"):
        vectors_again(now, files._embedding(now), items)
    nothing = read_again(now, files._embedding(now), [])
    assert nothing.vectors.shape == (0, 6)


def test_a_file_is_read_where_it_is_now_if_it_is_the_same(files, tmp_path):
    now = files.snapshot()
    commit = now.history.commit(2)
    (tmp_path / "first.npz").rename(tmp_path / "elsewhere.npz")
    with pytest.raises(InputError, match="There is no"):
        items_again(now, commit)
    assert len(items_again(now, commit, tmp_path / "elsewhere.npz")[0]) == 90
    np.savez(tmp_path / "other.npz", x=np.zeros((90, 6)), y=["cat"] * 90)
    with pytest.raises(InputError, match="There is no"):
        items_again(now, commit, tmp_path / "other.npz")
