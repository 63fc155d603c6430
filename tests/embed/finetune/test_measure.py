import numpy as np
import pytest
from sklearn.neighbors import NearestCentroid

pytest.importorskip("torch", reason="needs the extra 'vision'")
pytest.importorskip("peft", reason="needs the extra 'vision'")

from vbcgcd.embed.finetune.measure import ROWS_FOR_MEAN, nearest_mean_accuracy, rows_for_means


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
