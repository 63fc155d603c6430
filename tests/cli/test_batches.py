import csv
import json
from pathlib import Path

import numpy as np
import pytest

from vbcgcd.workspace import Workspace


def words(result):
    """Output without line breaks."""
    return " ".join(result.output.split())


def test_predictions_without_a_file_are_a_table_and_a_summary(run, animals):
    output = run("predict", "../probe.npz").output
    lines = output.splitlines()
    assert lines[0].split() == ["item", "id", "category", "prob.", "second", "choice", "prob.", "novelty"]
    expected = Workspace.open(animals).predict(np.load(animals.parent / "probe.npz")["x"])
    assert [line.split()[:3:2] for line in lines[2:22]] == [[str(i), expected.name[i]] for i in range(20)]
    assert "20 more items" in output
    assert "40 items in 5 categories" in output


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_predictions_go_into_a_file(run, animals, ending):
    page = run("predict", "../probe.npz", "-o", f"out.{ending}", "--reject", 0.1).output
    assert f"items to out.{ending}." in page
    path = animals / f"out.{ending}"
    if ending == "csv":
        rows = list(csv.DictReader(path.read_text().splitlines()))
    elif ending == "jsonl":
        rows = [json.loads(line) for line in path.read_text().splitlines()]
    else:
        rows = pytest.importorskip("pyarrow.parquet").read_table(path).to_pylist()
    expected = Workspace.open(animals).predict(np.load(animals.parent / "probe.npz")["x"], 0.1)
    assert [row["reference"] for row in rows] == expected.references
    assert [int(row["category"]) for row in rows] == expected.category.tolist()
    assert [row["name"] for row in rows] == expected.name
    assert [row["second_name"] for row in rows] == expected.second_name
    for column in ("probability", "novelty", "second_probability"):
        values = [float(row[column]) for row in rows]
        np.testing.assert_allclose(values, getattr(expected, column), rtol=1e-5)
    assert "none of these" in expected.name
    assert f"Rejected {(expected.category < 0).sum()} items" in page


def test_an_older_file_is_replaced(run, animals):
    (animals / "out.csv").write_text("old")
    run("predict", "../probe.npz", "-o", "out.csv")
    assert len((animals / "out.csv").read_text().splitlines()) == 41
    assert sorted(p.name for p in animals.iterdir() if "out" in p.name) == ["out.csv"]


def test_predictions_of_texts_show_the_texts_and_keep_the_references(run, run_json, letters, place):
    (place / "probe.csv").write_text("id,text\nx1,card card please\nx2,music music now\n")
    output = run("predict", "../probe.csv").output
    assert "card card please" in output
    answer = run_json("predict", "../probe.csv")
    assert [row["reference"] for row in answer["predictions"]] == ["x1", "x2"]
    assert answer["predictions"][0]["name"] == "card"
    assert answer["counts"]["card"] == 1


def test_the_rate_of_rejection_is_that_of_the_settings(run, run_json, animals):
    assert run_json("predict", "../probe.npz")["rejected"] == 0
    run("config", "reject", 0.2)
    rejected = run_json("predict", "../probe.npz")["rejected"]
    assert rejected > 0
    assert run_json("predict", "../probe.npz", "--reject", 0)["rejected"] == 0


def test_a_text_is_explained_as_it_is_typed(run, run_json, letters):
    output = " ".join(run("explain", "card card my card").output.split())
    assert "card card my card" in output
    assert "'card' over" in output
    answer = run_json("explain", "card card my card")
    assert answer["novelty"] < 0.95
    assert answer["candidates"][0]["name"] == "card"
    assert f"{answer['log_odds']:.1f} nats" in output
    parts = answer["from_distance"] + answer["from_volume"]
    assert parts == pytest.approx(answer["log_odds"])
    assert answer["candidates"][0]["typical_texts"][0].startswith("card card")
    assert answer["candidates"][0]["typical_texts"][0] in output


def test_an_item_that_fits_nothing_is_novel(run, run_json, letters):
    assert run_json("explain", "rain rain rain rain")["novelty"] > 0.99
    assert "may belong to a novel" in " ".join(run("explain", "rain rain rain rain").output.split())


def test_a_row_of_a_table_is_explained(run, run_json, letters, place):
    (place / "probe.csv").write_text("text\ncard card please\nmusic music now\n")
    answer = run_json("explain", "../probe.csv", "--row", 1)
    expected = run_json("explain", "music music now")
    assert answer["reference"] == "1"
    assert answer["candidates"] == expected["candidates"]
    assert "music music now" in run("explain", "../probe.csv", "--row", 1).output
    assert run_json("explain", "../probe.csv", "--row", 1, "--text", "text") == answer
    assert "at most 1" in run("explain", "../probe.csv", "--row", 2, "--text", "text", code=2).stderr


