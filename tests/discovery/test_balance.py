import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from vbcgcd import CategoryDiscoverer
from vbcgcd.discovery.balance import ALIKE, balanced_shares

COUNTS = st.lists(st.floats(0.1, 1e6), min_size=1, max_size=8).map(np.array)


@given(COUNTS, COUNTS)
def test_no_category_counts_for_far_more_rows_than_known_ones_have(counts, known):
    shares, typical = balanced_shares(counts, known), np.median(known)
    many = counts > ALIKE * typical
    np.testing.assert_array_equal(shares[~many], 1.0)
    np.testing.assert_allclose((shares * counts)[many], typical)


@given(COUNTS, COUNTS, st.sampled_from([0.25, 4.0, 1024.0]))
def test_weights_of_all_rows_do_not_matter(counts, known, weight):
    np.testing.assert_array_equal(
        balanced_shares(weight * counts, weight * known), balanced_shares(counts, known)
    )


def test_known_categories_without_rows_are_no_measure():
    counts = np.array([5.0, 500.0])
    np.testing.assert_array_equal(balanced_shares(counts, np.zeros(3)), [1.0, 1.0])
    np.testing.assert_array_equal(balanced_shares(counts, np.array([0.0, 0.0, 10.0])), [1.0, 0.02])
    assert balanced_shares(np.empty(0), counts).shape == (0,)


def accuracy(own_shapes, alignment):
    """Accuracy on rows of six known categories of 12 labels, after four novel ones with 300 rows each."""
    rng = np.random.default_rng(1)
    n_dims, spread = (30, 1.3) if own_shapes else (60, 0.6)
    means = spread * rng.normal(size=(10, n_dims))
    shapes = np.tile(np.diag(rng.permutation(np.geomspace(0.3, 3, n_dims))), (10, 1, 1))
    if own_shapes:
        shapes = rng.normal(size=(10, n_dims, n_dims)) / np.sqrt(n_dims) + np.eye(n_dims)

    def draw(labels):
        noise = rng.normal(size=(len(labels), 1, n_dims))
        return means[labels] + (noise @ shapes[labels])[:, 0]

    labels, known = np.repeat(np.arange(6), 12), np.repeat(np.arange(6), 200)
    batch = np.concatenate([draw(np.repeat(np.arange(6, 10), 300)), draw(known[::5])])
    model = CategoryDiscoverer(alignment=alignment).fit(draw(labels), labels)
    model.discover(batch, n_novel=4)
    return float(np.mean(model.predict(draw(known)) == known))


def test_known_categories_of_few_labels_hold_their_own_where_all_have_one_shape():
    assert accuracy(False, "rows") > accuracy(False, None) + 0.1


def test_large_novel_categories_keep_shapes_that_tell_them_apart():
    assert accuracy(True, "rows") == accuracy(True, None)
