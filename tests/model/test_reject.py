"""`predict` with ``reject``: none of these."""

import numpy as np
import pytest

from support import NAMES, fit
from vbcgcd import CategoryDiscoverer, InputError


def test_one_known_row_in_twenty_is_refused_and_most_others(digit_problem):
    batch, truth = digit_problem.batch, digit_problem.truth
    model = fit(digit_problem)
    known = batch[truth < 6]
    refused = model.predict(known, reject=0.05) == -1
    assert np.mean(refused) == pytest.approx(0.05, abs=0.035)
    np.testing.assert_array_equal(model.predict(known, reject=0.05)[~refused], model.predict(known)[~refused])
    noise = np.random.default_rng(0).uniform(0, 16, size=(300, 64))
    assert np.mean(model.predict(noise, reject=0.05) == -1) > 0.8
    assert np.mean(model.predict(batch[truth >= 6], reject=0.05) == -1) > 0.5


def test_refusals_grow_with_the_threshold(small, fitted):
    shares = [np.mean(fitted.predict(small.batch, reject=a) == -1) for a in (0.001, 0.05, 0.2, 0.8)]
    assert shares == sorted(shares)
    assert shares[0] < shares[-1]


def test_names_are_refused_by_a_name(small):
    model = CategoryDiscoverer().fit(small.rows, NAMES[small.labels])
    found = model.predict(small.batch, reject=0.2)
    assert "none of these" in found
    assert set(found) <= {*NAMES, "none of these"}
    assert "?" in model.predict(small.batch, reject=0.2, reject_label="?")


def test_the_refusal_can_be_named(small, fitted):
    default, named = (
        fitted.predict(small.batch, reject=0.2),
        fitted.predict(small.batch, reject=0.2, reject_label=99),
    )
    np.testing.assert_array_equal(np.where(default == -1, 99, default), named)
    unsigned = CategoryDiscoverer().fit(small.rows, small.labels.astype(np.uint8))
    np.testing.assert_array_equal(unsigned.predict(small.batch, reject=0.2), default)


def test_a_name_for_refused_numbers_leaves_the_numbers(small, fitted):
    found = fitted.predict(small.batch, reject=0.2, reject_label="unknown").tolist()
    plain = fitted.predict(small.batch).tolist()
    assert all(a in (b, "unknown") for a, b in zip(found, plain, strict=True))


def test_minus_one_among_the_labels_needs_another_refusal(small):
    model = CategoryDiscoverer().fit(small.rows, small.labels - 1)
    with pytest.raises(InputError, match=r"-1.*reject_label"):
        model.predict(small.batch, reject=0.1)
    assert 7 in model.predict(small.batch, reject=0.1, reject_label=7)
    assert len(model.predict(small.batch)) == len(small.batch)


@pytest.mark.parametrize("reject", [1, -0.1, 2, np.nan, "a", [0.1], True], ids=repr)
def test_impossible_thresholds_are_refused(small, fitted, reject):
    with pytest.raises(InputError) as caught:
        fitted.predict(small.batch, reject=reject)
    assert caught.value.option == "reject"


def test_a_threshold_of_zero_refuses_nothing(small, fitted):
    np.testing.assert_array_equal(fitted.predict(small.batch, reject=0), fitted.predict(small.batch))
