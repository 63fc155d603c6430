"""Rows against the known categories, block by block."""

import numpy as np
import pytest
import scipy

from vbcgcd.discovery import known_side
from vbcgcd.discovery.geometry import Geometry
from vbcgcd.discovery.known_side import KnownSide


@pytest.mark.parametrize("kind", ["direction", "distance"])
@pytest.mark.parametrize("block", [1, 50, 10**6])
def test_it_keeps_what_the_whole_matrix_says(kind, block, monkeypatch):
    monkeypatch.setattr(known_side, "BLOCK_VALUES", block)
    rng = np.random.default_rng(0)
    geometry, means = Geometry(kind, 3.0, 0.5), rng.standard_normal((9, 4))
    rows, counts = geometry.prepared(rng.standard_normal((40, 4))), rng.integers(1, 9, 9)
    every = geometry.corrected(geometry.similarity(rows, means), counts)
    side = KnownSide(geometry, rows, means, counts)
    assert len(side) == 9
    np.testing.assert_allclose(side.best, every.max(axis=1), rtol=1e-5)
    for sharpness in (3.0, 2.25, 7.0):
        want = scipy.special.logsumexp(sharpness * every.astype(float), axis=1)
        np.testing.assert_allclose(side.log_sum(sharpness), want, rtol=1e-4, atol=1e-4)
    some, extra = np.array([3, 5, 8]), rng.standard_normal((40, 2)).astype(np.float32)
    part = side.part(some, extra)
    both = np.hstack([every, extra])[some]
    assert len(part) == 11
    np.testing.assert_allclose(part.best, both.max(axis=1), rtol=1e-5)
    np.testing.assert_allclose(
        part.log_sum(3.0), scipy.special.logsumexp(3.0 * both.astype(float), axis=1), rtol=1e-4
    )
    np.testing.assert_allclose(side.part(some).best, every.max(axis=1)[some], rtol=1e-5)
