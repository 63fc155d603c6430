import json
from dataclasses import replace

import pytest

from vbcgcd.errors import InputError, WorkspaceDamaged
from vbcgcd.items import Failure
from vbcgcd.record import CountCurve, SessionRecord, Step
from vbcgcd.workspace.log import commits
from vbcgcd.workspace.log.commits import (
    Commit,
    Draft,
    FileMark,
    check_version,
    record_of,
    summary_of,
)
from vbcgcd.workspace.snapshot import Category


@pytest.fixture
def record():
    return Commit(3, "merge", "2020-01-01", "ab", {"n": 1}, {"x": [1]}, {}, {"a.b": FileMark(2, "cd")}, "0.1")


def test_a_record_survives_json(record, tmp_path):
    values = json.loads(json.dumps(record.as_json()))
    assert Commit.from_json(values, tmp_path) == record


def test_a_later_format_asks_for_an_update(tmp_path):
    with pytest.raises(InputError, match="version 99"):
        check_version(99, tmp_path / "workspace.json")


@pytest.mark.parametrize("version", [None, "1"])
def test_no_version_is_damage(version, tmp_path):
    with pytest.raises(WorkspaceDamaged):
        check_version(version, tmp_path)


def test_an_earlier_format_is_migrated_in_memory(record, tmp_path, monkeypatch):
    old = record.as_json()
    old["action"] = old.pop("command")
    monkeypatch.setattr(commits, "VERSION", 2)
    monkeypatch.setitem(
        commits.MIGRATIONS, 1, lambda v: {**{k: v[k] for k in v if k != "action"}, "command": v["action"]}
    )
    found = Commit.from_json(old, tmp_path)
    assert (found.command, found.version) == ("merge", 2)
    assert old["version"] == 1


def test_a_format_without_migration_says_how_to_go_on(record, tmp_path, monkeypatch):
    monkeypatch.setattr(commits, "VERSION", 3)
    with pytest.raises(InputError, match="versions 1 and 2"):
        Commit.from_json(record.as_json(), tmp_path)


def test_missing_parts_are_damage(record, tmp_path):
    values = record.as_json()
    del values["files"]
    with pytest.raises(WorkspaceDamaged):
        Commit.from_json(values, tmp_path)


def session_commit(summary, *, command="discover", names=("x", "y")):
    categories = [Category(3 + i, name, "terms", 7).as_json() for i, name in enumerate(names)]
    changes = {"session": 7, "categories": categories, "posteriors": [3, 4]}
    values = Commit(9, command, "2026-01-02", "ab", {}, changes, summary, {}, "0.1").as_json()
    return Commit.from_json(json.loads(json.dumps(values, allow_nan=False)), None)


@pytest.fixture
def outcome():
    return SessionRecord(
        session=7,
        command="discover",
        rows=10,
        novel={3: "x", 4: "y"},
        counts={0: 6, 3: 3, 4: 1},
        seconds=1.5,
        mean_probability=0.75,
        flagged=0.4,
        estimated=True,
        novel_share=0.41,
        evidence=-3.25,
        ratio_before=(0.5, 1.0),
        ratio_after=(0.25, 0.5),
        count=CountCurve("evidence", (0, 1, 2), (-9.0, -5.0, -3.25), 2),
        steps=(Step("novelty", 0.5, {}),),
        failures=(Failure("a.png", "broken"),),
        n_failures=1,
        source="week.csv",
        kind="text",
        columns={"text": "body"},
        source_path="/data/week.csv",
        source_digest="12ab",
        source_read=1700000000.5,
        commit=9,
        time="2026-01-02",
    )


def test_the_outcome_of_a_session_survives_its_commit(outcome):
    assert record_of(session_commit(summary_of(outcome))) == outcome
    assert record_of(session_commit(summary_of(outcome)), undone=True).undone


def test_the_summary_repeats_nothing_that_the_commit_holds(outcome):
    summary = summary_of(outcome)
    assert not {"session", "command", "commit", "time", "undone"} & set(summary)
    assert None not in summary.values()
    # The names of release 0.1.0, which reads these records too.
    assert (summary["novel"], summary["unfamiliar"]) == ([3, 4], 0.4)
    assert "flagged" not in summary


def test_at_most_a_hundred_failures_are_named(outcome):
    many = tuple(Failure(str(i), "broken") for i in range(250))
    summary = summary_of(replace(outcome, failures=many, n_failures=250))
    assert (len(summary["failures"]), summary["n_failures"]) == (100, 250)


def test_a_summary_of_release_0_1_is_read():
    """A labelled session as 0.1.0 wrote it: without session and command, with other names."""
    early = {
        "rows": 5,
        "source": "array",
        "columns": {},
        "kind": "embedding",
        "counts": {"3": 2, "4": 3},
        "mean_probability": 0.9,
        "unfamiliar": 0.2,
        "failures": [],
        "n_failures": 0,
        "seconds": 0.1,
        "unlabelled": 4,
        "novel": [3, 4],
        "model": {"dim": 6, "nu": 20.0},
    }
    record = record_of(session_commit(early, command="learn"))
    assert (record.session, record.command, record.commit) == (7, "learn", 9)
    assert record.novel == {3: "x", 4: "y"}
    assert record.counts == {3: 2, 4: 3}
    assert (record.novel_rows, record.known_rows, record.unlabelled) == (5, 0, 4)
    assert (record.flagged, record.prior["nu"], record.estimated) == (0.2, 20.0, None)


def test_a_draft_takes_parameters_that_were_set():
    draft = Draft("split", parameters={"category": 3}).called_with({"text": "body", "id": None})
    assert draft.parameters == {"category": 3, "text": "body"}
