import numpy as np

from vbcgcd.study.rivals.hdbscan import HdbscanPerSession
from vbcgcd.study.rivals.kmeans import unit_rows


def test_blobs_are_found_without_a_number_and_known_centres_stay(blob_stream):
    stream = blob_stream()
    model = HdbscanPerSession(flagged=0.05).fit(stream.rows, stream.labels)
    before = model.centres_.copy()
    batch, truth = stream.sessions[0]
    outcome = model.discover(batch)
    assert len(outcome.novel) == 3
    np.testing.assert_array_equal(model.centres_[:4], before)
    for label in outcome.novel:
        members = truth[outcome.labels_ == label]
        assert len(np.unique(members)) == 1
        assert members[0] >= 4


def test_the_number_given_is_the_most_that_are_used(blob_stream):
    stream = blob_stream()
    model = HdbscanPerSession().fit(stream.rows, stream.labels)
    batch, truth = stream.sessions[0]
    outcome = model.discover(batch, n_novel=1)
    assert len(outcome.novel) == 1
    left = (outcome.labels_ == -1) & (truth >= 4)
    assert left.sum() >= 70  # the rows of the two other blobs
    assert len(model.discover(batch, n_novel=0).novel) == 0


def test_the_limit_is_a_quantile_of_the_labelled_rows(blob_stream):
    stream = blob_stream()
    model = HdbscanPerSession(flagged=0.25).fit(stream.rows, stream.labels)
    own = ((unit_rows(stream.rows) - model.centres_[stream.labels]) ** 2).sum(axis=1)
    assert np.isclose(np.mean(own > model.limit_), 0.25, atol=0.01)


def test_a_few_rows_are_no_cluster(blob_stream):
    stream = blob_stream()
    model = HdbscanPerSession().fit(stream.rows, stream.labels)
    batch, truth = stream.sessions[0]
    outcome = model.discover(batch[truth >= 4][:3])
    assert len(outcome.novel) == 0
    assert (outcome.labels_ == -1).all()
