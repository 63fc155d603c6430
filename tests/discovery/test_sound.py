import json
from dataclasses import replace

import numpy as np
import pytest

from support import blobs
from vbcgcd import CategoryDiscoverer
from vbcgcd.archive import archive_bytes, read_archive
from vbcgcd.bayes.stacks import FactorStack, summaries
from vbcgcd.discovery.model_file import KIND, VERSION
from vbcgcd.discovery.sound import check_posterior
from vbcgcd.errors import InputError


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.safetensors"
    CategoryDiscoverer(n_components=3, prior_strength=20.0).fit(*blobs()).save(path)
    return read_archive(path, KIND, VERSION)


@pytest.fixture
def load(saved, tmp_path):
    """Load the model with some arrays and values replaced."""

    def edited(arrays=None, version=VERSION, **values):
        path = tmp_path / "model.safetensors"
        state = {**json.loads(json.dumps(saved[1])), **values}
        path.write_bytes(archive_bytes(KIND, version, {**saved[0], **(arrays or {})}, state))
        return CategoryDiscoverer.load(path)

    return edited


def test_a_model_as_it_was_saved_is_sound(load):
    assert len(load().classes_) == 3


@pytest.mark.parametrize("name", ["posterior.mean", "posterior.kappa", "posterior.factor", "reducer.center"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused(load, saved, name, value):
    array = saved[0][name].copy()
    array.flat[0] = value
    with pytest.raises(InputError, match="holds NaN or infinity"):
        load({name: array})


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("posterior.kappa", -1.0, "kappa and nu are out of range"),
        ("posterior.nu", 0.0, "kappa and nu are out of range"),
        ("posterior.factor", -1.0, "not positive definite"),
    ],
)
def test_posteriors_out_of_range_are_refused(load, saved, name, value, reason):
    array = saved[0][name].copy()
    array.flat[0] = value
    with pytest.raises(InputError, match=reason):
        load({name: array})


@pytest.mark.parametrize(
    ("arrays", "values", "reason"),
    [
        ({"posterior.mean": np.zeros((3, 4))}, {}, "shapes"),
        ({"posterior.mean": np.zeros((3, 3), dtype=np.int64)}, {}, "array of numbers"),
        ({"posterior.kappa": np.ones(2)}, {}, "shapes"),
        ({"births": np.zeros(3)}, {}, "births"),
        ({}, {"classes": [0, 0, 1]}, "twice"),
        ({}, {"classes": [0, 1]}, "2 labels for 3"),
        ({}, {"classes_dtype": "<U99999999"}, "of type"),
        ({}, {"classes": "abc"}, "not a list"),
        ({}, {"temperature": "warm"}, "not finite"),
        ({}, {"temperature": -1.0}, "not finite"),
        ({}, {"geometry": {"kind": "direction"}}, "TypeError"),
        ({}, {"reducer": 3}, "TypeError"),
        ({}, {"values": {}}, "KeyError"),
        ({}, {"values": {"params": {"shell": "rm"}}}, "unknown parameters shell"),
        ({}, {"prior": {}}, "KeyError"),
    ],
)
def test_what_no_session_left_is_one_clear_error(load, arrays, values, reason):
    with pytest.raises(InputError, match=reason) as caught:
        load(arrays, **values)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("factor", "settings", "reason"),
    [
        (np.ones(5), (0.3, 0.1), "head does not fit"),
        (np.array([1.0, 0, 0, 0, 0, 1]), (0.3, 0.1), "head does not fit"),
        (np.array([1.0, 0, 1, 0, np.nan, 1]), (0.3, 0.1), "head factor holds NaN"),
        (np.ones((3, 2)), (0.3, 0.1), "head factor is not an array"),
        (np.ones(6), (np.inf, 0.1), "not finite"),
        (np.ones(6), (0.3, 0.0), "not finite"),
        (np.ones(6), (0.3,), "ValueError"),
    ],
)
def test_a_head_that_does_not_fit_is_refused(load, factor, settings, reason):
    sound = {"direction_head.factor": np.ones(6), "direction_head.settings": np.array([0.3, 0.1])}
    assert load(sound).knowledge_.head.weight == 0.3
    with pytest.raises(InputError, match=reason):
        load({"direction_head.factor": factor, "direction_head.settings": np.array(settings)})


@pytest.mark.parametrize("version", [-(10**12), 0, 2, 1.0, "1", None])
def test_other_versions_are_refused_at_once(load, version):
    with pytest.raises(InputError, match="version"):
        load(version=version)


@pytest.mark.parametrize("name", ["log_dets", "traces"])
def test_sums_beside_factors_may_be_rounded_by_another_processor_but_not_be_others(name):
    posterior = CategoryDiscoverer(n_components=3, prior_strength=20.0).fit(*blobs()).posterior_
    true = summaries(posterior.form, posterior.factor, name)

    def with_sums(kept):
        return replace(posterior, factor=FactorStack.of(posterior.factor, {name: kept}))

    check_posterior(with_sums(np.nextafter(true, np.inf)))
    for other in (true * 1.0001, true[:-1]):
        with pytest.raises(InputError, match=f"the {name} of the posteriors are not those"):
            check_posterior(with_sums(other))


RIDGE_HEAD = {
    "head.gram": np.eye(4)[np.tril_indices(4)],
    "head.sums": np.eye(3, 4),
    "head.row_weight": np.ones(3),
    "head.settings": np.array([0.1, 5.0, 0.1, 3.0]),
    "head.features": np.array([0, 3, 4]),
}


def test_a_regression_as_it_was_saved_is_sound(load):
    assert load(RIDGE_HEAD).knowledge_.head.weight == 5.0


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ({"head.settings": np.array([0.1, 5.0, 0.1, 0.0])}, "out of range"),
        ({"head.settings": np.array([0.1, -5.0, 0.1, 3.0])}, "out of range"),
        ({"head.settings": np.array([np.nan, 5.0, 0.1, 3.0])}, "out of range"),
        ({"head.settings": np.array([0.1, 5.0, 0.0, 3.0])}, "out of range"),
        ({"head.row_weight": np.array([1.0, -1.0, 1.0])}, "out of range"),
        ({"head.row_weight": np.ones(1)}, "does not fit"),
        ({"head.sums": np.eye(2, 4)}, "does not fit"),
        ({"head.features": np.array([0, 2, 4])}, "does not fit"),
        ({"head.gram": np.full(10, np.inf)}, "NaN or infinity"),
    ],
)
def test_a_regression_that_does_not_fit_is_refused(load, arrays, reason):
    with pytest.raises(InputError, match=reason):
        load({**RIDGE_HEAD, **arrays})
