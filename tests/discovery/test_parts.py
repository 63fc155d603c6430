from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vbcgcd import CategoryDiscoverer
from vbcgcd.bayes import Statistics, posterior_of, statistics_by_label
from vbcgcd.discovery.parts import find_parts, part_weights, share_out
from vbcgcd.errors import InputError


def knowledge_of(rng, covariance="full", n_categories=10, dim=12):
    means = 4 * rng.normal(size=(n_categories + 3, dim))
    labels = np.repeat(np.arange(n_categories), 30)
    rows = means[labels] + rng.normal(size=(len(labels), dim))
    model = CategoryDiscoverer(covariance=covariance, dtype="float64").fit(rows, labels)
    return model.knowledge_, means


def drawn(rng, means, kinds):
    return means[kinds] + rng.normal(size=(len(kinds), means.shape[1]))


@pytest.mark.parametrize(("n_kinds", "sizes"), [(2, [25, 20]), (3, [25, 20, 18])])
def test_parts_that_are_there_are_found_and_counted(n_kinds, sizes):
    rng = np.random.default_rng(0)
    known, means = knowledge_of(rng)
    kinds = np.repeat(10 + np.arange(n_kinds), sizes)
    codes = find_parts(known.reduced(drawn(rng, means, kinds)), known, None, np.random.default_rng(0))
    np.testing.assert_array_equal(codes, kinds - 10)  # the largest first
    given_number = find_parts(
        known.reduced(drawn(rng, means, kinds)), known, n_kinds, np.random.default_rng(0)
    )
    np.testing.assert_array_equal(given_number, kinds - 10)


def test_one_category_has_no_parts_unless_a_number_is_given():
    rng = np.random.default_rng(1)
    known, means = knowledge_of(rng)
    rows = known.reduced(drawn(rng, means, np.full(40, 11)))
    assert find_parts(rows, known, None, np.random.default_rng(0)) is None
    codes = find_parts(rows, known, 2, np.random.default_rng(0))
    assert sorted(np.unique(codes)) == [0, 1]
    assert (codes == 0).sum() >= (codes == 1).sum()


def test_the_number_is_judged_beside_others_only():
    rng = np.random.default_rng(2)
    known, means = knowledge_of(rng)
    rows = known.reduced(drawn(rng, means, np.repeat([10, 11], 20)))
    alone = replace(known, posterior=known.posterior.take([]), reliability=None)
    with pytest.raises(InputError, match="give the number") as caught:
        find_parts(rows, alone, None, np.random.default_rng(0))
    assert caught.value.option == "n_parts"
    codes = find_parts(rows, alone, 2, np.random.default_rng(0))
    assert len(np.unique(codes[:20])) == len(np.unique(codes[20:])) == 1
    with pytest.raises(InputError, match="Too few distinct"):
        find_parts(np.repeat(rows[:1], 9, axis=0), known, 2, np.random.default_rng(0))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["full", "lowrank", "diagonal"]), st.integers(2, 4))
def test_what_is_shared_adds_up_to_what_there_was(seed, covariance, n_parts):
    rng = np.random.default_rng(seed)
    known, means = knowledge_of(rng, covariance, n_categories=3, dim=4)
    rows = known.reduced(drawn(rng, means, 3 + rng.integers(0, 3, 60)))
    codes = np.concatenate([np.arange(n_parts), rng.integers(0, n_parts, 60 - n_parts)])
    parts = statistics_by_label(rows, codes, n_parts, structure=covariance)
    gone = known.reduced(drawn(rng, means, 3 + rng.integers(0, 3, rng.integers(1, 30))))
    weight = rng.uniform(0.1, 1, len(gone))
    rest = statistics_by_label(gone, np.zeros(len(gone), dtype=int), 1, weight=weight, structure=covariance)
    total = share_out(rest, parts, known, rng).merged()
    np.testing.assert_allclose(total.count, rest.count, rtol=1e-12)
    np.testing.assert_allclose(total.mean, rest.mean, atol=1e-9)
    np.testing.assert_allclose(total.scatter, rest.scatter, atol=1e-9 * max(np.abs(rest.scatter).max(), 1))


def test_each_part_gets_the_side_that_it_is_on():
    rng = np.random.default_rng(3)
    known, means = knowledge_of(rng)
    rows = known.reduced(drawn(rng, means, np.repeat([10, 11], 30)))
    parts = statistics_by_label(rows, np.repeat([0, 1], 30), 2)
    rest = statistics_by_label(
        known.reduced(drawn(rng, means, np.repeat([10, 11], [40, 20]))), np.zeros(60, dtype=int), 1
    )
    shared = share_out(rest, parts, known, rng)
    near = np.linalg.norm(shared.mean[:, None] - parts.mean[None], axis=2)
    assert (near.argmin(axis=1) == [0, 1]).all()
    assert shared.count[0] > shared.count[1]
    nothing = share_out(Statistics.empty(1, rest.dim), parts, known, rng)
    assert nothing.count.tolist() == [0.0, 0.0]


def test_weights_are_tempered_densities():
    rng = np.random.default_rng(4)
    known, means = knowledge_of(rng)
    rows = known.reduced(drawn(rng, means, np.repeat([10, 11], [30, 10])))
    parts = statistics_by_label(rows, np.repeat([0, 1], [30, 10]), 2)
    weight = part_weights(rows, parts, known)
    np.testing.assert_allclose(weight.sum(axis=1), 1)
    density = known.classifier.log_density(rows, posterior_of(known.prior, parts))
    odds = known.temperature * (density[:, 0] - density[:, 1]) + np.log(3)
    np.testing.assert_allclose(weight[:, 1], 1 / (1 + np.exp(odds)), atol=1e-9)
