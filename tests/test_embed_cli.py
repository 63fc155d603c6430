import importlib

import numpy as np
import pytest
from typer.testing import CliRunner

from vbcgcd.cli import app
from vbcgcd.embed import files
from vbcgcd.study import load_dataset


class Letters:
    """Texts -> counts of four letters; cannot take the empty text."""

    name, kind, dimension, fingerprint, batch_size = "letters", "text", 4, "letters-1", 8

    def embed(self, items):
        return np.array([[item.count(c) for c in "abcd"] for item in items], dtype=np.float32)


@pytest.fixture
def run(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VBCGCD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(files, "make_embedder", lambda name, *, kind, **options: Letters())
    return lambda *arguments: CliRunner().invoke(app, list(map(str, arguments)))


def write(path, text):
    path.write_text(text)
    return path


def test_a_table_of_two_parts_becomes_a_file_that_a_study_reads(run, tmp_path):
    write(tmp_path / "t.csv", "split,label,text\ntrain,x,aab\ntrain,y,cd\ntest,y,d\ntest,x,a\n")
    result = run("embed", "t.csv", "-o", "t.npz")
    assert result.exit_code == 0, result.output
    assert "train 2 x 4" in result.output
    data = load_dataset(tmp_path / "t.npz")
    np.testing.assert_array_equal(data.train_x, [[2, 1, 0, 0], [0, 0, 1, 1]])
    np.testing.assert_array_equal(data.train_y, [0, 1])
    np.testing.assert_array_equal(data.test_y, [1, 0])
    again = run("embed", "t.csv", "-o", "t.npz")
    assert "(2 from the cache)" in again.output


def test_what_cannot_be_embedded_is_named_and_the_rest_embedded(run, tmp_path):
    write(tmp_path / "t.csv", "id,label,text\np,x,aab\nq,y,\nr,y,d\n")
    result = run("embed", "t.csv", "-o", "t.npz")
    assert result.exit_code == 0
    assert "1 of 3 items could not be embedded" in result.output
    assert "q: empty text" in result.output
    with np.load(tmp_path / "t.npz") as file:
        assert file["references"].tolist() == ["p", "r"]
        assert file["y"].tolist() == ["x", "y"]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("absent.csv", "-o", "t.npz"), "absent.csv"),
        (("t.csv", "-o", "t.csv"), "is the data itself"),
        (("t.csv", "-o", "out.csv"), ".npz"),
        (("t.csv", "-o", "no/t.npz"), "no folder"),
        (("t.csv", "-o", "t.npz", "--text", "body"), "body"),
        (("empty.csv", "-o", "t.npz"), "empty"),
    ],
)
def test_bad_input_is_one_message_and_writes_nothing(run, tmp_path, arguments, word):
    write(tmp_path / "t.csv", "label,text\nx,aab\ny,d\n")
    write(tmp_path / "empty.csv", "")
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    result = run("embed", *arguments)
    assert result.exit_code == 2
    assert word in " ".join(result.output.split())
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()} == before


def test_ctrl_c_says_that_what_is_finished_is_kept(run, tmp_path, monkeypatch):
    def interrupted(self, items):
        raise KeyboardInterrupt

    monkeypatch.setattr(Letters, "embed", interrupted)
    write(tmp_path / "t.csv", "label,text\nx,aab\n")
    result = run("embed", "t.csv", "-o", "t.npz")
    assert result.exit_code == 130
    assert not (tmp_path / "t.npz").exists()


def test_a_study_embeds_texts_first(run, tmp_path, monkeypatch):
    monkeypatch.setattr("vbcgcd.embed.embedder", lambda name, *, kind: Letters())
    rng = np.random.default_rng(0)
    rows = ["split,label,text"]
    for part, n in (("train", 30), ("test", 5)):
        for k in range(8):
            words = ("".join(rng.choice(list("abcd"), 12, p=rng.permutation(W[k % 4]))) for _ in range(n))
            rows += [f"{part},label {k},{word}" for word in words]
    write(tmp_path / "t.csv", "\n".join(rows))
    result = run("study", "plan", "--data", "t.csv", "--sessions", "2", "-o", "plan.json")
    assert result.exit_code == 0, result.output
    data = load_dataset(tmp_path / "t.csv")
    assert data.name == "t, letters"
    assert data.train_x.shape == (240, 4)
    assert data.train_x.sum() == 240 * 12


W = np.full((4, 4), 0.1) + 0.6 * np.eye(4)


def test_finetune_passes_its_options_on_and_prints_the_summary(run, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    image = pytest.importorskip("PIL.Image")
    for name in ("cat", "dog"):
        (tmp_path / "pictures" / name).mkdir(parents=True)
        image.new("RGB", (4, 4)).save(tmp_path / "pictures" / name / "x.png")
    seen = {}

    class Result:
        def summary(self):
            return "tuned"

    def fake(items, **options):
        seen.update(options, labels=items.labels.tolist())
        return Result()

    monkeypatch.setattr(importlib.import_module("vbcgcd.embed.finetune"), "finetune", fake)
    result = run(
        "finetune", "pictures", "-o", "out", "--backbone", "somewhere", "--adapter", "lora", "--epochs", 3
    )
    assert result.exit_code == 0, result.output
    assert "tuned" in result.output
    assert seen["labels"] == ["cat", "dog"]
    assert (seen["method"], seen["epochs"], seen["backbone"]) == ("lora", 3, "somewhere")
    assert seen["learning_rate"] == 1e-3
