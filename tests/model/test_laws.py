"""Laws of a session: known posteriors stay, order does not matter, seeds and files change nothing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import NAMES, PARTS, assert_same_posterior, assert_same_record, assert_sound, fit
from vbcgcd import CategoryDiscoverer, InputError


@pytest.mark.parametrize("covariance", ["full", "lowrank", "diagonal"])
@pytest.mark.parametrize("storage", ["dtype", "half"])
def test_known_posteriors_stay_bit_for_bit(small, covariance, storage):
    model = fit(small, covariance=covariance, storage=storage)
    before = model.posterior_
    copies = {name: getattr(before, name).copy() for name in PARTS}
    for n_novel in (2, 3):
        model.discover(small.batch, n_novel=n_novel)
    after = model.posterior_.take(np.arange(6))
    for name in PARTS:
        assert np.array_equal(getattr(after, name), copies[name])
        assert np.array_equal(getattr(before, name), copies[name])


def test_probabilities_of_known_categories_stay_in_proportion(small, fitted):
    before = fitted.predict_log_proba(small.batch)
    fitted.discover(small.batch, n_novel=3)
    after = fitted.predict_log_proba(small.batch)[:, :6]
    np.testing.assert_allclose(after - after[:, :1], before - before[:, :1], atol=1e-6)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=6, deadline=None)
def test_the_order_of_the_rows_does_not_matter(small, seed):
    order = np.random.default_rng(seed).permutation(len(small.batch))
    one, other = fit(small), fit(small)
    a, b = one.discover(small.batch, n_novel=3), other.discover(small.batch[order], n_novel=3)
    for name in ("labels_", "probabilities_", "novelty_"):
        np.testing.assert_array_equal(getattr(b, name), getattr(a, name)[order])
    assert_same_posterior(other.posterior_, one.posterior_)


@pytest.mark.parametrize(
    "options", [{"update_known": True}, {"cluster": "kmeans"}, {"inference": "svi"}], ids=str
)
def test_the_order_does_not_matter_with_other_options(small, options):
    order = np.random.default_rng(1).permutation(len(small.batch))
    one, other = fit(small, n_components=10, **options), fit(small, n_components=10, **options)
    a, b = one.discover(small.batch, n_novel=3), other.discover(small.batch[order], n_novel=3)
    np.testing.assert_array_equal(b.probabilities_, a.probabilities_[order])
    assert_same_posterior(other.posterior_, one.posterior_)


def sparse_counts(n_rows, seed, n_topics=4, width=300):
    """Counts of few words, as of short texts: most columns of a row are zero."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n_rows) % n_topics
    words = np.random.default_rng(0).dirichlet(np.full(width, 0.05), size=n_topics)
    return np.stack([rng.multinomial(6, words[k]) for k in labels]).astype(float), labels


def test_the_order_of_wide_sparse_rows_does_not_matter():
    rows, labels = sparse_counts(120, 1)
    batch = sparse_counts(80, 2)[0]
    order = np.random.default_rng(3).permutation(80)
    one = CategoryDiscoverer().fit(rows[labels < 2], labels[labels < 2])
    other = CategoryDiscoverer().fit(rows[labels < 2], labels[labels < 2])
    a, b = one.discover(batch, n_novel=2), other.discover(batch[order], n_novel=2)
    np.testing.assert_array_equal(b.probabilities_, a.probabilities_[order])
    assert_same_posterior(other.posterior_, one.posterior_)


def test_the_order_of_weighted_rows_does_not_matter(small):
    rng = np.random.default_rng(0)
    batch = np.repeat(small.batch[:60], 2, axis=0)
    weight, order = rng.uniform(0.5, 2, size=120), rng.permutation(120)
    one, other = fit(small), fit(small)
    a = one.discover(batch, n_novel=2, sample_weight=weight)
    b = other.discover(batch[order], n_novel=2, sample_weight=weight[order])
    np.testing.assert_array_equal(b.probabilities_, a.probabilities_[order])
    assert_same_posterior(other.posterior_, one.posterior_)


@pytest.mark.parametrize(
    "options", [{}, {"inference": "svi"}, {"cluster": "gmm"}, {"random_state": 5}], ids=str
)
def test_the_same_seed_gives_the_same_bits(small, options):
    one, other = fit(small, n_components=10, **options), fit(small, n_components=10, **options)
    for _ in range(2):
        assert_same_record(one.discover(small.batch, n_novel=3), other.discover(small.batch, n_novel=3))
    assert_same_posterior(one.posterior_, other.posterior_)


def test_no_seed_is_allowed(small):
    model = fit(small, random_state=None)
    assert_sound(model, model.discover(small.batch, n_novel=2), 6, len(small.batch))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"covariance": "diagonal", "dtype": "float64"},
        {"predictive": "student"},
        {"covariance": "lowrank", "covariance_rank": 8, "storage": "half"},
    ],
    ids=str,
)
@pytest.mark.parametrize("strings", [False, True])
def test_saving_and_loading_interrupts_nothing(small, tmp_path, state_of, options, strings):
    labels = NAMES[small.labels] if strings else small.labels
    straight = CategoryDiscoverer(**options).fit(small.rows, labels)
    stopped = CategoryDiscoverer(**options).fit(small.rows, labels)
    for batch in (small.batch[:80], small.batch[80:]):
        stopped.save(tmp_path / "m")
        stopped = CategoryDiscoverer.load(tmp_path / "m")
        assert_same_record(stopped.discover(batch, n_novel=2), straight.discover(batch, n_novel=2))
    assert state_of(stopped) == state_of(straight)
    assert stopped.classes_.dtype == straight.classes_.dtype
    for method in ("predict", "predict_proba", "novelty", "score_samples"):
        np.testing.assert_array_equal(
            getattr(stopped, method)(small.batch), getattr(straight, method)(small.batch)
        )


def test_feature_names_survive_on_disk(small, tmp_path):
    pandas = pytest.importorskip("pandas")
    names = [f"pixel {i}" for i in range(64)]
    frame = pandas.DataFrame(small.rows, columns=names)
    model = CategoryDiscoverer().fit(frame, small.labels)
    model.save(tmp_path / "m")
    loaded = CategoryDiscoverer.load(tmp_path / "m")
    assert loaded.feature_names_in_.tolist() == names
    loaded.discover(frame, n_novel=1)
    with pytest.raises(InputError):
        loaded.discover(frame.rename(columns={"pixel 0": "other"}), n_novel=1)


@pytest.mark.parametrize(
    "options",
    [{"random_state": np.int64(3)}, {"n_components": np.int32(9)}, {"alignment": np.float32(0)}],
    ids=str,
)
def test_options_may_be_numpy_numbers_also_on_disk(small, tmp_path, options):
    model = fit(small, **options)
    model.discover(small.batch, n_novel=2)
    model.save(tmp_path / "m")
    loaded = CategoryDiscoverer.load(tmp_path / "m")
    assert loaded.get_params() == model.get_params()
