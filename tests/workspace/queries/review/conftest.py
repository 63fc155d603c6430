"""Made streams of which the answers are known: Gaussian classes, each session a file."""

import numpy as np
import pytest

from vbcgcd.workspace import Workspace

DIM, LABELLED = 8, 8


class World:
    """Classes 0 to 7 are labelled; `session` adds a batch of so many rows of each class."""

    def __init__(self, folder):
        self.rng, self.folder = np.random.default_rng(3), folder
        self.means = 5 * self.rng.normal(size=(20, DIM))
        self.here = Workspace.init(folder / "w", model={"prior_strength": 20.0})
        self.here.learn(*self.rows(dict.fromkeys(range(LABELLED), 30)))

    def rows(self, sizes):
        truth = np.repeat(list(sizes), list(sizes.values()))
        return self.means[truth] + self.rng.normal(size=(len(truth), DIM)), truth

    def session(self, sizes, n_novel=0, extra=None):
        rows, _ = self.rows(sizes)
        if extra is not None:
            rows = np.concatenate([rows, extra])
        file = self.folder / f"batch-{len(list(self.folder.glob('batch-*')))}.npy"
        np.save(file, rows)
        return self.here.discover(file, n_novel=n_novel)

    def questions(self, kind):
        return self.here.review(None, kind=kind).questions


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


@pytest.fixture
def pieces(world):
    """A class of 40 items that was found as two categories, 8 and 9."""
    world.session({0: 10, 1: 10, 10: 40}, n_novel=2)
    return world
