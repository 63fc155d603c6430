"""Miniature pictures on disk."""

import os
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def picture():
    """Function path -> a real picture of 4 x 4 pixels there, with the folders above it."""
    image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(0)

    def draw(path):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        image.fromarray(rng.integers(0, 256, (4, 4, 3), dtype=np.uint8)).save(path)

    return draw


@pytest.fixture
def real_data():
    """The folder named by VBCGCD_DATA."""
    if "VBCGCD_DATA" not in os.environ:
        pytest.skip("VBCGCD_DATA is not set")
    return Path(os.environ["VBCGCD_DATA"])
