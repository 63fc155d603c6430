import numpy as np
import pytest

from vbcgcd.discovery.geometry import Geometry
from vbcgcd.discovery.mixture import Mixture
from vbcgcd.discovery.search import cooled, eliminate

DIM = 12


def crowded(kind="direction", sharpness=30.0, n_rows=120):
    """Rows around four known and three novel orthogonal directions, half of them novel."""
    rng = np.random.default_rng(0)
    means = 3 * np.eye(DIM)[:7]
    which = np.concatenate([np.arange(n_rows // 2) % 4, 4 + np.arange(n_rows // 2) % 3])
    rows = means[which] + 0.4 * rng.normal(size=(len(which), DIM))
    return cooled(Mixture.of(rows, means[:4], Geometry(kind, sharpness)))


@pytest.mark.parametrize(("kind", "sharpness"), [("direction", 30.0), ("distance", 3.0)])
@pytest.mark.parametrize("crowd", [1, 2, 9])
def test_categories_go_one_by_one_until_none_is_left(kind, sharpness, crowd):
    mixture = crowded(kind, sharpness)
    path = eliminate(mixture, crowd, np.random.default_rng(1))
    np.testing.assert_array_equal(path.size, np.arange(crowd, -1, -1))
    assert len(path.log_likelihood) == len(path.novel_rows) == crowd + 1
    assert path.complete
    assert path.log_likelihood[-1] == mixture.known_log_likelihood
    assert path.novel_rows[-1] == 0
    assert sorted(path.states) == list(range(1, crowd + 1))
    for size, likelihood, novel in zip(path.size[:-1], path.log_likelihood, path.novel_rows, strict=False):
        state = path.states[size]
        assert state.responsibility.shape == (120, size)
        assert state.log_likelihood == likelihood
        assert state.share * 120 == pytest.approx(novel)


def test_nothing_new_has_the_likelihood_of_the_known_categories():
    mixture = crowded("distance", 3.0)
    path = eliminate(mixture, 2, np.random.default_rng(0))
    scores = mixture.sharpness * mixture.geometry.similarity(mixture.rows, 3 * np.eye(DIM)[:4])
    assert path.log_likelihood[-1] == pytest.approx(np.log(np.exp(scores).mean(axis=1)).sum(), rel=1e-4)


def test_real_categories_cost_more_than_fragments():
    path = eliminate(crowded(), 9, np.random.default_rng(2))
    cost = (path.log_likelihood[:-1] - path.log_likelihood[1:])[::-1]
    assert cost[:3].min() > 3 * cost[3:].max()
    assert path.novel_rows[path.size == 3][0] == pytest.approx(60, abs=3)


@pytest.mark.parametrize("length", [1, 3])
def test_giving_up_ends_the_path_early(length):
    told = []

    def give_up(path):
        told.append(path.size.tolist())
        return len(path.size) == length

    path = eliminate(crowded(), 8, np.random.default_rng(0), give_up=give_up)
    assert not path.complete
    np.testing.assert_array_equal(path.size, 8 - np.arange(length))
    assert told == [list(range(8, 8 - n, -1)) for n in range(1, length + 1)]
    whole = eliminate(crowded(), 8, np.random.default_rng(0))
    np.testing.assert_array_equal(path.log_likelihood, whole.log_likelihood[:length])


def test_the_same_seed_gives_the_same_path():
    one, other = (eliminate(crowded(), 6, np.random.default_rng(7)) for _ in range(2))
    np.testing.assert_array_equal(one.log_likelihood, other.log_likelihood)
    np.testing.assert_array_equal(one.novel_rows, other.novel_rows)
    for size, state in one.states.items():
        np.testing.assert_array_equal(state.responsibility, other.states[size].responsibility)
