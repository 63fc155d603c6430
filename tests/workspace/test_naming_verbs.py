import csv
import zlib

import numpy as np
import pytest

from vbcgcd.errors import InputError
from vbcgcd.workspace import Workspace

KINDS = {
    "weather": ["what is the weather today", "will the weather be fine", "weather for tomorrow please"],
    "music": ["play some music", "play music by the band", "turn on the music please"],
    "luggage": ["I lost my luggage", "the airline lost my luggage", "they lost my luggage again"],
    "flight": ["book a flight to Rome", "please book a flight", "can you book a flight for me"],
}


class Words:
    """Texts to vectors: which of a few words occur, and a little of its own for each text."""

    name, kind, fingerprint, batch_size, dimension = "words", "text", "words-1", 64, 4

    def embed(self, items):
        counts = np.array([[float(word in text) for word in KINDS] for text in items])
        noise = [np.random.default_rng(zlib.crc32(text.encode())).normal(size=4) for text in items]
        return counts + 0.05 * np.array(noise)


def table(path, kinds, *, labels):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"] if labels else ["text"])
        for kind in kinds:
            for number in range(12):
                text = f"{KINDS[kind][number % 3]} {'x' * number}"
                writer.writerow([text, kind] if labels else [text])
    return path


@pytest.fixture
def trips(tmp_path):
    """A workspace of texts that knows weather and music, and has discovered two more (2, 3)."""
    model = {"count": "evidence", "n_components": 4, "prior_strength": 10.0}
    workspace = Workspace.init(tmp_path / "trips", embedder=Words(), cache=False, model=model)
    workspace.learn(table(tmp_path / "known.csv", ["weather", "music"], labels=True))
    workspace.discover(table(tmp_path / "new.csv", ["luggage", "flight"], labels=False), n_novel=2)
    return workspace


class Says:
    name = "says"

    def __init__(self, *answers):
        self.answers, self.questions = list(answers), []

    def suggest(self, question):
        self.questions.append(question)
        answer = self.answers[min(len(self.questions), len(self.answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer


def named(workspace):
    return {category.id: category.name for category in workspace.entries()}


def test_a_session_names_by_phrases(trips):
    assert set(list(named(trips).values())[2:]) == {"lost my luggage", "book a flight"}
    assert trips.category(2).named_by == "terms"


def test_suggestions_change_nothing(trips):
    before = trips.last_commit
    found = trips.suggest_names()
    assert [suggestion.category for suggestion in found] == [2, 3]  # labels are the user's
    assert all(suggestion.good and suggestion.best is None for suggestion in found)
    assert trips.last_commit == before


def test_a_silly_name_gets_better_ones(trips):
    name = trips.category(2).name
    trips.rename(2, "thing")
    assert [suggestion.category for suggestion in trips.suggest_names()] == [3]
    [suggestion] = trips.suggest_names(2)
    assert suggestion.best == name
    assert suggestion.proposals[0].source == "texts"
    assert trips.category(2).name == "thing"


def test_an_automatic_name_stays(trips, tmp_path):
    before = named(trips)
    trips.discover(table(tmp_path / "later.csv", ["luggage", "flight", "music"], labels=False))
    assert {i: name for i, name in named(trips).items() if i in before} == before


def test_a_namer_comes_first_and_gets_texts_and_names(trips):
    namer = Says("Missing bags", "Buying tickets")
    found = trips.suggest_names(namer=namer)
    assert [suggestion.best for suggestion in found] == ["Missing bags", "Buying tickets"]
    assert found[0].proposals[0].source == "says"
    question = namer.questions[0]
    assert 1 <= len(question.texts) <= 12
    assert len(question.nearest) == len(KINDS) - 1
    assert trips.category(2).name not in question.nearest


@pytest.mark.parametrize("answer", [RuntimeError("down"), "", "two\nlines", "weather"])
def test_whatever_a_namer_does_the_others_stand(trips, answer):
    trips.rename(2, "thing")
    [suggestion] = trips.suggest_names("thing", namer=Says(answer))
    assert suggestion.problem.startswith("says: ")
    assert suggestion.best in ("lost my luggage", "book a flight")


def test_the_namer_of_the_settings(trips, monkeypatch):
    made = []
    monkeypatch.setattr(
        "vbcgcd.plugins.load_plugin",
        lambda group, name: lambda argument: made.append((name, argument)) or Says("Missing bags"),
    )
    trips.configure(namer="mine:model")
    assert trips.suggest_names(2)[0].best == "Missing bags"
    assert made == [("mine", "model")]
    assert trips.suggest_names(2, namer=False)[0].best is None
    assert len(made) == 1


def test_a_session_asks_no_namer(trips, tmp_path, monkeypatch):
    monkeypatch.setattr("vbcgcd.workspace.naming.namers.make_namer", lambda setting: pytest.fail("asked"))
    trips.configure(namer="openai:http://127.0.0.1:9/v1")
    trips.discover(table(tmp_path / "more.csv", ["flight", "music"], labels=False))


@pytest.mark.parametrize(
    "namer",
    [
        *[7, "", "openai", "openai:", "openai:localhost", "openai:http://a:b@c/v1", "openai:http://[::1/"],
        *["http://localhost:8080/v1", "OpenAI:http://localhost/v1", " mine", "mi\nne", ":x"],
    ],
)
def test_what_is_no_namer(trips, namer):
    before = trips.last_commit
    with pytest.raises(InputError, match=r"[Nn]amer"):
        trips.configure(namer=namer)
    assert trips.last_commit == before


def test_a_namer_that_an_import_chose_asks_first(trips, tmp_path, monkeypatch):
    trips.configure(namer="mine")
    trips.export(tmp_path / "trips.zip")
    copy = Workspace.import_(tmp_path / "trips.zip", tmp_path / "copy", embedder=Words(), cache=False)
    monkeypatch.setattr(
        "vbcgcd.plugins.load_plugin",
        lambda group, name: lambda argument: Says("Missing bags"),
    )
    with pytest.raises(InputError, match=r"was imported, and its namer .* config namer"):
        copy.suggest_names()
    assert copy.suggest_names(2, namer=False)  # needs nobody
    copy.configure(namer="mine")
    copy.suggest_names(2)


def test_without_texts_there_is_nothing_to_propose(trips, tmp_path):
    (tmp_path / "new.csv").unlink()
    [suggestion] = Workspace(tmp_path / "trips", embedder=Words(), cache=False).suggest_names(2)
    assert [proposal.source for proposal in suggestion.proposals] in ([], ["likeness"])


def test_unknown_categories(trips):
    with pytest.raises(InputError, match="no category 'bus'"):
        trips.suggest_names("bus")
    with pytest.raises(InputError, match="n must be"):
        trips.suggest_names(n=0)


def test_before_anything_was_learned(fresh):
    with pytest.raises(InputError, match="is empty"):
        fresh.suggest_names()
