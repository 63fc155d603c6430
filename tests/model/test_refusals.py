"""Refusals: one clear error, and the model stays as it was."""

import numpy as np
import pytest

from support import blobs
from vbcgcd import CategoryDiscoverer, InputError, NotFittedError

ROWS, LABELS = blobs()
MIXED = np.array(["a", 1, 2.0], dtype=object)[LABELS]


def with_value(rows, value):
    rows = rows.copy()
    rows[7, 2] = value
    return rows


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


OPTIONS = [
    {"covariance": "foo"},
    {"covariance": "shared"},
    {"inference": "foo"},
    {"predictive": "foo"},
    {"metric": "foo"},
    {"dtype": "float16"},
    {"whiten": "foo"},
    {"normalise": "foo"},
    {"whiten_shrinkage": "foo"},
    {"whiten_shrinkage": 1.5},
    {"whiten_shrinkage": -1},
    {"whiten_shrinkage": None},
    {"prior_strength": "foo"},
    {"prior_strength": None},
    {"prior_strength": 0},
    {"prior_strength": np.nan},
    {"prior_strength": np.inf},
    {"mean_precision_prior": 0.0},
    {"mean_precision_prior": -1.0},
    {"mean_precision_prior": "a"},
    {"mean_precision_prior": np.inf},
    {"n_components": 0},
    {"n_components": -1},
    {"n_components": 2.5},
    {"n_components": 9.0},
    {"n_components": "all"},
    {"n_components": np.nan},
    {"random_state": "a"},
    {"random_state": -1},
    {"random_state": 3.0},
    {"cluster": "foo"},
    {"relabel": "foo"},
    {"alignment": "a"},
    {"svi_steps": 0},
    {"svi_steps": 5.0},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_options_that_are_not_allowed_are_refused_by_name(options):
    [name] = options
    with pytest.raises(InputError) as caught:
        CategoryDiscoverer(**options).fit(ROWS, LABELS)
    assert caught.value.option == name
    assert str(caught.value).startswith(f"{name} must be")


@pytest.mark.parametrize(
    ("strength", "covariance", "limit"), [(1.0, "full", 6), (6.0, "full", 6), (2.0, "diagonal", 2)]
)
def test_a_prior_weaker_than_its_covariance_allows_is_refused(strength, covariance, limit):
    with pytest.raises(InputError, match=f"{limit}.*got {strength}"):
        CategoryDiscoverer(prior_strength=strength, covariance=covariance).fit(ROWS, LABELS)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba", "score_samples"])
def test_asking_before_fit_is_refused(method):
    with pytest.raises(NotFittedError):
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


def with_nan(rows):
    rows = rows.copy()
    rows[3, 5] = np.nan
    return rows


@pytest.mark.parametrize(
    ("change", "options", "said"),
    [
        (with_nan, {}, "row 3, column 5"),
        (lambda rows: rows[:, :9], {}, "9 features"),
        (lambda rows: rows[:0], {}, "0 sample"),
        (lambda rows: rows[0], {}, "2D"),
        (np.array, {"n_novel": 76}, "from 0 to 75, got 76"),
        (np.array, {"n_novel": -1}, "got -1"),
        (np.array, {"n_novel": 2.5}, "got 2.5"),
        (np.array, {"n_novel": np.nan}, "got nan"),
        (np.array, {"n_novel": "3"}, "got '3'"),
        (np.array, {"n_novel": [3]}, r"got \[3\]"),
        (np.array, {"n_novel": True}, "got True"),
        (np.array, {"sample_weight": np.ones(3)}, "sample_weight.*shape"),
        (np.array, {"sample_weight": -np.ones(150)}, "not negative"),
        (np.array, {"sample_weight": np.zeros(150)}, "not zero for every row"),
    ],
)
def test_impossible_sessions_are_refused(small, fitted, state_of, change, options, said):
    before = state_of(fitted)
    with pytest.raises(InputError, match=said) as caught:
        fitted.discover(change(small.batch), **{"n_novel": 2, **options})
    assert caught.value.option == "n_novel" or "n_novel" not in options
    assert state_of(fitted) == before
    assert fitted.n_features_in_ == 64


@pytest.mark.parametrize("step", ["cluster", "posterior"])
def test_an_interrupted_session_leaves_the_model_as_it_was(small, fitted, state_of, step):
    before = state_of(fitted)

    def stop(name):
        if name == step:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fitted.discover(small.batch, n_novel=2, progress=stop)
    assert state_of(fitted) == before


def test_options_that_became_impossible_are_refused_before_a_session(small, fitted):
    fitted.set_params(relabel="foo")
    with pytest.raises(InputError) as caught:
        fitted.discover(small.batch, n_novel=2)
    assert caught.value.option == "relabel"
    assert len(fitted.classes_) == 6


@pytest.mark.parametrize("method", ["discover", "novelty", "predict", "save"])
def test_unfitted_models_say_so(small, tmp_path, method):
    argument = tmp_path / "m" if method == "save" else small.batch
    with pytest.raises(NotFittedError):
        getattr(CategoryDiscoverer(), method)(argument)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("method", ["predict_proba", "transform", "novelty", "score_samples"])
def test_a_path_where_only_arrays_are_taken_is_one_error(method, tmp_path):
    np.save(tmp_path / "rows.npy", ROWS)
    model = CategoryDiscoverer().fit(ROWS, LABELS)
    with pytest.raises(InputError, match=r"must be an array of numbers here, .* predict_top read files"):
        getattr(model, method)(tmp_path / "rows.npy")
