import numpy as np
import pytest

from vbcgcd.study.rivals.river_clusterers import RiverDbstream, RiverKMeans

pytest.importorskip("river", reason="River is not installed (extra: rivals)")


def test_river_answers_what_the_rival_answers(blob_stream):
    """The rival compares all rows at once; river one by one."""
    stream = blob_stream()
    model = RiverKMeans().fit(stream.rows, stream.labels)
    batch, _ = stream.sessions[0]
    model.discover(batch, n_novel=3)
    reduced = model.axes_(batch)
    one_by_one = [model.model_.predict_one(dict(enumerate(row.tolist()))) for row in reduced]
    np.testing.assert_array_equal(model.predict(batch), model.classes_[one_by_one])


def test_sequential_kmeans_finds_the_blobs_and_moves_known_centres(blob_stream):
    stream = blob_stream()
    model = RiverKMeans().fit(stream.rows, stream.labels)
    before = model.centres_.copy()
    for (batch, truth), n_novel in zip(stream.sessions, (3, 2), strict=True):
        outcome = model.discover(batch, n_novel=n_novel)
        assert np.mean(outcome.labels_[truth < 4] == truth[truth < 4]) > 0.95
        pairs = {(i, t) for i, t in zip(outcome.labels_, truth, strict=True) if t >= 4}
        assert len({i for i, _ in pairs}) >= n_novel
    assert 0 < np.abs(model.centres_[:4] - before).max() < 0.1


def test_dbstream_finds_blobs_without_a_number(blob_stream):
    stream = blob_stream()
    model = RiverDbstream(radius=2.0).fit(stream.rows, stream.labels)
    assert np.mean(model.predict(stream.rows) == stream.labels) > 0.95
    batch, truth = stream.sessions[0]
    outcome = model.discover(batch)
    assert len(outcome.novel) == 3
    for label in outcome.novel:
        assert len(np.unique(truth[outcome.labels_ == label])) == 1
    assert (
        len(RiverDbstream(radius=2.0).fit(stream.rows, stream.labels).discover(batch, n_novel=2).novel) == 2
    )


def test_a_number_that_river_gives_to_another_micro_cluster_is_not_taken_over(blob_stream):
    stream = blob_stream()
    model = RiverDbstream(radius=2.0).fit(stream.rows, stream.labels)
    parts = model.model_.micro_clusters
    number = next(iter(parts))
    known = len(model.codes_)
    parts[number] = type(parts[number])(dict(parts[number].center), 0, 1.0)
    model._read()
    assert len(model.codes_) == known - 1
