"""A small study: digits as embeddings, and a plan of two sessions over eight of them."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from vbcgcd.study.datasets import Dataset
from vbcgcd.study.plans import make_plan
from vbcgcd.study.shapes import PlanShape


@pytest.fixture(scope="session")
def small_data():
    """Eight digits, 60 training and 25 test rows of each."""
    x, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    rows = [rng.permutation(np.flatnonzero(y == c))[:85] for c in range(8)]
    train, test = np.concatenate([r[:60] for r in rows]), np.concatenate([r[60:] for r in rows])
    return Dataset(x[train].astype(np.float32), y[train], x[test].astype(np.float32), y[test], name="digits")


@pytest.fixture(scope="session")
def small_plans(small_data):
    """Two plans: four labelled classes, two sessions of two."""
    shape = PlanShape("tiny", 4, 2, 2, known_rows=4)
    return [make_plan(small_data.train_y, shape, seed=seed) for seed in (0, 1)]


@pytest.fixture(scope="session")
def small_file(small_data, tmp_path_factory):
    """The same as a file of embeddings."""
    path = tmp_path_factory.mktemp("data") / "digits.npz"
    np.savez(
        path,
        train_x=small_data.train_x,
        train_y=small_data.train_y,
        test_x=small_data.test_x,
        test_y=small_data.test_y,
    )
    return path
