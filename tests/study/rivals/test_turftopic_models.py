import numpy as np
import pytest
from packages import skip_without_package

from vbcgcd.study.rivals.turftopic_models import SensTopicStream


def test_topics_are_appended_and_the_old_ones_stay(blob_stream):
    skip_without_package("turftopic")
    stream = blob_stream()
    model = SensTopicStream().fit(stream.rows, stream.labels)
    assert np.mean(model.predict(stream.rows) == stream.labels) > 0.95
    before = model.topics_.copy()
    batch, _ = stream.sessions[0]
    outcome = model.discover(batch, n_novel=3)
    assert len(outcome.novel) == 3
    np.testing.assert_array_equal(model.topics_[:4], before)
    assert len(model.discover(batch, n_novel=0).novel) == 0
    assert len(model.topics_) == 7


@pytest.mark.parametrize("assign", ["similarity", "mixtures"])
def test_a_single_row_is_answered(assign, blob_stream):
    skip_without_package("turftopic")
    stream = blob_stream()
    model = SensTopicStream(assign=assign).fit(stream.rows, stream.labels)
    assert np.mean(model.predict(stream.rows) == stream.labels) > 0.95
    assert model.predict(stream.rows[:1])[0] in model.classes_


def test_without_a_number_turftopic_decides(blob_stream):
    skip_without_package("turftopic")
    stream = blob_stream()
    model = SensTopicStream().fit(stream.rows, stream.labels)
    outcome = model.discover(stream.sessions[0][0])
    assert len(model.topics_) == 4 + len(outcome.novel)
