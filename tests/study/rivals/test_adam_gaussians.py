import numpy as np
import pytest
from scipy.stats import multivariate_normal

torch = pytest.importorskip("torch")

from vbcgcd.study.rivals.adam_gaussians import (  # noqa: E402
    Schedule,
    likelihood_gradient,
    log_densities,
    log_determinants,
    train_gaussians,
)


def reference(rows, schedule):
    """The authors' way: autograd through the Cholesky factor, torch's Adam, one category, full batches."""
    z = torch.tensor(rows, dtype=torch.float32)
    mean = torch.zeros(rows.shape[1], requires_grad=True)
    matrix = torch.eye(rows.shape[1]).requires_grad_()
    optimiser = torch.optim.Adam([mean, matrix])
    for step in range(schedule.n_steps):
        for group in optimiser.param_groups:
            group["lr"] = schedule.rate(step)
        optimiser.zero_grad()
        factor = torch.linalg.cholesky(matrix)
        normal = torch.distributions.MultivariateNormal(mean, scale_tril=factor)
        (-normal.log_prob(z).mean()).backward()
        optimiser.step()
    return mean.detach().numpy(), matrix.detach().numpy()


def test_the_gradient_is_that_through_the_cholesky_factor():
    rng = np.random.default_rng(0)
    rows = torch.from_numpy(rng.standard_normal((2, 6, 4)))
    mean = torch.from_numpy(rng.standard_normal((2, 4))).requires_grad_()
    root = rng.standard_normal((2, 4, 4))
    matrix = torch.from_numpy(root @ root.transpose(0, 2, 1) + np.eye(4)).requires_grad_()
    factor = torch.linalg.cholesky(matrix)
    normal = torch.distributions.MultivariateNormal(mean[:, None], scale_tril=factor[:, None])
    (-normal.log_prob(rows).mean(dim=1)).sum().backward()
    found = likelihood_gradient(rows, torch.full((2, 6), 1 / 6), mean.detach(), factor.detach())
    np.testing.assert_allclose(found[0], mean.grad, atol=1e-6)
    np.testing.assert_allclose(found[1], matrix.grad, atol=1e-6)


def test_training_follows_the_path_of_the_authors():
    rng = np.random.default_rng(1)
    parts = [1 + 0.5 * rng.standard_normal((30, 5)), 2 * rng.standard_normal((20, 5))]
    schedule = Schedule(n_steps=150, learning_rate=1e-3)
    means, covariances, steps = train_gaussians(parts, [0, 1], schedule, device="cpu")
    assert steps.tolist() == [150, 150]
    for k, part in enumerate(parts):
        mean, matrix = reference(part, schedule)
        np.testing.assert_allclose(means[k], mean, atol=2e-4)
        np.testing.assert_allclose(covariances[k], matrix, atol=2e-4)
    np.testing.assert_allclose(covariances, covariances.transpose(0, 2, 1), atol=1e-6)


def test_side_by_side_is_one_after_the_other():
    rng = np.random.default_rng(2)
    parts = [rng.standard_normal((n, 4)) + n for n in (7, 50, 300)]
    schedule = Schedule(n_steps=40, batch_size=32)
    together = train_gaussians(parts, [5, 6, 7], schedule, -0.001, "cpu")
    for k in range(3):
        alone = train_gaussians([parts[k]], [5 + k], schedule, -0.001, "cpu")
        for a, b in zip(together, alone, strict=True):
            np.testing.assert_allclose(a[k], b[0], atol=1e-5)


def test_the_schedule():
    schedule = Schedule()
    assert schedule.rate(0) == pytest.approx(4e-6)
    assert schedule.rate(100) == schedule.rate(599) == pytest.approx(4e-5)
    assert schedule.rate(600) == pytest.approx(0.85 * 4e-5)
    assert all(np.diff([schedule.rate(s) for s in range(101)]) > 0)


def test_training_stops_where_the_volume_is_reached():
    rows = 0.3 * np.random.default_rng(3).standard_normal((60, 4))
    schedule = Schedule(n_steps=200, learning_rate=1e-3)
    free = train_gaussians([rows], [0], schedule, None, "cpu")
    target = 0.5 * log_determinants(free[1])[0]
    stopped = train_gaussians([rows], [0], schedule, float(target), "cpu")
    assert stopped[2][0] < 200
    assert log_determinants(stopped[1])[0] == pytest.approx(target, abs=0.02)
    never = train_gaussians([rows], [0], schedule, 3.0, "cpu")  # the volume shrinks and never gets there
    np.testing.assert_array_equal(never[1], free[1])


def test_a_failed_factorisation_keeps_the_last_good_parameters():
    rows = np.zeros((10, 3))
    means, covariances, steps = train_gaussians(
        [rows, 2 * np.random.default_rng(0).standard_normal((10, 3))],
        [0, 1],
        Schedule(n_steps=60, learning_rate=0.05),
        device="cpu",
    )
    assert 0 < steps[0] < 60
    assert steps[1] == 60
    assert np.isfinite(means).all()
    assert (np.linalg.eigvalsh(covariances) > 0).all()


def test_no_rows_no_training():
    means, covariances, steps = train_gaussians([np.empty((0, 3))], [0], Schedule(n_steps=5), device="cpu")
    assert not means.any()
    np.testing.assert_array_equal(covariances[0], np.eye(3))
    assert steps.tolist() == [0]


@pytest.mark.parametrize("log_determinant", [True, False])
def test_densities_are_those_of_scipy(log_determinant):
    rng = np.random.default_rng(4)
    rows, means = rng.standard_normal((9, 3)), rng.standard_normal((2, 3)).astype(np.float32)
    covariances = np.stack([np.eye(3), np.diag([1.0, 2.0, 3.0])]).astype(np.float32)
    scores = log_densities(rows, means, covariances, log_determinant=log_determinant, device="cpu")
    for k in range(2):
        expected = multivariate_normal(means[k], covariances[k]).logpdf(rows) + 1.5 * np.log(2 * np.pi)
        if not log_determinant:
            expected = expected + 0.5 * np.log(np.linalg.det(covariances[k]))
        np.testing.assert_allclose(scores[:, k], expected, atol=1e-4)
