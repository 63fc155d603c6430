import builtins
import importlib

import numpy as np
import pytest

from support import assert_same_seedlings
from vbcgcd import CategoryDiscoverer
from vbcgcd.discovery.seedlings import Seedlings
from vbcgcd.errors import InputError
from vbcgcd.workspace.log.files import (
    EXCERPTS,
    MODEL,
    SAMPLE,
    SEEDLINGS,
    SEGMENT,
    TABLE,
    Assignments,
    BaseModel,
    Excerpts,
    Sample,
    SeedlingBed,
    Segment,
    read_content,
)
from vbcgcd.workspace.log.parquet import check_pyarrow


def stored(folder, name, value):
    """A value that was written and read again."""
    (folder / name).write_bytes(value.as_bytes())
    return read_content(folder / name)


def test_assignments_survive_the_disk(tmp_path):
    table = Assignments(
        ["a", "é<b>", "x/y.png"],
        np.array([0, 7, 7]),
        np.array([0.5, 0.25, 1.0]),
        np.array([7, -1, 0]),
        np.array([0.25, 0.0, 0.0]),
        np.array([0.1, 0.2, 0.3]),
    )
    found = stored(tmp_path, TABLE, table)
    assert [found.name_of(i) for i in range(3)] == [table.name_of(i) for i in range(3)] == table.reference
    assert found.category.tolist() == [0, 7, 7]
    assert found.second.tolist() == [7, -1, 0]
    np.testing.assert_array_equal(found.margin, [0.25, 0.25, 1.0])
    np.testing.assert_array_equal(found.novelty, np.float32([0.1, 0.2, 0.3]))
    for name in ("probability", "second_probability", "novelty", "margin"):  # nothing has to be read back
        assert getattr(found, name).tobytes() == getattr(table, name).tobytes()
        assert getattr(found, name).dtype == getattr(table, name).dtype


def test_samples_keep_the_leading_dimensions(tmp_path):
    reduced = np.arange(40.0).reshape(2, 20)
    sample = Sample.of(np.array([3, 9]), reduced)
    found = stored(tmp_path, SAMPLE, sample)
    assert found.rows.tolist() == [3, 9]
    np.testing.assert_array_equal(found.sketch, reduced[:, :16].astype(np.float32))
    assert found.sketch.tobytes() == sample.sketch.tobytes()


def test_excerpts_survive_the_disk(tmp_path):
    excerpts = Excerpts({3: [{"reference": "a", "text": "é<b>"}], 12: []})
    assert stored(tmp_path, EXCERPTS, excerpts) == excerpts


def test_posteriors_survive_the_disk_bit_for_bit(tmp_path, animals):
    posterior = animals.snapshot().knowledge.posterior.take([0, 3])
    found = stored(tmp_path, SEGMENT, Segment(posterior, (0, 3)))
    assert found.ids == (0, 3)
    assert found.posterior.structure == posterior.structure
    for name in ("mean", "kappa", "nu", "factor"):
        assert getattr(found.posterior, name).tobytes() == getattr(posterior, name).tobytes()


def test_seedlings_survive_the_disk_bit_for_bit(tmp_path, animals):
    posterior = animals.snapshot().knowledge.posterior.take([0, 3])
    seedlings = Seedlings(posterior, np.array([2.5, 4.0]), np.array([1.0, -0.5]), np.array([1, 3]))
    found = stored(tmp_path, SEEDLINGS, SeedlingBed(seedlings)).seedlings
    assert_same_seedlings(found, seedlings)
    assert found.posterior.structure == posterior.structure


def test_the_model_of_the_base_session_is_a_model_for_everybody(tmp_path, animals, blobs):
    base = animals.snapshot().base
    found = stored(tmp_path, MODEL, BaseModel(base.knowledge, base.ids, base.options, base.n_features))
    assert (found.ids, found.options, found.n_features) == ((0, 1, 2), base.options, 6)
    model = CategoryDiscoverer.load(tmp_path / MODEL)
    assert set(model.predict(blobs.rows)) == {0, 1, 2}
    expected = CategoryDiscoverer(**animals.config()["model"]).fit(blobs.rows, np.repeat([0, 1, 2], 30))
    assert model.predict_proba(blobs.probe).tobytes() == expected.predict_proba(blobs.probe).tobytes()


def test_without_pyarrow_the_extra_is_named(monkeypatch, fresh, blobs, tree):
    real = builtins.__import__
    before = tree(fresh.path)

    def missing(name, *args):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *args)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(InputError, match=r"vbcgcd\[tables\]"):
        check_pyarrow()
    with pytest.raises(InputError):
        fresh.learn(blobs.rows, blobs.labels)
    assert tree(fresh.path) == before
