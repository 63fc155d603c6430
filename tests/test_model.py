import itertools
import re

import numpy as np
import pytest
from scipy import special, stats
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.utils.estimator_checks import parametrize_with_checks

from vbcgcd import CategoryDiscoverer, InputError, NotFittedError

COVARIANCES = ["full", "diagonal"]


@parametrize_with_checks(
    [
        CategoryDiscoverer(),
        CategoryDiscoverer(dtype="float64"),
        CategoryDiscoverer(covariance="diagonal"),
    ]
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def digits():
    """Training rows and labels, held-out rows and labels."""
    rows, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(rows))
    first, second = order[: len(order) // 2], order[len(order) // 2 :]
    return rows[first], labels[first], rows[second], labels[second]


@pytest.fixture(scope="module")
def fitted(digits):
    return CategoryDiscoverer().fit(*digits[:2])


def blobs(seed=0, n_categories=3, dim=5, each=10, separation=6.0):
    """Well separated categories: rows and labels 0 to K - 1."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(n_categories), each)
    centres = separation * rng.normal(size=(n_categories, dim))
    return centres[labels] + rng.normal(size=(len(labels), dim)), labels


def assert_sound(model, rows):
    """Everything the model says about the rows is finite and consistent."""
    probability = model.predict_proba(rows)
    assert probability.shape == (len(rows), len(model.classes_))
    assert np.isfinite(probability).all()
    np.testing.assert_allclose(probability.sum(axis=1), 1, rtol=1e-9)
    assert np.isfinite(model.score_samples(rows)).all()
    assert np.isin(model.predict(rows), model.classes_).all()


# Labels and inputs of every kind


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
def test_every_kind_of_array_gives_the_same_predictions(digits, fitted, convert):
    # Digits are whole numbers up to 16: every type holds them exactly.
    train, labels, test, _ = digits
    model = CategoryDiscoverer().fit(convert(train), labels)
    np.testing.assert_array_equal(model.predict(convert(test)), fitted.predict(test))
    np.testing.assert_allclose(model.predict_proba(convert(test)), fitted.predict_proba(test), atol=2e-3)


def test_arguments_are_not_changed():
    rows, labels = blobs()
    copies = rows.copy(), labels.copy()
    model = CategoryDiscoverer().fit(rows, labels)
    for method in (model.predict, model.predict_proba, model.score_samples):
        method(rows)
    np.testing.assert_array_equal(rows, copies[0])
    np.testing.assert_array_equal(labels, copies[1])


def test_rows_may_come_in_any_order(digits, fitted):
    train, labels, test, _ = digits
    order = np.random.default_rng(1).permutation(len(train))
    options = {"normalise": True, "whiten_shrinkage": 0.2, "prior_strength": 150.0, "dtype": "float64"}
    one = CategoryDiscoverer(**options).fit(train, labels)
    other = CategoryDiscoverer(**options).fit(train[order], labels[order])
    np.testing.assert_array_equal(one.predict(test), other.predict(test))
    np.testing.assert_allclose(one.score_samples(test), other.score_samples(test), rtol=1e-6)


def test_rows_are_judged_one_by_one(digits, fitted):
    test = digits[2][:30]
    one_by_one = np.concatenate([fitted.predict_proba(row[None]) for row in test])
    np.testing.assert_allclose(fitted.predict_proba(test), one_by_one, atol=1e-5)


# Probabilities and densities


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("predictive", ["plugin", "student"])
@pytest.mark.parametrize("n_components", [8, None])
def test_probabilities_sum_to_one_and_agree_with_predictions(digits, covariance, predictive, n_components):
    train, labels, test, _ = digits
    model = CategoryDiscoverer(covariance=covariance, predictive=predictive, n_components=n_components)
    model.fit(train, labels)
    probability, logarithm = model.predict_proba(test), model.predict_log_proba(test)
    np.testing.assert_allclose(probability.sum(axis=1), 1, rtol=1e-9)
    np.testing.assert_allclose(special.logsumexp(logarithm, axis=1), 0, atol=1e-9)
    np.testing.assert_allclose(np.exp(logarithm), probability, rtol=1e-12)
    assert (probability >= 0).all()
    predicted = model.predict(test)
    np.testing.assert_array_equal(model.classes_[probability.argmax(axis=1)], predicted)
    np.testing.assert_array_equal(model.classes_[logarithm.argmax(axis=1)], predicted)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"dtype": "float64"},
        {"normalise": False},
        {"n_components": 10},
        {"inference": "svi"},
        {"predictive": "student"},
        {"covariance": "diagonal"},
        {"prior_strength": "evidence"},
        {"metric": "euclidean"},
    ],
    ids=str,
)
def test_confidence_is_near_accuracy_on_held_out_rows(digits, options):
    train, labels, test, truth = digits
    model = CategoryDiscoverer(**options).fit(train, labels)
    confidence = model.predict_proba(test).max(axis=1).mean()
    assert confidence == pytest.approx(model.score(test, truth), abs=0.05)


@pytest.mark.parametrize("n_categories", [5, 20, 60])
def test_confidence_is_near_accuracy_where_many_categories_overlap(n_categories):
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(n_categories), 60)
    means = 0.6 * rng.normal(size=(n_categories, 10))[labels]
    train, test = (means + rng.normal(size=means.shape) for _ in range(2))
    model = CategoryDiscoverer(normalise=False).fit(train, labels)
    confidence = model.predict_proba(test).max(axis=1).mean()
    assert confidence == pytest.approx(model.score(test, labels), abs=0.05)


def test_low_confidence_means_more_mistakes(digits, fitted):
    _, _, test, truth = digits
    sure = fitted.predict_proba(test).max(axis=1)
    right = fitted.predict(test) == truth
    assert sure[right].mean() > sure[~right].mean() + 0.1


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("whiten", [True, False])
def test_score_samples_is_the_mixture_of_gaussians(digits, covariance, whiten):
    train, labels, test, _ = digits
    model = CategoryDiscoverer(covariance=covariance, whiten=whiten, n_components=12, dtype="float64")
    model.fit(train, labels)
    reduced = model.reducer_.transform(test)
    densities = [
        stats.multivariate_normal.logpdf(reduced, model.posterior_.mean[k], model.posterior_.covariance(k))
        for k in range(10)
    ]
    expected = special.logsumexp(densities, axis=0) - np.log(10)
    np.testing.assert_allclose(model.score_samples(test), expected, rtol=1e-8)
    # Probabilities are the same densities at the temperature.
    tempered = special.log_softmax(model.temperature_ * np.transpose(densities), axis=1)
    np.testing.assert_allclose(model.predict_log_proba(test), tempered, atol=1e-7)


def test_float32_densities_are_near_float64(digits, fitted):
    train, labels, test, _ = digits
    double = CategoryDiscoverer(dtype="float64").fit(train, labels)
    assert fitted.posterior_.factor.dtype == np.float32
    assert double.posterior_.factor.dtype == np.float64
    np.testing.assert_allclose(fitted.score_samples(test), double.score_samples(test), rtol=1e-4, atol=1e-2)


def test_strange_rows_have_lower_density(digits, fitted):
    test = digits[2]
    noise = np.random.default_rng(0).uniform(0, 16, size=(200, 64))
    assert fitted.score_samples(noise).max() < np.median(fitted.score_samples(test))


# Accuracy and options


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_digits_are_told_apart_at_least_as_well_as_by_linear_discriminants(digits, dtype):
    train, labels, test, truth = digits
    accuracy = CategoryDiscoverer(dtype=dtype).fit(train, labels).score(test, truth)
    linear = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(train, labels)
    assert accuracy >= linear.score(test, truth) - 0.005
    assert accuracy > 0.93


OPTIONS = [
    {"covariance": c, "inference": i, "predictive": p, "metric": m, "whiten": w}
    for c, i, p, m, w in itertools.product(
        COVARIANCES, ["exact", "svi"], ["plugin", "student"], ["mahalanobis", "euclidean"], [True, False]
    )
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: "-".join(map(str, o.values())))
def test_every_combination_of_options_works(digits, options):
    train, labels, test, truth = digits
    model = CategoryDiscoverer(n_components=8, **options).fit(train[:300], labels[:300])
    assert model.score(test[:200], truth[:200]) > 0.3
    assert_sound(model, test[:50])


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


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
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


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_more_categories_than_the_prior_is_calibrated_on(covariance):
    rows, labels = blobs(n_categories=50, each=6, dim=8)
    model = CategoryDiscoverer(covariance=covariance).fit(rows, labels)
    assert model.score(rows, labels) > 0.95


# Refusals: one clear error that says what was given and what to do


def with_value(rows, value):
    rows = rows.copy()
    rows[7, 2] = value
    return rows


ROWS, LABELS = blobs()
MIXED = np.array(["a", 1, 2.0], dtype=object)[LABELS]


@pytest.mark.parametrize(
    ("rows", "labels", "said"),
    [
        (with_value(ROWS, np.nan), LABELS, ["NaN", "row 7", "column 2", "remove"]),
        (with_value(ROWS, np.inf), LABELS, ["inf", "row 7", "column 2", "remove"]),
        (with_value(ROWS, -np.inf).astype(np.float32), LABELS, ["inf", "row 7", "column 2"]),
        (ROWS[:, 0], LABELS, ["1D", "reshape"]),
        (ROWS[None], LABELS, ["3", "2"]),
        (ROWS[:0], LABELS[:0], ["0 sample", "(0, 5)", "minimum of 1"]),
        (ROWS[:, :0], LABELS, ["0 feature", "(30, 0)", "minimum of 1"]),
        (np.full((30, 2), "x"), LABELS, ["x", "float"]),
        (ROWS, LABELS[:8], ["30", "8", "give one label"]),
        (ROWS, np.append(LABELS, 0), ["30", "31", "give one label"]),
        (ROWS, np.where(LABELS == 1, np.nan, LABELS), ["NaN", "give every"]),
        (ROWS, None, ["None", "give one label"]),
        (ROWS, MIXED, ["str", "int", "float", "use one type"]),
        (ROWS, np.where(LABELS == 1, None, "a"), ["None"]),
        (ROWS, ROWS[:, 0], ["continuous"]),
        (ROWS, np.stack([LABELS, LABELS], axis=1), ["(30, 2)"]),
    ],
    ids=[
        "NaN",
        "inf",
        "-inf",
        "1D",
        "3D",
        "no rows",
        "no columns",
        "text",
        "few labels",
        "many labels",
        "NaN label",
        "no labels",
        "mixed labels",
        "None label",
        "continuous labels",
        "2D labels",
    ],
)
def test_bad_training_rows_are_refused(rows, labels, said):
    model = CategoryDiscoverer()
    with pytest.raises(InputError) as caught:
        model.fit(rows, labels)
    assert isinstance(caught.value, ValueError)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    for words in said:
        assert words in str(caught.value)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba", "score_samples"])
@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (ROWS[:, :3], ["3 features", "expecting 5"]),
        (np.hstack([ROWS, ROWS]), ["10 features", "expecting 5"]),
        (with_value(ROWS, np.nan), ["NaN", "row 7", "column 2", "remove"]),
        (with_value(ROWS, np.inf), ["inf", "row 7", "column 2", "remove"]),
        (ROWS[0], ["1D", "reshape"]),
        (ROWS[:0], ["0 sample", "minimum of 1"]),
    ],
    ids=["narrow", "wide", "NaN", "inf", "1D", "no rows"],
)
def test_bad_rows_are_refused_at_prediction(method, rows, said):
    model = CategoryDiscoverer().fit(ROWS, LABELS)
    with pytest.raises(InputError) as caught:
        getattr(model, method)(rows)
    for words in said:
        assert words in str(caught.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"covariance": "foo"}, "'full', 'diagonal', got 'foo'"),
        ({"inference": "foo"}, "'exact', 'svi', got 'foo'"),
        ({"predictive": "foo"}, "'plugin', 'student', got 'foo'"),
        ({"metric": "foo"}, "'mahalanobis', 'euclidean', got 'foo'"),
        ({"dtype": "float16"}, "'float32', 'float64', got 'float16'"),
        ({"normalise": "foo"}, "normalise must be one of True, False, 'auto', got 'foo'"),
        ({"whiten_shrinkage": "foo"}, "'auto', got 'foo'"),
        (
            {"whiten_shrinkage": 1.5},
            "whiten_shrinkage must be a number of at least 0 and at most 1 or 'auto', got 1.5",
        ),
        ({"whiten_shrinkage": -1}, "got -1"),
        (
            {"prior_strength": "foo"},
            "prior_strength must be a number above 0 or 'auto' or 'evidence' or 'weakest', got 'foo'",
        ),
        ({"prior_strength": 1.0}, "must exceed 6 (full covariance in 5 dimensions), got 1.0; use 'auto'"),
        ({"prior_strength": 6.0}, "must exceed 6"),
        ({"prior_strength": 2.0, "covariance": "diagonal"}, "must exceed 2"),
        ({"prior_strength": np.nan}, "got nan"),
        ({"mean_precision_prior": 0.0}, "mean_precision_prior must be a number above 0, got 0.0"),
        ({"mean_precision_prior": -1.0}, "mean_precision_prior must be a number above 0, got -1.0"),
        ({"n_components": 0}, "n_components must be a whole number of at least 1 or None, got 0"),
        ({"n_components": -1}, "got -1"),
        ({"covariance": "shared"}, "'full', 'diagonal', got 'shared'"),
    ],
    ids=str,
)
def test_unknown_options_are_refused(options, said):
    with pytest.raises(InputError, match=re.escape(said)):
        CategoryDiscoverer(**options).fit(ROWS, LABELS)


@pytest.mark.parametrize(
    "options",
    [
        {"n_components": 2.5},
        {"n_components": "all"},
        {"n_components": np.nan},
        {"whiten_shrinkage": None},
        {"prior_strength": None},
        {"prior_strength": np.inf},
        {"prior_strength": 0},
        {"mean_precision_prior": 0.0},
        {"mean_precision_prior": "a"},
        {"mean_precision_prior": np.inf},
        {"random_state": "a"},
        {"random_state": -1},
        {"whiten": "foo"},
    ],
    ids=str,
)
def test_options_of_the_wrong_type_are_refused_by_name(options):
    [(name, value)] = options.items()
    with pytest.raises(InputError) as caught:
        CategoryDiscoverer(**options).fit(ROWS, LABELS)
    assert name in str(caught.value)
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba", "score_samples"])
def test_asking_before_fit_is_refused(method):
    with pytest.raises(NotFittedError, match=r"call fit\(X, y\)"):
        getattr(CategoryDiscoverer(), method)(ROWS)


@pytest.mark.parametrize(
    ("options", "rows", "labels"),
    [
        ({}, with_value(ROWS, np.nan), LABELS),
        ({}, ROWS, None),
        ({}, ROWS[:, :3], LABELS[:4]),
        ({"covariance": "foo"}, ROWS[:, :3], LABELS),
        ({"prior_strength": 1.0}, ROWS[:, :3], LABELS),
        ({"prior_strength": 1.0}, 20 * blobs(5)[0], LABELS),
    ],
    ids=["NaN", "no labels", "narrow, few labels", "narrow, bad option", "narrow, weak", "other rows, weak"],
)
def test_a_failed_fit_leaves_the_model_as_it_was(options, rows, labels):
    model = CategoryDiscoverer().fit(ROWS, LABELS)
    before = model.predict_proba(ROWS)
    model.set_params(**options)
    with pytest.raises(InputError):
        model.fit(rows, labels)
    model.set_params(**{name: getattr(CategoryDiscoverer(), name) for name in options})
    np.testing.assert_array_equal(model.predict_proba(ROWS), before)


# Extremes


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("inference", ["exact", "svi"])
class TestExtremes:
    @pytest.fixture
    def model(self, covariance, inference):
        return CategoryDiscoverer(covariance=covariance, inference=inference)

    def test_a_category_of_one_row(self, model):
        rows = np.vstack([ROWS, np.full(5, 60.0), np.full(5, -60.0)])
        labels = np.append(LABELS, [8, 9])
        model.fit(rows, labels)
        np.testing.assert_array_equal(model.predict(rows), labels)
        assert_sound(model, rows)

    def test_all_categories_of_one_row(self, model):
        rows = ROWS[::10]
        model.fit(rows, ["a", "b", "c"])
        assert model.predict(rows).tolist() == ["a", "b", "c"]
        # Nothing but the means is known: the nearest category wins.
        np.testing.assert_array_equal(model.predict(rows + 0.01), model.predict(rows))
        assert_sound(model, ROWS)

    def test_one_row_in_all(self, model):
        model.fit(ROWS[:1], ["only"])
        assert model.predict(ROWS).tolist() == ["only"] * 30
        assert_sound(model, ROWS)

    def test_a_single_category(self, model):
        model.fit(ROWS, np.full(30, "only"))
        assert set(model.predict(ROWS)) == {"only"}
        np.testing.assert_array_equal(model.predict_proba(ROWS), 1)
        # The density still tells its own rows from others.
        assert model.score_samples(-50 * ROWS).max() < model.score_samples(ROWS).min()

    def test_constant_columns(self, model):
        model.set_params(normalise=False)
        padded = np.insert(ROWS, [0, 2, 5], 7.0, axis=1)
        model.fit(padded, LABELS)
        assert model.reducer_.n_components == 5
        np.testing.assert_array_equal(model.predict(padded), LABELS)
        assert_sound(model, padded)

    @pytest.mark.parametrize(("value", "width"), [(0.0, 4), (-1e6, 4), (1.0, 2100)])
    def test_all_rows_identical(self, model, value, width):
        rows = np.full((10, width), value)
        model.fit(rows, np.arange(10) % 2)
        assert_sound(model, rows)
        np.testing.assert_allclose(model.predict_proba(rows), 0.5, atol=1e-6)

    def test_rows_identical_within_each_category(self, model):
        rows, labels = np.repeat(ROWS[::10], 4, axis=0), np.repeat(np.arange(3), 4)
        model.fit(rows, labels)
        np.testing.assert_array_equal(model.predict(rows), labels)
        assert_sound(model, rows)

    def test_duplicated_rows(self, model):
        model.fit(np.repeat(ROWS, 3, axis=0), np.repeat(LABELS, 3))
        np.testing.assert_array_equal(model.predict(ROWS), LABELS)
        assert_sound(model, ROWS)

    def test_fewer_rows_than_dimensions(self, model):
        rows, labels = blobs(2, dim=100, each=4, separation=2.0)
        model.fit(rows, labels)
        assert model.reducer_.n_components <= 11
        np.testing.assert_array_equal(model.predict(rows), labels)
        fresh = rows + 0.5 * np.random.default_rng(0).normal(size=rows.shape)
        assert model.score(fresh, labels) > 0.9
        assert_sound(model, fresh)

    @pytest.mark.parametrize("n_rows", [10, 30])
    def test_nearly_as_many_categories_as_rows(self, model, n_rows):
        rows = 5 * np.random.default_rng(0).normal(size=(n_rows, 5))
        rows[-1] = rows[0] + 0.01
        labels = np.append(np.arange(n_rows - 1), 0)
        model.fit(rows, labels)
        assert model.score(rows, labels) > 0.9
        assert_sound(model, rows)

    @pytest.mark.parametrize("scale", [1e12, 1e-12])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_units_do_not_matter(self, model, scale, dtype):
        rows = (scale * ROWS).astype(dtype)
        usual = clone(model).fit(ROWS, LABELS)
        model.fit(rows, LABELS)
        np.testing.assert_array_equal(model.predict(rows), LABELS)
        np.testing.assert_allclose(model.predict_proba(rows), usual.predict_proba(ROWS), atol=1e-3)
        assert_sound(model, rows)

    @pytest.mark.parametrize("n_components", [5, 384, None])
    def test_very_wide_rows(self, model, n_components):
        rows, labels = blobs(3, dim=2100, each=12, separation=0.5)
        model.set_params(n_components=n_components).fit(rows[::2], labels[::2])
        assert model.reducer_.n_components <= 17
        assert model.score(rows[1::2], labels[1::2]) > 0.9
        assert_sound(model, rows[1::2])


def test_far_from_the_origin():
    model = CategoryDiscoverer(normalise=False).fit(ROWS + 1e5, LABELS)
    np.testing.assert_array_equal(model.predict(ROWS + 1e5), LABELS)


def test_a_row_far_away_gets_a_finite_answer(fitted):
    far = np.full((1, 64), 1e8)
    assert np.isfinite(fitted.predict_proba(far)).all()
    assert np.isfinite(fitted.score_samples(far)).all()
