import numpy as np
import pytest
import scipy

from vbcgcd.record import SessionRecord
from vbcgcd.workspace.commands import sharded


@pytest.mark.parametrize("rows", [3, 100])
def test_sparse_probabilities_are_ranked_as_dense_ones_and_never_made_dense(monkeypatch, rows):
    rng = np.random.default_rng(0)
    probabilities = np.where(rng.random((10, 6)) < 0.5, rng.random((10, 6)) / 6, 0).astype(np.float32)
    ids = [4, 7, 8, 11, 12, 30]
    labels = np.array([*np.array(ids)[probabilities[:8].argmax(axis=1)], -1, -1])

    def scores(table):
        record = SessionRecord(
            1, "discover", 10, {}, {}, labels_=labels, probabilities_=table, novelty_=np.arange(10.0)
        )
        return vars(sharded._scores(record, ids))

    monkeypatch.setattr(sharded, "RANKED_ROWS", rows)
    want, sparse = scores(probabilities), scipy.sparse.csr_array(probabilities)
    monkeypatch.setattr(type(sparse), "toarray", None)
    have = scores(sparse)
    for name, values in want.items():
        np.testing.assert_allclose(have[name], values, rtol=1e-6, err_msg=name)
