"""Mutual information over nearest-neighbour pairs, after TEMI (arXiv 2303.17896).

A head is trained so that a row and one of its nearest neighbours agree, measured by a pointwise mutual
information that discounts categories by how common they are:

    loss = -w(x, x') log sum_c (q_s(c | x) q_t(c | x'))^beta / q(c)        w = sum_c q_t(c | x) q_t(c | x')

The teacher q_t follows the student q_s slowly, q(c) is its running mean. The head with the least loss of
several is taken. Here a head has a prototype for each novel category; known ones are frozen.
"""

from __future__ import annotations

import copy

import numpy as np
import torch

from ideas.heads import Prototypes, generator, state_of
from vbcgcd.discovery.count import CountProblem
from vbcgcd.discovery.mixture import MixtureState

#: Nearest neighbours of a row, heads, epochs, rows of a batch.
NEIGHBOURS, HEADS, EPOCHS, BATCH = 15, 3, 15, 512
BETA, TEACHER, COMMON, RATE = 0.6, 0.99, 0.9, 0.003
#: Spread of the noise by which the starts of the heads differ, as a share of a prototype's length.
NOISE = 0.1
TINY = 1e-8


def refine(problem: CountProblem, start: MixtureState) -> MixtureState:
    """The best of several heads, trained from a start."""
    rng = generator(problem)
    heads = [_trained(problem, start, rng) for _ in range(HEADS)]
    _, best = min(heads, key=lambda pair: pair[0])
    with torch.no_grad():
        probability = best(torch.arange(len(best.rows))).softmax(1).numpy()
    return state_of(problem, probability, best.n_known)


def _trained(problem: CountProblem, start: MixtureState, rng: torch.Generator) -> tuple[float, Prototypes]:
    student = Prototypes(problem, start.responsibility)
    with torch.no_grad():
        scale = student.means.norm(dim=1, keepdim=True) / np.sqrt(student.means.shape[1])
        student.means += NOISE * scale * torch.randn(student.means.shape, generator=rng)
    teacher = copy.deepcopy(student).requires_grad_(False)
    neighbours = _neighbours(student.rows, student.kind)
    everyone = torch.arange(len(student.rows))
    common = teacher(everyone).softmax(1).mean(0)
    optimiser, last = torch.optim.Adam([student.means], RATE), 0.0
    for _ in range(EPOCHS):
        losses = []
        for chosen in torch.randperm(len(everyone), generator=rng).split(BATCH):
            drawn = torch.randint(neighbours.shape[1], (len(chosen),), generator=rng)
            other = neighbours[chosen, drawn]
            with torch.no_grad():
                taught, taught_other = teacher(chosen).softmax(1), teacher(other).softmax(1)
                weight = (taught * taught_other).sum(1)
                common = COMMON * common + (1 - COMMON) * taught.mean(0)
            loss = torch.tensor(0.0)
            for rows, target in ((chosen, taught_other), (other, taught)):
                agreed = ((student(rows).softmax(1) * target + TINY) ** BETA / (common + TINY)).sum(1)
                loss = loss - 0.5 * (weight * agreed.log()).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            with torch.no_grad():
                teacher.means.mul_(TEACHER).add_(student.means, alpha=1 - TEACHER)
            losses.append(float(loss.detach()))
        last = float(np.mean(losses))
    return last, student


def _neighbours(rows: torch.Tensor, kind: str) -> torch.Tensor:
    """The nearest other rows of each row."""
    found = []
    for part in torch.arange(len(rows)).split(1024):
        likeness = rows[part] @ rows.T
        if kind == "distance":
            likeness -= 0.5 * (rows**2).sum(1)
        likeness[torch.arange(len(part)), part] = -torch.inf
        found.append(likeness.topk(min(NEIGHBOURS, len(rows) - 1), dim=1).indices)
    return torch.cat(found)
