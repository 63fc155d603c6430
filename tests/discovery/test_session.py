import numpy as np
import pytest
from scipy.spatial.distance import cdist

from vbcgcd.bayes import log_evidence, posterior_of, statistics_by_label
from vbcgcd.discovery.options import Options
from vbcgcd.discovery.session import run_session

KNOWN = np.array([f"digit {i}" for i in range(6)])


@pytest.fixture
def session(fitted, small):
    """Function (n_novel, weight, progress, **options) -> knowledge and record of a session."""

    def run(n_novel=None, *, weight=None, progress=lambda name: None, **options):
        return run_session(
            small.batch,
            fitted.knowledge_,
            Options(**options),
            labels_of=lambda n: np.array([*KNOWN, *(f"novel {i}" for i in range(n))]),
            session=3,
            n_novel=n_novel,
            weight=weight,
            rng=np.random.default_rng(0),
            progress=progress,
        )

    return run


def novel_part(knowledge):
    return knowledge.posterior.take(np.arange(6, len(knowledge.posterior)))


def test_the_record_is_consistent(session, fitted, small):
    knowledge, record = session(4, unassigned=False)
    assert (record.session, record.command, record.rows) == (3, "discover", len(small.batch))
    assert list(record.novel) == ["novel 0", "novel 1", "novel 2", "novel 3"]
    assert sum(record.counts.values()) == record.rows == record.known_rows + record.novel_rows
    labels, counts = np.unique(record.labels_, return_counts=True)
    assert record.counts == dict(zip(labels.tolist(), counts.tolist(), strict=True))
    assert record.probabilities_.shape == (record.rows, 10)
    np.testing.assert_allclose(record.probabilities_.sum(axis=1), 1, rtol=1e-5)
    assert record.probabilities_.min() >= 0
    reduced = fitted.knowledge_.reduced(small.batch)
    counts = np.bincount(small.labels)
    expected = fitted.novelty_.score(reduced, fitted.posterior_.mean, counts)
    np.testing.assert_allclose(record.novelty_, expected, atol=1e-4)
    assert record.flagged == pytest.approx(np.mean(record.novelty_ > 0.95))
    assert 0 < record.novel_share < 1
    assert len(novel_part(knowledge)) == len(record.ratio_before) == len(record.ratio_after) == 4
    assert record.count is None
    assert record.estimated is False
    assert record.evidence == pytest.approx(log_evidence(fitted.prior_, novel_part(knowledge)).sum())
    assert record.seconds == pytest.approx(sum(step.seconds for step in record.steps))


def test_labels_follow_the_probabilities(session):
    _, record = session(4, unassigned=False)
    novel = record.probabilities_[:, 6:].sum(axis=1) >= 0.5
    all_labels = np.array([*KNOWN, *record.novel])
    best_novel = all_labels[6:][record.probabilities_[:, 6:].argmax(axis=1)]
    best_known = KNOWN[record.probabilities_[:, :6].argmax(axis=1)]
    np.testing.assert_array_equal(record.labels_, np.where(novel, best_novel, best_known))
    position = np.searchsorted(all_labels, record.labels_, sorter=np.argsort(all_labels))
    chosen = record.probabilities_[np.arange(record.rows), np.argsort(all_labels)[position]]
    assert record.mean_probability == pytest.approx(chosen.mean())


def test_known_categories_share_the_rest_by_their_densities(session, fitted, small):
    _, record = session(4, unassigned=False)
    rest = 1 - record.probabilities_[:, 6:].sum(axis=1, keepdims=True)
    expected = fitted.predict_proba(small.batch) * rest
    np.testing.assert_allclose(record.probabilities_[:, :6], expected, atol=1e-4)


def clusterer_of(fitted, small, own):
    """A clusterer with a fixed cluster for each row of the batch, whatever the order of the rows."""
    reduced = fitted.knowledge_.reduced(small.batch)
    return lambda rows, n_clusters, rng: own[cdist(rows, reduced).argmin(axis=1)]


def test_posterior_is_the_exact_one_of_the_teaching_rows(session, fitted, small):
    reduced = fitted.knowledge_.reduced(small.batch)
    own = np.arange(len(reduced)) % 3 - 1
    knowledge, record = session(2, cluster=clusterer_of(fitted, small, own), relabel="none")
    posterior = novel_part(knowledge)
    want = posterior_of(fitted.prior_, statistics_by_label(reduced, own, 2), dtype=np.float32)
    np.testing.assert_allclose(posterior.mean, want.mean, atol=1e-5)
    np.testing.assert_allclose(posterior.factor, want.factor, atol=1e-4)
    expected = np.where(own < 0, record.labels_, np.array([f"novel {k}" for k in own]))
    np.testing.assert_array_equal(record.labels_, expected)
    assert record.novel_share == pytest.approx(np.mean(own >= 0))


