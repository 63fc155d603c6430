import csv
import json

import numpy as np
import pytest

from vbcgcd.workspace import Workspace


def test_predictions_without_a_file_are_a_table_and_a_summary(run, animals):
    output = run("predict", "../probe.npz").output
    lines = output.splitlines()
    assert lines[0].split() == ["item", "id", "category", "prob.", "second", "prob.", "novelty"]
    expected = Workspace.open(animals).predict(np.load(animals.parent / "probe.npz")["x"])
    assert [line.split()[:3:2] for line in lines[2:22]] == [[str(i), expected.name[i]] for i in range(20)]
    assert "... and 20 more items" in output
    assert "40 items in 5 categories" in output


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_predictions_go_into_a_file(run, animals, ending):
    shown = run("predict", "../probe.npz", "-o", f"out.{ending}", "--reject", 0.1).output
    assert f"Written to out.{ending}" in shown
    path = animals / f"out.{ending}"
    if ending == "csv":
        found = list(csv.DictReader(path.read_text().splitlines()))
    elif ending == "jsonl":
        found = [json.loads(line) for line in path.read_text().splitlines()]
    else:
        found = pytest.importorskip("pyarrow.parquet").read_table(path).to_pylist()
    expected = Workspace.open(animals).predict(np.load(animals.parent / "probe.npz")["x"], 0.1)
    assert [row["reference"] for row in found] == expected.references
    assert [int(row["category"]) for row in found] == expected.category.tolist()
    assert [row["name"] for row in found] == expected.name
    assert [row["second_name"] for row in found] == expected.second_name
    for column in ("probability", "novelty", "second_probability"):
        values = [float(row[column]) for row in found]
        np.testing.assert_allclose(values, getattr(expected, column), rtol=1e-5)
    assert "none of these" in expected.name
    assert f"{(expected.category < 0).sum()} are none of these" in shown


def test_an_older_file_is_replaced(run, animals):
    (animals / "out.csv").write_text("old")
    run("predict", "../probe.npz", "-o", "out.csv")
    assert len((animals / "out.csv").read_text().splitlines()) == 41
    assert sorted(p.name for p in animals.iterdir() if "out" in p.name) == ["out.csv"]


def test_predictions_of_texts_show_the_texts_and_keep_the_references(run, run_json, letters, place):
    (place / "probe.csv").write_text("id,text\nx1,card card please\nx2,music music now\n")
    output = run("predict", "../probe.csv").output
    assert "card card please" in output
    told = run_json("predict", "../probe.csv")
    assert [row["reference"] for row in told["predictions"]] == ["x1", "x2"]
    assert told["predictions"][0]["name"] == "card"
    assert told["counts"]["card"] == 1


def test_the_rate_of_rejection_is_that_of_the_settings(run, run_json, animals):
    assert run_json("predict", "../probe.npz")["refused"] == 0
    run("config", "reject", 0.2)
    refused = run_json("predict", "../probe.npz")["refused"]
    assert refused > 0
    assert run_json("predict", "../probe.npz", "--reject", 0)["refused"] == 0


def test_a_text_is_explained_as_it_is_typed(run, run_json, letters):
    output = " ".join(run("explain", "card card my card").output.split())
    assert "card card my card" in output
    assert "Evidence for 'card' against" in output
    assert "is usual for the own items" in output
    assert "it is no stranger" in output
    told = run_json("explain", "card card my card")
    assert told["candidates"][0]["name"] == "card"
    assert f"{told['log_odds']:.1f} nats" in output
    parts = told["from_distance"] + told["from_volume"]
    assert parts == pytest.approx(told["log_odds"])
    assert told["candidates"][0]["typical_texts"][0].startswith("card card")
    assert told["candidates"][0]["typical_texts"][0] in output


def test_strangers_are_told_in_words(run, letters):
    assert "may be of a new one" in " ".join(run("explain", "rain rain rain rain").output.split())


def test_a_row_of_a_table_is_explained(run, run_json, letters, place):
    (place / "probe.csv").write_text("text\ncard card please\nmusic music now\n")
    told = run_json("explain", "../probe.csv", "--row", 1)
    expected = run_json("explain", "music music now")
    assert told["reference"] == "1"
    assert told["candidates"] == expected["candidates"]
    assert "music music now" in run("explain", "../probe.csv", "--row", 1).output
    assert run_json("explain", "../probe.csv", "--row", 1, "--text", "text") == told
    assert "at most 1" in run("explain", "../probe.csv", "--row", 2, "--text", "text", code=2).stderr


def test_a_row_of_an_array_is_explained(run, run_json, animals):
    told = run_json("explain", "../probe.npz", "--row", 7, "--candidates", 2)
    assert told["reference"] == "7"
    assert len(told["candidates"]) == 2
    assert "nats" in run("explain", "../probe.npz", "--row", 7).output


def test_a_file_that_is_missing_is_no_text(run, letters):
    assert "There is no file or folder tusday.csv" in run("explain", "tusday.csv", code=2).stderr
    run("explain", "what is in tuesday.csv")


def test_a_picture_is_explained(run, run_json, place, monkeypatch):
    image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(0)
    for k, name in enumerate(("dark", "light")):
        (place / "pictures" / name).mkdir(parents=True)
        for i in range(12):
            pixels = rng.integers(0, 60, (4, 4, 3)) + 180 * k
            image.fromarray(pixels.astype(np.uint8)).save(place / "pictures" / name / f"{i}.png")

    class Corners:
        name, kind, fingerprint, batch_size, dimension = "corners", "image", "corners-1", 8, 3

        def embed(self, items):
            return np.array([np.asarray(item, dtype=float)[0, 0] / 100 for item in items])

    monkeypatch.setattr("vbcgcd.workspace.data.make_embedder", lambda name, *, kind, **options: Corners())
    run("init", "n")
    run("learn", "pictures", "-w", "n")
    told = run_json("explain", "pictures/light/3.png", "-w", "n")
    assert told["candidates"][0]["name"] == "light"
    assert told["reference"] == "pictures/light/3.png"
    assert "dark/" in run("predict", "pictures", "-w", "n").output
