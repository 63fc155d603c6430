"""All ten digits, half for training and half held out."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from vbcgcd import CategoryDiscoverer


@pytest.fixture(scope="session")
def digits():
    """Training rows and labels, held-out rows and labels."""
    rows, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(rows))
    first, second = order[: len(order) // 2], order[len(order) // 2 :]
    return rows[first], labels[first], rows[second], labels[second]


@pytest.fixture(scope="session")
def fitted_digits(digits):
    """A model of all digits; tests must not change it."""
    return CategoryDiscoverer().fit(*digits[:2])
