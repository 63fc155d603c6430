"""Mixtures and whole sessions on a device of torch, here CPU tensors, against NumPy."""

import subprocess
import sys

import numpy as np
import pytest

from support import mixture_of, quick_mixture
from vbcgcd import CategoryDiscoverer
from vbcgcd.discovery.search import search, seed

torch_math = pytest.importorskip("vbcgcd.devices.torch_math")


@pytest.fixture(params=["direction", "distance"])
def mixtures(request):
    """The same mixture in NumPy and on a device."""
    rng = np.random.default_rng(0)
    centres = 3 * rng.standard_normal((7, 12))
    rows = centres[rng.integers(0, 7, 600)] + rng.standard_normal((600, 12))
    weight = rng.uniform(0.5, 2, 600)
    sharpness = 20.0 if request.param == "direction" else 0.7
    return tuple(
        mixture_of(rows, centres[:3], request.param, sharpness, weight=weight, device=d)
        for d in (None, "cpu")
    )


@pytest.fixture
def moved(monkeypatch):
    """Shapes of the rows that were moved to a device to stay there."""
    shapes, before = [], torch_math.hold

    def hold(rows, device):
        shapes.append(rows.shape)
        return before(rows, device)

    monkeypatch.setattr(torch_math, "hold", hold)
    return shapes


@pytest.mark.parametrize("form", [lambda m: m, lambda m: m.corrected(), lambda m: m.at(3.0), quick_mixture])
def test_steps_agree(mixtures, form):
    start = seed(mixtures[0], 4, np.random.default_rng(1))
    plain, other = (form(m).em(start, 0.5, 5, tolerance=0) for m in mixtures)
    # The quick mixture in NumPy leaves a row out only of categories that it belongs to.
    tolerance = 5e-3 if form is quick_mixture else 1e-4
    np.testing.assert_allclose(other.responsibility, plain.responsibility, atol=tolerance)
    assert other.log_likelihood == pytest.approx(plain.log_likelihood, rel=1e-4)
    assert other.share == pytest.approx(plain.share, abs=tolerance)


def test_a_quick_mixture_takes_the_ordinary_steps_on_a_device(mixtures):
    on_device = mixtures[1]
    start = seed(on_device, 4, np.random.default_rng(1))
    quick, ordinary = (m.em(start, 0.5, 5) for m in (quick_mixture(on_device), on_device))
    np.testing.assert_array_equal(quick.responsibility, ordinary.responsibility)
    np.testing.assert_array_equal(
        quick_mixture(on_device).left_out_similarity(start), on_device.left_out_similarity(start)
    )


def test_some_rows_agree(mixtures):
    rows = np.random.default_rng(2).permutation(600)[:200]
    start = seed(mixtures[0].part(rows), 4, np.random.default_rng(1))
    plain, other = (m.part(rows).em(start, 0.5, 5, tolerance=0) for m in mixtures)
    assert mixtures[1].part(rows).held is not None
    np.testing.assert_allclose(other.responsibility, plain.responsibility, atol=1e-4)


def test_rows_are_moved_once_for_all_steps_of_a_search(moved):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((200, 5)) + 4 * np.eye(5)[rng.integers(0, 5, 200)]
    mixture = mixture_of(rows, 4 * np.eye(5)[:2], device="cpu")
    search(mixture, 3, np.random.default_rng(1))
    assert moved == [(200, 5)]


def test_a_session_agrees(digit_problem, moved):
    rows, labels, batch, _ = digit_problem
    plain, other = (CategoryDiscoverer(device=d).fit(rows, labels) for d in (None, "cpu"))
    assert len(moved) == 6  # two mixtures in each of three rehearsals
    for name in ("mean", "factor"):
        np.testing.assert_allclose(
            getattr(other.posterior_, name), getattr(plain.posterior_, name), rtol=1e-4, atol=1e-4
        )
    assert other.knowledge_.price.per_row == pytest.approx(plain.knowledge_.price.per_row, rel=1e-4)
    moved.clear()
    expected, found = (model.discover(batch, n_novel=4) for model in (plain, other))
    assert moved.count((len(batch), plain.reducer_.n_components)) == 1
    # Rows that fit nowhere are grouped by a search that decides between near ties.
    assert np.mean(found.labels_ == expected.labels_) > 0.99
    np.testing.assert_allclose(other.posterior_.mean, plain.posterior_.mean, atol=0.02)
    assert found.novel_share == pytest.approx(expected.novel_share, abs=1e-3)


def test_a_large_session_agrees(digit_problem, monkeypatch):
    rows, labels, batch, _ = digit_problem
    monkeypatch.setattr("vbcgcd.discovery.session.MANY_ROWS", 500)
    expected, found = (
        CategoryDiscoverer(device=d).fit(rows, labels).discover(batch, n_novel=4) for d in (None, "cpu")
    )
    assert [step.name for step in found.steps] == [step.name for step in expected.steps]
    assert np.mean(found.labels_ == expected.labels_) > 0.97


def test_labelled_rows_that_come_later_agree(digit_problem):
    rows, labels, batch, truth = digit_problem
    plain, other = (
        CategoryDiscoverer(device=d, count="evidence").fit(rows, labels).partial_fit(batch[:300], truth[:300])
        for d in (None, "cpu")
    )
    assert len(other.posterior_) == 10
    np.testing.assert_allclose(other.posterior_.mean, plain.posterior_.mean, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(other.posterior_.factor, plain.posterior_.factor, rtol=1e-4, atol=1e-4)


def test_torch_is_imported_only_where_a_device_is_asked_for():
    program = """
import sys
import numpy as np
from vbcgcd import CategoryDiscoverer
rng = np.random.default_rng(0)
codes = np.repeat(np.arange(6), 10)
rows = 9 * np.eye(6)[codes] + rng.normal(size=(60, 6))
model = CategoryDiscoverer().fit(rows, codes)
model.discover(rows + 20, n_novel=1)
model.predict(rows)
sys.exit("torch" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", program], timeout=120).returncode == 0
