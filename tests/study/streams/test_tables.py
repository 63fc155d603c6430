import dataclasses
import io

import pytest
from rich.console import Console

from vbcgcd.study import read_studies, run_study
from vbcgcd.study.streams.scoring import StreamResult, StreamSession


@pytest.fixture(scope="module")
def study(stream_data, junk_data, tmp_path_factory):
    output = tmp_path_factory.mktemp("results")
    done = run_study("stream", stream_data, junk=junk_data, seeds=2, output=output)
    return done, output


def made_up(study):
    """The study with sessions whose figures are plain."""
    sessions = (
        StreamSession("mixed", (6, 12), (True, False), 4, 1, 0, 1, 0.5, 12, 3),
        StreamSession("known", (), (), 0, 0, 0, 0, 0.75, 0, 0),
    )
    runs = {}
    for label, group in study.runs.items():
        changed = []
        for record in group:
            result = dataclasses.replace(record.result, stream=StreamResult(sessions, 0.125, 0.5, 2))
            bound = dataclasses.replace(record.bound, macro=0.8)
            changed.append(dataclasses.replace(record, result=result, bound=bound))
        runs[label] = tuple(changed)
    return dataclasses.replace(study, runs=runs)


def test_tables_by_hand(study):
    plain = made_up(study[0])
    found = plain.table("discoveries")
    assert found.rows[0] == ("ours", "1.0", "2.0", "0.5", "0.5", "0.5", "0.0", "0.5", "0.0", "62.5")
    assert [row[0] for row in found.rows] == ["ours", "ours, number told"]
    assert plain.table("sizes").rows[0] == ("ours", "100.0 of 2", "0.0 of 2", "– of 0", "– of 0")
    summary = plain.table("stream-summary")
    assert summary.rows[0][3:7] == ("50.0", "0.625", "0.125", "25.0")
    assert plain.table("kinds").rows[:2] == (
        ("ours", "known", "0", "0", "–", "–", "0", "100.0", "0.0", "75.0"),
        ("", "mixed", "4", "8", "2.00", "50.0", "2", "0.0", "0.0", "50.0"),
    )
    assert plain.table("numbers").rows[1] == ("ours", "1", "mixed 4/2", "known 0/0")
    assert plain.data == "blobs, junk from junk"


def test_tables_fit_a_terminal_of_100_columns(study):
    for table in study[0].tables():
        console = Console(width=200, file=io.StringIO())
        console.print(dataclasses.replace(table, notes=()))
        assert max(len(line.rstrip()) for line in console.file.getvalue().splitlines()) <= 100


def test_finished_streams_are_read_and_not_run_again(study, stream_data, junk_data, monkeypatch):
    done, output = study
    [again] = read_studies("stream", output)
    assert [t.rows for t in again.tables()] == [t.rows for t in done.tables()]
    assert read_studies("stream", output, plan="stream-even") == []
    monkeypatch.setattr("vbcgcd.study.study.execute", None)
    run_study("stream", stream_data, junk=junk_data, seeds=2, output=output)
