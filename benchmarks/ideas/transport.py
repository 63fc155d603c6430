"""Assignment by optimal transport to marginals that are estimated, after ImbaGCD (arXiv 2401.05353).

The E-step assigns rows to known and novel categories so that each category gets as many as its marginal says
(Sinkhorn). The marginals follow what the rows themselves ask for, slowly, and begin even among novel ones.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from ideas.heads import state_of
from vbcgcd.discovery.count import CountProblem
from vbcgcd.discovery.mixture import MixtureState

STEPS, SINKHORN_STEPS = 40, 20
#: How far the marginals move towards the present assignment in a step.
PACE = 0.2
#: Share of all rows that a category has at least.
LEAST = 1e-4


def refine(problem: CountProblem, start: MixtureState) -> MixtureState:
    """The transport plan and its means, from a start."""
    mixture, responsibility = problem.mixture, start.responsibility
    known = mixture.sharpness * mixture.known_similarity.astype(np.float64)
    n_known, n_novel = known.shape[1], responsibility.shape[1]
    marginal = np.concatenate(
        [np.full(n_known, (1 - start.share) / n_known), np.full(n_novel, start.share / n_novel)]
    )
    plan = np.empty((len(known), n_known + n_novel))
    for _ in range(STEPS):
        novel = mixture.sharpness * mixture.left_out_similarity(responsibility).astype(np.float64)
        logits = np.hstack([known, novel])
        free = np.exp(logits + np.log(marginal) - logsumexp(logits + np.log(marginal), 1, keepdims=True))
        marginal = np.maximum((1 - PACE) * marginal + PACE * free.mean(axis=0), LEAST)
        marginal /= marginal.sum()
        plan = _sinkhorn(logits, marginal)
        responsibility = plan[:, n_known:].astype(np.float32)
    return state_of(problem, plan, n_known)


def _sinkhorn(logits: np.ndarray, marginal: np.ndarray) -> np.ndarray:
    """Rows that sum to 1 and columns whose means are the marginals, nearest to the softmax of the logits."""
    column = np.zeros(logits.shape[1])
    for _ in range(SINKHORN_STEPS):
        row = -logsumexp(logits + column, axis=1, keepdims=True)
        column = np.log(marginal * len(logits)) - logsumexp(logits + row, axis=0)
    total = logits + column
    return np.exp(total - logsumexp(total, axis=1, keepdims=True))
