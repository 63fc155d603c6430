import itertools
import pickle

import numpy as np
import pytest
from sklearn.base import clone

torch = pytest.importorskip("torch")

from vbcgcd.errors import InputError  # noqa: E402
from vbcgcd.study.rivals import heads  # noqa: E402
from vbcgcd.study.rivals.gm import GrowMergeFrozen  # noqa: E402
from vbcgcd.study.rivals.happy import HappyFrozen  # noqa: E402
from vbcgcd.study.rivals.metagcd import MetaGcdFrozen  # noqa: E402
from vbcgcd.study.rivals.simgcd import SimGcdFrozen  # noqa: E402

RIVALS = {
    "simgcd": lambda **options: SimGcdFrozen(epochs=3, **options),
    "happy": lambda **options: HappyFrozen(epochs=3, base_epochs=3, **options),
    "gm": lambda **options: GrowMergeFrozen(epochs=3, **options),
    "metagcd": lambda **options: MetaGcdFrozen(n_pseudo_sessions=2, **options),
}


@pytest.fixture(params=RIVALS)
def rival(request):
    return RIVALS[request.param]


def softmax(scores):
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    return shares / shares.sum(-1, keepdims=True)


def draw(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def test_unit_rows_have_length_one_and_zeros_stay():
    rows = heads.unit_rows(np.vstack([draw(3, 5), np.zeros(5)]))
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), [1, 1, 1, 0], atol=1e-6)


def test_means_of_a_category_without_rows_are_zero():
    rows, codes = draw(6, 3), np.array([0, 0, 2, 2, 2, 0])
    means = heads.unit_means(rows, codes, 4)
    np.testing.assert_allclose(means[[0, 2]], [rows[codes == 0].mean(0), rows[codes == 2].mean(0)], rtol=1e-5)
    assert not means[[1, 3]].any()


def test_the_projection_is_the_identity_at_zero_and_linear_up_to_length():
    rows, matrix = heads.unit_rows(draw(4, 5)), draw(5, 5, seed=1).astype(np.float32)
    zero = heads.project(torch.tensor(rows), torch.zeros(5, 5))
    np.testing.assert_allclose(zero, rows, atol=1e-6)
    moved = rows + rows @ matrix
    np.testing.assert_allclose(
        heads.project(torch.tensor(rows), torch.tensor(matrix)),
        moved / np.linalg.norm(moved, axis=1, keepdims=True),
        atol=1e-5,
    )


def test_logits_do_not_depend_on_the_length_of_the_heads_rows():
    rows, weights = heads.unit_rows(draw(4, 5)), draw(3, 5, seed=2).astype(np.float32)
    lengths = np.array([[0.5], [2.0], [7.0]], dtype=np.float32)
    expected = rows @ (weights / np.linalg.norm(weights, axis=1, keepdims=True)).T / 0.1
    for scaled in (weights, lengths * weights):
        np.testing.assert_allclose(
            heads.logits(torch.tensor(rows), torch.tensor(scaled)), expected, atol=1e-4
        )


