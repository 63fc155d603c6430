import numpy as np
import pytest

torch = pytest.importorskip("torch")

from vbcgcd.study.rivals.happy import HappyFrozen, group_entropy, hardness  # noqa: E402
from vbcgcd.study.scoring import FrozenMatch  # noqa: E402


def entropy(p):
    return -(p * np.log(p)).sum()


def test_group_entropy_by_hand():
    mean = np.array([0.2, 0.1, 0.3, 0.35, 0.05])
    old, new = mean[:3], mean[3:]
    between = 0.6 * np.log(0.6) + 0.4 * np.log(0.4) + np.log(2)
    within = np.log(3) - entropy(old / 0.6), np.log(2) - entropy(new / 0.4)
    assert group_entropy(torch.tensor(mean), 3).item() == pytest.approx(between + sum(within))
    weighted = group_entropy(torch.tensor(mean), 3, weights=(0.5, 2.0, 3.0)).item()
    assert weighted == pytest.approx(0.5 * between + 2 * within[0] + 3 * within[1])


def test_group_entropy_is_least_for_equal_groups_that_are_even_inside():
    even = torch.tensor([0.125] * 4 + [0.25] * 2)
    assert group_entropy(even, 4).item() == pytest.approx(0, abs=1e-6)
    assert group_entropy(torch.full((6,), 1 / 6), 4).item() > 0.01


def test_hardness_by_hand():
    prototypes = 3 * np.array([[1, 0, 0], [0.8, 0.6, 0], [0, 0, 1.0]])
    similarity = np.array([0.8 / 2, 0.8 / 2, 0.0])
    expected = np.exp(similarity / 0.1) / np.exp(similarity / 0.1).sum()
    np.testing.assert_allclose(hardness(prototypes, 0.1), expected, rtol=1e-5)
    np.testing.assert_array_equal(hardness(prototypes[:1], 0.1), [1.0])


@pytest.fixture(scope="module")
def run(blob_stream):
    stream = blob_stream()
    model = HappyFrozen(device="cpu").fit(stream.rows, stream.labels)
    return stream, model


def test_radius_and_prototypes_are_those_of_the_projected_labelled_rows(run):
    stream, model = run
    z = stream.rows / np.linalg.norm(stream.rows, axis=1, keepdims=True)
    g = z + z @ model.projection_
    g /= np.linalg.norm(g, axis=1, keepdims=True)
    traces = [np.trace(np.cov(g[stream.labels == k].T, bias=True)) for k in range(4)]
    assert model.radius_ == pytest.approx(np.sqrt(np.mean(traces) / 16), rel=1e-4)
    np.testing.assert_allclose(
        model.prototypes_[:4], [g[stream.labels == k].mean(0) for k in range(4)], atol=1e-5
    )


def test_new_rows_start_far_from_the_known_ones(run):
    stream, model = run
    rows, truth = stream.sessions[0]
    z = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    projected = model._project(z.astype(np.float32))
    fresh = model._new_rows(projected, 3)
    nearest = truth[(fresh @ projected.T).argmax(1)]
    assert (nearest >= 4).all()
    assert model._new_rows(projected, 0).shape == (0, 16)


def test_it_finds_novel_blobs_session_after_session(blob_stream):
    stream = blob_stream()
    model = HappyFrozen(device="cpu").fit(stream.rows, stream.labels)
    match, known = FrozenMatch(np.arange(4)), model.prototypes_
    for (rows, truth), novel in zip(stream.sessions, (np.arange(4, 7), np.arange(7, 9)), strict=True):
        outcome = model.discover(rows, n_novel=len(novel))
        match.add(outcome.novel, outcome.labels_, truth, novel)
        assert match.correct(model.predict(rows), truth).mean() > 0.9
        assert outcome.novelty_[truth >= novel[0]].mean() > outcome.novelty_[truth < novel[0]].mean() + 0.5
        np.testing.assert_array_equal(model.prototypes_[: len(known)], known)
        known = model.prototypes_


def test_feature_distillation_holds_the_projection_still(blob_stream):
    stream, moved = blob_stream(), []
    for weight in (0.0, 100.0):
        model = HappyFrozen(feature_weight=weight, device="cpu").fit(stream.rows, stream.labels)
        before = model._project(stream.rows)
        model.discover(stream.sessions[0][0], n_novel=3)
        moved.append(np.square(model._project(stream.rows) - before).sum(1).mean())
    assert moved[1] < 0.2 * moved[0]


def test_the_silhouette_counts_all_clusters_less_the_known_ones():
    rng = np.random.default_rng(0)
    centres = 5 * rng.normal(size=(9, 12))
    labels = np.repeat(np.arange(9), 30)
    rows = centres[labels] + 0.2 * rng.normal(size=(len(labels), 12))
    known = (labels < 5) & (np.arange(len(labels)) % 2 == 0)
    model = HappyFrozen(epochs=1, base_epochs=2).fit(rows[known], labels[known])
    outcome = model.discover(rows[~known])
    assert len(outcome.novel) == 4
