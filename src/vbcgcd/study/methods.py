"""Every method that a study can run, by name: ours, its variants, and the rivals."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from typing import Any

from vbcgcd.errors import InputError
from vbcgcd.study.protocol import Method

__all__ = ["METHODS", "OURS", "RIVALS", "MethodCard", "expand_methods", "make_method"]


@dataclass(frozen=True)
class MethodCard:
    """What a method is and where it lives.

    Parameters
    ----------
    name : str
    what : str
        One line.
    paper : str
        Where it was published; empty for ours.
    year : int or None
    where : str
        ``module:class``; the module is imported when the method is made.
    options : dict
        Options that make it what its name says.
    torch : bool
        Whether it needs torch.
    published : str or None
        Its name in the paper's tables, if the original is printed there.
    """

    name: str
    what: str
    where: str
    paper: str = ""
    year: int | None = None
    options: dict[str, Any] = field(default_factory=dict)
    torch: bool = False
    published: str | None = None


_MODEL = "vbcgcd.model:CategoryDiscoverer"
_RIVALS = "vbcgcd.study.rivals"
#: Counting by evidence needs no rehearsal in `fit`; it never runs where the number is given.
_NUMBER_GIVEN = {"count": "evidence"}

OURS = (
    MethodCard("ours", "calibrated Bayesian discovery, all defaults", _MODEL, options=_NUMBER_GIVEN),
    MethodCard(
        "recipe",
        "the paper's steps in our calibrated space: k-means, one relabelling, alignment at R = 0",
        _MODEL,
        options={**_NUMBER_GIVEN, "cluster": "kmeans", "relabel": "reassign", "alignment": 0.0},
        published="VB-CGCD",
    ),
    MethodCard(
        "paper",
        "the paper's configuration: unit variance per dimension, prior N(0, I), k-means, R = 0",
        "vbcgcd.study.variants:StandardisedPaper",
        paper="VB-CGCD, ICML",
        year=2025,
        options={"prior_strength": "auto"},
        published="VB-CGCD",
    ),
    MethodCard(
        "replay",
        "a neural classifier trained each session on samples of our posteriors",
        "vbcgcd.study.variants:Replay",
    ),
)
RIVALS = (
    MethodCard(
        "ncm",
        "class means, Euclidean distance; our clustering",
        f"{_RIVALS}.ncm:Ncm",
        "iCaRL, CVPR",
        2017,
        _NUMBER_GIVEN,
    ),
    MethodCard(
        "ncm-kmeans",
        "class means, plain k-means over all rows",
        f"{_RIVALS}.ncm:Ncm",
        "iCaRL, CVPR",
        2017,
        {"cluster": "kmeans"},
    ),
    MethodCard(
        "pe",
        "point estimates of mean and covariance; our clustering",
        f"{_RIVALS}.pe:PointEstimate",
        "VB-CGCD, ICML",
        2025,
        _NUMBER_GIVEN,
    ),
    MethodCard(
        "lda",
        "shared covariance; our clustering",
        f"{_RIVALS}.lda:Lda",
        "Deep SLDA, CVPR workshops",
        2020,
        _NUMBER_GIVEN,
    ),
    MethodCard(
        "fecam",
        "shrunk, correlation-normalised Mahalanobis distance; our clustering",
        f"{_RIVALS}.fecam:FeCam",
        "FeCAM, NeurIPS",
        2023,
        _NUMBER_GIVEN,
    ),
    MethodCard(
        "gcd-frozen",
        "semi-supervised k-means, known centroids pinned",
        f"{_RIVALS}.gcd:GcdFrozen",
        "GCD, CVPR",
        2022,
    ),
    MethodCard(
        "simgcd-frozen",
        "cosine head, self-distillation, entropy regulariser",
        f"{_RIVALS}.simgcd:SimGcdFrozen",
        "SimGCD, ICCV",
        2023,
        torch=True,
    ),
    MethodCard(
        "happy-frozen",
        "clustering-guided head, group entropy, hardness-aware replay",
        f"{_RIVALS}.happy:HappyFrozen",
        "Happy, NeurIPS",
        2024,
        torch=True,
        published="Happy",
    ),
    MethodCard(
        "gm-frozen",
        "grow a branch for the novel rows, merge it into the static one",
        f"{_RIVALS}.gm:GrowMergeFrozen",
        "Grow and Merge, NeurIPS",
        2022,
        torch=True,
        published="GM",
    ),
    MethodCard(
        "metagcd-frozen",
        "meta-learned projection, soft-neighbourhood contrast",
        f"{_RIVALS}.metagcd:MetaGcdFrozen",
        "MetaGCD, ICCV",
        2023,
        torch=True,
        published="MetaGCD",
    ),
    MethodCard(
        "promptccd-frozen",
        "Gaussian mixture as prompt, refitted with its own samples",
        f"{_RIVALS}.promptccd:PromptCcdFrozen",
        "PromptCCD, ECCV",
        2024,
        torch=True,
        published="PromptCCD",
    ),
    MethodCard(
        "vb-released",
        "what the VB-CGCD authors' code does: Adam from (0, I), full-covariance clustering",
        f"{_RIVALS}.vb_released:VbReleased",
        "VB-CGCD, ICML",
        2025,
        torch=True,
        published="VB-CGCD",
    ),
)
METHODS = {card.name: card for card in (*OURS, *RIVALS)}
#: What ``--methods all`` means: ours and every rival.
ALL = ("ours", *(card.name for card in RIVALS))


def expand_methods(names: str) -> tuple[str, ...]:
    """Method names from a comma-separated list; ``all`` is ours and every rival."""
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    chosen = tuple(dict.fromkeys(m for name in wanted for m in (ALL if name == "all" else (name,))))
    unknown = [name for name in chosen if name not in METHODS]
    if unknown or not chosen:
        raise InputError(
            f"No method is called {', '.join(map(repr, unknown)) or repr(names)}; choose among "
            f"{', '.join(METHODS)} or all."
        )
    return chosen


def make_method(name: str, **options: Any) -> Method:
    """A fresh method by name.

    Parameters
    ----------
    name : str
        See ``METHODS``.
    **options
        Override the method's own.

    Examples
    --------
    >>> type(make_method("ours", n_components=100)).__name__
    'CategoryDiscoverer'
    """
    card = METHODS[expand_methods(name)[0]]
    module, _, attribute = card.where.partition(":")
    try:
        made = getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("torch"):
            raise
        raise InputError(
            f"{name} learns with torch, which is not installed; install it with: pip install torch"
        ) from None
    try:
        return made(**{**card.options, **options})
    except TypeError as error:
        raise InputError(f"{name} does not take these options: {error}.") from None
