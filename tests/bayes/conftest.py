"""Random problems and naive reference formulas, written without the package."""

import numpy as np
import pytest
from scipy import stats


@pytest.fixture(scope="session")
def make_problem():
    """Function (seed, ...) -> rows and labels of overlapping categories with unequal covariances."""

    def make(seed, *, n_categories=3, dim=4, n_rows=60, separation=2.0):
        rng = np.random.default_rng(seed)
        labels = np.concatenate(
            [np.arange(n_categories), rng.integers(n_categories, size=n_rows - n_categories)]
        )
        mixing = rng.normal(size=(n_categories, dim, dim)) / np.sqrt(dim)
        centres = separation * rng.normal(size=(n_categories, dim))
        noise = np.einsum("nd,nde->ne", rng.normal(size=(n_rows, dim)), mixing[labels])
        return centres[labels] + noise, labels

    return make


@pytest.fixture(scope="session")
def textbook():
    """Function (rows, kappa0, nu0, Psi0, weight) -> m, kappa, nu, Psi: uncentred sums, prior mean 0."""

    def update(rows, kappa0, nu0, psi0, weight=1.0):
        weight = np.broadcast_to(np.asarray(weight, dtype=float), (len(rows),))
        kappa, nu = kappa0 + weight.sum(), nu0 + weight.sum()
        mean = (weight[:, None] * rows).sum(axis=0) / kappa
        outer = (weight[:, None] * rows).T @ rows
        return mean, kappa, nu, psi0 + outer - kappa * np.outer(mean, mean)

    return update


@pytest.fixture(scope="session")
def sequential_evidence(textbook):
    """Function (rows, kappa0, nu0, Psi0) -> log evidence as a product of Student-t predictives."""

    def evidence(rows, kappa0, nu0, psi0):
        total, dim = 0.0, rows.shape[1]
        for i, row in enumerate(rows):
            mean, kappa, nu, psi = textbook(rows[:i], kappa0, nu0, psi0)
            freedom = nu - dim + 1
            shape = psi * (kappa + 1) / (kappa * freedom)
            total += stats.multivariate_t.logpdf(row, mean, shape, df=freedom)
        return total

    return evidence
