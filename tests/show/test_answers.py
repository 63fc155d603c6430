import dataclasses

import numpy as np
import pytest
from rich.console import Console

from vbcgcd.show import answers as show
from vbcgcd.workspace import Candidate, Explanation, Predictions


def text(renderable):
    console = Console(width=100, highlight=False, color_system=None, force_terminal=False)
    with console.capture() as capture:
        console.print(renderable, markup=False, emoji=False)
    return " ".join(capture.get().split())


def predictions(n=4, reject=None):
    category = np.arange(n) % 2
    category[-1] = -1
    return Predictions(
        references=[f"r{k}" for k in range(n)],
        category=category,
        name=["none of these" if c < 0 else "ab"[c] for c in category],
        probability=np.full(n, 0.75),
        novelty=np.linspace(0, 0.99, n),
        best=np.arange(n) % 2,
        second=1 - np.arange(n) % 2,
        second_name=["ba"[k % 2] for k in range(n)],
        second_probability=np.full(n, 0.25),
        reject=reject,
    )


def test_the_summary_counts():
    values = show.summary(predictions(41, 0.1))
    assert (values["items"], values["rejected"], values["flagged"]) == (41, 1, 2)
    assert values["mean_probability"] == 0.75
    assert values["counts"] == {"a": 20, "b": 20, "none of these": 1}


def test_only_the_first_items_are_in_the_table_and_all_in_the_summary():
    page = text(show.predictions(predictions(41), {}))
    assert "r19 " in page
    assert "r20 " not in page
    assert "21 more items" in page
    assert "41 items in 2 categories" in page
    assert "more item" not in text(show.predictions(predictions(4), {}))
    assert "3 more items" in text(show.predictions(predictions(4), {}, first=1))


def test_texts_are_shown_and_rejection_is_explained():
    page = text(show.predictions(predictions(4, 0.05), {"r0": "[hello]"}))
    assert "[hello]" in page
    assert "Rejected 1 item " in page
    assert "5.0 %" in page
    assert "Rejected" not in text(show.predictions(predictions(4), {}))


def candidate(i, name):
    return Candidate(
        id=i,
        name=name,
        probability=0.9 - 0.8 * i,
        distance=3.0 + i,
        log_density=-5.0,
        log_volume=-2.0,
        typical=("1.png",),
        typical_texts=("",),
        typical_sources=("photos/monday",),
    )


ANSWER = Explanation(
    reference="r7",
    novelty=0.2,
    dimensions=16,
    candidates=(candidate(0, "cat"), candidate(1, "dog")),
    log_odds=2.2,
    from_distance=1.2,
    from_volume=1.0,
    text="",
)


def test_an_explanation_compares_the_candidates():
    page = text(show.explanation(ANSWER, "a [text]"))
    assert "a [text]" in page
    assert "monday/1.png" in page
    assert "Typical distance: 4.0" in page
    assert "'cat' over 'dog': 2.2 nats (9.0 to 1), +1.2 from the distances, +1.0 from the volumes" in page
    assert "log volume" in page
    assert "log volume" not in text(show.explanation(dataclasses.replace(ANSWER, from_volume=0.0)))
    assert "no other category" in text(
        show.explanation(dataclasses.replace(ANSWER, candidates=ANSWER.candidates[:1]))
    )


def test_the_parts_of_the_evidence_add_up():
    answer = dataclasses.replace(ANSWER, log_odds=2.94, from_distance=2.98, from_volume=-0.04)
    assert "2.9 nats (19 to 1), almost all from the distances." in text(show.explanation(answer))
    answer = dataclasses.replace(ANSWER, log_odds=2.94, from_distance=1.47, from_volume=1.47)
    assert "2.9 nats (19 to 1), +1.4 from the distances, +1.5 from the volumes." in text(
        show.explanation(answer)
    )


def test_probabilities_with_other_odds_than_the_evidence_are_explained():
    first, second = (
        dataclasses.replace(each, probability=p)
        for each, p in zip(ANSWER.candidates, (0.95, 0.03), strict=True)
    )
    answer = dataclasses.replace(ANSWER, candidates=(first, second))
    assert "The probabilities (32 to 1) also allow for how sure" in text(show.explanation(answer))
    agreeing = dataclasses.replace(answer, log_odds=3.455)
    assert "also allow" not in text(show.explanation(agreeing))


@pytest.mark.parametrize(
    ("nats", "odds"), [(0.0, "1.0 to 1"), (5.0, "148 to 1"), (9.0, "8,103 to 1"), (50.0, "a million to one")]
)
def test_evidence_as_odds(nats, odds):
    assert odds in text(show.explanation(dataclasses.replace(ANSWER, log_odds=nats)))


@pytest.mark.parametrize(
    ("novelty", "words"),
    [
        (0.5, "fits a known category"),
        (0.95, "fits a known category"),
        (0.97, "unusual"),
        (0.995, "novel one"),
    ],
)
def test_novelty_in_words(novelty, words):
    assert words in text(show.explanation(dataclasses.replace(ANSWER, novelty=novelty)))
