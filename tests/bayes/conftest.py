"""Random problems and naive reference formulas, written without the formulas of the package."""

import numpy as np
import pytest
from scipy import stats

from vbcgcd.bayes import statistics_by_label


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


@pytest.fixture(scope="session")
def labelled_problem(make_problem):
    """Function (seed, ...) -> rows, labels and statistics; every category has at least two rows."""

    def make(seed, *, n_categories=4, dim=3, n_rows=40):
        rows, labels = make_problem(seed, n_categories=n_categories, dim=dim, n_rows=n_rows)
        labels[:] = np.sort(
            np.concatenate([np.repeat(np.arange(n_categories), 2), labels[2 * n_categories :]])
        )
        return rows, labels, statistics_by_label(rows, labels, n_categories)

    return make


@pytest.fixture(scope="session")
def refit_without():
    """Function (rows, labels, prior, pooled weight) -> Student-t and plug-in log-densities, row by row."""

    def densities(rows, labels, prior, pooled_weight):
        """Student-t and plug-in log-densities of every row under statistics that it is not part of."""
        dim, n_categories = prior.dim, labels.max() + 1
        student = np.empty((len(rows), n_categories))
        plugin = np.empty_like(student)
        for i, row in enumerate(rows):
            rest = np.arange(len(rows)) != i
            members = rows[rest & (labels == labels[i])]
            mean = members.mean(axis=0)
            # What the row adds to its category's scatter is what it adds to the pooled covariance.
            gap = row - mean
            added = np.outer(gap, gap) * len(members) / (len(members) + 1)
            guess = prior.scale * (np.eye(dim) - pooled_weight * added)
            for k in range(n_categories):
                members = rows[rest & (labels == k)]
                n, mean = len(members), members.mean(axis=0)
                psi = guess + (members - mean).T @ (members - mean)
                freedom = prior.nu + n - dim + 1
                shape = psi * (n + 1) / (n * freedom)
                student[i, k] = stats.multivariate_t.logpdf(row, mean, shape, df=freedom)
                covariance = psi / (prior.nu + n - dim - 1)
                plugin[i, k] = stats.multivariate_normal.logpdf(row, mean, covariance)
        # Constants common to all categories are left out by the package.
        return student + 0.5 * dim * np.log(np.pi), plugin + 0.5 * dim * np.log(2 * np.pi)

    return densities
