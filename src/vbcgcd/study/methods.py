"""The catalogue of methods that a study can run: ours, its variants and the rivals; one run of a method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from vbcgcd.errors import InputError

__all__ = [
    "ALL",
    "METHODS",
    "OURS",
    "RIVALS",
    "TOOLS",
    "MethodCard",
    "Run",
    "expand_methods",
    "options_of",
    "supervised_part",
]


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
    needs : str
        Package that it needs beyond those of vbcgcd; empty for most.
    counts : bool
        Whether it can estimate the number of novel categories.
    """

    name: str
    what: str
    where: str
    paper: str = ""
    year: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    needs: str = ""
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
        "paper-narrow",
        "the same with rows about ten times as wide as the prior, as the paper's are",
        "vbcgcd.model:CategoryDiscoverer.paper",
        paper="VB-CGCD, ICML",
        year=2025,
        options={"prior_variance": 0.1},
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
        needs="torch",
        counts=False,
    ),
    MethodCard(
        "happy-frozen",
        "clustering-guided head, group entropy, hardness-aware replay",
        f"{_RIVALS}.happy:HappyFrozen",
        "Happy, NeurIPS",
        2024,
        needs="torch",
    ),
    MethodCard(
        "gm-frozen",
        "grow a branch for the novel rows, merge it into the static one",
        f"{_RIVALS}.gm:GrowMergeFrozen",
        "Grow and Merge, NeurIPS",
        2022,
        needs="torch",
        counts=False,
    ),
    MethodCard(
        "metagcd-frozen",
        "meta-learned projection, soft-neighbourhood contrast",
        f"{_RIVALS}.metagcd:MetaGcdFrozen",
        "MetaGCD, ICCV",
        2023,
        needs="torch",
        counts=False,
    ),
    MethodCard(
        "promptccd-frozen",
        "Gaussian mixture as prompt, refitted with its own samples",
        f"{_RIVALS}.promptccd:PromptCcdFrozen",
        "PromptCCD, ECCV",
        2024,
        needs="torch",
    ),
    MethodCard(
        "vb-released",
        "what the VB-CGCD authors' code does: Adam from (0, I), full-covariance clustering",
        f"{_RIVALS}.vb_released:VbReleased",
        "VB-CGCD, ICML",
        2025,
        needs="torch",
        counts=False,
    ),
)
#: What people use today for new categories in a stream of embeddings, whether or not it was made for that.
TOOLS = (
    MethodCard(
        "bertopic-online",
        "BERTopic's partial_fit, mini-batch k-means",
        f"{_RIVALS}.bertopic_models:BertopicOnline",
        "BERTopic, arXiv 2203.05794",
        2022,
        needs="bertopic",
        counts=False,
    ),
    MethodCard(
        "bertopic-merge",
        "one BERTopic model for each session (UMAP, HDBSCAN), joined by merge_models",
        f"{_RIVALS}.bertopic_models:BertopicMerged",
        "BERTopic, arXiv 2203.05794",
        2022,
        needs="bertopic",
    ),
    MethodCard(
        "turftopic",
        "SensTopic, which appends topics and keeps the old ones",
        f"{_RIVALS}.turftopic_models:SensTopicStream",
        "Turftopic, JOSS",
        2025,
        needs="turftopic",
    ),
    MethodCard(
        "hdbscan",
        "rows far from every category, clustered by HDBSCAN",
        f"{_RIVALS}.hdbscan:HdbscanPerSession",
        "HDBSCAN, PAKDD",
        2013,
    ),
    MethodCard(
        "river-kmeans",
        "River's sequential k-means, row by row",
        f"{_RIVALS}.river_clusterers:RiverKMeans",
        "River, JMLR",
        2021,
        needs="river",
        counts=False,
    ),
    MethodCard(
        "river-dbstream",
        "River's DBSTREAM, row by row",
        f"{_RIVALS}.river_clusterers:RiverDbstream",
        "DBSTREAM, TKDE",
        2016,
        needs="river",
    ),
    MethodCard(
        "birch",
        "scikit-learn's BIRCH, fed session after session",
        f"{_RIVALS}.birch:BirchTree",
        "BIRCH, SIGMOD",
        1996,
        counts=False,
    ),
)
METHODS = {card.name: card for card in (*OURS, *RIVALS, *TOOLS)}
#: What the word "all" stands for in a list of methods: ours and every rival from the papers.
ALL = ("ours", *(card.name for card in RIVALS))
_GROUPS = {"all": ALL, "tools": tuple(card.name for card in TOOLS)}


def options_of(run: Run) -> dict[str, Any]:
    """All options of a run that differ from the method's defaults: those of its card, and its own."""
    card = METHODS.get(run.method)
    return {**({} if card is None else card.options), **run.options}


#: Options of `CategoryDiscoverer` that only unlabelled sessions depend on, so no supervised bound does.
_SESSION_OPTIONS = (
    "cluster",
    "relabel",
    "count",
    "alignment",
    "alignment_ratio",
    "alignment_penalty",
    "unassigned",
    "update_known",
)


def supervised_part(run: Run) -> Run:
    """What a run's supervised bound depends on: the run without the options of unlabelled sessions.

    Examples
    --------
    >>> supervised_part(Run("paper", {"alignment": 1.0, "n_components": 8}, number_known=False))
    Run(method='paper', options={'n_components': 8}, number_known=True, supervised=True)
    """
    kept = run.options
    if run.method in {card.name for card in OURS if card.where.startswith(_MODEL)}:
        kept = {name: value for name, value in run.options.items() if name not in _SESSION_OPTIONS}
    return Run(run.method, kept, supervised=True)


def expand_methods(names: str) -> tuple[str, ...]:
    """Method names from a comma-separated list.

    ``all`` is ours and every rival from the papers, ``tools`` what people use today.
    """
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    chosen = tuple(dict.fromkeys(m for name in wanted for m in _GROUPS.get(name, (name,))))
    unknown = [name for name in chosen if name not in METHODS]
    if unknown or not chosen:
        raise InputError(
            f"Unknown method {', '.join(map(repr, unknown)) or repr(names)}; choose among "
            f"{', '.join(METHODS)}, all or tools.",
            option="methods",
        )
    return chosen
