from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest

from vbcgcd import CategoryDiscoverer, InputError
from vbcgcd.archive import read_archive, write_archive
from vbcgcd.discovery.model_file import KIND, VERSION, read_model, write_model

CLASSES = {
    "int": np.arange(6),
    "int8": np.arange(6, dtype=np.int8),
    "uint64": np.array([0, 1, 2, 3, 4, 2**64 - 1], dtype=np.uint64),
    "float": np.arange(6.0),
    "bool": np.array([False, True]),
    "string": np.array(["a", "bb", "käse", "", "novel-1", "日本"]),
    "object": np.array(["a", "b", "c", "d", "e", "f"], dtype=object),
}


@pytest.mark.parametrize("kind", CLASSES)
def test_labels_round_trip_with_their_kind(fitted, tmp_path, kind):
    write_model(tmp_path / "m", fitted.knowledge_, CLASSES[kind], fitted.births_, {})
    classes = read_model(tmp_path / "m")[1]
    assert classes.dtype == CLASSES[kind].dtype
    assert classes.tolist() == CLASSES[kind].tolist()


def assert_equal(have, want):
    """Equal in every field, at every depth, bit for bit."""
    assert type(have) is type(want)
    if is_dataclass(want):
        for each in fields(want):
            assert_equal(getattr(have, each.name), getattr(want, each.name))
    elif isinstance(want, tuple):
        for one, other in zip(have, want, strict=True):
            assert_equal(one, other)
    elif isinstance(want, np.ndarray):
        assert have.dtype == want.dtype
        np.testing.assert_array_equal(have, want)
    else:
        assert have == want


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"covariance": "diagonal", "dtype": "float64"},
        {"count": "evidence", "normalise": True, "geometry": "distance", "predictive": "student"},
        {"standardise": True, "whiten": False, "metric": "euclidean", "log_determinant": False},
    ],
    ids=str,
)
def test_knowledge_round_trips_bit_for_bit(small, tmp_path, options):
    model = CategoryDiscoverer(**options).fit(small.rows, small.labels)
    write_model(tmp_path / "m", model.knowledge_, model.classes_, model.births_, {"a": [1]})
    knowledge, classes, births, values = read_model(tmp_path / "m")
    assert_equal(knowledge, model.knowledge_)
    assert_equal(classes, model.classes_)
    assert_equal(births, model.births_)
    assert values == {"a": [1]}


def test_another_archive_is_no_model(tmp_path):
    write_archive(tmp_path / "m", "other", 1, {"a": np.zeros(2)}, {})
    with pytest.raises(InputError, match=f"'other'.*'{KIND}'"):
        CategoryDiscoverer.load(tmp_path / "m")


def test_a_model_of_a_later_release_is_refused(tmp_path):
    write_archive(tmp_path / "m", KIND, VERSION + 1, {"a": np.zeros(2)}, {})
    with pytest.raises(InputError, match=f"version {VERSION + 1}"):
        CategoryDiscoverer.load(tmp_path / "m")


def test_a_truncated_model_is_refused(fitted, tmp_path):
    fitted.save(tmp_path / "m")
    data = (tmp_path / "m").read_bytes()
    (tmp_path / "m").write_bytes(data[:-100])
    with pytest.raises(InputError):
        CategoryDiscoverer.load(tmp_path / "m")


def test_a_model_with_a_covariance_that_was_removed_is_refused_by_name(fitted, tmp_path):
    fitted.save(tmp_path / "m")
    arrays, state = read_archive(tmp_path / "m", KIND, VERSION)
    state["prior"]["structure"] = state["values"]["params"]["covariance"] = "shared"
    write_archive(tmp_path / "m", KIND, VERSION, arrays, state)
    with pytest.raises(InputError, match="'shared'"):
        CategoryDiscoverer.load(tmp_path / "m")


def test_a_model_whose_device_is_not_here_computes_with_numpy(small, tmp_path):
    model = CategoryDiscoverer(n_components=3).fit(small.rows, small.labels)
    known = model.knowledge_
    model.knowledge_ = replace(known, classifier=replace(known.classifier, device="abacus"))
    model.set_params(device="abacus").save(tmp_path / "m")
    with pytest.warns(UserWarning, match="device 'abacus', which is not available here"):
        loaded = CategoryDiscoverer.load(tmp_path / "m")
    plain = CategoryDiscoverer(n_components=3).fit(small.rows, small.labels)
    np.testing.assert_array_equal(loaded.predict_proba(small.batch), plain.predict_proba(small.batch))
    found, expected = (m.discover(small.batch, n_novel=2).labels_ for m in (loaded, plain))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("whiten", "expected"), [(True, "auto"), (False, None)])
def test_a_model_of_an_earlier_version_gets_a_short_list_only_if_its_rows_are_whitened(
    small, tmp_path, whiten, expected
):
    path = tmp_path / "m.safetensors"
    CategoryDiscoverer(whiten=whiten).fit(small.rows, small.labels).save(path)
    arrays, state = read_archive(path, KIND, VERSION)
    del state["classifier"]["shortlist"]
    write_archive(path, KIND, VERSION, arrays, state)
    assert CategoryDiscoverer.load(path).knowledge_.classifier.shortlist == expected
