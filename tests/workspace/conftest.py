"""A small workspace of Gaussian blobs, learned and with one unlabelled session; copied for each test."""

import hashlib
import shutil
from typing import NamedTuple

import numpy as np
import pytest

from support import leaving
from vbcgcd.workspace import Workspace

MODEL = {"count": "evidence", "n_components": 6, "prior_strength": 20.0}


class Blobs(NamedTuple):
    """Labelled rows of three categories, a batch of five, and rows to predict."""

    rows: np.ndarray
    labels: np.ndarray
    batch: np.ndarray
    truth: np.ndarray
    probe: np.ndarray


def draw(rng, means, labels):
    return means[labels] + rng.normal(size=(len(labels), means.shape[1]))


@pytest.fixture(scope="session")
def blobs():
    rng = np.random.default_rng(0)
    means = 4 * rng.normal(size=(6, 6))
    labels, truth = np.repeat([0, 1, 2], 30), rng.permutation(np.repeat(np.arange(5), 20))
    names = np.array(["cat", "dog", "owl"])
    return Blobs(
        draw(rng, means, labels),
        names[labels],
        draw(rng, means, truth),
        truth,
        draw(rng, means, np.arange(40) % 6),
    )


@pytest.fixture(scope="session")
def template(blobs, tmp_path_factory):
    """A workspace that learned cat, dog and owl (0, 1, 2) and found two more (3, 4)."""
    path = tmp_path_factory.mktemp("template") / "animals"
    workspace = Workspace.init(path, model=MODEL)
    workspace.learn(blobs.rows, blobs.labels)
    workspace.discover(blobs.batch, n_novel=2)
    return path


@pytest.fixture
def animals(template, tmp_path):
    """A copy of the template, open."""
    return Workspace.open(shutil.copytree(template, tmp_path / "animals"))


@pytest.fixture
def leave(monkeypatch):
    """Function as `support.leaving`: sessions from now on leave items unassigned, and seedlings."""

    def use(*arguments, **options):
        place = "vbcgcd.workspace.commands.sessions.run_session"
        monkeypatch.setattr(place, leaving(*arguments, **options))

    return use


@pytest.fixture
def fresh(tmp_path):
    """A workspace that has learned nothing."""
    return Workspace.init(tmp_path / "fresh", model=MODEL)


@pytest.fixture(scope="session")
def tree():
    """Function folder -> names and contents of all files in it."""

    def contents(path):
        files = (file for file in sorted(path.rglob("*")) if file.is_file())
        return {str(f.relative_to(path)): hashlib.sha256(f.read_bytes()).hexdigest() for f in files}

    return contents


@pytest.fixture(scope="session")
def answers():
    """Function workspace, rows -> all that it predicts, comparable by ==."""

    def of(workspace, rows):
        found = workspace.predict(rows)
        parts = (found.category, found.probability, found.novelty, found.second, found.second_probability)
        return [found.name, *(part.tobytes() for part in parts)]

    return of


class WordEmbedder:
    """Texts to vectors: how often each of a few words occurs, and a little of its own for each text."""

    name, kind, fingerprint, batch_size = "words", "text", "words-1", 64

    def __init__(self, words):
        self.words = words
        self.dimension = len(words)

    def embed(self, items):
        counts = np.array([[text.split().count(word) for word in self.words] for text in items], dtype=float)
        noise = [np.random.default_rng(list(text.encode())).normal(size=self.dimension) for text in items]
        return counts + 0.1 * np.array(noise)


@pytest.fixture
def words(tmp_path, monkeypatch):
    """An embedder of texts, and no cache outside the test."""
    monkeypatch.setenv("VBCGCD_CACHE", str(tmp_path / "cache"))
    return WordEmbedder(["card", "table", "weather", "music", "flight", "rain"])


class ColourEmbedder:
    """Pictures to vectors: their mean colour."""

    name, kind, dimension, fingerprint, batch_size = "colours", "image", 3, "colours-1", 64

    def embed(self, items):
        return np.array([np.asarray(item, dtype=float).mean(axis=(0, 1)) for item in items])


@pytest.fixture
def colours():
    """An embedder of pictures."""
    return ColourEmbedder()
