import numpy as np
import pytest
from sklearn.decomposition import PCA

from vbcgcd.discovery import reduce
from vbcgcd.discovery.reduce import fit_like, fit_reducer, unit_length

PLAIN = {"normalise": False, "n_components": None}


def make_problem(seed=0, n_categories=4, dim=6, n_rows=120):
    """Rows of correlated, unequally scaled columns, and labels of unequal categories."""
    rng = np.random.default_rng(seed)
    labels = np.concatenate(
        [np.repeat(np.arange(n_categories), 2), rng.integers(n_categories, size=n_rows - 2 * n_categories)]
    )
    mixing = rng.normal(size=(dim, dim)) * np.geomspace(0.1, 5, dim)
    return 2 * rng.normal(size=(n_categories, dim))[labels] + rng.normal(size=(n_rows, dim)) @ mixing, labels


def pooled(rows, labels):
    """Within-category covariance with N - K degrees of freedom."""
    scatter = np.zeros((rows.shape[1], rows.shape[1]))
    for k in np.unique(labels):
        scatter += np.cov(rows[labels == k].T, ddof=0) * (labels == k).sum()
    return scatter / (len(rows) - len(np.unique(labels)))


def between(rows, labels):
    """Covariance of the category means about the overall mean, weighted by size."""
    total = np.zeros((rows.shape[1], rows.shape[1]))
    for k in np.unique(labels):
        gap = rows[labels == k].mean(axis=0) - rows.mean(axis=0)
        total += np.outer(gap, gap) * (labels == k).mean()
    return total


# Whitening and rotation


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("n_components", [None, 4])
def test_whitened_rows_have_identity_covariance_within_categories(unit, n_components):
    rows, labels = make_problem()
    reducer = fit_reducer(rows, labels, normalise=unit, shrinkage=0.0, n_components=n_components)
    reduced = reducer.transform(rows)
    np.testing.assert_allclose(pooled(reduced, labels), np.eye(n_components or 6), atol=1e-9)
    assert reducer.whitened
    assert reducer.unit is unit


@pytest.mark.parametrize("shrinkage", [0.05, 0.3, 1.0])
def test_shrunk_covariance_is_what_becomes_the_identity(shrinkage):
    rows, labels = make_problem(1)
    reducer = fit_reducer(rows, labels, shrinkage=shrinkage, **PLAIN)
    within = pooled(rows, labels)
    shrunk = (1 - shrinkage) * within + shrinkage * np.trace(within) / 6 * np.eye(6)
    a = reducer.projection
    np.testing.assert_allclose(a.T @ shrunk @ a, np.eye(6), atol=1e-9)
    # So the rows' own covariance has the eigenvalues v / ((1 - s) v + s mean(v)).
    v = np.linalg.eigvalsh(within)
    expected = np.sort(v / ((1 - shrinkage) * v + shrinkage * v.mean()))
    found = np.linalg.eigvalsh(pooled(reducer.transform(rows), labels))
    np.testing.assert_allclose(found, expected, rtol=1e-8)
    assert reducer.shrinkage == shrinkage


@pytest.mark.parametrize("shrinkage", [0.0, 0.2, "auto"])
@pytest.mark.parametrize("unit", [False, True])
def test_axes_are_those_along_which_categories_differ_in_falling_order(shrinkage, unit):
    rows, labels = make_problem(2)
    reducer = fit_reducer(rows, labels, normalise=unit, shrinkage=shrinkage)
    covariance = between(reducer.transform(rows), labels)
    spread = np.diag(covariance)
    np.testing.assert_allclose(covariance, np.diag(spread), atol=1e-9 * spread[0])
    assert (np.diff(spread) <= 1e-9 * spread[0]).all()
    np.testing.assert_allclose(spread[3:], 0, atol=1e-9 * spread[0])  # rank K - 1


def test_reduced_rows_are_centred():
    rows, labels = make_problem(3)
    reducer = fit_reducer(rows + 1e3, labels, **PLAIN)
    np.testing.assert_allclose(reducer.transform(rows + 1e3).mean(axis=0), 0, atol=1e-9)


def test_whitening_is_invariant_to_an_affine_map_of_the_rows_without_shrinkage():
    rows, labels = make_problem(4)
    rng = np.random.default_rng(0)
    mapped = rows @ rng.normal(size=(6, 6)) + rng.normal(size=6)
    plain, turned = (
        fit_reducer(r, labels, shrinkage=0.0, **PLAIN).transform(r)[:, :3] for r in (rows, mapped)
    )
    np.testing.assert_allclose(np.abs(plain), np.abs(turned), rtol=1e-6, atol=1e-8)


