"""Values from the smallest to the largest: the same answers, or one clear error; never NaN."""

import numpy as np
import pytest

from support import assert_answers, blobs
from vbcgcd import CategoryDiscoverer, InputError
from vbcgcd.errors import NumericalError

ROWS, LABELS = blobs(each=12)
EVEN = LABELS < 2


@pytest.mark.parametrize(
    ("power", "dtype"),
    [
        (64, "float32"),
        (120, "float32"),
        (-100, "float32"),
        (64, "float64"),
        (900, "float64"),
        (-880, "float64"),
    ],
)
@pytest.mark.parametrize(
    "options", [{}, {"whiten": False, "standardise": True}], ids=["whitened", "standardised"]
)
def test_the_unit_of_measurement_changes_no_bit(power, dtype, options):
    rows = ROWS.astype(dtype)
    far = np.ldexp(rows, power)
    usual, model = (CategoryDiscoverer(**options).fit(x[EVEN], LABELS[EVEN]) for x in (rows, far))
    for name in ("predict", "predict_proba", "novelty", "score_samples"):
        np.testing.assert_array_equal(getattr(model, name)(far), getattr(usual, name)(rows))
    have, want = model.discover(far, n_novel=1), usual.discover(rows, n_novel=1)
    np.testing.assert_array_equal(have.labels_, want.labels_)
    np.testing.assert_array_equal(have.probabilities_, want.probabilities_)


def test_directions_of_any_length():
    model = CategoryDiscoverer(normalise=True).fit(ROWS, LABELS)
    lengths = 10.0 ** np.linspace(-300, 300, len(ROWS))[:, None]
    np.testing.assert_array_equal(model.predict(ROWS * lengths), LABELS)
    assert_answers(model, ROWS * lengths)


@pytest.mark.parametrize("value", [1e19, 1e25, 1e200, -1e308])
@pytest.mark.parametrize("call", ["predict", "predict_proba", "novelty", "score_samples", "discover"])
def test_a_row_that_is_too_far_out_is_named(call, value):
    model = CategoryDiscoverer(normalise=False).fit(ROWS, LABELS)
    rows = ROWS.copy()
    rows[17, 3] = value
    with pytest.raises(InputError, match=r"Row 17 of X .* in column 3") as caught:
        getattr(model, call)(rows)
    assert f"{value:.4g}" in str(caught.value)
    assert len(model.classes_) == 3


def test_learning_a_row_that_is_too_far_out_changes_nothing():
    model = CategoryDiscoverer(normalise=False).fit(ROWS, LABELS)
    before = model.posterior_
    with pytest.raises(InputError, match="Row 1 of X"):
        model.partial_fit([[0.0] * 5, [1e30] * 5], [0, 9])
    assert model.posterior_ is before


@pytest.mark.parametrize("geometry", ["direction", "distance"])
@pytest.mark.parametrize("reach", [1e3, 1e6, 1e9])
def test_far_rows_within_reach_are_novel_and_can_be_learned(reach, geometry):
    model = CategoryDiscoverer(normalise=False, geometry=geometry).fit(ROWS, LABELS)
    far = ROWS[:12] - reach
    assert_answers(model, far)
    assert (model.predict(far, reject=0.05) == -1).all() or geometry == "direction"
    model.partial_fit(far, np.full(12, 7))
    assert (model.predict(far) == 7).all()
    record = model.discover(ROWS + reach, sample_weight=np.full(len(ROWS), 1e9))
    assert np.isfinite(record.probabilities_).all()
    assert record.probabilities_.sum(axis=1).max() <= 1 + 1e-4


@pytest.mark.parametrize(("scale", "message"), [(1e16, r"1e\+15.*Scale"), (1e-20, r"1e-15.*Scale")])
def test_principal_components_keep_the_unit_so_extremes_are_refused(scale, message):
    with pytest.raises(InputError, match=message):
        CategoryDiscoverer(whiten=False, normalise=False).fit(scale * ROWS, LABELS)


