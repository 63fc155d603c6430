"""Ours against what the VB-CGCD authors' code does, in one run: estimating Gaussians, and whole sessions.

The released code trains each category's mean and covariance by Adam, 1,000 steps, one after the other, with
gradients through the Cholesky factorisation (``autograd``). Our rival ``vb-released`` arrives at the same
numbers by a closed-form gradient and all categories side by side (``closed form``). Ours is the exact
posterior from sufficient statistics. Same rows, same dimension.

A whole session also clusters and relabels. There the exact posterior is no longer what takes the time: ours
searches for the categories, ``recipe`` takes the paper's own steps (k-means, one relabelling).

VBCGCD_DATA=... python benchmarks/against_released.py [gaussians] [sessions]
"""

from __future__ import annotations

import sys
import time

import numpy as np
import torch

from common import FILES, fastest, load, table
from vbcgcd.bayes import Prior, posterior_of, statistics_by_label
from vbcgcd.study.plans import make_plan
from vbcgcd.study.rivals.adam_gaussians import Schedule, train_gaussians
from vbcgcd.study.runner import make_method
from vbcgcd.study.shapes import shape_of

N_CATEGORIES = 5


def reduced(name: str, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the first categories in ``dim`` principal components of unit variance."""
    x, y, *_ = load(name)
    rows, labels = x[y < 2 * dim], y[y < 2 * dim]
    centred = rows - rows.mean(axis=0)
    _, vectors = np.linalg.eigh(centred.T @ centred)
    scores = centred @ vectors[:, ::-1][:, :dim]
    scores /= scores.std(axis=0)
    chosen = labels < N_CATEGORIES
    return scores[chosen].astype(np.float32), labels[chosen]


def autograd(parts: list[np.ndarray], schedule: Schedule) -> None:
    """One category after the other, by torch's Adam, through the Cholesky factor.

    Where a step leaves the positive definite matrices, the next one starts from the last good matrix.
    """
    torch.manual_seed(0)
    for part in parts:
        rows = torch.as_tensor(part)
        mean = torch.zeros(rows.shape[1], requires_grad=True)
        matrix = torch.eye(rows.shape[1]).requires_grad_()
        good = matrix.detach().clone()
        optimiser = torch.optim.Adam([mean, matrix], lr=1.0)
        for step in range(schedule.n_steps):
            optimiser.param_groups[0]["lr"] = schedule.rate(step)
            batch = rows[torch.randint(len(rows), (schedule.batch_size,))]
            try:
                gaussian = torch.distributions.MultivariateNormal(mean, matrix, validate_args=False)
            except torch.linalg.LinAlgError:
                matrix.data.copy_(good)
                continue
            good = matrix.detach().clone()
            loss = -gaussian.log_prob(batch).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()


def seconds(action) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def measured(name: str, dim: int) -> tuple[object, ...]:
    x, y = reduced(name, dim)
    parts = [x[y == k] for k in range(N_CATEGORIES)]
    prior, schedule = Prior(x.shape[1], nu=4.0 * x.shape[1], kappa=0.01), Schedule()
    ours = fastest(lambda: posterior_of(prior, statistics_by_label(x, y, N_CATEGORIES)))
    closed = seconds(lambda: train_gaussians(parts, list(range(N_CATEGORIES)), schedule))
    slow = seconds(lambda: autograd(parts, schedule))
    times = (f"{1000 * ours:.1f}", f"{closed:.1f}", f"{slow:.1f}")
    return (name, dim, *times, f"{closed / ours:,.0f}", f"{slow / ours:,.0f}")


def session_times(name: str, method: str, dim: int) -> tuple[float, float]:
    """Seconds of the base session and of the first unlabelled one, plan b50t5."""
    x, y, *_ = load(name)
    plan = make_plan(y, shape_of("b50t5", y))
    made = make_method(method, n_components=dim)
    base = seconds(lambda: made.fit(x[plan.base_rows], y[plan.base_rows]))
    first = plan.sessions[0]
    return base, seconds(lambda: made.discover(x[first.rows], n_novel=len(first.novel)))


def gaussians() -> None:
    table(
        f"{N_CATEGORIES} categories: exact posterior against 1,000 steps of Adam (float32, CPU)",
        ("dataset", "D", "ours, ms", "closed form, s", "autograd, s", "closed / ours", "autograd / ours"),
        [measured(name, dim) for name in FILES for dim in (128, 384)],
    )


def sessions(dim: int = 128) -> None:
    rows = []
    for name in FILES:
        slow = session_times(name, "vb-released", dim)
        for method in ("ours", "recipe"):
            quick = session_times(name, method, dim)
            times = (f"{slow[0]:.1f}", f"{quick[0]:.2f}", f"{slow[1]:.1f}", f"{quick[1]:.2f}")
            rows.append((name, method, *times, f"{slow[0] / quick[0]:,.0f}", f"{slow[1] / quick[1]:,.0f}"))
    table(
        f"Base session and first unlabelled session, D = {dim}: vb-released (closed form) against ours",
        ("dataset", "", "base, s", "ours", "session, s", "ours", "base ratio", "session ratio"),
        rows,
    )


PARTS = {"gaussians": gaussians, "sessions": sessions}
for part in sys.argv[1:] or PARTS:
    PARTS[part]()