# Principal components


@pytest.mark.parametrize("n_components", [None, 1, 3])
@pytest.mark.parametrize("unit", [False, True])
def test_without_whitening_it_is_the_principal_component_analysis(n_components, unit):
    rows, labels = make_problem(6)
    prepared = rows / np.linalg.norm(rows, axis=1, keepdims=True) if unit else rows
    reducer = fit_reducer(rows, labels, whiten=False, normalise=unit, n_components=n_components)
    expected = PCA(n_components, svd_solver="full").fit_transform(prepared)
    found = reducer.transform(rows)
    signs = np.sign((found * expected).sum(axis=0))
    np.testing.assert_allclose(found, expected * signs, atol=1e-8)
    assert not reducer.whitened


@pytest.mark.parametrize("whiten", [True, False])
@pytest.mark.parametrize(("asked", "kept"), [(1, 1), (4, 4), (6, 6), (100, 6), (None, 6)])
def test_components_are_capped(whiten, asked, kept):
    rows, labels = make_problem(7)
    reducer = fit_reducer(rows, labels, whiten=whiten, normalise=False, n_components=asked)
    assert reducer.n_components == kept
    assert reducer.n_inputs == 6
    assert reducer.transform(rows).shape == (120, kept)
    assert reducer.projection.shape == (6, kept)


def test_no_more_components_than_rows_can_vary_in():
    rows = np.random.default_rng(0).normal(size=(9, 40))
    reducer = fit_reducer(rows, np.arange(9) % 3, **PLAIN)
    assert reducer.n_components == 8


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("constant", [0.0, 7.0, -1e3])
def test_constant_columns_are_dropped_and_change_nothing(dtype, constant):
    rows, labels = make_problem(8)
    padded = np.insert(rows, [0, 3], constant, axis=1)
    reducer = fit_reducer(padded.astype(dtype), labels, **PLAIN)
    assert reducer.n_components == 6
    expected = fit_reducer(rows, labels, **PLAIN).transform(rows)
    found = reducer.transform(padded)
    tolerance = 1e-8 if dtype == np.float64 else 1e-3
    # Along axes beyond K - 1 = 3 categories do not differ, and they may turn; inner products may not change.
    for a, b in ((found, expected), (found[:, :3], expected[:, :3])):
        np.testing.assert_allclose(a @ a.T, b @ b.T, atol=tolerance * np.abs(b @ b.T).max())


def test_repeated_columns_are_dropped():
    rows, labels = make_problem(9)
    assert fit_reducer(np.concatenate([rows, rows[:, :2]], axis=1), labels, **PLAIN).n_components == 6


def test_identical_rows_leave_one_finite_component():
    reducer = fit_reducer(np.full((10, 3), 2.5), np.arange(10) % 2, normalise=False)
    assert reducer.n_components == 1
    assert np.isfinite(reducer.projection).all()
    np.testing.assert_allclose(reducer.transform(np.full((2, 3), 2.5)), 0, atol=1e-12)


