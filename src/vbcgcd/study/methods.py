"""The catalogue of methods that a study can run: ours, its variants and the rivals; one run of a method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from vbcgcd.errors import InputError

__all__ = ["ALL", "METHODS", "OURS", "RIVALS", "MethodCard", "Run", "expand_methods", "options_of"]


@dataclass(frozen=True)
class MethodCard:
    """A method in the catalogue: what it is and where its code is.

    Parameters
    ----------
    name : str
    what : str
        One line.
    where : str
        ``module:class``, or another callable; the module is imported when the method is made.
    paper : str
        Where it was published; empty for ours.
    year : int or None
    options : mapping
        Options that make it what its name says.
    torch : bool
        Whether it needs torch.
    counts : bool
        Whether it can estimate the number of novel categories.
    """

    name: str
    what: str
    where: str
    paper: str = ""
    year: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    torch: bool = False
    counts: bool = True


@dataclass(frozen=True)
class Run:
    """One method with its options, to be run over a plan.

    Parameters
    ----------
    method : str
        Name of a method in ``METHODS``.
    options : mapping
        Override the options of the method's card.
    number_known : bool
        Whether the method is given the number of novel classes of each session.
    supervised : bool
        Measure the supervised upper bound alone and discover nothing.
    """

    method: str
    options: Mapping[str, Any] = field(default_factory=dict)
    number_known: bool = True
    supervised: bool = False


_MODEL = "vbcgcd.model:CategoryDiscoverer"
_RIVALS = "vbcgcd.study.rivals"

OURS = (
    MethodCard("ours", "calibrated Bayesian discovery, all defaults", _MODEL),
    MethodCard(
        "recipe",
        "the paper's steps in our calibrated space: k-means, one relabelling, alignment at R = 0",
        _MODEL,
        options={"cluster": "kmeans", "relabel": "reassign", "alignment": 0.0},
    ),
    MethodCard(
        "paper",
        "the paper's configuration: unit variance per dimension, prior N(0, I), k-means, R = 0",
        "vbcgcd.model:CategoryDiscoverer.paper",
        paper="VB-CGCD, ICML",
        year=2025,
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
    ),
    MethodCard(
        "ncm-kmeans",
        "class means, plain k-means over all rows",
        f"{_RIVALS}.ncm:Ncm",
        "iCaRL, CVPR",
        2017,
        {"cluster": "kmeans"},
        counts=False,
    ),
    MethodCard(
        "pe",
        "point estimates of mean and covariance; our clustering",
        f"{_RIVALS}.pe:PointEstimate",
        "VB-CGCD, ICML",
        2025,
    ),
    MethodCard(
        "lda",
        "shared covariance; our clustering",
        f"{_RIVALS}.lda:Lda",
        "Deep SLDA, CVPR workshops",
        2020,
    ),
    MethodCard(
        "fecam",
        "shrunk, correlation-normalised Mahalanobis distance; our clustering",
        f"{_RIVALS}.fecam:FeCam",
        "FeCAM, NeurIPS",
        2023,
    ),
    MethodCard(
        "gcd-frozen",
        "semi-supervised k-means, known centroids pinned",
        f"{_RIVALS}.gcd:GcdFrozen",
        "GCD, CVPR",
        2022,
        counts=False,
    ),
    MethodCard(
        "simgcd-frozen",
        "cosine head, self-distillation, entropy regulariser",
        f"{_RIVALS}.simgcd:SimGcdFrozen",
        "SimGCD, ICCV",
        2023,
        torch=True,
        counts=False,
    ),
    MethodCard(
        "happy-frozen",
        "clustering-guided head, group entropy, hardness-aware replay",
        f"{_RIVALS}.happy:HappyFrozen",
        "Happy, NeurIPS",
        2024,
        torch=True,
        counts=False,
    ),
    MethodCard(
        "gm-frozen",
        "grow a branch for the novel rows, merge it into the static one",
        f"{_RIVALS}.gm:GrowMergeFrozen",
        "Grow and Merge, NeurIPS",
        2022,
        torch=True,
        counts=False,
    ),
    MethodCard(
        "metagcd-frozen",
        "meta-learned projection, soft-neighbourhood contrast",
        f"{_RIVALS}.metagcd:MetaGcdFrozen",
        "MetaGCD, ICCV",
        2023,
        torch=True,
        counts=False,
    ),
    MethodCard(
        "promptccd-frozen",
        "Gaussian mixture as prompt, refitted with its own samples",
        f"{_RIVALS}.promptccd:PromptCcdFrozen",
        "PromptCCD, ECCV",
        2024,
        torch=True,
    ),
    MethodCard(
        "vb-released",
        "what the VB-CGCD authors' code does: Adam from (0, I), full-covariance clustering",
        f"{_RIVALS}.vb_released:VbReleased",
        "VB-CGCD, ICML",
        2025,
        torch=True,
        counts=False,
    ),
)
METHODS = {card.name: card for card in (*OURS, *RIVALS)}
#: What the word "all" stands for in a list of methods: ours and every rival.
ALL = ("ours", *(card.name for card in RIVALS))


def options_of(run: Run) -> dict[str, Any]:
    """All options of a run that differ from the method's defaults: those of its card, and its own."""
    card = METHODS.get(run.method)
    return {**({} if card is None else card.options), **run.options}


def expand_methods(names: str) -> tuple[str, ...]:
    """Method names from a comma-separated list; ``all`` is ours and every rival."""
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    chosen = tuple(dict.fromkeys(m for name in wanted for m in (ALL if name == "all" else (name,))))
    unknown = [name for name in chosen if name not in METHODS]
    if unknown or not chosen:
        raise InputError(
            f"Unknown method {', '.join(map(repr, unknown)) or repr(names)}; choose among "
            f"{', '.join(METHODS)} or all.",
            option="methods",
        )
    return chosen
