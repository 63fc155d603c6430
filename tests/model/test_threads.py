"""The number of BLAS threads changes no bit of an answer."""

import os
import subprocess
import sys

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from support import blobs
from vbcgcd import CategoryDiscoverer

PROGRAM = """
import sys, numpy as np
from support import blobs
from vbcgcd import CategoryDiscoverer
rows, labels = blobs(0, n_categories=6, dim=96, each=24, separation=0.5)
model = CategoryDiscoverer().fit(rows[labels < 4], labels[labels < 4])
record = model.discover(rows[::2])
np.savez(sys.argv[1], record.labels_, record.probabilities_, model.predict_proba(rows), model.novelty(rows))
"""


@pytest.fixture
def two_processors(monkeypatch):
    """Work is divided even where this process may use one processor only."""
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 1}, raising=False)


def answers(threads, **options):
    rows, labels = blobs(1, n_categories=9, dim=160, each=30, separation=0.3)
    rows, known = rows.astype(np.float32), (labels < 6) & (np.arange(len(labels)) % 2 == 0)
    with threadpool_limits(threads):
        model = CategoryDiscoverer(**options).fit(rows[known], labels[known])
        record = model.discover(rows[~known])
        model.partial_fit(rows[:40], labels[:40])
        scores = model.predict(rows), model.predict_proba(rows), model.novelty(rows)
        assert {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"} == {threads}
    return record.labels_, record.probabilities_, *scores, model.posterior_.factor


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"covariance": "diagonal", "predictive": "student"},
        {"inference": "svi", "svi_steps": 4, "alignment": 0.0},
        {"cluster": "kmeans", "relabel": "reassign", "count": "silhouette", "alignment": 0.0},
    ],
    ids=["default", "diagonal", "svi", "paper"],
)
@pytest.mark.usefixtures("two_processors")
def test_the_same_bits_for_any_number_of_threads(options):
    once, twice = (answers(threads, **options) for threads in (1, 2))
    for have, want in zip(twice, once, strict=True):
        np.testing.assert_array_equal(have, want)


def test_the_same_bits_in_processes_with_other_settings(tmp_path):
    path = os.pathsep.join([os.path.dirname(sys.modules["support"].__file__), *filter(None, sys.path)])
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, tmp_path / f"{threads}.npz"],
            env=os.environ | {"OMP_NUM_THREADS": threads, "PYTHONPATH": path},
        )
        for threads in ("1", "2")
    ]
    assert [process.wait() for process in processes] == [0, 0]
    once, twice = (np.load(tmp_path / f"{threads}.npz") for threads in ("1", "2"))
    for name in once.files:
        np.testing.assert_array_equal(twice[name], once[name])
