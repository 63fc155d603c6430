import numpy as np
import pytest

torch = pytest.importorskip("torch")

from vbcgcd.study.rivals.gm import GrowMergeFrozen, distillation, pair_threshold, pairwise_bce  # noqa: E402
from vbcgcd.study.scoring import FrozenMatch  # noqa: E402


def softmax(scores):
    shares = np.exp(scores - scores.max(1, keepdims=True))
    return shares / shares.sum(1, keepdims=True)


def test_pairwise_bce_by_hand():
    rng = np.random.default_rng(0)
    p, q = softmax(rng.standard_normal((4, 3))), softmax(rng.standard_normal((4, 3)))
    similar = rng.random((4, 4)) < 0.4
    total = 0.0
    for i in range(4):
        for j in range(4):
            same = sum(p[i, k] * q[j, k] for k in range(3))
            total -= np.log(same) if similar[i, j] else np.log(1 - same)
    assert pairwise_bce(*map(torch.tensor, (p, q, similar))).item() == pytest.approx(total / 16)


def test_pairwise_bce_survives_certain_answers():
    p = torch.eye(2, requires_grad=True)
    loss = pairwise_bce(p, torch.eye(2), torch.tensor([[False, True], [True, False]]))
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(p.grad).all()


def test_distillation_by_hand():
    rng = np.random.default_rng(1)
    student, teacher = rng.standard_normal((5, 4)), rng.standard_normal((5, 4))
    p, q = softmax(teacher / 2), softmax(student / 2)
    expected = 4 * (p * np.log(p / q)).sum(1).mean()
    assert distillation(torch.tensor(student), torch.tensor(teacher), 2.0).item() == pytest.approx(expected)
    assert distillation(torch.tensor(teacher), torch.tensor(teacher), 2.0).item() == pytest.approx(0)


def test_the_pair_threshold_has_the_best_f1_of_all_steps():
    rng = np.random.default_rng(2)
    codes = np.repeat(np.arange(4), 10)
    rows = rng.standard_normal((4, 6))[codes] + 0.6 * rng.standard_normal((40, 6))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    i, j = np.triu_indices(40, 1)
    cosines, same = (rows[i] * rows[j]).sum(1), codes[i] == codes[j]

    def f1(threshold):
        called = cosines >= threshold
        return 2 * (called & same).sum() / (called.sum() + same.sum())

    found = pair_threshold(rows, codes)
    assert f1(found) == pytest.approx(max(f1(t) for t in np.linspace(-1, 1, 201)))


@pytest.fixture(scope="module")
def fitted(blob_stream):
    stream = blob_stream()
    return stream, GrowMergeFrozen(device="cpu").fit(stream.rows, stream.labels)


def test_a_twentieth_of_the_labelled_rows_is_below_the_novelty_threshold(fitted):
    stream, model = fitted
    z = stream.rows / np.linalg.norm(stream.rows, axis=1, keepdims=True)
    g = z + z @ model.projection_
    g /= np.linalg.norm(g, axis=1, keepdims=True)
    means = np.stack([g[stream.labels == k].mean(0) for k in range(4)])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    own = (g * means[stream.labels]).sum(1)
    assert np.mean(own < model.threshold_) == pytest.approx(0.05, abs=0.01)


def test_it_finds_novel_blobs_and_the_static_branch_hardly_moves(blob_stream):
    stream = blob_stream()
    model = GrowMergeFrozen(device="cpu").fit(stream.rows, stream.labels)
    match, static = FrozenMatch(np.arange(4)), model._project(stream.rows)
    for (rows, truth), novel in zip(stream.sessions, (np.arange(4, 7), np.arange(7, 9)), strict=True):
        outcome = model.discover(rows, n_novel=len(novel))
        match.add(outcome.novel, outcome.labels_, truth, novel)
        assert match.correct(model.predict(rows), truth).mean() > 0.9
        assert outcome.novelty_[truth >= novel[0]].mean() > outcome.novelty_[truth < novel[0]].mean() + 0.5
    moved = np.linalg.norm(model._project(stream.rows) - static, axis=1)
    assert 0 < moved.mean() < 0.02


def test_momentum_one_leaves_the_static_branch_as_it_was(blob_stream):
    stream = blob_stream()
    model = GrowMergeFrozen(merge_momentum=1.0, epochs=3, device="cpu").fit(stream.rows, stream.labels)
    static = model.projection_.copy()
    model.discover(stream.sessions[0][0], n_novel=3)
    np.testing.assert_array_equal(model.projection_, static)
