"""Rows drawn from posteriors: replay for a classifier that keeps no data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes.posterior import Posterior
from vbcgcd.bayes.threads import one_thread

Array = NDArray[Any]

__all__ = ["sample_embeddings"]


@one_thread()
def sample_embeddings(
    posterior: Posterior,
    n_per_category: int,
    *,
    predictive: str = "plugin",
    random_state: np.random.Generator | int | None = None,
) -> tuple[Array, Array]:
    """Reduced embeddings drawn from each category.

    Parameters
    ----------
    posterior : Posterior
    n_per_category : int
    predictive : {"plugin", "student"}
        Gaussian with the plug-in covariance, or the Student-t predictive.
    random_state : Generator or int, optional

    Returns
    -------
    rows : array (K * n_per_category, D)
    labels : int array (K * n_per_category,)

    Examples
    --------
    >>> import numpy as np
    >>> from vbcgcd.bayes import Prior, posterior_of, sample_embeddings, statistics_by_label
    >>> posterior = posterior_of(Prior(dim=2), statistics_by_label(np.eye(2), np.array([0, 1]), 2))
    >>> rows, labels = sample_embeddings(posterior, 3, random_state=0)
    >>> rows.shape, labels.tolist()
    ((6, 2), [0, 0, 0, 1, 1, 1])
    """
    rng = np.random.default_rng(random_state)
    parts = []
    for k in range(len(posterior)):
        noise = rng.standard_normal((n_per_category, posterior.dim))
        if predictive == "student":
            freedom = posterior.nu[k] - posterior.block + 1
            blocks = posterior.dim // posterior.block
            noise /= np.sqrt(rng.chisquare(freedom, size=(n_per_category, blocks)))
            noise *= np.sqrt(1 + 1 / posterior.kappa[k])
        else:
            noise /= np.sqrt(posterior.plugin_weight[k])
        parts.append(posterior.mean[k] + posterior.form.colour(noise, posterior.factor[k]))
    return np.concatenate(parts), np.repeat(np.arange(len(posterior)), n_per_category)