def test_weights_enter_the_statistics(session, fitted, small):
    reduced = fitted.knowledge_.reduced(small.batch)
    own, weight = np.arange(len(reduced)) % 2, np.random.default_rng(0).uniform(size=len(reduced))
    knowledge, _ = session(2, weight=weight, cluster=clusterer_of(fitted, small, own), relabel="none")
    want = statistics_by_label(reduced, own, 2, weight=weight)
    np.testing.assert_allclose(novel_part(knowledge).kappa - fitted.prior_.kappa, want.count)
    posterior = posterior_of(fitted.prior_, want)
    np.testing.assert_allclose(novel_part(knowledge).mean, posterior.mean, atol=1e-5)


@pytest.mark.parametrize("relabel", ["confident", "none", "filter", "reassign", "em"])
def test_no_novel_category_is_a_possible_answer(session, fitted, small, relabel):
    knowledge, record = session(0, relabel=relabel, unassigned=False)
    assert len(knowledge.posterior) == 6
    assert record.novel == {}
    assert record.novel_rows == 0
    np.testing.assert_allclose(record.probabilities_, fitted.predict_proba(small.batch), atol=1e-4)
    assert record.novel_share == 0
    assert record.evidence == 0


@pytest.mark.parametrize("relabel", ["confident", "none", "filter", "reassign", "em"])
def test_a_clusterer_that_leaves_out_every_row_finds_nothing(session, relabel):
    knowledge, record = session(3, cluster=lambda rows, k, rng: np.full(len(rows), -1), relabel=relabel)
    assert len(knowledge.posterior) == 6
    assert record.probabilities_.shape[1] == 6


@pytest.mark.parametrize("n_novel", [2, None])
@pytest.mark.parametrize("unassigned", [True, False])
def test_steps_are_announced_and_timed(session, n_novel, unassigned):
    names = []
    _, record = session(n_novel, progress=names.append, unassigned=unassigned)
    count = ["count"] if n_novel is None else []
    leftovers = ["leftovers"] if unassigned else []
    assert names == ["novelty", *count, "cluster", "relabel", *leftovers, "posterior", "assign"]
    assert [step.name for step in record.steps] == names
    assert all(step.seconds >= 0 for step in record.steps)


def test_what_is_known_is_only_read(session, fitted):
    before = fitted.posterior_.mean.copy(), fitted.posterior_.factor.copy()
    knowledge, _ = session(3, inference="svi", alignment=0.0, svi_steps=5)
    for posterior in (fitted.posterior_, knowledge.posterior.take(np.arange(6))):
        np.testing.assert_array_equal(posterior.mean, before[0])
        np.testing.assert_array_equal(posterior.factor, before[1])


def test_sure_rows_update_known_categories_if_asked(session, fitted):
    knowledge, record = session(4, update_known=True)
    best = record.probabilities_.argmax(axis=1)
    sure = (best < 6) & (record.probabilities_.max(axis=1) >= 0.95) & (record.labels_ != "none of these")
    extra = np.bincount(best[sure], minlength=6)
    assert extra.sum() > 0
    np.testing.assert_allclose(knowledge.posterior.kappa[:6] - fitted.posterior_.kappa, extra, atol=1e-6)


def test_unassigned_rows_take_probability_from_all_categories_alike(session):
    _, plain = session(4, unassigned=False)
    _, record = session(4)
    rest = record.probabilities_.sum(axis=1, keepdims=True)
    assert rest.min() < 0.7
    assert rest.max() <= 1 + 1e-5
    np.testing.assert_allclose(record.probabilities_, plain.probabilities_ * rest, atol=1e-5)
    novel = plain.probabilities_[:, 6:].sum(axis=1) >= 0.5
    own = plain.probabilities_[:, 6:].argmax(axis=1)
    for k in range(4):  # what is lacking is the same for all rows of a novel category: it may be none
        lacking = 1 - rest[novel & (own == k), 0]
        assert 0 < lacking.max() < 1
        np.testing.assert_allclose(lacking, lacking[0], atol=1e-4)


def test_unassigned_rows_are_counted_apart(session):
    _, plain = session(4, unassigned=False)
    _, record = session(4)
    nowhere = record.labels_ == "none of these"
    assert record.unassigned == nowhere.sum() > 0
    assert sum(record.counts.values()) == record.rows - record.unassigned
    np.testing.assert_array_equal(record.labels_[~nowhere], plain.labels_[~nowhere])
    sure = record.probabilities_.max(axis=1)
    assert record.mean_probability == pytest.approx(sure[~nowhere].mean(), abs=0.01)
    # A row of a known category that looks novel is assigned only if that is more probable than nowhere.
    known = np.isin(record.labels_, list(record.novel), invert=True) & ~nowhere & (record.novelty_ > 0.95)
    assert (sure >= 1 - record.probabilities_.sum(axis=1) - 1e-5)[known].all()


def test_other_clusterers_assign_every_row(session):
    _, record = session(2, cluster="kmeans")
    assert "leftovers" not in [step.name for step in record.steps]
    assert (record.unassigned, record.seedlings, record.grown) == (0, (), {})
    np.testing.assert_allclose(record.probabilities_.sum(axis=1), 1, rtol=1e-5)
