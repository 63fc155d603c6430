"""``--engine``: folders of shards in and out, with the answers of every other way."""

import itertools
import json

import pyarrow.parquet as pq
import pytest
from lake import SITE, read_lake, rows_of, write_lake, write_texts


@pytest.fixture
def lake(place):
    rows, labels = rows_of(200)
    return write_lake(place / "lake", rows, labels, n_shards=3)


@pytest.fixture
def learned(run, lake, place, monkeypatch):
    run("init", "desk")
    monkeypatch.chdir(place / "desk")
    result = run("learn", "../lake", "--label", "label", "--engine", "here", "--json")
    assert json.loads(result.stdout)["rows"] == 200


@pytest.mark.parametrize("engine", ["here", "processes"])
def test_predict_a_folder(run, learned, engine, place):
    words = ["predict", "../lake", "-o", "../out", "--engine", engine]
    words += ["--workers", "2"] if engine == "processes" else []
    values = json.loads(run(*words, "--json").stdout)
    assert (values["items"], values["shards"], values["shards_written"]) == (200, 3, 3)
    assert sum(values["counts"].values()) == 200
    assert "Wrote 3 shards" in run(*words).stdout
    run("predict", "../lake", "-o", "../plain.parquet")
    plain = pq.read_table(place / "plain.parquet")
    assert read_lake(place / "out").select(["reference", "name"]).equals(plain.select(["reference", "name"]))


def test_discover_a_folder(run, learned, place):
    rows, _ = rows_of(60, seed=8)
    write_lake(place / "more", rows + 12, n_shards=2)
    values = json.loads(
        run("discover", "../more", "--n-novel", "1", "-o", "../sorted", "--engine", "here", "--json").stdout
    )
    assert values["rows"] == 60
    assert len(values["novel"]) == 1
    assert read_lake(place / "sorted").num_rows == 60


def test_learn_says_how_long_it_took(run, lake, monkeypatch):
    clock = itertools.count(step=7.0)
    monkeypatch.setattr("vbcgcd.cli.common.time.monotonic", lambda: next(clock))
    run("init", "desk")
    result = run("learn", "lake", "--engine", "here", "-w", "desk")
    assert "(0.0 s)" not in result.stdout


def test_embed_a_folder(run, place, monkeypatch):
    monkeypatch.syspath_prepend(SITE)
    write_texts(place / "texts", 20, n_shards=2)
    words = ["embed", "texts", "-o", "out", "--engine", "here", "--with", "letters"]
    result = run(*words)
    assert "17 items embedded by letters. Wrote 2 shards" in result.stdout
    assert "3 of 20 items could not be embedded" in result.stderr
    assert "t3: empty text" in result.stderr
    assert "2 of them before" in run(*words).stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("predict", "../lake", "--engine", "here"), "give a folder of shards and a folder for the answers"),
        (("predict", "--engine", "here", "--stdin"), "reads folders, not standard input"),
        (("predict", "../lake", "-o", "../x", "--workers", "2"), "choose one with --engine"),
        (("predict", "../lake", "-o", "../x", "--address", "a:1"), "choose one with --engine"),
        (("predict", "../lake", "-o", "../x", "--engine", "here", "--workers", "2"), "one process"),
        (("predict", "../nowhere", "-o", "../x", "--engine", "here"), "no file or folder"),
        (("discover", "../lake", "--engine", "here", "--split", "a=b"), "cannot be used with an engine"),
        (("embed", "../lake", "-o", "../x", "--engine", "here"), "hold embeddings already"),
        (("embed", "../lake", "-o", "../x", "--engine", "here", "--split", "a"), "Shards have no parts"),
    ],
)
def test_what_makes_no_sense_is_one_error(run, learned, place, words, message):
    result = run(*words, code=2)
    assert message in " ".join(result.stderr.split())
    assert not (place / "x").exists()
