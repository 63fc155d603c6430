"""The mixture of large samples: the same steps as the ordinary one."""

import numpy as np
import pytest

from support import mixture_of
from support import quick_mixture as quick
from vbcgcd.discovery.large.components import Belonging, Components, sums_of, to_components
from vbcgcd.discovery.mixture import MixtureState
from vbcgcd.discovery.search import cooled, eliminate, gains, least_valuable, seed


@pytest.fixture(params=["direction", "distance"])
def mixture(request):
    rng = np.random.default_rng(0)
    centres = 3 * rng.standard_normal((7, 6))
    rows = centres[rng.integers(0, 7, 3000)] + rng.standard_normal((3000, 6))
    sharpness = 20.0 if request.param == "direction" else 0.7
    return mixture_of(rows, centres[:3], request.param, sharpness, weight=rng.uniform(0.5, 2, 3000))


def test_its_steps_are_those_of_the_ordinary_mixture(mixture):
    start = seed(mixture, 4, np.random.default_rng(1))
    for one in (mixture, mixture.corrected()):
        have, want = quick(one).em(start, 0.5, 5), one.em(start, 0.5, 5)
        assert np.abs(have.responsibility - want.responsibility).max() < 5e-3
        assert have.log_likelihood == pytest.approx(want.log_likelihood, rel=1e-4)
        assert have.share == pytest.approx(want.share, abs=1e-3)
        similarity = quick(one).left_out_similarity(start)
        np.testing.assert_allclose(similarity, one.left_out_similarity(start), atol=2e-3)


def test_sums_over_blocks_are_sums_over_all(mixture):
    rng = np.random.default_rng(2)
    responsibility = rng.dirichlet(np.full(5, 0.1), 3000).astype(np.float32)
    belonging = Belonging.of(responsibility, mixture.weight)
    kept = np.where(responsibility > 1e-3, responsibility, 0) * mixture.weight[:, None]
    sums, counts = sums_of(mixture.rows, belonging, 5)
    np.testing.assert_allclose(sums, kept.T.astype(float) @ mixture.rows, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(counts, kept.sum(axis=0), rtol=1e-5)
    have = to_components(
        mixture.geometry, mixture.rows, Components(sums, counts, 0.5), belonging, corrected=True
    )
    want = mixture.geometry.left_out_similarity(mixture.rows, kept, corrected=True)
    np.testing.assert_allclose(have, want, rtol=1e-3, atol=1e-4)


def test_a_quick_path_removes_several_at_a_time(mixture):
    path = eliminate(cooled(quick(mixture)), 80, np.random.default_rng(0))
    assert path.complete
    assert path.size[0] == 80
    assert path.size[-1] == 0
    assert (np.diff(path.size) < -1).any()
    assert (np.diff(path.size)[-20:] == -1).all()
    assert len(gains(path, mixture.total, np.zeros(3))) == 80
    state = path.states[int(path.size[3])]
    assert state.unpacked().responsibility.shape == (3000, path.size[3])
    assert state.unpacked().unpacked().share == state.share


def test_of_two_halves_of_a_category_only_one_goes(mixture):
    rows = mixture.rows
    halves = np.zeros((len(rows), 60), np.float32)
    halves[np.arange(len(rows)), np.arange(len(rows)) % 60] = 1
    value = np.arange(60.0)
    out = least_valuable(quick(mixture), MixtureState(halves, 0.0, 0.0, 0.5), value, 0.1)
    assert 1 <= len(out) <= 6
    assert out[0] == 0
    assert least_valuable(mixture, MixtureState(halves, 0.0, 0.0, 0.5), value, 0.1).tolist() == [0]
