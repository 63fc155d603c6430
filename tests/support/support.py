"""What tests of the estimator share: problems, checks of answers and records, pairwise arrays."""

import itertools
from dataclasses import fields, replace

import numpy as np
from scipy.optimize import linear_sum_assignment

from vbcgcd import CategoryDiscoverer
from vbcgcd.discovery.geometry import Geometry
from vbcgcd.discovery.large.quick import QuickMixture
from vbcgcd.discovery.mixture import Mixture
from vbcgcd.discovery.seedlings import Seedlings
from vbcgcd.discovery.session import run_session

PARTS = ["mean", "kappa", "nu", "factor"]
NAMES = np.array(["zero", "one", "two", "three", "four", "five"])


def pairwise(**factors):
    """Few combinations of options in which any two values of different options meet at least once.

    Each next one is the combination that brings together the most pairs that have not met.
    """
    rows = list(itertools.product(*factors.values()))
    pairs = {row: set(itertools.combinations(enumerate(row), 2)) for row in rows}
    open_pairs, chosen = set().union(*pairs.values()), []
    while open_pairs:
        row = max(rows, key=lambda r: len(pairs[r] & open_pairs))
        open_pairs -= pairs[row]
        chosen.append(dict(zip(factors, row, strict=True)))
    return chosen


