import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.neighbors import NearestCentroid

torch = pytest.importorskip("torch", reason="needs the extra 'vision'")
pytest.importorskip("peft", reason="needs the extra 'vision'")

from vbcgcd.embed.finetune.objective import (  # noqa: E402
    ROWS_FOR_MEAN,
    contrastive_loss,
    finetune_loss,
    nearest_mean_accuracy,
    printed_contrast,
    rows_for_means,
)

ROWS = arrays(np.float32, (8, 3), elements=st.floats(-3, 3, width=32)).filter(
    lambda a: (np.linalg.norm(a, axis=1) > 0.1).all()
)


def by_hand(rows, temperature, ids):
    """Row by row, as the definition says."""
    rows = rows.astype(np.float64) / np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    terms = []
    for i, row in enumerate(rows):
        others = [j for j in range(len(rows)) if j != i]
        weights = {j: np.exp(row @ rows[j] / temperature) for j in others}
        positives = [j for j in others if ids[j] == ids[i]]
        terms.append(np.mean([-np.log(weights[j] / sum(weights.values())) for j in positives]))
    return np.mean(terms)


@settings(deadline=None, max_examples=50)
@given(rows=ROWS, temperature=st.floats(0.1, 2))
def test_views_of_one_picture_attract(rows, temperature):
    found = contrastive_loss(torch.from_numpy(rows), temperature).item()
    assert found == pytest.approx(by_hand(rows, temperature, [0, 1, 2, 3] * 2), abs=1e-4)


@settings(deadline=None, max_examples=50)
@given(rows=ROWS, labels=st.lists(st.integers(0, 2), min_size=4, max_size=4))
def test_views_of_one_label_attract(rows, labels):
    found = contrastive_loss(torch.from_numpy(rows), 0.5, torch.tensor(labels)).item()
    assert found == pytest.approx(by_hand(rows, 0.5, labels * 2), abs=1e-4)


@settings(deadline=None, max_examples=50)
@given(rows=ROWS, temperature=st.floats(0.1, 2))
def test_the_printed_equation_has_first_views_and_no_positive_below(rows, temperature):
    unit = rows.astype(np.float64) / np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    first, second = unit[:4], unit[4:]
    terms = []
    for i in range(4):
        below = sum(np.exp(first[i] @ first[j] / temperature) for j in range(4) if j != i)
        terms.append(-np.log(np.exp(first[i] @ second[i] / temperature) / below))
    found = printed_contrast(torch.from_numpy(rows), temperature).item()
    assert found == pytest.approx(np.mean(terms), abs=1e-4)


def test_the_contrast_is_chosen_by_name():
    torch.manual_seed(0)
    rows, logits, labels = torch.randn(8, 4), torch.randn(8, 3), torch.tensor([0, 2, 1, 0])
    found = {
        name: finetune_loss(rows, logits, labels, weight=0.5, temperature=0.2, contrast=name)[2].item()
        for name in ("views", "labels", "printed")
    }
    assert found["views"] == contrastive_loss(rows, 0.2).item()
    assert found["labels"] == contrastive_loss(rows, 0.2, labels).item()
    assert found["printed"] == printed_contrast(rows, 0.2).item()
    assert len(set(found.values())) == 3


def test_the_printed_equation_of_one_picture_is_nothing():
    rows = torch.randn(2, 5, requires_grad=True)
    printed_contrast(rows, 0.1).backward()
    assert torch.equal(rows.grad, torch.zeros(2, 5))


def test_a_batch_of_one_picture_has_nothing_to_contrast():
    rows = torch.randn(2, 5, requires_grad=True)
    loss = contrastive_loss(rows, 0.1)
    loss.backward()
    assert loss.item() == pytest.approx(0, abs=1e-6)
    assert torch.isfinite(rows.grad).all()


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_the_loss_is_the_weighted_sum(weight):
    torch.manual_seed(0)
    rows, logits, labels = torch.randn(6, 4), torch.randn(6, 3), torch.tensor([0, 2, 1])
    loss, cross_entropy, contrast = finetune_loss(
        rows, logits, labels, weight=weight, temperature=0.2, contrast="views"
    )
    shares = np.exp(logits.numpy()) / np.exp(logits.numpy()).sum(axis=1, keepdims=True)
    assert cross_entropy.item() == pytest.approx(
        -np.log(shares[range(6), [0, 2, 1, 0, 2, 1]]).mean(), abs=1e-5
    )
    assert contrast.item() == pytest.approx(by_hand(rows.numpy(), 0.2, [0, 1, 2] * 2), abs=1e-4)
    assert loss.item() == pytest.approx(
        (1 - weight) * cross_entropy.item() + weight * contrast.item(), abs=1e-5
    )


@pytest.mark.parametrize("seed", range(5))
def test_nearest_mean_is_as_scikit_learn_has_it(seed):
    rng = np.random.default_rng(seed)
    codes, test_codes = rng.integers(0, 4, 60) * 2, rng.integers(0, 4, 40) * 2
    means = rng.normal(size=(8, 5))
    train, test = rng.normal(size=(60, 5)) + means[codes], rng.normal(size=(40, 5)) + means[test_codes]
    expected = NearestCentroid().fit(train, codes).score(test, test_codes)
    assert nearest_mean_accuracy(train, codes, test, test_codes) == pytest.approx(expected)


def test_means_use_a_bounded_number_of_training_rows():
    codes = np.repeat([0, 1], [200, 10])
    rows = np.flatnonzero(np.arange(210) % 2 == 0)
    chosen = rows_for_means(rows, codes)
    assert np.isin(chosen, rows).all()
    assert np.bincount(codes[chosen]).tolist() == [ROWS_FOR_MEAN, 5]
