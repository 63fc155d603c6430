"""How many categories are novel. Each estimator returns its score curve, and a mixture to start from, if any.

``rehearsal``, the default, asks that a category is worth as much likelihood as labelled ones were, and then
that each is probable; see `vbcgcd.discovery.distinct`.
``evidence`` maximises the evidence of the posteriors, ``merge`` starts with too many clusters and merges
pairs while the evidence ratio asks for it, ``silhouette-all`` is the paper's extension and ``silhouette`` the
same among the rows that look novel.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes import Statistics, log_evidence, posterior_of, statistics_by_label
from vbcgcd.discovery.distinct import FIRST_ROWS, Returned, complete, crowd_size, first_pass, of_number
from vbcgcd.discovery.knowledge import Knowledge
from vbcgcd.discovery.mixture import Mixture, MixtureState
from vbcgcd.discovery.search import EVEN_SHARE, CategoryPrice, Path, cooled, eliminate, gains, seed
from vbcgcd.discovery.silhouette import silhouettes
from vbcgcd.discovery.strategies import hard_labels
from vbcgcd.discovery.worth import Stream
from vbcgcd.record import CountCurve

Array = NDArray[Any]

#: Novel categories of the first crowd; it grows until it is large enough for the answer.
FIRST_CROWD = 8
#: A crowd must be this many times the answer: fewer would underestimate it. The next one is a little larger.
CROWDING, NEXT_CROWDING = 2.2, 2.5
#: A crowd has at most one category for so many rows.
ROWS_PER_CATEGORY = 3
#: Numbers other than 0 and 1 need so many times the likelihood that outliers of known categories could give.
BEYOND_CHANCE = 3.0
#: A rehearsed price is at least this share of the margin.
LEAST_PRICE = 0.15
#: Candidate numbers whose evidence is computed.
CANDIDATES = 14
#: Two evidences are equal below this difference: an empty category adds nothing but rounding.
SAME_EVIDENCE = 1e-3
#: EM steps of the crowd that "merge" starts from.
MERGE_STEPS = 30
#: Rows and largest number that "silhouette" looks at, and the novelty from which a row takes part.
SILHOUETTE_ROWS, SILHOUETTE_MOST, SILHOUETTE_NOVELTY = 2000, 60, 0.5

__all__ = ["COUNTERS", "CountProblem", "Counted", "Counter", "given"]


@dataclass(frozen=True)
class CountProblem:
    """What an estimator may look at.

    Parameters
    ----------
    rows : array (N, D)
        Reduced embeddings.
    novelty : array (N,)
        Their novelty scores.
    mixture_of : callable
        Gives the mixture of the rows and the known categories.
    known_density : callable
        Gives the log-density under every known category, array (N, K).
    knowledge : Knowledge
    rng : Generator
    """

    rows: Array
    novelty: Array
    mixture_of: Callable[[], Mixture]
    known_density: Callable[[], Array]
    knowledge: Knowledge
    rng: np.random.Generator

    @functools.cached_property
    def mixture(self) -> Mixture:
        """The mixture of the rows and the known categories."""
        return self.mixture_of()

    @functools.cached_property
    def stream(self) -> Stream:
        """The rows with what categories are judged by."""
        return self.knowledge.stream(self.mixture, self.rng)

    @functools.cached_property
    def best_known(self) -> Array:
        """Log-density of each row under its best known category."""
        return np.asarray(self.known_density().max(axis=1))


class Counted(NamedTuple):
    """A score curve, a mixture to start from, if any, and rows of categories that came back, if it says."""

    curve: CountCurve
    state: MixtureState | None
    returned: Returned | None = None


Counter = Callable[[CountProblem], Counted]


def rehearsal(problem: CountProblem) -> Counted:
    """Those that are worth more than the rehearsed price, and small ones, as far as they are probable."""
    curve, state = _first_pass(problem)
    if problem.knowledge.novelty.geometry.within is None:  # a model of release 0.1.0
        return Counted(curve, state)
    state, returned = complete(problem.stream, state)
    number = 0 if state is None else state.responsibility.shape[1]
    return Counted(curve._replace(chosen=number), state, returned)


def given(problem: CountProblem, number: int) -> MixtureState:
    """The mixture with so many novel categories."""
    return of_number(problem.stream, _first_pass(problem)[1], number)


def _first_pass(problem: CountProblem) -> tuple[CountCurve, MixtureState | None]:
    """The large categories: by their rehearsed price, or by their worth where none was rehearsed."""
    price, margin = problem.knowledge.price, problem.knowledge.margin
    if price is None:
        return first_pass(problem.stream)
    # Where few labelled rows are hidden among few, nearly everything looks worth its price.
    price = price._replace(per_row=max(price.per_row, LEAST_PRICE * margin))
    mixture = problem.mixture
    path = _complete_path(
        problem, lambda path: _choose(_worth(path, mixture.total, price), path, price, mixture)
    )
    scores = _worth(path, mixture.total, price)
    chosen = _choose(scores, path, price, mixture)
    state = path.states.get(chosen)
    curve = _curve_of("rehearsal", np.arange(len(scores)), scores, chosen)
    return curve, None if state is None else state.unpacked()


def _worth(path: Path, total: float, price: CategoryPrice) -> Array:
    """Worth of the first k categories less their prices, k = 0, 1, ..."""
    return np.concatenate([[0.0], np.cumsum(gains(path, total, price.outliers) - price.per_row)])


def _choose(scores: Array, path: Path, price: CategoryPrice, mixture: Mixture) -> int:
    """The largest number that beats every number from its half on.

    A few categories spread over many gain little per row, so far smaller numbers are no judges. Where the
    whole gain is not far beyond what outliers of known categories could give, at most one is believed.
    """
    better = (k for k in range(1, len(scores)) if scores[k] > scores[k // 2 : k].max())
    best = max(better, default=0)
    likelihood = dict(zip(path.size.tolist(), path.log_likelihood.tolist(), strict=True))
    while best not in likelihood:  # several were removed at a time: the next larger mixture stands for it
        best += 1
    by_chance = BEYOND_CHANCE * price.outliers.sum() * np.sqrt(mixture.total)
    return best if likelihood[best] - likelihood[0] > by_chance else int(scores[1] > 0)


def _complete_path(problem: CountProblem, choose: Callable[[Path], int]) -> Path:
    """Elimination from a crowd that is large enough for the answer it gives."""
    mixture, rng, price = cooled(problem.mixture), problem.rng, problem.knowledge.price
    most = max(1, len(problem.rows) // ROWS_PER_CATEGORY)
    most = min(crowd_size(mixture, FIRST_ROWS), most) if mixture.quick else most
    crowd = min(FIRST_CROWD, most)
    while True:
        enough = max(3, crowd // 4)

        def all_real(path: Path, crowd: int = crowd, enough: int = enough) -> bool:
            """Whether the first removals already cost what real categories cost: the crowd is too small."""
            removed = path.size[0] - path.size
            if price is None or crowd >= most or removed[-1] < enough or removed[-2] >= enough:
                return False
            return bool(gains(path, mixture.total, price.outliers).mean() > price.per_row)

        path = eliminate(mixture, crowd, rng, give_up=all_real)
        if not path.complete:
            crowd = min(3 * crowd, most)
            continue
        chosen = choose(path)
        if chosen * CROWDING <= crowd or crowd >= most:
            return path
        crowd = min(max(int(NEXT_CROWDING * chosen) + 2, crowd + 1), most)


def evidence(problem: CountProblem) -> Counted:
    """The number at which the evidence of novel posteriors plus the density of known rows is highest."""
    evidences: dict[int, float] = {}

    def best_of(path: Path) -> int:
        evidences.clear()
        candidates = np.unique(np.geomspace(1, path.size[0], CANDIDATES).round().astype(int))
        for k in candidates.tolist():
            evidences[k] = _assignment_evidence(problem, path.states[k])
        evidences[0] = float(problem.mixture.weight @ problem.best_known)
        best = max(evidences.values())
        return min(k for k in evidences if evidences[k] >= best - SAME_EVIDENCE)

    path = _complete_path(problem, best_of)
    numbers = np.array(sorted(evidences))
    scores = np.array([evidences[k] for k in numbers.tolist()])
    chosen = int(numbers[scores >= scores.max() - SAME_EVIDENCE][0])
    return Counted(_curve_of("evidence", numbers, scores, chosen), path.states.get(chosen))


def _statistics(problem: CountProblem, labels: Array, size: int) -> Statistics:
    structure, weight = problem.knowledge.prior.structure, problem.mixture.weight
    return statistics_by_label(problem.rows, labels, size, weight=weight, structure=structure)


def _evidence_of(problem: CountProblem, statistics: Statistics) -> Array:
    prior = problem.knowledge.prior
    return log_evidence(prior, posterior_of(prior, statistics))


def _assignment_evidence(problem: CountProblem, state: MixtureState) -> float:
    labels = hard_labels(state.responsibility)
    statistics = _statistics(problem, labels, state.responsibility.shape[1])
    novel = float(_evidence_of(problem, statistics).sum())
    return novel + float(problem.mixture.weight[labels < 0] @ problem.best_known[labels < 0])


def merge(problem: CountProblem) -> Counted:
    """Over-cluster, drop clusters that known categories explain better, merge pairs that fit as one."""
    mixture, n_rows = cooled(problem.mixture), len(problem.rows)
    crowd = min(max(FIRST_CROWD, int(np.sqrt(n_rows))), max(1, n_rows // ROWS_PER_CATEGORY))
    state = mixture.em(seed(mixture, crowd, problem.rng), EVEN_SHARE, MERGE_STEPS)
    labels = hard_labels(state.responsibility)
    statistics = _statistics(problem, labels, crowd)
    alone = _evidence_of(problem, statistics)
    worth = mixture.weight * problem.best_known
    as_known = np.array([worth[labels == k].sum() for k in range(crowd)])
    parts = [statistics.take([k]) for k in np.flatnonzero((statistics.count > 0) & (alone > as_known))]
    values = [float(_evidence_of(problem, part)[0]) for part in parts]
    numbers, scores = [len(parts)], [sum(values)]
    ratio = {pair: _ratio(problem, parts, values, *pair) for pair in _pairs(len(parts))}
    alive = set(range(len(parts)))
    while ratio:
        (i, j), best = max(ratio.items(), key=lambda item: item[1])
        if best <= 0:
            break
        parts[i] = parts[i] + parts[j]
        values[i] = values[i] + values[j] + best
        ratio = {pair: value for pair, value in ratio.items() if i not in pair and j not in pair}
        alive.discard(j)
        for k in alive - {i}:
            pair = (min(i, k), max(i, k))
            ratio[pair] = _ratio(problem, parts, values, *pair)
        numbers.append(numbers[-1] - 1)
        scores.append(scores[-1] + best)
    return Counted(_curve_of("merge", numbers[::-1], scores[::-1], numbers[-1]), None)


def _pairs(size: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(size) for j in range(i + 1, size)]


def _ratio(problem: CountProblem, parts: list[Statistics], values: list[float], i: int, j: int) -> float:
    """Log evidence of two clusters as one category, less that of two."""
    return float(_evidence_of(problem, parts[i] + parts[j])[0]) - values[i] - values[j]


def silhouette(problem: CountProblem) -> Counted:
    """The number of k-means clusters with the best silhouette, among the rows that look novel."""
    novel = np.flatnonzero(problem.novelty > SILHOUETTE_NOVELTY)
    return _silhouette("silhouette", problem, problem.mixture.rows, novel)


def silhouette_all(problem: CountProblem) -> Counted:
    """The number of k-means clusters with the best silhouette, of all rows: the paper has no other gate."""
    return _silhouette("silhouette-all", problem, problem.rows, np.arange(len(problem.rows)))


def _silhouette(name: str, problem: CountProblem, rows: Array, chosen: Array) -> Counted:
    seed = int(problem.rng.integers(2**31))
    rows = rows[np.sort(problem.rng.permutation(chosen)[:SILHOUETTE_ROWS])]
    most = min(SILHOUETTE_MOST, len(np.unique(rows, axis=0)) - 1)
    if most < 2:
        few = min(1, len(rows))
        return Counted(_curve_of(name, [few], [0.0], few), None)
    scores = silhouettes(rows, 2, most, seed)
    best = max(scores, key=scores.__getitem__)
    return Counted(_curve_of(name, list(scores), list(scores.values()), best), None)


def _curve_of(method: str, candidates: Any, scores: Any, chosen: int) -> CountCurve:
    return CountCurve(method, tuple(int(k) for k in candidates), tuple(float(s) for s in scores), chosen)


COUNTERS: dict[str, Counter] = {
    "rehearsal": rehearsal,
    "evidence": evidence,
    "merge": merge,
    "silhouette": silhouette,
    "silhouette-all": silhouette_all,
}
