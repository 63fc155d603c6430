"""Statistics of labelled shards: those of all rows at once, however they are cut and whoever adds them up."""

import numpy as np
import pytest
from lake import columns_of, rows_of, write_lake

from vbcgcd.bayes import statistics_by_label
from vbcgcd.shards import shard_statistics
from vbcgcd.shards import statistics as module
from vbcgcd.shards.statistics import in_panels

PLACE = {"ant": 0, "bee": 1, "cat": 2, "dog": 3}


def direct(model, structure="full"):
    rows, labels = rows_of(420)
    codes = np.array([PLACE[label] for label in labels])
    reduced = model.reducer_.transform(rows)
    return statistics_by_label(reduced, codes, 4, structure=structure)


def assert_close(one, two, tolerance=1e-9):
    for name in ("count", "mean", "scatter"):
        a, b = getattr(one, name), getattr(two, name)
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * np.abs(b).max())


@pytest.mark.parametrize("structure", ["full", "diagonal"])
@pytest.mark.parametrize(("n_shards", "group"), [(1, 1000), (5, 50), (40, 3)])
def test_they_are_those_of_all_rows_at_once(model, here, tmp_path, structure, n_shards, group):
    rows, labels = rows_of(420)
    data = columns_of(write_lake(tmp_path / "lake", rows, labels, n_shards=n_shards, group=group))
    found = shard_statistics(here, data, PLACE, model.reducer_, n_categories=4, structure=structure)
    assert_close(found, direct(model, structure))


def test_not_a_bit_depends_on_the_engine(model, here, processes, lake, monkeypatch):
    monkeypatch.setattr(module, "STATISTICS_ROWS", 50)
    data = columns_of(lake)
    one, two = (
        shard_statistics(engine, data, PLACE, model.reducer_, n_categories=4) for engine in (here, processes)
    )
    assert np.array_equal(one.mean, two.mean)
    assert np.array_equal(one.scatter, two.scatter)


def test_rows_without_a_category_are_left_out(model, here, lake):
    data = columns_of(lake)
    found = shard_statistics(here, data, {"cat": 0}, model.reducer_, n_categories=2)
    expected = direct(model)
    assert found.count.tolist() == [expected.count[2], 0.0]
    assert_close(found.take([0]), expected.take([2]))


def test_panels_bound_the_memory_and_change_nothing(model, here, lake, monkeypatch):
    width = direct(model).scatter.shape[1]
    monkeypatch.setattr(module, "PANEL_BYTES", 8 * width * 3)
    gather = in_panels(here, columns_of(lake), [[name] for name in PLACE], model.reducer_)
    panels = list(gather(np.array([3, 0, 1, 2]), "full"))
    assert [which.tolist() for which, _ in panels] == [[3, 0, 1], [2]]
    assert_close(panels[0][1], direct(model).take([3, 0, 1]))
    assert_close(panels[1][1], direct(model).take([2]))
