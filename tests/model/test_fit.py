"""What `fit` takes and learns: labels and rows of every kind, options, seeds."""

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.utils.estimator_checks import parametrize_with_checks

from support import assert_answers, blobs, pairwise
from vbcgcd import CategoryDiscoverer, InputError


@parametrize_with_checks(
    [
        CategoryDiscoverer(),
        CategoryDiscoverer(covariance="diagonal", dtype="float64", predictive="student"),
    ],
    expected_failed_checks=lambda estimator: {
        "check_sample_weight_equivalence_on_dense_data": "The calibration leaves a row out with all of its "
        "weight; of a row that is there twice, one copy stays in."
    },
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "names",
    [
        ["dog", "cat", "a longer name"],
        [7, 1000, 30],
        [-5, -1, 3],
        np.array(["x", "yy", "z"]),
        np.array(["x", "yy", "z"], dtype=object),
        np.array([np.str_("x"), np.str_("yy"), np.str_("z")], dtype=object),
        np.array([2, 0, 200], dtype=np.uint8),
        np.array([1.0, 5.0, 2.0]),
        [False, True],
    ],
    ids=["strings", "gaps", "negative", "str_", "object", "object str_", "uint8", "whole floats", "booleans"],
)
def test_labels_come_back_as_they_were_given(names):
    names = np.asarray(names)
    rows, codes = blobs(n_categories=len(names))
    model = CategoryDiscoverer().fit(rows, names[codes])
    predicted = model.predict(rows)
    np.testing.assert_array_equal(predicted, names[codes])
    np.testing.assert_array_equal(model.classes_, np.unique(names))
    kinds = {"O": str, "U": str, "i": np.integer, "u": np.integer, "f": np.floating, "b": np.bool_}
    assert isinstance(predicted[0], kinds[names.dtype.kind])
    assert model.score(rows, names[codes]) == 1


def test_labels_may_be_a_list(digits):
    rows, codes = blobs()
    names = [["dog", "cat", "cow"][k] for k in codes]
    assert CategoryDiscoverer().fit(rows.tolist(), names).predict(rows.tolist()).tolist() == names


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("names", [["dog", "cat", "cow"], [5, -2, 90]], ids=["strings", "integers"])
def test_labels_may_be_a_series(library, names):
    series = pytest.importorskip(library).Series
    rows, codes = blobs()
    labels = [names[k] for k in codes]
    assert CategoryDiscoverer().fit(rows, series(labels)).predict(rows).tolist() == labels


def to_torch(rows):
    return pytest.importorskip("torch").tensor(rows)


def to_frame(library):
    def convert(rows):
        frame = pytest.importorskip(library).DataFrame
        return frame({f"c{j}": rows[:, j] for j in range(rows.shape[1])})

    return convert


@pytest.mark.parametrize(
    "convert",
    [
        np.ndarray.tolist,
        lambda r: r.astype(np.float16),
        lambda r: r.astype(np.float32),
        lambda r: r.astype(int),
        lambda r: r.astype(np.uint8),
        np.asfortranarray,
        lambda r: np.repeat(r, 2, axis=1)[:, ::2],
        lambda r: np.repeat(r, 2, axis=0)[::2],
        lambda r: r[::-1].copy()[::-1],
        to_frame("pandas"),
        to_frame("polars"),
        to_torch,
    ],
    ids=[
        "list",
        "float16",
        "float32",
        "int",
        "uint8",
        "Fortran",
        "strided columns",
        "strided rows",
        "reversed",
        "pandas",
        "polars",
        "torch",
    ],
)
def test_every_kind_of_array_gives_the_same_predictions(digits, fitted_digits, convert):
    # Digits are whole numbers up to 16: every type holds them exactly.
    train, labels, test, _ = digits
    model = CategoryDiscoverer().fit(convert(train), labels)
    np.testing.assert_array_equal(model.predict(convert(test)), fitted_digits.predict(test))
    np.testing.assert_allclose(
        model.predict_proba(convert(test)), fitted_digits.predict_proba(test), atol=2e-3
    )


def test_arguments_are_not_changed():
    rows, labels = blobs()
    copies = rows.copy(), labels.copy()
    model = CategoryDiscoverer().fit(rows, labels)
    for method in (model.predict, model.predict_proba, model.score_samples):
        method(rows)
    np.testing.assert_array_equal(rows, copies[0])
    np.testing.assert_array_equal(labels, copies[1])