def test_values_near_the_largest_number_are_refused():
    rows = ROWS.copy()
    rows[4, 2] = 1.7e308
    with pytest.raises(InputError, match=r"1\.7e\+308 in row 4, column 2"):
        CategoryDiscoverer().fit(rows, LABELS)


@pytest.mark.parametrize("offset", [0.0, 1e12])
def test_columns_of_all_magnitudes(offset):
    rows = ROWS * 10.0 ** np.array([12, -12, 0, -300, 6]) + offset
    for options in ({}, {"standardise": True}, {"whiten": False, "normalise": False}):
        model = CategoryDiscoverer(**options).fit(rows, LABELS)
        assert_answers(model, rows)


@pytest.mark.parametrize("count", ["rehearsal", "evidence"])
def test_one_absurd_labelled_row_does_not_break_the_calibration(count):
    rows, labels = blobs(2, n_categories=6, dim=4, each=8)
    rows[5] = 1e30
    model = CategoryDiscoverer(count=count, normalise=False).fit(rows, labels)
    assert_answers(model, rows)
    assert np.isfinite(model.discover(rows).probabilities_).all()


def test_rows_that_are_equal_within_their_categories():
    rows = np.repeat(np.eye(3), 8, axis=0)
    model = CategoryDiscoverer(cluster="kmeans", count="silhouette").fit(rows, np.repeat([0, 1, 2], 8))
    assert_answers(model, rows)
    model.discover(np.repeat(rows[:1], 6, axis=0), n_novel=2)
    model.discover(rows + np.array([3.0, 0.0, 0.0]))


@pytest.mark.parametrize("weight", [1e-300, 1e300, 1e-10, 1e10])
def test_weights_beyond_any_number_of_rows_are_refused(weight):
    model = CategoryDiscoverer().fit(ROWS, LABELS)
    with pytest.raises(InputError, match=r"sample_weight .*in row 5"):
        model.discover(ROWS, sample_weight=np.where(np.arange(len(ROWS)) == 5, weight, 1.0))
    assert model.n_sessions_ == 0


@pytest.mark.parametrize("weight", [1e-9, 1e-5, 1e5, 1e9])
@pytest.mark.parametrize("n_novel", [1, None])
def test_all_other_weights_are_computed_with(weight, n_novel):
    model = CategoryDiscoverer().fit(ROWS[EVEN], LABELS[EVEN])
    record = model.discover(ROWS, n_novel=n_novel, sample_weight=np.full(len(ROWS), weight))
    assert np.isfinite(record.probabilities_).all()
    assert_answers(model, ROWS)


@pytest.mark.parametrize("value", [{}, None, 10**400], ids=repr)
def test_objects_that_are_no_numbers_are_refused(value):
    rows = ROWS.astype(object)
    rows[3, 1] = value
    with pytest.raises(InputError):
        CategoryDiscoverer().fit(rows, LABELS)


def test_a_result_that_is_no_number_is_an_error(monkeypatch):
    model = CategoryDiscoverer().fit(ROWS, LABELS)
    for place, result in {
        "vbcgcd.discovery.geometry.Novelty.score": np.full(len(ROWS), np.nan),
        "vbcgcd.bayes.classifier.Classifier._score": np.full((len(ROWS), 3), np.nan),
    }.items():
        with monkeypatch.context() as patch:
            patch.setattr(place, lambda *arguments, result=result: result)
            for call in ("novelty",) if "Novelty" in place else ("predict", "predict_proba", "score_samples"):
                with pytest.raises(NumericalError, match="NaN or infinity"):
                    getattr(model, call)(ROWS)
            with pytest.raises(NumericalError, match="NaN or infinity"):
                model.discover(ROWS)
            if "Novelty" in place:
                with pytest.raises(NumericalError, match="NaN or infinity"):
                    model.predict(ROWS, reject=0.05)
    assert model.n_sessions_ == 0
