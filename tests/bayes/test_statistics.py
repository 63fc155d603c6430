import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vbcgcd.bayes import Statistics, statistics_by_label, statistics_by_responsibility
from vbcgcd.bayes.statistics import iter_label_statistics
from vbcgcd.errors import InputError

STRUCTURES = ["full", "diagonal"]
SEEDS = st.integers(0, 2**32 - 1)
quick = settings(max_examples=40, deadline=None)


def naive(rows, labels, n_categories, structure, weight=None):
    """Count, sum and scatter of each category, row by row, in the packed form of the structure."""
    dim = rows.shape[1]
    weight = np.ones(len(rows)) if weight is None else weight
    count, total, scatter = np.zeros(n_categories), np.zeros((n_categories, dim)), []
    for k in range(n_categories):
        for w, row, label in zip(weight, rows, labels, strict=True):
            if label == k:
                count[k] += w
                total[k] += w * row
        middle = total[k] / count[k] if count[k] else np.zeros(dim)
        matrix = np.zeros((dim, dim))
        for w, row, label in zip(weight, rows, labels, strict=True):
            if label == k:
                matrix += w * np.outer(row - middle, row - middle)
        scatter.append(np.diag(matrix) if structure == "diagonal" else matrix[np.tril_indices(dim)])
    return count, total, np.array(scatter)