def test_a_second_view_is_unit_and_spread_like_half_a_category():
    codes = np.repeat([0, 1], 400)
    rows = np.array([[3.0, 0, 0], [0, 3.0, 0]])[codes] + draw(800, 3) * [0.02, 0.02, 0.2]
    factor = heads.view_factor(rows, codes, heads.unit_means(rows, codes, 2))
    residuals = np.concatenate([rows[codes == k] - rows[codes == k].mean(0) for k in (0, 1)])
    np.testing.assert_allclose(factor @ factor, residuals.T @ residuals / 800, atol=1e-5)
    start = torch.tensor([[1.0, 0, 0]]).repeat(20000, 1)
    views = heads.second_view(start, torch.tensor(factor), torch.Generator().manual_seed(0)).numpy()
    np.testing.assert_allclose(np.linalg.norm(views, axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(views[:, 1:].std(0), 0.5 * residuals.std(0)[1:], rtol=0.05)


def test_self_distillation_by_hand():
    first, second = draw(5, 4), draw(5, 4, seed=1)
    logp = [np.log(softmax(s)) for s in (first, second)]
    teacher = [softmax(s * 0.1 / 0.04) for s in (first, second)]
    expected = -((teacher[1] * logp[0]).sum(1).mean() + (teacher[0] * logp[1]).sum(1).mean()) / 2
    tensors = [torch.tensor(s, requires_grad=True) for s in (first, second)]
    loss = heads.self_distillation(*tensors, 0.04)
    assert loss.item() == pytest.approx(expected)
    loss.backward()
    # No gradient through the teacher: that of the first view is (p - teacher of the second) / 2B.
    np.testing.assert_allclose(tensors[0].grad, (softmax(first) - teacher[1]) / 10, atol=1e-9)


def test_the_entropy_gap_by_hand_and_its_least_value():
    p = np.array([0.5, 0.25, 0.25, 0.0])
    expected = np.log(4) + 0.5 * np.log(0.5) + 0.5 * np.log(0.25)
    assert heads.entropy_gap(torch.tensor(p)).item() == pytest.approx(expected)
    assert heads.entropy_gap(torch.full((7,), 1 / 7)).item() == pytest.approx(0, abs=1e-6)


def test_an_epoch_meets_every_row_once_in_even_batches():
    parts = list(heads.batches(300, 128, torch.Generator().manual_seed(0)))
    assert [len(part) for part in parts] == [150, 150]
    assert sorted(torch.cat(parts).tolist()) == list(range(300))
    assert [len(part) for part in heads.batches(3, 128, torch.Generator())] == [3]


def test_the_rate_falls_from_its_value_to_a_thousandth():
    rates = [heads.cosine_rate(0.1, epoch, 10) for epoch in range(11)]
    assert rates[0] == pytest.approx(0.1)
    assert rates[5] == pytest.approx((0.1 + 1e-4) / 2)
    assert rates[10] == pytest.approx(1e-4)
    assert rates == sorted(rates, reverse=True)


def test_sgd_finds_a_minimum_and_repeats_itself():
    data = torch.tensor(draw(64, 3), dtype=torch.float32)

    def run():
        point = torch.zeros(3, requires_grad=True)
        heads.sgd(
            [point],
            lambda batch, epoch: (data[batch] - point).square().sum(1).mean(),
            len(data),
            epochs=40,
            learning_rate=0.05,
            batch_size=16,
            generator=torch.Generator().manual_seed(3),
        )
        return point.detach().numpy()

    np.testing.assert_allclose(run(), data.mean(0), atol=0.02)
    np.testing.assert_array_equal(run(), run())


def test_replayed_rows_are_unit_and_centred_on_the_drawn_prototypes():
    prototypes = 0.6 * torch.eye(3, 8)
    shares = torch.tensor([0.0, 0.25, 0.75])
    rows, codes = heads.replay(prototypes, 0.05, shares, 4000, torch.Generator().manual_seed(0))
    np.testing.assert_allclose(rows.norm(dim=1), 1, atol=1e-5)
    np.testing.assert_allclose(np.bincount(codes, minlength=3) / 4000, shares, atol=0.03)
    for k in (1, 2):
        mean = rows[codes == k].mean(0)
        np.testing.assert_allclose(mean / mean.norm(), torch.eye(3, 8)[k], atol=0.02)


def test_a_device_that_is_not_there_is_named():
    with pytest.raises(InputError) as caught:
        heads.best_device("abacus")
    assert caught.value.option == "device"
    assert heads.best_device("cpu").type == "cpu"


@pytest.mark.parametrize("options", [{"batch_size": 0}, {"learning_rate": 0.0}, {"device": "abacus"}])
def test_bad_options_are_named(rival, options, blob_stream):
    stream = blob_stream()
    with pytest.raises(InputError) as caught:
        rival(**options).fit(stream.rows, stream.labels)
    assert caught.value.option == next(iter(options))


@pytest.fixture(scope="module")
def learned(blob_stream):
    """Each rival after both sessions, twice with the same seed; snapshots of the head after each step."""
    stream = blob_stream()

    def run(make):
        model, kept, outcomes = make(device="cpu"), [], []
        model.fit(stream.rows, stream.labels)
        for (rows, _), n_novel in zip(stream.sessions, (3, 2), strict=True):
            kept.append(model.weights_.copy())
            outcomes.append(model.discover(rows, n_novel=n_novel))
        return model, [*kept, model.weights_], outcomes

    return stream, {name: (run(make), run(make)) for name, make in RIVALS.items()}


@pytest.mark.parametrize("name", RIVALS)
def test_the_same_seed_gives_the_same_answer_and_leaves_torchs_own_seed_alone(learned, name):
    (first, heads_first, told), (_, heads_second, told_again) = learned[1][name]
    for one, other in zip(heads_first, heads_second, strict=True):
        np.testing.assert_array_equal(one, other)
    for one, other in zip(told, told_again, strict=True):
        np.testing.assert_array_equal(one.labels_, other.labels_)
        np.testing.assert_array_equal(one.novelty_, other.novelty_)
    state = torch.get_rng_state()
    clone(first).fit(learned[0].rows, learned[0].labels)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("name", RIVALS)
def test_rows_of_known_categories_keep_their_index(learned, name):
    (model, snapshots, outcomes), _ = learned[1][name]
    assert [len(snapshot) for snapshot in snapshots] == [4, 7, 9]
    assert model.classes_.tolist() == list(range(9))
    assert [o.novel.tolist() for o in outcomes] == [[4, 5, 6], [7, 8]]
    for snapshot in snapshots:
        np.testing.assert_allclose(np.linalg.norm(snapshot, axis=1), 1, atol=1e-5)
    # Row k stays nearest to what row k was.
    for before, after in itertools.pairwise(snapshots):
        np.testing.assert_array_equal((before[:4] @ after.T).argmax(1), np.arange(4))
    rows, labels = learned[0].rows, learned[0].labels
    assert np.mean(model.predict(rows) == labels) > 0.9


@pytest.mark.parametrize("name", RIVALS)
def test_nothing_of_the_size_of_the_rows_is_kept_and_a_model_survives_pickling(learned, name):
    (model, _, _), _ = learned[1][name]
    assert model.nbytes <= 4 * (2 * 16 * 16 + 3 * 9 * 16) + model.classes_.nbytes
    rows = learned[0].sessions[1][0]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(rows), model.predict(rows))


@pytest.mark.parametrize("name", RIVALS)
def test_a_session_without_novel_categories_adds_none(learned, name):
    stream = learned[0]
    model = RIVALS[name](device="cpu").fit(stream.rows, stream.labels)
    rows = stream.rows[:50]
    outcome = model.discover(rows, n_novel=0)
    assert len(outcome.novel) == 0
    assert np.mean(outcome.labels_ == stream.labels[:50]) > 0.9
    np.testing.assert_array_equal(outcome.labels_, model.predict(rows))


@pytest.mark.parametrize("name", RIVALS)
def test_a_session_of_as_many_rows_as_novel_categories_is_taken(learned, name):
    stream = learned[0]
    model = RIVALS[name](device="cpu").fit(stream.rows, stream.labels)
    outcome = model.discover(stream.sessions[0][0][:2], n_novel=2)
    assert outcome.labels_.shape == (2,)
    assert np.isfinite(model.weights_).all()
