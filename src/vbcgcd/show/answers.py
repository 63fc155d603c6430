"""Answers about items: predictions and explanations."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from vbcgcd.discovery.geometry import FLAGGED
from vbcgcd.words import add_row, grid, number, one_line, percent, plural, sample_line, series, user_text

if TYPE_CHECKING:
    from vbcgcd.workspace import Explanation, Predictions

#: Items in the table, and categories in the summary below it.
FIRST, LARGEST = 20, 8
#: Novelty above which an item probably belongs to no category.
VERY_NOVEL = 0.99
#: Nats by which odds may differ and still be called the same.
SAME_ODDS = 0.05

__all__ = ["explanation", "predictions", "summary", "summary_lines"]


def summary(answers: Predictions) -> dict[str, Any]:
    """Predictions in numbers, as ``--json`` prints them."""
    counts = Counter(answers.name)
    return {
        "items": len(answers),
        "mean_probability": float(answers.probability.mean()) if len(answers) else None,
        "flagged": int((answers.novelty > FLAGGED).sum()),
        "reject": answers.reject,
        "rejected": int((answers.category < 0).sum()),
        "counts": dict(counts.most_common()),
        "failures": [{"reference": f.reference, "reason": f.reason} for f in answers.failures],
    }


def predictions(answers: Predictions, texts: Mapping[str, str], *, first: int = FIRST) -> RenderableType:
    """The first items in a table, and all of them in numbers; ``texts`` of items by reference."""
    words = ["****text"] if texts else []
    columns = (">id", "!category", ">prob.", "?!second choice", "?>prob.", ">novelty")
    table = grid("item" if texts else "**item", *words, *columns)
    for row in range(min(first, len(answers))):
        reference, rejected = answers.references[row], answers.category[row] < 0
        second = answers.second_name[row]
        add_row(
            table,
            user_text(reference, limit=30 if texts else 400),
            *([user_text(texts.get(reference, ""))] if texts else []),
            "" if rejected else str(answers.category[row]),
            user_text(answers.name[row], style="yellow" if rejected else ""),
            number(float(answers.probability[row])),
            second,
            number(float(answers.second_probability[row])) if second else "",
            number(float(answers.novelty[row])),
        )
    rest = len(answers) - first
    more = [Text(f"... and {plural(rest, 'more item')}; use -o FILE to save them all", style="dim")]
    return Group(table, *more * (rest > 0), Text(), summary_lines(answers))


def summary_lines(answers: Predictions) -> RenderableType:
    """All predictions in two or three sentences."""
    values = summary(answers)
    largest = [f"{one_line(name, 40)} ({n:,})" for name, n in values["counts"].items()]
    categories = len(set(answers.category.tolist()) - {-1})
    lines = [
        f"{plural(len(answers), 'item')} in {plural(categories, 'category', 'categories')}, mean probability "
        f"{number(values['mean_probability'])}. {_fit(values['flagged'])} no known category (novelty above "
        f"{FLAGGED}).",
        f"Largest: {series(largest, most=LARGEST)}.",
    ]
    if answers.reject is not None:
        lines.append(
            f"Rejected {plural(values['rejected'], 'item')} as 'none of these'; about "
            f"{percent(answers.reject)} of the items of known categories are expected among them."
        )
    return Group(*map(Text, lines))


def _fit(n: int) -> str:
    return f"{plural(n, 'item')} {'fits' if n == 1 else 'fit'}"


def explanation(answer: Explanation, item: str = "") -> RenderableType:
    """Why an item belongs to its category; ``item`` is its text, where it has one."""
    has_volume = answer.from_volume not in (0.0, math.inf)  # not every classifier uses the volume
    columns = [">prob.", ">distance", *([">log volume"] if has_volume else [])]
    table = grid(">id", "!category", *columns, "****typical items")
    for place, candidate in enumerate(answer.candidates):
        add_row(
            table,
            str(candidate.id),
            user_text(candidate.name, style="" if place else "bold"),
            f"{candidate.probability:.3f}",
            number(candidate.distance, 1),
            *([number(candidate.log_volume, 1)] if has_volume else []),
            sample_line(candidate.typical, candidate.typical_texts, candidate.typical_sources),
        )
    head = Text.assemble((f"{one_line(answer.reference, 60)}  ", "dim"), (one_line(item, 300), "bold"))
    usual = number(math.sqrt(answer.dimensions), 1)
    lines = [f"Typical distance: {usual}.", _evidence(answer)]
    return Group(head, Text(), table, Text(), *map(Text, [*lines, _novelty(answer.novelty)]))


def _evidence(answer: Explanation) -> str:
    if len(answer.candidates) < 2:
        return "There is no other category to compare it with."
    first, second = (one_line(candidate.name, 60) for candidate in answer.candidates[:2])
    # Rounded parts add up; adding 0.0 makes a zero of a negative one.
    volume = round(answer.from_volume, 1) + 0.0
    distance = round(round(answer.log_odds, 1) - volume, 1) + 0.0
    parts = f"{distance:+.1f} from the distances, {volume:+.1f} from the volumes"
    if not volume:
        parts = f"{'almost ' if answer.from_volume else ''}all from the distances"
    odds = _odds(answer.log_odds)
    sentence = f"Evidence for {first!r} over {second!r}: {answer.log_odds:.1f} nats ({odds}), {parts}."
    return f"{sentence}{_sureness(answer)}"


def _sureness(answer: Explanation) -> str:
    """Why the probabilities have other odds than the evidence, where they have."""
    first, second = (candidate.probability for candidate in answer.candidates[:2])
    if min(first, second) <= 0 or abs(math.log(first / second) - answer.log_odds) < SAME_ODDS:
        return ""
    odds = _odds(math.log(first / second))
    return f" The probabilities ({odds}) also allow for how sure it is that each category is one."


def _odds(nats: float) -> str:
    if nats > math.log(1e6):
        return "more than a million to one"
    return f"{math.exp(nats):,.0f} to 1" if nats > math.log(10) else f"{math.exp(nats):.1f} to 1"


def _novelty(novelty: float) -> str:
    """The novelty in words: the share of items of known categories that fit worse is 1 - novelty."""
    if novelty > VERY_NOVEL:
        verdict = "it fits no known category and may belong to a novel one"
    elif novelty > FLAGGED:
        verdict = "it is unusual for a known category"
    else:
        verdict = "it fits a known category"
    worse = percent(1 - novelty)
    return f"Novelty {novelty:.3f}: {verdict}; {worse} of the items of known categories fit worse."
