import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score

from vbcgcd.discovery.silhouette import silhouettes


@pytest.mark.parametrize("number", [15, 17, 23])  # none of them is on the coarse grid from 2 to 60
def test_every_number_can_be_the_answer(number):
    rng = np.random.default_rng(number)
    rows = np.repeat(10 * rng.normal(size=(number, 30)), 8, axis=0)
    rows = rows + 0.1 * rng.normal(size=rows.shape)
    scores = silhouettes(rows, 2, 60, seed=0)
    assert max(scores, key=scores.get) == number
    assert list(scores) == sorted(scores)


def test_the_scores_are_those_of_scikit_learn():
    rows = np.random.default_rng(0).normal(size=(60, 4))
    scores = silhouettes(rows, 2, 6, seed=3)
    assert set(scores) == {2, 3, 4, 5, 6}
    labels = KMeans(4, n_init=2, random_state=3).fit_predict(rows)
    assert scores[4] == pytest.approx(silhouette_score(rows, labels))
