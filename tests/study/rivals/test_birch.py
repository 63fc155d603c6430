import numpy as np

from vbcgcd.study.rivals.birch import BirchTree, _matched


def test_blobs_keep_their_ids_while_the_tree_grows(blob_stream):
    stream = blob_stream()
    model = BirchTree().fit(stream.rows, stream.labels)
    assert np.mean(model.predict(stream.rows) == stream.labels) == 1
    given = []
    for (batch, truth), n_novel in zip(stream.sessions, (3, 2), strict=True):
        outcome = model.discover(batch, n_novel=n_novel)
        given.append((batch, outcome.labels_))
        known = truth < 4
        assert np.mean(outcome.labels_[known] == truth[known]) == 1
        assert len(np.unique(outcome.labels_)) == 4 + 3 + (n_novel == 2) * 2
    first, ids = given[0]
    np.testing.assert_array_equal(model.predict(first), ids)


def test_groups_are_matched_by_the_subclusters_they_share():
    # Group 0 holds the subclusters of category 1, group 2 those of category 0; groups 1 and 3 are new.
    shared = np.array([[0, 5], [0, 0], [4, 1], [1, 0]])
    np.testing.assert_array_equal(_matched(shared, 2), [1, 2, 0, 3])
    np.testing.assert_array_equal(_matched(shared, 1), [1, 2, 0, 0])


def test_fewer_subclusters_than_categories_do_no_harm(small):
    model = BirchTree(radius=50.0).fit(small.rows, small.labels)
    assert len(model.centres_) == 1
    outcome = model.discover(small.batch, n_novel=2)
    assert np.isin(outcome.labels_, model.classes_).all()
