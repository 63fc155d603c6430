"""The same numbers from torch, on CPU tensors, as from NumPy."""

import importlib.util

import numpy as np
import pytest

from vbcgcd import CategoryDiscoverer
from vbcgcd.bayes import (
    Classifier,
    Prior,
    posterior_of,
    statistics_by_label,
    statistics_by_responsibility,
)
from vbcgcd.bayes.leave_one_out import others_of_each_row
from vbcgcd.devices import hold, on_device, resolve
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


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("chunk_rows", [7, 8192])
@pytest.mark.parametrize("far", [0.0, 3000.0])
def test_statistics_agree(problem, weighted, chunk_rows, far):
    rows, codes = problem[0].astype(np.float32) + np.float32(far), problem[1]
    weight = np.random.default_rng(1).uniform(0, 2, len(rows)) if weighted else None
    found = statistics_by_label(rows, codes, 13, weight=weight, chunk_rows=chunk_rows, device="cpu")
    for k in range(12):
        mine, times = rows[codes == k].astype(float), None if weight is None else weight[codes == k]
        mean = np.average(mine, axis=0, weights=times)
        scatter = np.cov(mine.T, aweights=times, ddof=0) * (len(mine) if times is None else times.sum())
        assert found.count[k] == pytest.approx(len(mine) if times is None else times.sum())
        np.testing.assert_allclose(found.mean[k], mean, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(found.form.square(found.scatter[k]), scatter, rtol=1e-4, atol=1e-4)
    assert not found.scatter[12].any()


def test_statistics_of_responsibilities_agree(problem):
    rows, _ = problem
    weight = np.random.default_rng(1).dirichlet(np.full(4, 0.2), size=len(rows))
    weight[:, 3] = 0
    plain, other = (statistics_by_responsibility(rows, weight, device=d) for d in (None, "cpu"))
    for name in ("count", "mean", "scatter"):
        np.testing.assert_allclose(getattr(other, name), getattr(plain, name), rtol=1e-4, atol=1e-6)


def test_memory_that_must_not_be_written_to_is_no_reason_to_warn(problem):
    rows = problem[0].astype(np.float32)
    weight = np.ones((len(rows), 2), np.float32)
    posterior = posterior_of(Prior(dim=9, nu=30.0), statistics_by_label(*problem, 12))
    frozen = [rows, weight, posterior.mean, posterior.factor]
    for array in frozen:
        array.setflags(write=False)
    hold(rows, "cpu").others_of_each_row(weight)
    on_device("distances", *(frozen[i] for i in (0, 2, 3)), "cpu")
    on_device("moments", rows, weight[:, 0], "cpu")


def test_scatters_of_a_device_without_double_precision(problem, monkeypatch):
    rows, codes = problem
    monkeypatch.setattr("vbcgcd.devices.torch_math.has_double", lambda device: False)
    single = rows.astype(np.float32)
    plain, other = (statistics_by_label(single, codes, 12, device=d) for d in (None, "cpu"))
    np.testing.assert_allclose(other.scatter, plain.scatter, rtol=1e-4, atol=1e-4)
    assert other.scatter.dtype == np.float64
    # Rows in double precision, which it would round, stay with NumPy.
    plain, other = (statistics_by_label(rows + 1e6, codes, 12, device=d) for d in (None, "cpu"))
    np.testing.assert_array_equal(other.scatter, plain.scatter)


def test_rows_of_which_one_is_left_out_agree(problem):
    rows = problem[0].astype(np.float32)
    weight = np.random.default_rng(1).dirichlet(np.ones(4), size=len(rows)).astype(np.float32)
    some = np.arange(0, len(rows), 3)
    for held, z, w in (
        (hold(rows, "cpu"), rows, weight),
        (hold(rows, "cpu").part(some), rows[some], weight[some]),
    ):
        product, length, own = held.others_of_each_row(w)
        others = np.array([np.delete(w, i, 0).T @ np.delete(z, i, 0) for i in range(len(z))], dtype=float)
        np.testing.assert_allclose(product, np.einsum("nd,nkd->nk", z, others), rtol=1e-4, atol=1e-3)
        np.testing.assert_allclose(length, (others**2).sum(axis=2), rtol=1e-4, atol=1e-3)
        np.testing.assert_allclose(own[:, 0], (z**2).sum(axis=1), rtol=1e-4)


def test_far_rows_keep_their_precision_or_stay_with_numpy(problem, monkeypatch):
    rows = problem[0] + 1e6
    weight = np.random.default_rng(1).dirichlet(np.ones(4), size=len(rows))
    for found, expected in zip(
        hold(rows, "cpu").others_of_each_row(weight), others_of_each_row(rows, weight), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    monkeypatch.setattr("vbcgcd.devices.torch_math.has_double", lambda device: False)
    assert hold(rows, "cpu") is None
    assert hold(rows.astype(np.float32), "cpu") is not None


def test_a_model_predicts_on_a_device(problem):
    rows, codes = problem
    plain, other = (CategoryDiscoverer(count="evidence", device=d).fit(rows, codes) for d in (None, "cpu"))
    np.testing.assert_allclose(other.predict_proba(rows), plain.predict_proba(rows), atol=1e-4)


def test_other_structures_and_metrics_stay_with_numpy(problem):
    rows, codes = problem
    for structure in ("full:half", "lowrank:4"):
        plain, other = (
            statistics_by_label(rows, codes, 12, structure=structure, device=d) for d in (None, "cpu")
        )
        np.testing.assert_array_equal(other.scatter, plain.scatter)
    statistics = statistics_by_label(rows, codes, 12, structure="diagonal", device="cpu")
    np.testing.assert_array_equal(
        statistics.scatter, statistics_by_label(rows, codes, 12, structure="diagonal").scatter
    )
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
    for name in ("abacus", "meta", "hpu"):  # one that holds no numbers is of no use, or has no module
        with pytest.raises(InputError, match="not available"):
            resolve(name)


@pytest.mark.parametrize("options", [{}, {"covariance": "diagonal", "count": "evidence"}])
def test_a_device_that_is_not_here_fails_before_the_work(problem, options):
    with pytest.raises(InputError, match="'abacus' is not available on this machine") as caught:
        CategoryDiscoverer(device="abacus", **options).fit(*problem)
    assert caught.value.option == "device"


def test_without_torch(monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "torch" else found(name))
    assert resolve("auto") is None
    with pytest.raises(InputError, match="needs torch"):
        resolve("cpu")
