"""Results that papers print, for tables that show them beside ours.

All are in per cent and come from the originals' own backbones (DINO ViT-B/16 or BERT, fine-tuned) and
protocols, so beside results on other embeddings they serve for orientation only.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

__all__ = ["Published", "paper_experiment", "published"]

SOURCE = "VB-CGCD paper (ICML 2025), DINO ViT-B/16"


@dataclass(frozen=True)
class Published:
    """One printed row; None where the paper prints nothing.

    ``sessions`` has [All, Old, New] of each session; ``all``, ``old`` and ``new`` are those of the last one.
    """

    method: str
    base: float | None
    sessions: list[list[float | None]]
    all: float | None
    old: float | None
    new: float | None
    forgetting: float | None
    discovery: float | None
    labelled: float | None
    source: str = SOURCE


def paper_experiment(experiment: str, plan: str | None) -> str:
    """Name of the printed table that belongs to an experiment over a plan; empty if there is none.

    Examples
    --------
    >>> paper_experiment("main", "b10t9")
    'scarce'
    """
    if experiment in ("main", "long", "scarce"):
        return {"b50t5": "main", "b50t10": "long", "b10t9": "scarce"}.get(plan or "", "")
    if experiment == "textoir":
        return plan or ""
    return experiment if plan == "b50t5" else ""


@cache
def published(experiment: str, dataset: str | None) -> tuple[Published, ...]:
    """Rows that the paper prints for an experiment on one of its datasets."""
    rows = json.loads(files("vbcgcd.study").joinpath("published.json").read_text(encoding="utf-8"))
    return tuple(_row(r) for r in rows if r["experiment"] == experiment and r["dataset"] == dataset)


def _row(row: dict[str, Any]) -> Published:
    sessions = row.get("sessions", [])
    last = sessions[-1] if sessions else [row.get("all"), None, None]
    new = [s[2] for s in sessions if s[2] is not None]
    mean_new = round(float(np.mean(new)), 2) if new else None
    return Published(
        method=row["method"],
        base=row.get("base"),
        sessions=sessions,
        all=last[0],
        old=last[1],
        new=last[2],
        forgetting=row.get("forgetting"),
        discovery=row.get("discovery", mean_new),
        labelled=row.get("labelled"),
        source=row.get("source", SOURCE),
    )
