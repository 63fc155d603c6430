import numpy as np
import pytest

torch = pytest.importorskip("torch")

from vbcgcd.study.rivals.metagcd import (  # noqa: E402
    MetaGcdFrozen,
    _pseudo_session,
    contrastive,
    neighbour_targets,
)
from vbcgcd.study.scoring import FrozenMatch  # noqa: E402


def unit(*shape, seed=0):
    rows = np.random.default_rng(seed).standard_normal(shape)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def by_hand(f, targets, temperature):
    losses = []
    for i in range(len(f)):
        others = [j for j in range(len(f)) if j != i]
        norm = np.log(sum(np.exp(f[i] @ f[j] / temperature) for j in others))
        if targets[i].sum() > 0:
            terms = [targets[i, j] * (f[i] @ f[j] / temperature - norm) for j in others]
            losses.append(-sum(terms) / targets[i].sum())
    return np.mean(losses)


def test_the_contrastive_loss_by_hand():
    f, targets = unit(6, 4), np.random.default_rng(1).random((6, 6))
    np.fill_diagonal(targets, 0)
    targets[2] = 0
    loss = contrastive(torch.tensor(f), torch.tensor(targets), 0.07)
    assert loss.item() == pytest.approx(by_hand(f, targets, 0.07))
    assert contrastive(torch.tensor(f), torch.zeros(6, 6), 0.07).item() == 0


def test_soft_neighbours_by_hand():
    f = unit(6, 2, seed=3)
    f[1], f[5] = f[0], f[3]
    expected = np.zeros((6, 6))
    for i in range(6):
        near = [j for j in range(6) if j % 3 != i % 3 and f[i] @ f[j] >= 0.5]
        if near:
            shares = np.exp([f[i] @ f[j] / 0.07 for j in near])
            expected[i, near] = shares / shares.sum()
    found = neighbour_targets(torch.tensor(f), 0.5, 0.07).numpy()
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert expected.any()
    assert not np.diag(found).any()


def test_the_inner_loss_is_half_neighbours_half_the_other_view():
    model = MetaGcdFrozen(device="cpu", neighbour_similarity=0.3)
    model.view_factor_ = np.zeros((4, 4), dtype=np.float32)  # both views are the row itself
    rows = unit(5, 4)
    twice = np.vstack([rows, rows])
    partner = np.roll(np.eye(10), 5, axis=0)
    near = neighbour_targets(torch.tensor(twice), 0.3, 0.07).numpy()
    expected = (by_hand(twice, near, 0.07) + by_hand(twice, partner, 0.07)) / 2
    projection = torch.zeros(4, 4, requires_grad=True)
    data = torch.tensor(rows, dtype=torch.float32)
    loss = model._inner_loss(projection, data, torch.Generator())
    assert loss.item() == pytest.approx(expected, rel=1e-4)
    stepped = model._inner_step(projection, data, torch.Generator())
    assert not projection.any()
    assert stepped.any()
    assert model._inner_loss(stepped, data, torch.Generator()).item() < loss.item()


def test_the_outer_loss_is_supervised_contrastive():
    model = MetaGcdFrozen(device="cpu")
    model.view_factor_ = np.zeros((4, 4), dtype=np.float32)
    rows, codes = unit(5, 4), np.array([0, 1, 0, 1, 2])
    twice, labels = np.vstack([rows, rows]), np.tile(codes, 2)
    same = (labels[:, None] == labels).astype(float)
    np.fill_diagonal(same, 0)
    loss = model._outer_loss(
        torch.zeros(4, 4),
        torch.tensor(rows, dtype=torch.float32),
        torch.tensor(codes),
        torch.Generator(),
    )
    assert loss.item() == pytest.approx(by_hand(twice, same, 0.07), rel=1e-4)


def test_it_finds_novel_blobs_session_after_session(blob_stream):
    stream = blob_stream()
    model = MetaGcdFrozen(device="cpu").fit(stream.rows, stream.labels)
    assert model.projection_.any()
    match, known = FrozenMatch(np.arange(4)), model.means_
    for (rows, truth), novel in zip(stream.sessions, (np.arange(4, 7), np.arange(7, 9)), strict=True):
        before = model.projection_
        outcome = model.discover(rows, n_novel=len(novel))
        match.add(outcome.novel, outcome.labels_, truth, novel)
        assert match.correct(model.predict(rows), truth).mean() > 0.9
        assert outcome.novelty_[truth >= novel[0]].mean() > outcome.novelty_[truth < novel[0]].mean() + 0.3
        assert (model.projection_ != before).any()
        np.testing.assert_array_equal(model.means_[: len(known)], known)
        known = model.means_


def test_a_pseudo_session_streams_novel_rows_and_few_known_ones():
    codes = np.repeat(np.arange(10), 160)
    stream, labelled = _pseudo_session(codes, 10, np.random.default_rng(0))
    counts = np.bincount(codes[stream], minlength=10)
    assert np.sum(counts == 160) == 2
    assert np.sum((counts > 0) & (counts < 40)) == 5
    assert set(codes[labelled]) == set(codes[stream])
    assert len(labelled) == 7 * 160
    small, every = _pseudo_session(np.array([0, 0, 1]), 2, np.random.default_rng(0))
    assert len(small) >= 1
    assert len(every) == 3


def test_one_outer_step_applies_the_gradient_found_after_the_inner_steps(blob_stream):
    stream = blob_stream()
    options = {"n_pseudo_sessions": 1, "batch_size": 10_000, "device": "cpu"}
    first = MetaGcdFrozen(**options).fit(stream.rows, stream.labels).projection_
    other = MetaGcdFrozen(inner_learning_rate=50.0, **options).fit(stream.rows, stream.labels).projection_
    doubled = MetaGcdFrozen(learning_rate=0.2, **options).fit(stream.rows, stream.labels).projection_
    assert np.abs(first - other).max() > 1e-5
    np.testing.assert_allclose(doubled, 2 * first, rtol=1e-4)