def test_one_row_for_each_category_whitens_by_the_overall_spread():
    rows = np.random.default_rng(0).normal(size=(12, 3)) * [1, 10, 100]
    reducer = fit_reducer(rows, np.arange(12), shrinkage=0.0, **PLAIN)
    np.testing.assert_allclose(np.cov(reducer.transform(rows).T, ddof=0), np.eye(3), atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_components", [5, 384, None])
def test_wide_rows_are_projected_at_random_but_keep_the_variance(dtype, n_components):
    rng = np.random.default_rng(0)
    labels = np.arange(40) % 4
    # Five strong directions in 2100 columns.
    latent = rng.normal(size=(40, 5)) + 4 * rng.normal(size=(4, 5))[labels]
    basis = np.linalg.qr(rng.normal(size=(2100, 5)))[0].T
    rows = (latent @ basis + 1e-4 * rng.normal(size=(40, 2100))).astype(dtype)
    reducer = fit_reducer(rows, labels, whiten=False, normalise=False, n_components=n_components)
    expected = PCA(5, svd_solver="full").fit_transform(rows.astype(float))
    found = reducer.transform(rows)[:, :5]
    signs = np.sign((found * expected).sum(axis=0))
    np.testing.assert_allclose(found, expected * signs, atol=1e-2)
    again = fit_reducer(rows, labels, whiten=False, normalise=False, n_components=n_components)
    np.testing.assert_array_equal(reducer.projection, again.projection)
    if n_components == 5:
        assert reducer.n_components == 5


# Unit length


def test_unit_length_divides_by_the_norm():
    rows = np.random.default_rng(0).normal(size=(20, 7))
    expected = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    np.testing.assert_allclose(unit_length(rows), expected, rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
def test_unit_length_of_huge_and_tiny_rows_is_finite(scale):
    rows = np.array([[3.0, 4.0], [0.0, -2.0]])
    np.testing.assert_allclose(unit_length(scale * rows), [[0.6, 0.8], [0, -1]], rtol=1e-12)


def test_unit_length_leaves_zeros_and_its_argument_alone():
    rows = np.array([[0.0, 0.0], [0.0, 5.0]])
    copy = rows.copy()
    np.testing.assert_array_equal(unit_length(rows), [[0, 0], [0, 1]])
    np.testing.assert_array_equal(rows, copy)


def test_unit_makes_the_transform_invariant_to_the_length_of_rows():
    rows, labels = make_problem(10)
    lengths = np.random.default_rng(0).uniform(0.01, 100, size=(len(rows), 1))
    reducer = fit_reducer(rows, labels, normalise=True)
    np.testing.assert_allclose(reducer.transform(lengths * rows), reducer.transform(rows), atol=1e-9)
    plain = fit_reducer(rows, labels, normalise=False)
    assert not np.allclose(plain.transform(lengths * rows), plain.transform(rows), atol=1e-2)


def test_unit_length_is_chosen_where_only_directions_mean_something():
    rng = np.random.default_rng(0)
    labels = np.arange(300) % 3
    directions = unit_length(rng.normal(size=(3, 8))[labels] + 0.2 * rng.normal(size=(300, 8)))
    noisy = directions * rng.lognormal(sigma=1.5, size=(300, 1))
    assert fit_reducer(noisy, labels).unit


def test_unit_length_is_not_chosen_where_lengths_tell_categories_apart():
    rng = np.random.default_rng(0)
    labels = np.arange(300) % 3
    direction = unit_length(np.ones((1, 8)) + 0.1 * rng.normal(size=(300, 8)))
    assert not fit_reducer(direction * (1 + labels[:, None]), labels).unit


# Precision and chunks


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("whiten", [False, True])
def test_float32_is_near_float64(unit, whiten):
    rows, labels = make_problem(11)
    settings = {"normalise": unit, "whiten": whiten, "shrinkage": 0.1}
    double = fit_reducer(rows, labels, **settings)
    single = fit_reducer(rows.astype(np.float32), labels, **settings)
    expected = double.transform(rows)
    computed = double.transform(rows, dtype=np.float32)
    assert computed.dtype == np.float32
    np.testing.assert_allclose(computed, expected, atol=1e-4 * np.abs(expected).max())
    # Axes along which categories differ equally (not at all beyond K - 1) may turn; distances may not.
    found = single.transform(rows.astype(np.float32))
    for a, b in ((found, expected), (found[:, :3], expected[:, :3])):
        np.testing.assert_allclose(a @ a.T, b @ b.T, atol=1e-3 * np.abs(b @ b.T).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("chunk_rows", [1, 7, 119, 120])
def test_transform_in_chunks_equals_one_product(monkeypatch, dtype, chunk_rows):
    rows, labels = make_problem(12)
    reducer = fit_reducer(rows, labels, normalise=True, shrinkage=0.1)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    expected = (rows / lengths - reducer.center) @ reducer.projection
    monkeypatch.setattr(reduce, "CHUNK_ROWS", chunk_rows)
    found = reducer.transform(rows, dtype=dtype)
    tolerance = 1e-10 if dtype == np.float64 else 1e-4 * np.abs(expected).max()
    np.testing.assert_allclose(found, expected, atol=tolerance)


@pytest.mark.parametrize("chunk_rows", [1, 7, 119])
def test_learning_in_chunks_equals_learning_at_once(monkeypatch, chunk_rows):
    rows, labels = make_problem(13)
    expected = fit_reducer(rows, labels, shrinkage=0.1, normalise=True)
    monkeypatch.setattr(reduce, "CHUNK_ROWS", chunk_rows)
    found = fit_reducer(rows, labels, shrinkage=0.1, normalise=True)
    np.testing.assert_allclose(found.projection[:, :3], expected.projection[:, :3], rtol=1e-6, atol=1e-8)


def test_transform_keeps_its_argument_and_takes_no_rows():
    rows, labels = make_problem(14)
    copy = rows.copy()
    reducer = fit_reducer(rows, labels)
    reducer.transform(rows)
    np.testing.assert_array_equal(rows, copy)
    assert reducer.transform(rows[:0]).shape == (0, 6)


# Leaving out


def brute_force(rows, labels, chosen, weight):
    """Log-densities of the pooled classifier, learned anew without the row that is judged."""
    within, n_categories = pooled(rows, labels), labels.max() + 1
    freedom, dim = len(rows) - n_categories, rows.shape[1]
    out = np.empty((len(chosen), n_categories))
    for j, i in enumerate(chosen):
        rest = np.arange(len(rows)) != i
        scatter, means = np.zeros((dim, dim)), []
        for k in range(n_categories):
            members = rows[rest & (labels == k)]
            means.append(members.mean(axis=0))
            scatter += (members - means[-1]).T @ (members - means[-1])
        # The weight of a row and the mean variance stay those of all rows.
        shrunk = (1 - weight) * scatter / freedom + weight * np.trace(within) / dim * np.eye(dim)
        gap = rows[i] - np.array(means)
        out[j] = -0.5 * np.einsum("kd,de,ke->k", gap, np.linalg.inv(shrunk), gap)
    return out


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("n_categories", [2, 5])
@pytest.mark.parametrize("position", [0, 3, 8])
def test_distances_behind_the_shrinkage_equal_leaving_out_for_real(monkeypatch, unit, n_categories, position):
    rows, labels = make_problem(15, n_categories=n_categories, n_rows=40)
    rows = np.concatenate([rows, 3 * np.ones((1, 6))])
    labels = np.append(labels, n_categories)  # a category of one row is a rival but is never left out
    calls, original = [], reduce.tempered_cross_entropy

    def record(log_density, own, **options):
        calls.append((log_density.copy(), own.copy()))
        return original(log_density, own, **options)

    monkeypatch.setattr(reduce, "tempered_cross_entropy", record)
    monkeypatch.setattr(reduce, "climb", lambda losses, start, size: position)  # one weight alone is tried
    rng = np.random.default_rng
    moments = reduce._moments(rows, labels, reduce._Settings(None, unit, False), rng(0))
    weight, losses = reduce._choose_shrinkage(rows, labels, moments, unit, rng(5))
    assert weight == reduce.SHRINKAGES[position]
    [(found, own)] = calls
    chosen = rng(5).permutation(40)
    prepared = rows / np.linalg.norm(rows, axis=1, keepdims=True) if unit else rows
    expected = brute_force(prepared, labels, chosen, weight)
    np.testing.assert_array_equal(own, labels[chosen])
    np.testing.assert_allclose(found, expected, rtol=5e-4, atol=5e-4)
    np.testing.assert_allclose(losses, original(expected, own)[0], atol=5e-3)


def test_chosen_shrinkage_is_not_clearly_worse_than_its_neighbours():
    rows, labels = make_problem(16, n_categories=3, n_rows=60)
    weight = fit_reducer(rows, labels, shrinkage="auto", **PLAIN).shrinkage
    position = reduce.SHRINKAGES.index(weight)
    chosen = np.arange(60)

    def losses(i):
        return reduce.tempered_cross_entropy(
            brute_force(rows, labels, chosen, reduce.SHRINKAGES[i]), labels[chosen]
        )[0]

    for neighbour in (position - 1, position + 1):
        if 0 <= neighbour < len(reduce.SHRINKAGES):
            gain = losses(position) - losses(neighbour)
            assert gain.mean() <= 1.1 * gain.std() / np.sqrt(len(gain)) + 1e-4


def test_more_shrinkage_is_chosen_with_fewer_rows():
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(60, 60))
    centres = 3 * rng.normal(size=(3, 60))

    def chosen(n_rows):
        labels = np.arange(n_rows) % 3
        rows = centres[labels] + rng.normal(size=(n_rows, 60)) @ mixing
        return fit_reducer(rows, labels, normalise=False).shrinkage

    assert chosen(4000) < chosen(45)


# Determinism and refusals


def test_same_seed_gives_the_same_bits_and_signs_are_fixed():
    rows, labels = make_problem(17)
    first, second = (fit_reducer(rows, labels, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first.projection, second.projection)
    np.testing.assert_array_equal(first.center, second.center)
    assert first.shrinkage == second.shrinkage
    largest = np.abs(first.projection).argmax(axis=0)
    assert (first.projection[largest, np.arange(6)] > 0).all()


@pytest.mark.parametrize("unit", [False, True])
def test_standardised_rows_have_unit_variance_before_the_projection(unit):
    rows, labels = make_problem(7)
    rows = rows * np.array([1e-3, 1, 10, 100, 1, 5]) + 3
    reducer = fit_reducer(rows, labels, whiten=False, normalise=unit, standardise=True)
    prepared = reduce.unit_length(rows) if unit else rows
    scaled = (prepared - prepared.mean(axis=0)) / prepared.std(axis=0)
    _, _, axes = np.linalg.svd(scaled, full_matrices=False)
    expected = scaled @ axes.T
    reduced = reducer.transform(rows)
    np.testing.assert_allclose(np.abs(reduced), np.abs(expected), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose((reduced**2).sum(), rows.size, rtol=1e-9)
    assert reducer.standardised


def test_standardising_makes_the_units_of_a_dimension_irrelevant():
    rows, labels = make_problem(8)
    scale = np.array([1e-3, 1, 10, 100, 1, 5])
    one, other = (
        fit_reducer(r, labels, whiten=False, normalise=False, standardise=True).transform(r)
        for r in (rows, rows * scale)
    )
    np.testing.assert_allclose(np.abs(one), np.abs(other), rtol=1e-7, atol=1e-9)


def test_a_constant_dimension_stays_out_of_the_way():
    rows, labels = make_problem(9)
    rows[:, 2] = 7.0
    reducer = fit_reducer(rows, labels, whiten=False, normalise=False, standardise=True)
    assert np.isfinite(reducer.projection).all()
    assert reducer.n_components == 5


# Any axes will do


@pytest.mark.parametrize("n_components", [None, 4])
@pytest.mark.parametrize(
    "options",
    [
        {"normalise": True, "shrinkage": 0.1},
        {"normalise": False, "shrinkage": 0.3, "standardise": True},
        {"normalise": False, "shrinkage": 0.0},
        {"normalise": False, "whiten": False},
        {"normalise": False, "whiten": False, "standardise": True},
        {"normalise": True, "whiten": False},
    ],
    ids=str,
)
@pytest.mark.parametrize("unit", [1.0, 2.0**40, 2.0**-40])
def test_a_projection_with_any_axes_has_the_same_distances(options, n_components, unit):
    rows, labels = make_problem(5)
    rows = unit * rows
    reducer = fit_reducer(rows, labels, n_components=n_components, **options)
    other, means = fit_like(reducer, rows, labels)
    expected, found = reducer.transform(rows), other.transform(rows)
    tolerance = 1e-8 * np.abs(expected @ expected.T).max()
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=tolerance)
    for k in range(4):
        scale = np.abs(expected).max()
        np.testing.assert_allclose(means[k], found[labels == k].mean(axis=0), atol=1e-8 * scale)
    assert (other.unit, other.whitened, other.shrinkage) == (
        reducer.unit,
        reducer.whitened,
        reducer.shrinkage,
    )


def test_a_projection_with_any_axes_drops_constant_columns():
    rows, labels = make_problem(8)
    padded = np.insert(rows, [0, 3], 7.0, axis=1)
    reducer = fit_reducer(padded, labels, **PLAIN)
    expected, found = reducer.transform(padded), fit_like(reducer, padded, labels)[0].transform(padded)
    assert found.shape == (120, 6)
    np.testing.assert_allclose(
        found @ found.T, expected @ expected.T, atol=1e-8 * np.abs(expected).max() ** 2
    )


def test_a_matrix_is_regular_only_if_its_least_eigenvalue_is_large_enough():
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))[0]
    matrix = (turn * np.array([1.0, 1.0, 1.0, 1.0, 1e-6])) @ turn.T
    assert reduce._is_regular(matrix, 1e-8)
    assert not reduce._is_regular(matrix, 2e-6)
    assert not reduce._is_regular(matrix - 2e-6 * np.eye(5), 1e-30)  # not positive definite


def test_rows_of_unit_length_that_are_not_kept_give_the_same(monkeypatch):
    rows, labels = make_problem(10)
    kept = fit_reducer(rows, labels, normalise=True)
    monkeypatch.setattr(reduce, "HELD_BYTES", 0)
    made_anew = fit_reducer(rows, labels, normalise=True)
    np.testing.assert_array_equal(kept.projection, made_anew.projection)
    np.testing.assert_array_equal(kept.center, made_anew.center)
