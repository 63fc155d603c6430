"""Data in and out of commands: standard input, other formats, files of answers, columns carried along."""

import csv
import gzip
import json

import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from vbcgcd.cli import app


def piped(content, *arguments, code=0):
    result = CliRunner().invoke(app, list(map(str, arguments)), input=content)
    assert result.exit_code == code, result.output
    return result


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_discover_saves_a_row_for_each_item(run, letters, place, ending):
    (place / "week.csv").write_text("text,customer,name\n" + "music music,c1,Ann\ncard card,c2,Bob\n" * 6)
    out = place / f"out.{ending}"
    record = json.loads(
        run("discover", "../week.csv", "-o", out, "--keep", "customer", "--keep", "name", "--json").stdout
    )
    if ending == "parquet":
        rows = pyarrow.parquet.read_table(out).to_pylist()
    else:
        rows = (
            rows_of(out) if ending == "csv" else [json.loads(line) for line in out.read_text().splitlines()]
        )
    assert len(rows) == record["rows"] == 12
    assert {"reference", "category", "name", "probability", "unassigned", "novelty", "second"} <= set(rows[0])
    assert (rows[1]["customer"], rows[1]["input_name"]) == ("c2", "Bob")
    assert rows[1]["name"] == rows[3]["name"] != rows[0]["name"]


def test_nothing_is_carried_into_nowhere(run, letters, place):
    for command in ("discover", "predict"):
        assert "-o FILE" in run(command, "../labelled.csv", "--keep", "label", code=2).stderr
    message = run("predict", "../labelled.csv", "--keep", "colour", "-o", place / "o.csv", code=2).stderr
    assert "no column 'colour'" in message
    assert not (place / "o.csv").exists()


def test_predict_carries_all_columns(run, letters, place):
    run("predict", "../labelled.csv", "--keep", "all", "-o", place / "o.csv")
    rows = rows_of(place / "o.csv")
    assert all(row["label"] == row["name"] for row in rows)
    assert rows[0]["text"]


def test_standard_input_is_data(run, letters, place):
    answer = json.loads(
        piped("text\ncard card\nmusic music\n", "predict", "-", "--format", "csv", "--json").stdout
    )
    assert answer["predictions"][0]["name"] == "card"
    piped("rain rain\nrain\n" * 6, "discover", "-", "--format", "txt", "--n-novel", "1")
    assert json.loads(run("sessions", "--json").stdout)["sessions"][-1]["source"] == "standard input"
    assert "--format" in piped("a\n", "discover", "-", code=2).stderr
    assert "format must be one of" in piped("a\n", "discover", "-", "--format", "xlsx", code=2).stderr
    piped('{"text": "table table", "label": "table"}\n', "learn", "-", "--format", "jsonl", "--update-known")


def test_packed_and_other_formats(run, letters, place):
    (place / "new.csv.gz").write_bytes(gzip.compress(b"text\ncard card\n"))
    (place / "new.txt").write_text("card card\n")
    (place / "new.json").write_text('["card card"]')
    (place / "new.dat").write_text("text\ncard card\n")
    for name, options in (("csv.gz", ()), ("txt", ()), ("json", ()), ("dat", ("--format", "csv"))):
        answer = json.loads(run("predict", f"../new.{name}", *options, "--json").stdout)
        assert answer["predictions"][0]["name"] == "card"


def test_a_category_is_saved_whole(run, letters, place):
    run("categories", "show", "card", "-o", place / "card.csv")
    rows = rows_of(place / "card.csv")
    size = next(
        c["size"] for c in json.loads(run("categories", "--json").stdout)["categories"] if c["name"] == "card"
    )
    assert len(rows) == size
    assert all("card" in row["text"] for row in rows)


def test_a_search_looks_at_all_items(run, letters, place):
    (place / "more.csv").write_text(
        "text,label\n" + "card card\tx,card\n".replace("\t", " ") * 30 + "card please refund me,card\n"
    )
    run("learn", "../more.csv", "--update-known")
    page = run("categories", "--find", "REFUND")
    assert "Items with 'REFUND': 0 card (1)." in page.output
    assert json.loads(run("categories", "--find", "refund", "--json").stdout)["found_items"] == {"0": 1}
    assert "No category matches." in run("categories", "--find", "no such word").output


def test_columns_of_init_are_used_and_shown(run, place, monkeypatch):
    (place / "odd.csv").write_text("words,team,remark\n" + "card card,a,x\ntable table,b,x\n" * 10)
    run("init", "odd", "--text", "words", "--label", "team")
    monkeypatch.chdir(place / "odd")
    record = json.loads(run("learn", "../odd.csv", "--json").stdout)
    assert record["columns"] == {"text": "words", "label": "team"}
    assert json.loads(run("config", "--json").stdout)["columns"] == {"text": "words", "label": "team"}
    run("config", "columns.text", "remark")
    assert json.loads(run("config", "--json").stdout)["columns"]["text"] == "remark"


def test_settings_and_commands_are_told_as_they_are_typed(run, letters):
    assert "reject is now 0.05" in run("config", "reject", "0.05").output
    assert "reject is now null" in run("config", "reject", "null").output
    assert "config reject=null" in run("status").output
    assert "None" not in run("config").output


def test_a_retired_second_choice_has_its_name(run, letters, place):
    run("categories", "drop", "table")
    page = run("categories", "show", "card", "--items", "50").output
    assert "table (retired)" in page
