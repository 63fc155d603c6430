import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from vbcgcd.discovery.strategies import CLUSTERERS, start_of
from vbcgcd.errors import InputError


def blobs(each=40, n_clusters=3):
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(n_clusters), each)
    return 12 * np.eye(4)[truth] + rng.normal(size=(len(truth), 4)), truth


@pytest.mark.parametrize("name", CLUSTERERS)
def test_separated_clusters_are_found(name):
    rows, truth = blobs()
    found = CLUSTERERS[name](rows, 3, np.random.default_rng(0))
    clustered = found >= 0
    assert clustered.mean() > 0.85
    assert adjusted_rand_score(truth[clustered], found[clustered]) == 1
    assert set(found[clustered]) == {0, 1, 2}


@pytest.mark.parametrize("name", CLUSTERERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_stay_as_they_are_and_the_seed_decides(name, dtype):
    rows = blobs()[0].astype(dtype)
    copy = rows.copy()
    found = [CLUSTERERS[name](rows, 2, np.random.default_rng(3)) for _ in range(2)]
    np.testing.assert_array_equal(rows, copy)
    np.testing.assert_array_equal(found[0], found[1])


def test_hdbscan_keeps_the_largest_clusters():
    rows, truth = blobs()
    keep = ~((truth == 1) & (np.arange(len(truth)) % 2 == 0))  # the second cluster is the smallest
    found = CLUSTERERS["hdbscan"](rows[keep], 2, np.random.default_rng(0))
    assert set(found) == {-1, 0, 1}
    assert (found[truth[keep] == 1] == -1).all()


@pytest.mark.parametrize("name", CLUSTERERS)
@pytest.mark.parametrize("n_rows", [1, 2, 4])
def test_few_rows_are_no_error(name, n_rows):
    rows = blobs()[0][:n_rows]
    found = CLUSTERERS[name](rows, 1, np.random.default_rng(0))
    assert found.shape == (n_rows,)
    assert set(found) <= {-1, 0}


@pytest.mark.parametrize(
    "labels",
    [np.zeros(3, dtype=int), np.zeros((10, 1), dtype=int), np.zeros(10), np.arange(10)],
    ids=["too few", "two dimensions", "floats", "too many clusters"],
)
def test_what_a_function_of_the_user_returns_is_checked(labels):
    with pytest.raises(InputError) as caught:
        start_of(lambda rows, n, rng: labels, np.zeros((10, 2)), None, 2, np.random.default_rng(0))
    assert caught.value.option == "cluster"
