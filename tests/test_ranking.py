"""The best columns of sparse probabilities, against the dense ones."""

import numpy as np
import scipy
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from vbcgcd.discovery.knowledge import gather, top_two
from vbcgcd.ranking import is_sparse, ranking


@given(arrays(np.float32, (6, 5), elements=st.sampled_from([0.0, 0.0, 0.125, 0.25, 0.5])), st.data())
def test_it_says_what_the_dense_array_says(values, data):
    own = np.array(data.draw(st.lists(st.integers(0, 4), min_size=6, max_size=6)))
    have = ranking(scipy.sparse.csr_array(values), own)
    second = top_two(values, own)[1]
    np.testing.assert_array_equal(have.own, gather(values, own))
    np.testing.assert_array_equal(have.other_value, gather(values, second))
    np.testing.assert_array_equal(have.other >= 0, second >= 0)
    np.testing.assert_array_equal(have.best >= 0, values.max(axis=1) > 0)
    best = np.where(have.best >= 0, have.best, 0)
    np.testing.assert_array_equal(values[np.arange(6), best], values.max(axis=1))
    np.testing.assert_allclose(have.total, values.sum(axis=1), rtol=1e-6)


def test_without_a_column_of_its_own_the_best_is_the_other():
    table = scipy.sparse.csr_array(np.array([[0.1, 0.6, 0.0], [0.0, 0.0, 0.0]]))
    have = ranking(table, np.array([-1, -1]))
    np.testing.assert_array_equal(have.other, [1, -1])
    np.testing.assert_array_equal(have.own, [0, 0])
    assert is_sparse(table)
    assert not is_sparse(table.toarray())
