import numpy as np
import pytest

torch = pytest.importorskip("torch")

from vbcgcd.study.rivals.simgcd import SimGcdFrozen  # noqa: E402
from vbcgcd.study.scoring import FrozenMatch  # noqa: E402


def test_the_teacher_sharpens_from_its_first_temperature_to_its_last():
    model = SimGcdFrozen(epochs=4)
    assert [model._temperature(e) for e in range(4)] == pytest.approx([0.07, 0.06, 0.05, 0.04])
    assert SimGcdFrozen(epochs=1)._temperature(0) == 0.07


def test_it_finds_novel_blobs_where_all_are_of_one_size(blob_stream):
    stream = blob_stream(known_rows=60, novel_rows=60)
    model = SimGcdFrozen(device="cpu").fit(stream.rows, stream.labels)
    rows, truth = stream.sessions[0]
    outcome = model.discover(rows, n_novel=3)
    match = FrozenMatch(np.arange(4))
    match.add(outcome.novel, outcome.labels_, truth, np.arange(4, 7))
    assert match.correct(outcome.labels_, truth).mean() > 0.9
    assert outcome.novelty_[truth >= 4].mean() > outcome.novelty_[truth < 4].mean() + 0.5


def test_its_entropy_fills_categories_evenly_whatever_their_size(blob_stream):
    """What the docstring says of streams: a large novel category is cut down towards N / K rows."""
    stream = blob_stream(known_rows=5, novel_rows=100)
    rows, truth = stream.sessions[0]
    largest = {}
    for weight in (0.0, 4.0):
        model = SimGcdFrozen(entropy_weight=weight, device="cpu").fit(stream.rows, stream.labels)
        codes = model.discover(rows, n_novel=3).labels_
        largest[weight] = np.bincount(codes[truth >= 4], minlength=7).max() / len(rows)
    assert largest[4.0] < largest[0.0]
    assert largest[4.0] < 0.3
