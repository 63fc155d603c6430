import numpy as np
import pytest

from vbcgcd import CategoryDiscoverer
from vbcgcd.errors import InputError
from vbcgcd.study.rivals.fecam import FeCam
from vbcgcd.study.rivals.lda import Lda
from vbcgcd.study.rivals.ncm import Ncm
from vbcgcd.study.rivals.pe import PointEstimate
from vbcgcd.study.scoring import outcome_of

RIVALS = [Ncm, Lda, PointEstimate, FeCam]


@pytest.fixture(scope="module")
def blobs():
    """Six well separated categories in 8 dimensions, 120 rows each."""
    rng = np.random.default_rng(0)
    centres = 10 * rng.standard_normal((6, 8))
    y = np.repeat(np.arange(6), 120)
    return centres[y] + rng.standard_normal((len(y), 8)), y


@pytest.mark.parametrize("rival", RIVALS)
def test_the_rows_are_named_by_our_model(rival, small):
    ours = CategoryDiscoverer(unassigned=False).fit(small.rows, small.labels)
    expected = outcome_of(ours.discover(small.batch, n_novel=4))
    outcome = rival().fit(small.rows, small.labels).discover(small.batch, n_novel=4)
    np.testing.assert_array_equal(outcome.labels_, expected.labels_)
    np.testing.assert_array_equal(outcome.novel, expected.novel)
    np.testing.assert_allclose(outcome.novelty_, expected.novelty_)


@pytest.mark.parametrize("rival", RIVALS)
@pytest.mark.parametrize("cluster", ["ours", "kmeans"])
def test_separate_categories_are_found(rival, cluster, blobs):
    x, y = blobs
    labelled = (y < 3) & (np.arange(len(y)) % 4 > 0)
    model = rival(cluster=cluster).fit(x[labelled], y[labelled])
    stream = np.concatenate([x[y >= 3], x[(y < 3) & ~labelled]])
    outcome = model.discover(stream, n_novel=3)
    predicted = model.predict(x)
    np.testing.assert_array_equal(predicted[y < 3], y[y < 3])
    for c in (3, 4, 5):
        assert len(set(predicted[y == c])) == 1
    assert set(predicted[y >= 3]) == set(outcome.novel.tolist()) == {3, 4, 5}
    assert np.isin(outcome.labels_[:360], outcome.novel).all()
    assert np.isin(outcome.labels_[360:], outcome.novel).mean() < 0.03


def test_the_number_is_estimated_by_our_model(small):
    expected = CategoryDiscoverer(unassigned=False).fit(small.rows, small.labels).discover(small.batch)
    model = Ncm().fit(small.rows, small.labels)
    outcome = model.discover(small.batch)
    assert len(outcome.novel) == expected.n_novel
    np.testing.assert_array_equal(outcome.labels_, expected.labels_)
    assert model.inner_.n_sessions_ == 1


def test_kmeans_needs_the_number(small):
    model = Ncm(cluster="kmeans").fit(small.rows, small.labels)
    with pytest.raises(InputError) as caught:
        model.discover(small.batch)
    assert caught.value.option == "n_novel"


def test_an_unknown_way_to_cluster_is_refused(small):
    with pytest.raises(InputError) as caught:
        Ncm(cluster="dbscan").fit(small.rows, small.labels)
    assert caught.value.option == "cluster"


@pytest.mark.parametrize("rival", RIVALS)
def test_a_category_without_rows_keeps_its_id_and_is_never_predicted(rival, blobs):
    """Repeated rows: three clusters are asked for, one distinct novel row is there."""
    x, y = blobs
    model = rival(cluster="kmeans").fit(x[y < 3], y[y < 3])
    stream = np.concatenate([np.repeat(x[y == 4][:1], 10, axis=0), x[y == 3]])
    first = model.discover(stream[:10], n_novel=3)
    assert first.novel.tolist() == [3, 4, 5]
    assert len(set(first.labels_)) == 1
    second = model.discover(stream[10:], n_novel=1)
    assert second.novel.tolist() == [6]
    assert set(second.labels_) == {6}
    predicted = model.predict(x[y == 3])
    assert np.mean(predicted == 6) > 0.9
    assert np.isfinite(model._scores(x)).all()


@pytest.mark.parametrize("rival", RIVALS)
def test_labelled_rows_of_new_categories_can_be_added(rival, blobs):
    x, y = blobs
    model = rival().partial_fit(x[y < 4], y[y < 4])
    before = model.predict(x[y < 4])
    model.partial_fit(x[y >= 4], y[y >= 4])
    assert model.classes_.tolist() == list(range(6))
    assert np.mean(model.predict(x) == y) > 0.98
    assert np.mean(model.predict(x[y < 4]) == before) > 0.98
    report = model.discover(x[::2], n_novel=0)
    assert len(report.novel) == 0
    with pytest.raises(InputError, match="not known yet"):
        model.partial_fit(x, y)


def test_a_refused_session_changes_nothing(small):
    model = Lda().fit(small.rows, small.labels)
    before = model.predict(small.batch)
    for bad, n in [(small.batch[:, :3], 2), (small.batch * np.nan, 2), (small.batch, -1)]:
        with pytest.raises(InputError):
            model.discover(bad, n_novel=n)
    assert model.n_sessions_ == model.inner_.n_sessions_ == 0
    np.testing.assert_array_equal(model.predict(small.batch), before)
