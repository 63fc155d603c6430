import numpy as np
import pytest
from packages import skip_without_package

from vbcgcd import InputError
from vbcgcd.study.rivals.bertopic_models import BertopicMerged, BertopicOnline, GrowingKMeans


def test_centres_grow_and_the_old_ones_hardly_move():
    rng = np.random.default_rng(0)
    old, new = np.array([[0.0, 0.0], [10.0, 0.0]]), np.array([0.0, 10.0])
    rows = np.concatenate([old.repeat(5, axis=0), np.tile(new, (20, 1))]) + 0.1 * rng.standard_normal((30, 2))
    model = GrowingKMeans(old, np.array([500.0, 500.0]))
    model.n_new = 1
    model.partial_fit(rows)
    assert np.abs(model.centres[:2] - old).max() < 0.01
    np.testing.assert_allclose(model.centres[2], new, atol=0.1)
    np.testing.assert_array_equal(model.labels_, np.repeat([0, 1, 2], [5, 5, 20]))
    np.testing.assert_array_equal(model.predict(rows), model.labels_)
    np.testing.assert_array_equal(model.counts, [505, 505, 20])
    assert len(model.partial_fit(rows).centres) == 3


@pytest.mark.parametrize(
    ("rival", "name"), [(BertopicOnline, "bertopic-online"), (BertopicMerged, "bertopic-merge")]
)
def test_both_ways_find_the_blobs(rival, name, blob_stream):
    skip_without_package(name)
    stream = blob_stream()
    model = rival().fit(stream.rows, stream.labels)
    for (batch, truth), n_novel in zip(stream.sessions, (3, 2), strict=True):
        outcome = model.discover(batch, n_novel=n_novel)
        assert len(outcome.novel) == n_novel
        predicted = model.predict(batch)
        assert np.mean(predicted[truth < 4] == truth[truth < 4]) > 0.95
        for label in outcome.novel:
            assert len(np.unique(truth[predicted == label])) == 1


def test_old_topics_of_a_merged_model_stay_as_they_are(blob_stream):
    skip_without_package("bertopic-merge")
    stream = blob_stream()
    model = BertopicMerged().fit(stream.rows, stream.labels)
    before, codes = model.topic_embeddings_.copy(), dict(model.codes_)
    model.discover(stream.sessions[0][0])
    np.testing.assert_allclose(model.topic_embeddings_[: len(before)], before, atol=1e-6)
    assert codes.items() <= model.codes_.items()
    assert len(model.discover(stream.sessions[0][0][:5]).novel) == 0


def test_an_unknown_reduction_is_refused(small):
    skip_without_package("bertopic-online")
    with pytest.raises(InputError) as caught:
        BertopicOnline(reduction="umap").fit(small.rows, small.labels)
    assert caught.value.option == "reduction"