def test_rows_may_come_in_any_order(digits, fitted_digits):
    train, labels, test, _ = digits
    order = np.random.default_rng(1).permutation(len(train))
    options = {"normalise": True, "whiten_shrinkage": 0.2, "prior_strength": 150.0, "dtype": "float64"}
    one = CategoryDiscoverer(**options).fit(train, labels)
    other = CategoryDiscoverer(**options).fit(train[order], labels[order])
    np.testing.assert_array_equal(one.predict(test), other.predict(test))
    np.testing.assert_allclose(one.score_samples(test), other.score_samples(test), rtol=1e-6)


def test_rows_are_judged_one_by_one(digits, fitted_digits):
    test = digits[2][:30]
    one_by_one = np.concatenate([fitted_digits.predict_proba(row[None]) for row in test])
    np.testing.assert_allclose(fitted_digits.predict_proba(test), one_by_one, atol=1e-5)


@pytest.mark.parametrize(("rows_as", "dtype"), [("float64", "float32"), ("float32", "float64")])
def test_rows_are_reduced_in_the_longer_precision_of_rows_and_model(rows_as, dtype):
    rng = np.random.default_rng(0)
    rows, labels = (1e3 + rng.normal(size=(60, 8))).astype(rows_as), np.repeat([0, 1, 2], 20)
    model = CategoryDiscoverer(dtype=dtype, normalise=False, count="evidence").fit(rows, labels)
    exact = (rows.astype(np.float64) - model.reducer_.center) @ model.reducer_.projection
    reduced = model.transform(rows)
    assert reduced.dtype == rows_as
    tolerance = 1e-6 if rows_as == "float32" else 1e-11
    np.testing.assert_allclose(reduced, exact, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_digits_are_told_apart_at_least_as_well_as_by_linear_discriminants(digits, dtype):
    train, labels, test, truth = digits
    accuracy = CategoryDiscoverer(dtype=dtype).fit(train, labels).score(test, truth)
    linear = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(train, labels)
    assert accuracy >= linear.score(test, truth) - 0.005
    assert accuracy > 0.93


OPTIONS = pairwise(
    covariance=("full", "lowrank", "diagonal"),
    inference=("exact", "svi"),
    predictive=("plugin", "student"),
    metric=("mahalanobis", "euclidean"),
    whiten=(True, False),
    log_determinant=(True, False),
    dtype=("float32", "float64"),
)


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: "-".join(map(str, o.values())))
def test_options_work_together(digits, options):
    train, labels, test, truth = digits
    model = CategoryDiscoverer(n_components=8, **options).fit(train[:300], labels[:300])
    assert model.score(test[:200], truth[:200]) > 0.3
    assert_answers(model, test[:50])


@pytest.mark.parametrize("normalise", [True, False, "auto"])
@pytest.mark.parametrize("metric", ["mahalanobis", "euclidean"])
def test_plain_principal_components_still_tell_digits_apart(digits, normalise, metric):
    train, labels, test, truth = digits
    model = CategoryDiscoverer(whiten=False, normalise=normalise, metric=metric).fit(train, labels)
    assert model.score(test, truth) > 0.85  # the nearest mean of plain rows reaches 0.9


@pytest.mark.parametrize(
    "options",
    [
        {"log_determinant": False},
        {"prior_strength": 200.0},
        {"prior_strength": "evidence"},
        {"mean_precision_prior": 1.0},
        {"whiten_shrinkage": 0.0},
        {"whiten_shrinkage": 1.0},
        {"normalise": True},
        {"normalise": False},
        {"n_components": 15},
        {"n_components": None},
        {"random_state": None},
    ],
    ids=str,
)
def test_other_options_keep_the_digits_apart(digits, options):
    train, labels, test, truth = digits
    assert CategoryDiscoverer(**options).fit(train, labels).score(test, truth) > 0.93


@pytest.mark.parametrize("covariance", ["full", "lowrank", "diagonal"])
def test_svi_is_close_to_exact(digits, covariance):
    train, labels, test, _ = digits
    exact, svi = (
        CategoryDiscoverer(covariance=covariance, inference=i, n_components=12).fit(train, labels)
        for i in ("exact", "svi")
    )
    assert (exact.predict(test) == svi.predict(test)).mean() > 0.98
    np.testing.assert_allclose(svi.posterior_.mean, exact.posterior_.mean, atol=0.2)
    np.testing.assert_allclose(svi.score_samples(test), exact.score_samples(test), rtol=0.05, atol=0.5)