def test_a_row_of_an_array_is_explained(run, run_json, animals):
    answer = run_json("explain", "../probe.npz", "--row", 7, "--candidates", 2)
    assert answer["reference"] == "7"
    assert len(answer["candidates"]) == 2
    assert "nats" in run("explain", "../probe.npz", "--row", 7).output


def test_a_file_that_is_missing_is_no_text(run, letters):
    assert "tusday.csv" in run("explain", "tusday.csv", code=2).stderr
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

    monkeypatch.setattr("vbcgcd.workspace.batch.make_embedder", lambda name, *, kind, **options: Corners())
    run("init", "n")
    run("learn", "pictures", "-w", "n")
    answer = run_json("explain", "pictures/light/3.png", "-w", "n")
    assert answer["candidates"][0]["name"] == "light"
    assert answer["reference"] == "pictures/light/3.png"
    assert "dark/" in run("predict", "pictures", "-w", "n").output


def test_a_workspace_is_made_learned_and_extended(run, template, place, monkeypatch):
    start = words(run("init", "zoo", "--set", "model.count=evidence", "--set", "model.n_components=6"))
    assert "Created the workspace" in start
    assert "cd zoo" in start
    monkeypatch.chdir(place / "zoo")
    learned = words(run("learn", template / "labelled.npz"))
    assert "Session 0: learned 3 categories from 90 items" in learned
    assert "Next: vbcgcd discover" in learned
    page = words(run("discover", template / "batch.npz", "--n-novel", 2))
    assert "Session 1: 100 items" in page
    assert "in 2 novel" in page
    assert "novel-3" in page
    assert "vbcgcd categories rename" in page
    assert len(Workspace.open(place / "zoo").categories()) == 5


def test_later_labels_are_added_and_known_ones_updated_only_if_asked(run, run_json, animals, template):
    rng = np.random.default_rng(3)
    x = np.load(template / "labelled.npz")["x"]
    np.savez(
        "more.npz", x=np.concatenate([x[:10], rng.normal(size=(12, 6)) - 9]), y=["cat"] * 10 + ["emu"] * 12
    )
    before = run_json("categories")["categories"][0]["taught"]
    assert run_json("learn", "more.npz")["novel"] == {"5": "emu"}
    assert run_json("categories")["categories"][0]["taught"] == before
    status = run_json("status")
    assert (status["labelled"], status["discovered"]) == (4, 2)
    page = words(run("learn", "more.npz", "--update-known", "--again"))
    assert "updated with 22 items" in page
    assert run_json("categories")["categories"][0]["taught"] == before + 10


def test_items_without_a_label_are_left_out_and_counted(run, place, monkeypatch):
    rng = np.random.default_rng(0)
    rows = [[*rng.normal(size=3) + 9 * (k % 2), "ab"[k % 2] if k < 30 else ""] for k in range(33)]
    with (place / "d.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["v0", "v1", "v2", "label"], *rows])
    run("init", "n")
    page = words(run("learn", "d.csv", "-w", "n", "--embedding", "v"))
    assert "learned 2 categories from 30 items in d.csv" in page
    assert "Skipped 3 items" in page
    assert "embedding from 'v0 to v2'" in page


def test_columns_can_be_chosen(run, run_json, place):
    rng = np.random.default_rng(0)
    part = np.array(["train", "test"])[np.arange(40) % 4 // 3]
    rows = [
        [f"id-{k}", rng.normal() + 9 * (k % 2), rng.normal(), rng.normal(), f"team {k % 2}", p]
        for k, p in enumerate(part)
    ]
    with (place / "d.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["ticket", "a", "b", "other", "team", "part"], *rows])
    run("init", "n")
    columns = ("--embedding", "a", "--embedding", "b", "--id", "ticket")
    learned = run_json(
        "learn",
        "d.csv",
        "-w",
        "n",
        *columns,
        "--label",
        "team",
        "--split",
        "part=train",
        "--kind",
        "embedding",
    )
    assert (learned["rows"], learned["novel"]) == (30, {"0": "team 0", "1": "team 1"})
    answers = run_json("predict", "d.csv", "-w", "n", *columns, "--split", "part=test")
    assert [row["reference"] for row in answers["predictions"]] == [f"id-{k}" for k in range(3, 40, 4)]


def test_interrupted_work_leaves_the_workspace_as_it_was(run, animals, tree, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("vbcgcd.workspace.commands.sessions.run_session", interrupted)
    before = tree(animals)
    assert "Interrupted" in run("discover", "../batch.npz", "--again", code=130).output
    assert tree(animals) == before


def test_a_csv_starts_no_formula_unless_it_is_asked_for(run, animals):
    run("categories", "rename", 0, "=1+1")
    run("predict", "../probe.npz", "-o", "safe.csv")
    run("predict", "../probe.npz", "-o", "raw.csv", "--raw-cells")
    assert ",'=1+1," in Path("safe.csv").read_text()
    assert ",=1+1," in Path("raw.csv").read_text()
