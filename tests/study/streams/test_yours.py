import numpy as np
import pytest

from vbcgcd.errors import InputError
from vbcgcd.study import run_study
from vbcgcd.study.plans import check_plan
from vbcgcd.study.streams.yours import make_yours


def test_sizes_are_as_they_are_and_nothing_leaks():
    sizes = np.arange(5, 25)
    y = np.repeat(np.arange(20), sizes)
    for seed in range(3):
        plan = make_yours(y, seed=seed)
        check_plan(plan, y)
        assert len(plan.labelled) == 10
        arrived = np.concatenate([session.rows for session in plan.sessions])
        assert len(np.unique(arrived)) == len(arrived)
        for session in plan.sessions:
            for c in session.novel:
                assert (y[session.rows] == c).sum() == sizes[c]
        assert len(arrived) + len(plan.base_rows) == len(y)


def test_few_categories():
    assert len(make_yours(np.repeat(np.arange(4), 5)).sessions) == 2
    with pytest.raises(InputError, match="3 categories"):
        make_yours(np.repeat(np.arange(3), 5))


def test_the_verdict_is_short_and_nobody_is_told_the_number(tmp_path):
    rng = np.random.default_rng(0)
    centres = 6 * rng.normal(size=(8, 6))
    y = np.repeat(np.arange(8), [30, 30, 30, 30, 12, 40, 25, 30])
    x = centres[y] + rng.normal(size=(len(y), 6))
    np.savez(tmp_path / "d.npz", x=x.astype(np.float32), y=y)
    study = run_study("yours", tmp_path / "d.npz", seeds=2, output=tmp_path / "r.jsonl")
    table = study.tables()[0]
    answers = dict(row[:2] for row in table.rows)
    assert answers["novel categories that are found"] == "100 % (8 of 8)"
    assert "nobody told" in table.notes[0]
    assert len(table.rows) < 10
