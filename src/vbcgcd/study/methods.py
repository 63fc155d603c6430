"""The catalogue of methods that a study can run: ours, its variants, and the rivals."""

from __future__ import annotations

from typing import Any

from vbcgcd.errors import InputError
from vbcgcd.study.protocol import Method, MethodCard, by_name

__all__ = ["ALL", "METHODS", "OURS", "RIVALS", "expand_methods", "make_method"]

_MODEL = "vbcgcd.model:CategoryDiscoverer"
_RIVALS = "vbcgcd.study.rivals"
#: Counting by evidence needs no rehearsal in `fit`; nothing is counted where the number is known.
_NUMBER_KNOWN = {"count": "evidence"}

OURS = (
    MethodCard("ours", "calibrated Bayesian discovery, all defaults", _MODEL, options=_NUMBER_KNOWN),
    MethodCard(
        "recipe",
        "the paper's steps in our calibrated space: k-means, one relabelling, alignment at R = 0",
        _MODEL,
        options={**_NUMBER_KNOWN, "cluster": "kmeans", "relabel": "reassign", "alignment": 0.0},
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
        _NUMBER_KNOWN,
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
        _NUMBER_KNOWN,
    ),
    MethodCard(
        "lda",
        "shared covariance; our clustering",
        f"{_RIVALS}.lda:Lda",
        "Deep SLDA, CVPR workshops",
        2020,
        _NUMBER_KNOWN,
    ),
    MethodCard(
        "fecam",
        "shrunk, correlation-normalised Mahalanobis distance; our clustering",
        f"{_RIVALS}.fecam:FeCam",
        "FeCAM, NeurIPS",
        2023,
        _NUMBER_KNOWN,
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
    ),
    MethodCard(
        "gm-frozen",
        "grow a branch for the novel rows, merge it into the static one",
        f"{_RIVALS}.gm:GrowMergeFrozen",
        "Grow and Merge, NeurIPS",
        2022,
        torch=True,
    ),
    MethodCard(
        "metagcd-frozen",
        "meta-learned projection, soft-neighbourhood contrast",
        f"{_RIVALS}.metagcd:MetaGcdFrozen",
        "MetaGCD, ICCV",
        2023,
        torch=True,
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
    ),
)
METHODS = by_name((*OURS, *RIVALS))
#: What the word "all" stands for in a list of methods: ours and every rival.
ALL = ("ours", *by_name(RIVALS))


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


def make_method(name: str, **options: Any) -> Method:
    """A fresh method by name.

    Parameters
    ----------
    name : str
        A key of ``METHODS``.
    **options
        Override the options of the method's card.

    Examples
    --------
    >>> type(make_method("ours", n_components=100)).__name__
    'CategoryDiscoverer'
    """
    return METHODS[expand_methods(name)[0]].make(**options)
