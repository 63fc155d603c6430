"""Labellings that linear classifiers can be trained on with a large margin, after TURTLE (arXiv 2406.07236).

A labelling is looked for on which classifiers in several spaces, trained on it, have the least loss:

    min over labellings t of sum_spaces CE(w_space(t), t) - weight H(mean t)

The classifiers take a few steps for each step of the labelling. Here the spaces are the reduced one and its
leading quarter, known categories keep their part of the labelling, and the entropy is that of the novel ones.
"""

from __future__ import annotations

import torch

from ideas.heads import Prototypes, generator, state_of
from vbcgcd.discovery.count import CountProblem
from vbcgcd.discovery.mixture import MixtureState

STEPS, INNER_STEPS, BATCH = 200, 10, 1024
RATE, INNER_RATE, EVENNESS, DECAY = 0.003, 0.05, 3.0, 1e-3
#: Share of the dimensions in the second space: the leading ones tell labelled categories apart best.
LEADING = 0.25


def refine(problem: CountProblem, start: MixtureState) -> MixtureState:
    """The labelling that classifiers separate best, from a start."""
    rng, head = generator(problem), Prototypes(problem, start.responsibility)
    rows = head.rows
    spaces = [_scaled(rows), _scaled(rows[:, : max(2, int(LEADING * rows.shape[1]))])]
    n_categories = head.n_known + len(head.means)
    classifiers = [torch.zeros(space.shape[1], n_categories, requires_grad=True) for space in spaces]
    inner = torch.optim.Adam(classifiers, INNER_RATE, weight_decay=DECAY)
    outer = torch.optim.Adam([head.means], RATE)
    for _ in range(STEPS):
        chosen = torch.randint(len(rows), (min(BATCH, len(rows)),), generator=rng)
        with torch.no_grad():
            fixed = head(chosen).softmax(1)
        for _ in range(INNER_STEPS):
            inner.zero_grad()
            _loss(spaces, classifiers, chosen, fixed).backward()
            inner.step()
        labelling = head(chosen).softmax(1)
        novel = labelling[:, head.n_known :].mean(0)
        even = -(novel / novel.sum() * (novel / novel.sum() + 1e-9).log()).sum()
        outer.zero_grad()
        frozen = [classifier.detach() for classifier in classifiers]
        (_loss(spaces, frozen, chosen, labelling) - EVENNESS * even).backward()
        outer.step()
    with torch.no_grad():
        probability = head(torch.arange(len(rows))).softmax(1).numpy()
    return state_of(problem, probability, head.n_known)


def _scaled(rows: torch.Tensor) -> torch.Tensor:
    return rows / rows.std()


def _loss(
    spaces: list[torch.Tensor], classifiers: list[torch.Tensor], chosen: torch.Tensor, labels: torch.Tensor
) -> torch.Tensor:
    losses = [
        -(labels * (space[chosen] @ classifier).log_softmax(1)).sum(1).mean()
        for space, classifier in zip(spaces, classifiers, strict=True)
    ]
    return torch.stack(losses).sum()
