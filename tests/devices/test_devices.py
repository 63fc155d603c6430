"""The same numbers from torch, on CPU tensors, as from NumPy."""

import importlib.util

import numpy as np
import pytest

from vbcgcd import CategoryDiscoverer
from vbcgcd.bayes import Classifier, Prior, posterior_of, statistics_by_label
from vbcgcd.bayes.leave_one_out import others_of_each_row
from vbcgcd.devices import on_device, resolve
from vbcgcd.errors import InputError

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(12), 20)
    rows = rng.normal(size=(12, 9))[codes] + rng.normal(size=(240, 9))
    return rows, codes


@pytest.mark.parametrize("predictive", ["plugin", "student"])
def test_densities_agree(problem, predictive):
    rows, codes = problem
    posterior = posterior_of(Prior(dim=9, nu=30.0), statistics_by_label(rows, codes, 12))
    expected = Classifier(predictive=predictive).log_density(rows, posterior)
    rule = Classifier(predictive=predictive, device="cpu")
    np.testing.assert_allclose(rule.log_density(rows, posterior), expected, rtol=1e-4)
    np.testing.assert_array_equal(rule.predict(rows, posterior), expected.argmax(axis=1))


def test_distances_in_pieces_agree(problem, monkeypatch):
    rows, codes = problem
    posterior = posterior_of(Prior(dim=9, nu=30.0), statistics_by_label(rows, codes, 12))
    monkeypatch.setattr("vbcgcd.devices.torch_math.HELD", 9 * 249 * 5)
    found = on_device("distances", rows, posterior.mean, posterior.factor, "cpu")
    np.testing.assert_allclose(found, posterior.distances(rows), rtol=1e-4)


def test_statistics_agree(problem):
    rows, codes = problem
    expected = statistics_by_label(rows, codes, 13)
    count, mean, scatter = on_device("scatters", rows, codes, 13, "cpu")
    np.testing.assert_array_equal(count, expected.count)
    np.testing.assert_allclose(mean, expected.mean, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(scatter, expected.scatter, rtol=1e-4, atol=1e-4)


def test_steps_of_a_mixture_agree(problem):
    rows, _ = problem
    weight = np.random.default_rng(1).dirichlet(np.ones(4), size=len(rows))
    found = on_device("others_of_each_row", rows, weight, "cpu")
    for ours, theirs in zip(found, others_of_each_row(rows, weight), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-3)


def test_a_model_predicts_on_a_device(problem):
    rows, codes = problem
    plain, other = (CategoryDiscoverer(count="evidence", device=d).fit(rows, codes) for d in (None, "cpu"))
    np.testing.assert_allclose(other.predict_proba(rows), plain.predict_proba(rows), atol=1e-4)


def test_other_structures_and_metrics_stay_with_numpy(problem):
    rows, codes = problem
    statistics = statistics_by_label(rows, codes, 12, structure="diagonal")
    posterior = posterior_of(Prior(dim=9, nu=30.0, structure="diagonal"), statistics)
    for metric in ("mahalanobis", "euclidean"):
        plain, other = (
            Classifier(metric=metric, device=d).log_density(rows, posterior) for d in (None, "cpu")
        )
        np.testing.assert_array_equal(plain, other)


def test_devices_by_name():
    assert resolve(None) is None
    assert resolve("cpu") == "cpu"
    assert resolve("auto") == ("cuda" if torch.cuda.is_available() else None)
    with pytest.raises(InputError, match="not available"):
        resolve("abacus")


def test_without_torch(monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "torch" else found(name))
    assert resolve("auto") is None
    with pytest.raises(InputError, match="needs torch"):
        resolve("cpu")
