from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest

from vbcgcd import CategoryDiscoverer
from vbcgcd.discovery.options import Options
from vbcgcd.errors import InputError

WRONG = {
    "n_components": (0, -1, 1.5, "all", True),
    "standardise": ("yes", 2, None),
    "whiten": ("yes", None, 1),
    "normalise": ("always", None),
    "whiten_shrinkage": (-0.1, 1.1, "some", None),
    "prior_strength": (0, -1, "strong", np.nan),
    "prior_variance": (0, -1, "unit", None),
    "mean_precision_prior": (0, -1, None, "auto"),
    "covariance": ("shared", "round", None),
    "covariance_rank": (1, 0, 10**9, 10**400, 2.5, None, "auto"),
    "inference": ("mcmc", None),
    "cluster": ("dbscan", None, 3),
    "relabel": ("sometimes", None),
    "count": ("guess", None),
    "geometry": ("hyperbolic", None),
    "alignment": ("0", np.inf),
    "alignment_ratio": ("known", None),
    "alignment_penalty": (-1, "strong", 1.0),
    "unassigned": ("yes", None),
    "update_known": ("yes", None),
    "shortlist": (1, 2.5, "all", True),
    "svi_steps": (0, 1.5, None),
    "predictive": ("laplace", None),
    "metric": ("cosine", None),
    "log_determinant": ("no", None),
    "head": ("linear", True, 3000),
    "head_features": (0, 1.5, None),
    "dtype": ("float16", np.float32),
    "storage": ("single", "float16", None),
    "device": (0, "", True),
    "random_state": (-1, 0.5, "seed"),
}


def test_every_option_has_a_check():
    assert {each.name for each in fields(Options)} == set(WRONG)


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, values in WRONG.items() for v in values], ids=str)
def test_impossible_values_are_refused_by_name(name, value):
    with pytest.raises(InputError) as caught:
        Options(**{name: value})
    assert caught.value.option == name


def test_options_do_not_change():
    with pytest.raises(FrozenInstanceError):
        Options().count = "merge"


def test_the_estimator_has_the_same_options_and_defaults():
    assert CategoryDiscoverer().get_params() == {e.name: getattr(Options(), e.name) for e in fields(Options)}
    for each in fields(Options):
        assert f"{each.name} :" in CategoryDiscoverer.__doc__


def test_the_same_seed_and_purpose_give_the_same_numbers():
    assert Options().generator(1, 2).random() == Options().generator(1, 2).random()
    assert Options().generator(1, 2).random() != Options().generator(1, 3).random()
    assert (
        Options(random_state=None).generator(1).random() != Options(random_state=None).generator(1).random()
    )


def test_the_classifier_follows():
    rule = Options(
        metric="euclidean", predictive="student", log_determinant=False, dtype="float64"
    ).classifier
    assert (rule.metric, rule.predictive, rule.log_determinant) == ("euclidean", "student", False)
    assert rule.dtype == np.float64


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "auto"),
        ({"shortlist": 7}, 7),
        ({"shortlist": None}, None),
        ({"whiten": False}, None),
        ({"prior_variance": 0.1}, None),
        ({"whiten": False, "shortlist": 7}, 7),
    ],
)
def test_a_short_list_by_default_only_where_covariances_have_about_one_shape(options, expected):
    assert Options(**options).classifier.shortlist == expected


def test_the_preset_of_the_paper_scores_all_categories():
    assert CategoryDiscoverer.paper().options.classifier.shortlist is None
