"""A small stream: sixteen well separated classes of forty rows, and another dataset for junk."""

import numpy as np
import pytest

from vbcgcd.study.datasets import Dataset


def blobs(n_classes, n_rows, width, seed, name):
    rng = np.random.default_rng(seed)
    means = 6 * rng.standard_normal((n_classes, width))

    def part(size):
        y = np.repeat(np.arange(n_classes), size)
        return (means[y] + rng.standard_normal((len(y), width))).astype(np.float32), y

    (train_x, train_y), (test_x, test_y) = part(n_rows), part(5)
    return Dataset(train_x, train_y, test_x, test_y, name=name)


@pytest.fixture(scope="session")
def stream_data():
    return blobs(16, 40, 6, 0, "blobs")


@pytest.fixture(scope="session")
def junk_data():
    return blobs(30, 4, 9, 1, "junk")