def assert_same(actual, expected, tolerance=1e-9):
    assert actual.structure == expected.structure
    np.testing.assert_allclose(actual.count, expected.count, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(actual.total, expected.total, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(actual.scatter, expected.scatter, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("weighted", [False, True])
def test_statistics_match_a_naive_loop(make_problem, structure, weighted):
    rows, labels = make_problem(0)
    weight = np.random.default_rng(1).uniform(size=len(rows)) if weighted else None
    found = statistics_by_label(rows, labels, 3, weight=weight, structure=structure)
    count, total, scatter = naive(rows, labels, 3, structure, weight)
    np.testing.assert_allclose(found.count, count, rtol=1e-12)
    np.testing.assert_allclose(found.total, total, rtol=1e-10)
    np.testing.assert_allclose(found.scatter, scatter, rtol=1e-9, atol=1e-10)


def test_outer_is_the_sum_of_outer_products(make_problem):
    rows, labels = make_problem(2)
    found = statistics_by_label(rows, labels, 3).outer
    for k in range(3):
        expected = sum(np.outer(z, z) for z in rows[labels == k])
        np.testing.assert_allclose(found[k], expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_diagonal_is_the_sum_of_squares_about_the_mean(make_problem, structure):
    rows, labels = make_problem(2)
    found = statistics_by_label(rows, labels, 3, structure=structure).diagonal
    expected = [len(rows[labels == k]) * rows[labels == k].var(axis=0) for k in range(3)]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10)


def test_outer_is_refused_where_it_is_not_kept(make_problem):
    rows, labels = make_problem(2)
    with pytest.raises(InputError, match="'diagonal'"):
        _ = statistics_by_label(rows, labels, 3, structure="diagonal").outer


@quick
@given(seed=SEEDS, structure=st.sampled_from(STRUCTURES), cut=st.integers(0, 60))
def test_statistics_of_two_halves_add_up(make_problem, seed, structure, cut):
    rows, labels = make_problem(seed)
    first = statistics_by_label(rows[:cut], labels[:cut], 3, structure=structure)
    second = statistics_by_label(rows[cut:], labels[cut:], 3, structure=structure)
    count, total, scatter = naive(rows, labels, 3, structure)
    for both in (first + second, second + first):
        np.testing.assert_allclose(both.count, count)
        np.testing.assert_allclose(both.total, total, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(both.scatter, scatter, rtol=1e-9, atol=1e-9)


@quick
@given(seed=SEEDS, structure=st.sampled_from(STRUCTURES), cut=st.integers(0, 60))
def test_subtraction_undoes_addition(make_problem, seed, structure, cut):
    rows, labels = make_problem(seed)
    everything = statistics_by_label(rows, labels, 3, structure=structure)
    second = statistics_by_label(rows[cut:], labels[cut:], 3, structure=structure)
    count, total, scatter = naive(rows[:cut], labels[:cut], 3, structure)
    left = everything - second
    np.testing.assert_array_equal(left.count, count)
    np.testing.assert_allclose(left.total, total, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(left.scatter, scatter, rtol=1e-8, atol=1e-8)


def test_subtracting_more_than_there_is_raises(make_problem):
    rows, labels = make_problem(3)
    everything = statistics_by_label(rows, labels, 3)
    with pytest.raises(InputError, match="subtract"):
        _ = everything - everything * 2.0


def test_statistics_of_different_structures_do_not_add(make_problem):
    rows, labels = make_problem(3)
    with pytest.raises(InputError, match=r"full.*diagonal"):
        _ = statistics_by_label(rows, labels, 3) + statistics_by_label(rows, labels, 3, structure="diagonal")


@quick
@given(seed=SEEDS, structure=st.sampled_from(STRUCTURES), factor=st.floats(0.01, 100))
def test_a_multiple_counts_each_row_with_that_weight(make_problem, seed, structure, factor):
    rows, labels = make_problem(seed)
    scaled = factor * statistics_by_label(rows, labels, 3, structure=structure)
    count, total, scatter = naive(rows, labels, 3, structure, np.full(len(rows), factor))
    np.testing.assert_allclose(scaled.count, count, rtol=1e-10)
    np.testing.assert_allclose(scaled.total, total, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(scaled.scatter, scatter, rtol=1e-9, atol=1e-8)


def test_each_category_can_have_its_own_multiple(make_problem):
    rows, labels = make_problem(4)
    factors = np.array([0.5, 2.0, 3.0])
    expected = statistics_by_label(rows, labels, 3, weight=factors[labels])
    assert_same(statistics_by_label(rows, labels, 3) * factors, expected)


@quick
@given(seed=SEEDS, structure=st.sampled_from(STRUCTURES))
def test_merging_pours_all_rows_into_one_category(make_problem, seed, structure):
    rows, labels = make_problem(seed)
    merged = statistics_by_label(rows, labels, 3, structure=structure).merged()
    count, total, scatter = naive(rows, np.zeros_like(labels), 1, structure)
    np.testing.assert_allclose(merged.count, count)
    np.testing.assert_allclose(merged.total, total, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(merged.scatter, scatter, rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("chunk_rows", [1, 7, 60, 1000])
def test_chunk_size_does_not_matter(make_problem, structure, chunk_rows):
    rows, labels = make_problem(5)
    weight = np.random.default_rng(0).uniform(size=len(rows))
    count, total, scatter = naive(rows, labels, 3, structure, weight)
    responsibility = np.eye(3)[labels] * weight[:, None]
    for found in (
        statistics_by_label(rows, labels, 3, weight=weight, structure=structure, chunk_rows=chunk_rows),
        statistics_by_responsibility(rows, responsibility, structure=structure, chunk_rows=chunk_rows),
    ):
        np.testing.assert_allclose(found.count, count, rtol=1e-12)
        np.testing.assert_allclose(found.total, total, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(found.scatter, scatter, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_one_hot_responsibilities_are_labels(make_problem, structure):
    rows, labels = make_problem(6)
    soft = statistics_by_responsibility(rows, np.eye(3)[labels], structure=structure)
    assert_same(soft, statistics_by_label(rows, labels, 3, structure=structure))


def test_soft_responsibilities_match_a_naive_loop(make_problem):
    rows, _ = make_problem(6)
    responsibility = np.random.default_rng(0).dirichlet(np.ones(3), size=len(rows))
    found = statistics_by_responsibility(rows, responsibility)
    for k in range(3):
        weight = responsibility[:, k]
        outer = sum(w * np.outer(z, z) for w, z in zip(weight, rows, strict=True))
        np.testing.assert_allclose(found.count[k], weight.sum())
        np.testing.assert_allclose(found.total[k], weight @ rows, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(found.outer[k], outer, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_weight_two_is_a_duplicated_row(make_problem, structure):
    rows, labels = make_problem(7)
    weight = np.where(np.arange(len(rows)) % 2, 2, 1)
    weighted = statistics_by_label(rows, labels, 3, weight=weight, structure=structure)
    doubled = statistics_by_label(
        np.repeat(rows, weight, axis=0), np.repeat(labels, weight), 3, structure=structure
    )
    assert_same(weighted, doubled)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_rows_with_negative_labels_are_left_out(make_problem, structure):
    rows, labels = make_problem(8)
    out = np.arange(len(rows)) % 3 == 0
    weight = np.random.default_rng(0).uniform(size=len(rows))
    some = statistics_by_label(rows, np.where(out, -1, labels), 3, weight=weight, structure=structure)
    count, total, scatter = naive(rows[~out], labels[~out], 3, structure, weight[~out])
    np.testing.assert_allclose(some.count, count)
    np.testing.assert_allclose(some.total, total, rtol=1e-10)
    np.testing.assert_allclose(some.scatter, scatter, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_a_category_without_rows_is_zero_and_neutral(make_problem, structure):
    rows, labels = make_problem(9)
    found = statistics_by_label(rows, labels, 4, structure=structure)
    assert found.count[3] == 0
    assert not found.mean[3].any()
    assert_same(found + Statistics.empty(4, rows.shape[1], structure), found)
    assert_same(Statistics.empty(4, rows.shape[1], structure) + found, found)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("chunk_rows", [16, 8192])
def test_a_category_far_from_the_origin_keeps_its_scatter(make_problem, structure, chunk_rows):
    rows, labels = make_problem(10, n_rows=200)
    far = rows + 1e6
    near_again = far - 1e6  # the rows as float64 can hold them out there
    found = statistics_by_label(far, labels, 3, structure=structure, chunk_rows=chunk_rows)
    _, _, scatter = naive(near_again, labels, 3, structure)
    np.testing.assert_allclose(found.scatter, scatter, rtol=1e-6, atol=1e-6)


def test_iteration_and_concatenation_give_all_categories(make_problem):
    rows, labels = make_problem(11)
    parts = dict(iter_label_statistics(rows, labels, 3))
    count, total, scatter = naive(rows, labels, 3, "full")
    assert sorted(parts) == [0, 1, 2]
    joined = Statistics.concatenate([parts[2], parts[0]])
    np.testing.assert_allclose(joined.count, count[[2, 0]])
    np.testing.assert_allclose(joined.total, total[[2, 0]], rtol=1e-10)
    np.testing.assert_allclose(joined.take([1]).scatter, scatter[[0]], rtol=1e-9, atol=1e-10)


def test_inputs_are_not_overwritten(make_problem):
    rows, labels = make_problem(12)
    copy, weight = rows.copy(), np.ones(len(rows))
    statistics_by_label(rows, labels, 3, weight=weight)
    statistics_by_responsibility(rows, np.full((len(rows), 2), 0.5))
    np.testing.assert_array_equal(rows, copy)


def test_float32_rows_are_summed_in_float64(make_problem):
    rows, labels = make_problem(13)
    single = (rows + 100).astype(np.float32)
    found = statistics_by_label(single, labels, 3)
    _, total, scatter = naive(single.astype(float), labels, 3, "full")
    np.testing.assert_allclose(found.total, total, rtol=1e-12)
    np.testing.assert_allclose(found.scatter, scatter, rtol=1e-9, atol=1e-9)
