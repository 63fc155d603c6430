import numpy as np
import pytest
from scipy import special, stats

from vbcgcd.bayes.classifier import log_gamma_ratio, student_terms


@pytest.mark.parametrize("block", [1, 3])
def test_log_gamma_ratio(block):
    freedom = np.array([0.5, 4.0, 30.0])
    expected = np.log(special.gamma((freedom + block) / 2) / special.gamma(freedom / 2))
    np.testing.assert_allclose(log_gamma_ratio(freedom, block), expected, rtol=1e-10)


@pytest.mark.parametrize(("dim", "block"), [(1, 1), (3, 3), (4, 1)])
@pytest.mark.parametrize("log_determinant", [True, False])
def test_density_at_the_mean_is_that_of_scipy(dim, block, log_determinant):
    kappa, nu, psi = np.array([0.5]), np.array([9.0]), 2.5
    terms = student_terms(
        kappa, nu, np.array([dim * np.log(psi)]), dim=dim, block=block, log_determinant=log_determinant
    )
    freedom = 9.0 - block + 1
    shape = psi * 3.0 / freedom * np.eye(block)  # (kappa + 1) / kappa = 3
    expected = (dim // block) * stats.multivariate_t.logpdf(
        np.zeros(block), np.zeros(block), shape, df=freedom
    )
    if not log_determinant:
        expected += 0.5 * (dim // block) * np.linalg.slogdet(shape)[1]
    np.testing.assert_allclose(terms.constant - terms.volume, [expected], rtol=1e-10)
    np.testing.assert_allclose(terms.slope, [(freedom + block) / 2])
    np.testing.assert_allclose(terms.spread, [3.0])