@pytest.mark.parametrize("options", [{}, {"inference": "svi"}, {"covariance": "diagonal"}], ids=str)
def test_same_seed_gives_the_same_bits(digits, options):
    train, labels, test, _ = digits
    one, other = (
        CategoryDiscoverer(n_components=20, random_state=3, **options).fit(train, labels) for _ in range(2)
    )
    for name in ("mean", "kappa", "nu", "factor"):
        np.testing.assert_array_equal(getattr(one.posterior_, name), getattr(other.posterior_, name))
    np.testing.assert_array_equal(one.reducer_.projection, other.reducer_.projection)
    np.testing.assert_array_equal(one.reducer_.center, other.reducer_.center)
    assert one.prior_ == other.prior_
    assert one.temperature_ == other.temperature_
    np.testing.assert_array_equal(one.predict_proba(test), other.predict_proba(test))
    np.testing.assert_array_equal(one.predict(test), other.predict(test))


def test_fitting_again_forgets_the_first_fit(digits):
    rows, labels = blobs(dim=4, n_categories=2)
    again = CategoryDiscoverer().fit(*blobs(1, dim=7, n_categories=5)).fit(rows, labels)
    fresh = CategoryDiscoverer().fit(rows, labels)
    np.testing.assert_array_equal(again.predict_proba(rows), fresh.predict_proba(rows))


def test_statistics_too_large_to_hold_give_the_same_model(digits, monkeypatch):
    train, labels, test, _ = digits
    held = CategoryDiscoverer(n_components=20).fit(train, labels)
    monkeypatch.setattr("vbcgcd.discovery.base.HELD_BYTES", 0)
    monkeypatch.setattr("vbcgcd.discovery.base.BLOCK_ROWS", 150)
    streamed = CategoryDiscoverer(n_components=20).fit(train, labels)
    assert streamed.prior_ == held.prior_
    np.testing.assert_allclose(streamed.posterior_.factor, held.posterior_.factor, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(streamed.predict(test), held.predict(test))


@pytest.mark.parametrize("covariance", ["full", "lowrank", "diagonal"])
def test_more_categories_than_the_prior_is_calibrated_on(covariance):
    rows, labels = blobs(n_categories=50, each=6, dim=8)
    model = CategoryDiscoverer(covariance=covariance).fit(rows, labels)
    assert model.score(rows, labels) > 0.95


class Extended(CategoryDiscoverer):
    """A subclass with a parameter of its own and few of ours."""

    def __init__(self, extra=3, *, covariance="full"):
        super().__init__(covariance=covariance, count="evidence")
        self.extra = extra


def test_subclasses_have_parameters_of_their_own(small, tmp_path):
    model = Extended(extra=5).fit(small.rows, small.labels)
    assert model.options.count == "evidence"
    assert model.discover(small.batch, n_novel=2).rows == len(small.batch)
    model.save(tmp_path / "model")
    assert Extended.load(tmp_path / "model").extra == 5


@pytest.mark.parametrize(
    "options",
    [
        {"mean_precision_prior": np.float32(0.5)},
        {"log_determinant": np.True_, "standardise": np.True_},
        {"n_components": np.int64(8)},
    ],
    ids=str,
)
def test_options_of_numpy_types_are_saved(small, tmp_path, options):
    model = CategoryDiscoverer(**options, count="evidence").fit(small.rows, small.labels)
    model.save(tmp_path / "model")
    again = CategoryDiscoverer.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(small.batch), model.predict(small.batch))


def test_labels_too_large_to_go_on_are_refused_before_the_work(small):
    model = CategoryDiscoverer(count="evidence").fit(small.rows, small.labels * 1e16)
    with pytest.raises(InputError, match="too large"):
        model.discover(small.batch, n_novel=2)
    assert len(model.classes_) == len(model.posterior_) == 6


def test_a_category_without_rows_is_not_made(small, fitted):
    record = fitted.discover(small.batch, n_novel=70)
    assert all(record.counts.get(category, 0) > 0 for category in record.novel)
