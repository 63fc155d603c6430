import io
import json
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from vbcgcd.items import Failure
from vbcgcd.record import CountCurve, SessionRecord, Step

STEPS = tuple(Step(name, 0.25, {"share": 0.5}) for name in ("novelty", "cluster", "relabel", "posterior"))


def record_of(n_novel, *, estimated=False, strings=False, rows=60):
    known = ["cat", "dog"] if strings else [0, 1]
    novel = [f"novel-{i + 1}" for i in range(n_novel)] if strings else [2 + i for i in range(n_novel)]
    categories = [*known, *novel]
    codes = np.arange(rows) % len(categories)
    counts = np.bincount(codes, minlength=len(categories)).tolist()
    return SessionRecord(
        session=3,
        command="discover",
        rows=rows,
        novel={category: str(category) for category in novel},
        counts=dict(zip(categories, counts, strict=True)),
        seconds=1.0,
        mean_probability=0.9,
        flagged=0.4,
        estimated=estimated,
        count=CountCurve("silhouette", (0, 1, 2), (0.0, 0.5, 0.25), n_novel) if estimated else None,
        novel_share=0.5,
        evidence=-12345.6,
        ratio_before=(-1234.5,) * n_novel,
        ratio_after=(0.04,) * n_novel,
        steps=STEPS,
        failures=(Failure("a.png", "truncated"),),
        n_failures=1,
        labels_=np.array(categories)[codes],
        probabilities_=np.eye(len(categories))[codes] * 0.9 + 0.1 / len(categories),
        novelty_=np.linspace(0, 1, rows),
    )


def rendered(record, width=100):
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(record)
    return console.export_text()


def test_counts_add_up():
    record = record_of(3)
    assert (record.rows, record.n_novel, record.novel_rows, record.known_rows) == (60, 3, 36, 24)


@pytest.mark.parametrize("estimated", [False, True])
@pytest.mark.parametrize("strings", [False, True])
@pytest.mark.parametrize("n_novel", [0, 1, 3])
def test_json_and_back(n_novel, strings, estimated):
    record = replace(record_of(n_novel, strings=strings, estimated=estimated), commit=7, time="2026-01-01")
    text = json.dumps(record.as_json(), allow_nan=False)
    again = SessionRecord.from_json(json.loads(text))
    assert again == record
    assert [step.name for step in again.steps] == [step.name for step in record.steps]
    assert again.as_json() == record.as_json()
    assert len(again.labels_) == len(again.probabilities_) == len(again.novelty_) == 0


def test_the_log_knows_better():
    again = SessionRecord.from_json(record_of(1).as_json(), commit=12, time="now", undone=True)
    assert (again.commit, again.time, again.undone) == (12, "now", True)


def test_names_of_the_first_release_are_read():
    values = record_of(2).as_json()
    values["unfamiliar"], values["model"] = values.pop("flagged"), {"nu": 5.0}
    del values["prior"]
    again = SessionRecord.from_json(values)
    assert again.flagged == 0.4
    assert again.prior == {"nu": 5.0}


def test_numbers_that_are_not_finite_are_null():
    assert replace(record_of(0), evidence=float("nan")).as_json()["evidence"] is None


@pytest.mark.parametrize("strings", [False, True])
@pytest.mark.parametrize("estimated", [False, True, None])
@pytest.mark.parametrize("n_novel", [0, 1, 3, 12])
def test_repr_says_what_happened(strings, estimated, n_novel):
    record = replace(record_of(n_novel, strings=strings), estimated=estimated)
    text = repr(record)
    assert "session 3" in text
    assert "60 rows" in text
    noun = "category" if n_novel == 1 else "categories"
    assert f"{record.known_rows} known and {record.novel_rows} novel in {n_novel} {noun}" in text
    assert {True: "estimated", False: "given", None: "labelled"}[estimated] in text
    assert ", ..." in text if n_novel > 4 else ", ..." not in text
    assert "\n" not in text
    for name in list(record.novel.values())[:4]:
        assert name in text


@pytest.mark.parametrize("strings", [False, True])
@pytest.mark.parametrize("n_novel", [0, 1, 12])
def test_table_fits_and_shows_every_category(strings, n_novel):
    record = record_of(n_novel, strings=strings)
    text = rendered(record)
    assert max(map(len, text.splitlines())) <= 100
    for category, name in record.novel.items():
        [line] = [line for line in text.splitlines() if line.split()[:2] == ["│", name]]
        assert str(record.counts[category]) in line.split()
        assert "-1234.5" in line
        assert "0.9" in line


def test_a_record_without_rows_has_a_table():
    text = rendered(SessionRecord.from_json(record_of(2).as_json()))
    assert "-1234.5" in text
    assert "nan" not in text


@pytest.mark.parametrize("width", [60, 80])
def test_narrow_terminals_are_respected(width):
    assert max(map(len, rendered(record_of(3, strings=True), width).splitlines())) <= width


@pytest.mark.parametrize(("label", "again"), [("--1", "--1"), ("-1", -1), ("a1", "a1"), ("１", "１")])
def test_only_integers_become_ids_again(label, again):
    record = replace(record_of(0), counts={label: 60})
    assert list(SessionRecord.from_json(record.as_json()).counts) == [again]


@pytest.mark.parametrize("strings", [False, True])
def test_what_is_left_over_is_part_of_the_json(strings):
    record = record_of(2, strings=strings, estimated=True)
    record = replace(
        record,
        unassigned=7,
        seedlings=(5, 3),
        grown={next(iter(record.novel)): 2},
        warnings=("Only 2 categories are known.",),
    )
    values = json.loads(json.dumps(record.as_json(), allow_nan=False))
    again = SessionRecord.from_json(values)
    assert again == record
    assert (again.unassigned, again.seedlings, again.warnings) == (7, (5, 3), record.warnings)
    assert again.grown == record.grown
    assert values["known_rows"] == record.known_rows == record.rows - record.novel_rows - 7
    assert "7 unassigned" in repr(record)


def test_records_of_earlier_releases_leave_nothing_over():
    values = record_of(2).as_json()
    for name in ("unassigned", "seedlings", "grown", "warnings"):
        del values[name]
    again = SessionRecord.from_json(values)
    assert (again.unassigned, again.seedlings, again.grown, again.warnings) == (0, (), {}, ())
    assert "unassigned" not in repr(again)