def blobs(seed=0, n_categories=3, dim=5, each=10, separation=6.0):
    """Well separated categories: rows and labels 0 to K - 1."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(n_categories), each)
    centres = separation * rng.normal(size=(n_categories, dim))
    return centres[labels] + rng.normal(size=(len(labels), dim)), labels


def fit(problem, **options):
    return CategoryDiscoverer(**options).fit(problem.rows, problem.labels)


def accuracy(labels, truth):
    """Share of rows that agree under the best matching of the names."""
    a, b = np.unique(labels, return_inverse=True)[1], np.unique(truth, return_inverse=True)[1]
    table = np.zeros((a.max() + 1, b.max() + 1))
    np.add.at(table, (a, b), 1)
    return table[linear_sum_assignment(-table)].sum() / len(truth)


def assert_answers(model, rows):
    """Everything the model says about the rows is finite and consistent."""
    probability = model.predict_proba(rows)
    assert probability.shape == (len(rows), len(model.classes_))
    assert np.isfinite(probability).all()
    np.testing.assert_allclose(probability.sum(axis=1), 1, rtol=1e-9)
    assert np.isfinite(model.score_samples(rows)).all()
    assert np.isin(model.predict(rows), model.classes_).all()


def assert_same_posterior(have, want):
    for name in PARTS:
        np.testing.assert_array_equal(getattr(have, name), getattr(want, name))


def assert_same_record(have, want):
    """Equal in everything but the time it took."""
    for name in ("labels_", "probabilities_", "novelty_", "ratio_before", "ratio_after"):
        np.testing.assert_array_equal(getattr(have, name), getattr(want, name))
    assert replace(have, seconds=0.0) == replace(want, seconds=0.0)


def assert_sound(model, record, n_known, n_rows):
    """The record and the model agree with each other."""
    assert record.rows == len(record.labels_) == len(record.novelty_) == n_rows
    assert record.probabilities_.shape == (n_rows, len(model.classes_))
    total = record.probabilities_.sum(axis=1)
    assert total.max() <= 1 + 1e-4
    assert record.probabilities_.min() >= 0
    assigned = np.isin(record.labels_, model.classes_)
    assert record.unassigned == (~assigned).sum()
    assert len(set(record.labels_[~assigned].tolist())) <= 1
    if not (model.unassigned and model.cluster == "mixture"):
        np.testing.assert_allclose(total, 1, rtol=1e-4)
        assert assigned.all()
    known, novel = record.probabilities_[:, :n_known], record.probabilities_[:, n_known:]
    best = known.argmax(axis=1)
    if novel.shape[1]:
        mass = novel.sum(axis=1) / np.maximum(total, 1e-9)  # the rest may belong nowhere
        best = np.where(mass >= 0.5, n_known + novel.argmax(axis=1), best)
        assigned &= np.abs(mass - 0.5) > 1e-5  # beyond the rounding of stored probabilities
    np.testing.assert_array_equal(record.labels_[assigned], model.classes_[best[assigned]])
    assert model.classes_[n_known:].tolist() == list(record.novel)
    counts = {label: int((record.labels_ == label).sum()) for label in model.classes_.tolist()}
    assert record.counts == {label: n for label, n in counts.items() if n}
    assert record.known_rows + record.novel_rows + record.unassigned == n_rows
    assert record.n_novel == len(record.novel) == len(model.classes_) - n_known
    assert len(model.posterior_) == len(model.births_) == len(model.classes_)
    assert all(np.isfinite(getattr(model.posterior_, name)).all() for name in PARTS)
    assert len(np.unique(model.classes_)) == len(model.classes_)


#: Dimensions of `rays`.
DIM = 20


def rays(n_known_rows, n_novel_rows, *, n_known=4, n_novel=3, seed=0, noise=0.25):
    """Rows around orthogonal directions, those of known categories first; means and truth (-1 is known)."""
    rng = np.random.default_rng(seed)
    means = 3 * np.eye(DIM)[: n_known + n_novel]
    which = np.concatenate(
        [np.arange(n_known_rows) % n_known, n_known + np.arange(n_novel_rows) % n_novel]
    ).astype(int)
    rows = means[which] + noise * 3 * rng.normal(size=(len(which), DIM)) / np.sqrt(DIM) * 2
    return rows, means[:n_known], np.where(which < n_known, -1, which - n_known)


def mixture_of(rows, means, kind="direction", sharpness=30.0, **options):
    return Mixture.of(rows, means, Geometry(kind, sharpness), **options)


def quick_mixture(mixture):
    """The same mixture as large sessions search it."""
    return QuickMixture(**{field.name: getattr(mixture, field.name) for field in fields(Mixture)})


#: What `leaving` says to a user.
WARNING = "The labels are too few to judge the number of categories."


def leaving(n_unassigned, sizes, *, grown=False, returned=None):
    """A `run_session` that leaves the first rows unassigned and has seedlings of these sizes.

    With ``grown``, the first novel category grew from a seedling of the session before. No size leaves no
    seedlings, and None leaves those that there were. ``returned`` are rows of categories that came back.
    """

    def session(rows, knowledge, options, **arguments):
        before, every = replace(knowledge, seedlings=None), replace(options, unassigned=False)
        after, record = run_session(rows, before, every, **arguments)
        labels, probabilities = record.labels_.copy(), record.probabilities_.copy()
        labels[:n_unassigned] = -1
        probabilities[:n_unassigned] *= 0.25
        present, counts = np.unique(labels[labels >= 0], return_counts=True)
        seedlings = knowledge.seedlings
        if sizes is not None:
            seedlings = _seedlings(after.posterior, sizes, arguments["session"]) if sizes else None
        record = replace(
            record,
            labels_=labels,
            probabilities_=probabilities,
            counts=dict(zip(present.tolist(), counts.tolist(), strict=True)),
            unassigned=n_unassigned,
            seedlings=() if seedlings is None else tuple(round(n) for n in seedlings.rows.tolist()),
            grown=dict.fromkeys(list(record.novel)[:1], arguments["session"] - 1) if grown else {},
            returned=returned or {},
            warnings=(WARNING,),
            lessons_=None,
        )
        return replace(after, seedlings=seedlings), record

    return session


def _seedlings(posterior, sizes, session):
    rows = np.array(sizes, dtype=float)
    return Seedlings(
        posterior.take(np.arange(len(sizes)) % len(posterior)),
        rows,
        2 * rows,
        np.full(len(sizes), session),
    )


def assert_same_seedlings(have, want):
    for name, array in want.arrays().items():
        np.testing.assert_array_equal(have.arrays()[name], array)
        assert have.arrays()[name].dtype == array.dtype
