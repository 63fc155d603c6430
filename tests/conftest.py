"""Digits 0 to 5 partly labelled, the rest of the digits unlabelled; and blobs of known truth."""

import copy
import os
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import settings
from safetensors import safe_open
from sklearn.datasets import load_digits

from vbcgcd import CategoryDiscoverer

# The same examples on every machine; HYPOTHESIS_PROFILE=random draws new ones.
# No deadline: the first call of a function may import a library, and the machine may be busy.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("random", derandomize=False, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))


class Problem(NamedTuple):
    """Labelled rows, and an unlabelled batch with its truth."""

    rows: np.ndarray
    labels: np.ndarray
    batch: np.ndarray
    truth: np.ndarray


@pytest.fixture(scope="session")
def digit_problem():
    """Half of the digits 0 to 5 are labelled; the batch is everything else."""
    rows, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(rows))
    rows, labels = rows[order], labels[order]
    labelled = np.flatnonzero(labels < 6)[::2]
    rest = np.setdiff1d(np.arange(len(rows)), labelled)
    return Problem(rows[labelled], labels[labelled], rows[rest], labels[rest])


@pytest.fixture(scope="session")
def small(digit_problem):
    """A fast problem: 200 labelled rows of digits 0 to 5 and 150 unlabelled rows of all digits."""
    rows, labels, batch, truth = digit_problem
    return Problem(rows[:200], labels[:200], batch[:150], truth[:150])


@pytest.fixture(scope="session")
def fitted_once(small):
    """A model fitted to the fast problem; tests must not change it."""
    return CategoryDiscoverer().fit(small.rows, small.labels)


@pytest.fixture
def fitted(fitted_once):
    """A model fitted to the fast problem, for one test alone."""
    return copy.deepcopy(fitted_once)


@pytest.fixture(scope="session")
def state_of(tmp_path_factory):
    """Function model -> all that it saves, comparable by ==."""
    path = tmp_path_factory.mktemp("states") / "state"

    def state(model):
        model.save(path)
        with safe_open(path, framework="numpy") as archive:
            arrays = {name: archive.get_tensor(name) for name in archive.keys()}  # noqa: SIM118
            return archive.metadata(), {k: (v.dtype, v.shape, v.tobytes()) for k, v in arrays.items()}

    return state
