"""Small workspaces made through the command line, in an empty folder; one of vectors, one of texts."""

import hashlib
import json
import shutil
import zlib

import numpy as np
import pytest
from typer.main import get_command
from typer.testing import CliRunner

from support import leaving
from vbcgcd.cli import app

MODEL = ("--set", "model.count=evidence", "--set", "model.n_components=6", "--set", "model.prior_strength=20")
WORDS = ("card", "table", "weather", "music", "flight", "rain")


class WordEmbedder:
    """Texts to vectors: how often each of a few words occurs, and a little of its own for each text."""

    name, kind, fingerprint, batch_size, dimension = "words", "text", "words-1", 64, len(WORDS)

    def embed(self, items):
        counts = np.array([[text.split().count(word) for word in WORDS] for text in items], dtype=float)
        noise = [np.random.default_rng(zlib.crc32(text.encode())).normal(size=len(WORDS)) for text in items]
        return counts + 0.1 * np.array(noise)


@pytest.fixture(scope="session")
def program():
    """The command line, built once: it takes longer than most commands."""
    return get_command(app)


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch, program):
    """Stand in an empty folder, with embeddings of texts by words and no cache outside of the test."""
    monkeypatch.chdir(tmp_path)
    for name in ("WORKSPACE", "QUIET", "LOG", "WAIT"):
        monkeypatch.delenv(f"VBCGCD_{name}", raising=False)
    monkeypatch.setenv("VBCGCD_CACHE", str(tmp_path.parent / f"{tmp_path.name}-cache"))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr("typer.testing._get_command", lambda app: program, raising=False)
    words = WordEmbedder()
    monkeypatch.setattr("vbcgcd.workspace.batch.make_embedder", lambda name, *, kind, **options: words)
    return tmp_path


@pytest.fixture
def run():
    """Function arguments -> result; an exception that is not meant for the user is raised."""

    def call(*arguments, code=0):
        result = CliRunner().invoke(app, list(map(str, arguments)))
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.output
        return result

    return call


@pytest.fixture
def run_json(run):
    """Function arguments -> what the command prints with --json."""
    return lambda *arguments: json.loads(run(*arguments, "--json").stdout)


@pytest.fixture(scope="session")
def tree():
    """Function folder -> names and contents of all files in it."""

    def contents(path):
        files = sorted(path.rglob("*"))
        return {
            str(f.relative_to(path)): hashlib.sha256(f.read_bytes()).hexdigest() if f.is_file() else "folder"
            for f in files
        }

    return contents


def draw(rng, means, labels):
    return means[labels] + rng.normal(size=(len(labels), means.shape[1]))


@pytest.fixture(scope="session")
def template(tmp_path_factory):
    """A folder with data and the workspace ``animals``: cat, dog, owl (0 to 2) labelled, 3 and 4 found."""
    folder = tmp_path_factory.mktemp("template")
    rng = np.random.default_rng(0)
    means = 4 * rng.normal(size=(6, 6))
    labels, truth = np.repeat([0, 1, 2], 30), rng.permutation(np.repeat(np.arange(5), 20))
    np.savez(folder / "labelled.npz", x=draw(rng, means, labels), y=np.array(["cat", "dog", "owl"])[labels])
    np.savez(folder / "batch.npz", x=draw(rng, means, truth))
    np.savez(folder / "probe.npz", x=draw(rng, means, np.arange(40) % 6))
    runner = CliRunner()
    here = str(folder / "animals")
    for arguments in (
        ["init", here, *MODEL],
        ["learn", str(folder / "labelled.npz"), "-w", here],
        ["discover", str(folder / "batch.npz"), "--n-novel", "2", "-w", here],
    ):
        result = runner.invoke(app, arguments)
        assert result.exit_code == 0, result.output
    return folder


@pytest.fixture
def animals(template, place, monkeypatch):
    """Stand in a copy of the workspace; the data is in the folder above."""
    shutil.copytree(template, place, dirs_exist_ok=True)
    monkeypatch.chdir(place / "animals")
    return place / "animals"


@pytest.fixture
def leave(monkeypatch):
    """Function as `support.leaving`: sessions from now on leave items unassigned, and seedlings."""

    def use(*arguments, **options):
        place = "vbcgcd.workspace.commands.sessions.run_session"
        monkeypatch.setattr(place, leaving(*arguments, **options))

    return use


def sentences(word, n, seed):
    rng = np.random.default_rng(seed)
    fill = ["please", "my", "the", "a", "some", "now", "today", "again"]
    return [" ".join([word, word, *rng.choice(fill, 4)]) + f" {i}" for i in range(n)]


@pytest.fixture
def letters(place, run, monkeypatch):
    """Stand in a workspace of texts: card, table and weather labelled, music and flight found."""
    rows = [f"{text},{word}" for k, word in enumerate(WORDS[:3]) for text in sentences(word, 20, k)]
    (place / "labelled.csv").write_text("text,label\n" + "\n".join(rows) + "\n")
    rows = [text for k, word in enumerate(WORDS[:5]) for text in sentences(word, 12, 10 + k)]
    (place / "batch.csv").write_text("text\n" + "\n".join(rows) + "\n")
    run("init", "letters", "--set", "model.count=evidence", "--set", "model.prior_strength=20")
    monkeypatch.chdir(place / "letters")
    run("learn", "../labelled.csv")
    run("discover", "../batch.csv", "--n-novel", 2)
    return place / "letters"
