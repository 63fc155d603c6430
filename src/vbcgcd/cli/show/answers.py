"""Answers about items: predictions and explanations."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from vbcgcd.cli.show.text import add, counted, grid, members, number, percent, text, visible
from vbcgcd.discovery.novelty import UNFAMILIAR

if TYPE_CHECKING:
    from vbcgcd.workspace import Candidate, Explanation, Predictions

FIRST, MOST = 20, 8

__all__ = ["explanation", "predictions", "summary", "written"]


def summary(found: Predictions) -> dict[str, Any]:
    """Predictions in numbers, plain."""
    counts = Counter(found.name)
    return {
        "items": len(found),
        "mean_probability": float(found.probability.mean()) if len(found) else None,
        "unfamiliar": int((found.novelty > UNFAMILIAR).sum()),
        "reject": found.reject,
        "refused": int((found.category < 0).sum()),
        "counts": dict(counts.most_common()),
        "failures": [{"reference": f.reference, "reason": f.reason} for f in found.failures],
    }


def predictions(found: Predictions, texts: Mapping[str, str]) -> RenderableType:
    """The first items in a table, and all of them in numbers."""
    words = ["****text"] if texts else []
    first = "item" if texts else "**item"
    table = grid(first, *words, ">id", "***category", ">prob.", "**second", ">prob.", ">novelty")
    for row in range(min(FIRST, len(found))):
        reference = found.references[row]
        shown = [text(texts.get(reference, ""))] if texts else []
        second = found.second_name[row]
        name = Text(visible(found.name[row]), style="yellow" if found.category[row] < 0 else "")
        add(
            table,
            text(reference, limit=30 if texts else 400),
            *shown,
            "" if found.category[row] < 0 else str(found.category[row]),
            name,
            number(float(found.probability[row])),
            second,
            number(float(found.second_probability[row])) if second else "",
            number(float(found.novelty[row])),
        )
    rest = len(found) - FIRST
    lines = [Text(f"... and {counted(rest, 'more item')}; write all with -o FILE", style="dim")] * (rest > 0)
    return Group(table, *lines, Text(), *_told(found))


def written(found: Predictions, path: str) -> RenderableType:
    """What was written where."""
    return Group(*_told(found), Text(f"Written to {visible(path)}"))


def _told(found: Predictions) -> list[RenderableType]:
    told = summary(found)
    largest = [f"{visible(name, 40)} ({n})" for name, n in list(told["counts"].items())[:MOST]]
    rest = len(told["counts"]) - MOST
    categories = len(set(found.category.tolist()) - {-1})
    lines = [
        f"{counted(len(found), 'item')} in {counted(categories, 'category', 'categories')}; mean "
        f"probability {number(told['mean_probability'])}; {told['unfamiliar']} unfamiliar (novelty above "
        f"{UNFAMILIAR})",
        f"Most: {'; '.join(largest)}" + (f"; and {rest} more" if rest > 0 else ""),
    ]
    if found.reject is not None:
        lines.append(
            f"{told['refused']} are none of these; the limit is set so that about {percent(found.reject)} of "
            "the items of known categories are refused wrongly"
        )
    return [Text(line) for line in lines]


def explanation(found: Explanation, item: str = "") -> RenderableType:
    """Why an item belongs to its category."""
    usual = math.sqrt(found.dimensions)
    wide = found.from_volume not in (0.0, math.inf)  # not every classifier looks at the volume
    columns = [">prob.", ">distance", *([">log width"] if wide else [])]
    table = grid(">id", "**category", *columns, "****most typical")
    for place, candidate in enumerate(found.candidates):
        add(
            table,
            str(candidate.id),
            Text(visible(candidate.name), style="" if place else "bold"),
            f"{candidate.probability:.3f}",
            number(candidate.distance, 1),
            *([number(candidate.log_volume, 1)] if wide else []),
            _typical(candidate),
        )
    head = Text.assemble((f"{visible(found.reference, 60)}  ", "dim"), (visible(item, 300), "bold"))
    lines = [f"Distance: {number(usual, 1)} is usual for the own items of a category.", *_evidence(found)]
    return Group(head, Text(), table, Text(), *(Text(line) for line in [*lines, _novelty(found.novelty)]))


def _typical(candidate: Candidate) -> str:
    return members(candidate.typical, candidate.typical_texts, candidate.typical_sources)


def _evidence(found: Explanation) -> list[str]:
    if len(found.candidates) < 2:
        return ["There is no other category to compare with."]
    first, second = (visible(c.name, 60) for c in found.candidates[:2])
    odds = _odds(found.log_odds)
    parts = f"{found.from_distance:+.1f} from the distances, {found.from_volume:+.1f} from the widths"
    parts = parts if found.from_volume else "all from the distances"
    return [f"Evidence for {first!r} against {second!r}: {found.log_odds:.1f} nats ({odds}), {parts}."]


def _odds(nats: float) -> str:
    if nats > math.log(1e6):
        return "more than a million to one"
    return f"{math.exp(nats):,.0f} to 1" if nats > math.log(10) else f"{math.exp(nats):.1f} to 1"


def _novelty(novelty: float) -> str:
    """The novelty in words: the share of items of known categories that fit worse is 1 - novelty."""
    worse = percent(1 - novelty)
    if novelty > 0.99:
        verdict = "it fits none of the categories well and may be of a new one"
    elif novelty > UNFAMILIAR:
        verdict = "it is unusual for a known category"
    else:
        verdict = "it is no stranger"
    return f"Novelty {novelty:.3f}: {worse} of the items of known categories fit worse; {verdict}."
