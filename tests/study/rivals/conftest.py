"""A small stream of Gaussian blobs on the sphere, in sizes of the caller's choice."""

from typing import NamedTuple

import numpy as np
import pytest


class Stream(NamedTuple):
    """Labelled rows, then sessions of (rows, truth); truths 0..3 are labelled, the rest are new."""

    rows: np.ndarray
    labels: np.ndarray
    sessions: list[tuple[np.ndarray, np.ndarray]]


@pytest.fixture(scope="session")
def blob_stream():
    """Function (rows of a known blob in a session, rows of a novel one) -> Stream with 4 + 3 + 2 blobs."""

    def make(known_rows=10, novel_rows=40, noise=0.12, d=16):
        rng = np.random.default_rng(7)
        centres = np.linalg.qr(rng.standard_normal((d, d)))[0][:9]

        def draw(sizes):
            truth = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
            return 3 * (centres[truth] + noise * rng.standard_normal((len(truth), d))), truth

        rows, labels = draw([60] * 4)
        sessions = [
            draw([known_rows] * 4 + [novel_rows] * 3),
            draw([known_rows] * 7 + [novel_rows] * 2),
        ]
        return Stream(rows, labels, sessions)

    return make
