"""The catalogue of experiments: the paper's questions, each a list of variants to compare."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from vbcgcd.errors import InputError
from vbcgcd.study.methods import METHODS, Run, expand_methods

__all__ = ["EXPERIMENTS", "Experiment", "Variant", "sweep", "with_methods"]


@dataclass(frozen=True)
class Variant:
    """One line of an experiment's tables.

    Parameters
    ----------
    label : str
    run : Run
    second : bool
        Whether it runs on the second embeddings (fine-tuned ones, or those of another backbone).
    """

    label: str
    run: Run
    second: bool = False


@dataclass(frozen=True)
class Experiment:
    """A question of the paper and the runs that answer it.

    Parameters
    ----------
    name, title, question : str
    variants : tuple of Variant
    tables : tuple of str
        Kinds of tables that show it: keys of `vbcgcd.study.tables.KINDS`.
    plan : str or None
        Name of the plan that the experiment is about; None where it runs over any plan.
    plans : tuple of str
        Other plans of the same family, which can be chosen instead.
    takes_methods : bool
        Whether a list of methods can replace its variants.
    """

    name: str
    title: str
    question: str
    variants: tuple[Variant, ...]
    tables: tuple[str, ...] = ("summary",)
    plan: str | None = None
    plans: tuple[str, ...] = ()
    takes_methods: bool = False


def sweep(label: str, method: str, option: str, values: Iterable[Any], **run: Any) -> list[Variant]:
    """One variant for each value of an option.

    Parameters
    ----------
    label : str
        ``{}`` in it stands for the value.
    method, option : str
        The method, and its option that varies.
    values : iterable
    **run
        Further arguments of `Run`.

    Examples
    --------
    >>> [variant.label for variant in sweep("R = {:g}", "recipe", "alignment", (0.0, 1.0))]
    ['R = 0', 'R = 1']
    """
    return [Variant(label.format(value), Run(method, {option: value}, **run)) for value in values]


_OURS = Variant("ours", Run("ours"))
#: The paper's own table reads R the other way round: its R = 3 stops earliest, which is R = -3 here.
_LEVELS = (-3.0, -2.0, -1.0, 0.0, 1.0, 2.0)
_COUNTS = ("rehearsal", "evidence", "merge", "silhouette", "silhouette-all")
_PE = {"cluster": "kmeans", "relabel": "reassign", "standardise": True, "log_determinant": False}


def _ablation(method: str) -> tuple[Variant, ...]:
    """A configuration of the paper without one of its parts at a time, as the paper defines them."""

    def without(words: str, **options: Any) -> Variant:
        return Variant(f"{method}, {words}", Run(method, options))

    return (
        Variant(method, Run(method)),
        without("no early stopping", alignment=None),
        without("no relabelling", relabel="none"),
        without("no Mahalanobis", metric="euclidean"),
        without("with log-determinant", log_determinant=True),
    )


#: Weights of the penalty of equation 10: about 1, about nu / D, and so large that R meets its target.
_PENALTIES = (1.0, 100.0, 1e6)


_ABLATION = (
    *_ablation("paper"),
    Variant("paper, no VB", Run("pe", _PE)),
    Variant("paper, no VB, with log-determinant", Run("pe", {**_PE, "log_determinant": True})),
    *_ablation("paper-narrow"),
    *sweep("paper-narrow, L_det of weight {:g}", "paper-narrow", "alignment_penalty", _PENALTIES),
    Variant("recipe", Run("recipe")),
    Variant("recipe, no early stopping", Run("recipe", {"alignment": None})),
    Variant("recipe, no relabelling", Run("recipe", {"relabel": "none"})),
    _OURS,
    Variant("ours, point estimates", Run("pe")),
    Variant("ours, early stopping", Run("ours", {"alignment": 0.0})),
    Variant("ours, no relabelling", Run("ours", {"relabel": "none"})),
    Variant("ours, pooled covariance", Run("ours", {"metric": "euclidean"})),
    Variant("ours, no Mahalanobis", Run("ours", {"metric": "euclidean", "whiten": False})),
)


def _targets(method: str) -> tuple[Variant, ...]:
    """The targets of the paper's tables of R, by equation 11, and no target."""
    return (
        *(Variant(f"{method}, R = {r:g}", Run(method, {"alignment": r} if r else {})) for r in _LEVELS),
        Variant(f"{method}, never stopped", Run(method, {"alignment": None})),
    )


_CATALOGUE = (
    Experiment(
        "main",
        "Main table",
        "How accurate is each method on all, old and new classes after each session?",
        (_OURS,),
        ("sessions", "summary", "overview", "stream", "cost"),
        takes_methods=True,
    ),
    Experiment(
        "forgetting",
        "Forgetting and discovery",
        "How much is forgotten and how much is discovered, against the supervised bound?",
        (_OURS, Variant("recipe", Run("recipe")), Variant("paper", Run("paper"))),
        ("forgetting",),
        takes_methods=True,
    ),
    Experiment(
        "ablation",
        "Ablations",
        "What is each part worth: VB, early stopping, relabelling, the Mahalanobis distance?",
        _ABLATION,
    ),
    Experiment(
        "finetuning",
        "Ablation of fine-tuning",
        "What is fine-tuning worth? Needs the embeddings before (--data) and after it (--second).",
        (_OURS, Variant("ours, fine-tuned", Run("ours"), second=True)),
    ),
    Experiment(
        "alignment",
        "Target of covariance alignment",
        "How does the target R of covariance alignment trade old against new classes?",
        (
            *_targets("paper"),
            *_targets("paper-narrow"),
            Variant("recipe, R = 0", Run("recipe")),
            Variant("recipe, never stopped", Run("recipe", {"alignment": None})),
            Variant("ours, R = 0", Run("ours", {"alignment": 0.0})),
            Variant("ours (never stopped)", _OURS.run),
        ),
    ),
    Experiment(
        "covariance",
        "Covariance structure and dimension",
        "What do a diagonal covariance and fewer dimensions cost, and what do they save?",
        (
            Variant("diagonal", Run("ours", {"covariance": "diagonal"})),
            Variant("D up to 100", Run("ours", {"n_components": 100})),
            Variant("D up to 200", Run("ours", {"n_components": 200})),
            Variant("D up to 384", Run("ours")),
            Variant("paper, diagonal", Run("paper", {"covariance": "diagonal"})),
            *sweep("paper, D up to {}", "paper", "n_components", (100, 200)),
            Variant("paper, D up to 384", Run("paper")),
        ),
        ("summary", "cost"),
    ),
    Experiment(
        "estimators",
        "Estimators, every class labelled",
        "How accurate are class means, point estimates and variational inference under supervision?",
        (
            Variant("class means (CM)", Run("ncm", supervised=True)),
            Variant("point estimate (PE)", Run("pe", supervised=True)),
            Variant("variational (VI)", Run("ours", supervised=True)),
            Variant("shared covariance (LDA)", Run("lda", supervised=True)),
            Variant("paper: variational (VI)", Run("paper", supervised=True)),
            Variant("paper: class means (CM)", Run("paper", {"metric": "euclidean"}, supervised=True)),
            Variant("paper: point estimate (PE)", Run("pe", _PE, supervised=True)),
        ),
        ("bounds",),
    ),
    Experiment(
        "bounds",
        "Supervised upper bounds and inevitable forgetting",
        "What would full supervision reach, and how much of the labelled classes does it lose itself?",
        (
            Variant("ours, supervised", Run("ours", supervised=True)),
            Variant("paper, supervised", Run("paper", supervised=True)),
        ),
        ("bounds",),
        takes_methods=True,
    ),
    Experiment(
        "long",
        "Ten sessions (b50t10)",
        "What do twice as many sessions, each with fewer new classes, cost?",
        (_OURS, Variant("paper", Run("paper"))),
        ("sessions", "summary"),
        plan="b50t10",
        takes_methods=True,
    ),
    Experiment(
        "scarce",
        "Few labelled classes (b10t9)",
        "What if only a tenth of the classes is labelled?",
        (_OURS, Variant("paper", Run("paper")), Variant("happy-frozen", Run("happy-frozen"))),
        ("sessions", "summary"),
        plan="b10t9",
        takes_methods=True,
    ),
    Experiment(
        "unknown",
        "Unknown number of categories",
        "What does it cost not to know how many classes are new?",
        (
            Variant("number given", Run("ours")),
            *sweep("estimated: {}", "ours", "count", _COUNTS, number_known=False),
            Variant("paper, number given", Run("paper")),
            *sweep("paper, {}", "paper", "count", _COUNTS[-2:], number_known=False),
            Variant("happy-frozen, number given", Run("happy-frozen")),
            Variant("happy-frozen, silhouette", Run("happy-frozen", number_known=False)),
        ),
        ("summary", "averages", "counts"),
    ),
    Experiment(
        "stream",
        "Realistic streams",
        "What is found, missed and invented where labels are few, sizes uneven and the number is unknown?",
        (
            Variant("ours", Run("ours", number_known=False)),
            Variant("ours, number told", Run("ours")),
        ),
        ("discoveries", "sizes", "stream-summary", "kinds", "numbers"),
        plan="stream",
        plans=("stream-even", "uneven"),
        takes_methods=True,
    ),
    Experiment(
        "yours",
        "Discovery on your data",
        "How well would discovery work on your data: number unknown, sizes as they are?",
        (Variant("ours", Run("ours", number_known=False)),),
        ("verdict", "numbers"),
        plan="yours",
        takes_methods=True,
    ),
    Experiment(
        "textoir",
        "Text protocol",
        "How well are rows clustered if a tenth of the known ones is labelled and all else comes at once?",
        (_OURS, Variant("ours, number unknown", Run("ours", number_known=False))),
        ("clusters", "counts"),
        plan="textoir50",
        plans=("textoir25", "textoir75"),
        takes_methods=True,
    ),
    Experiment(
        "replay",
        "Posteriors as replay",
        "How close does a neural classifier come that learns only from samples of the posteriors?",
        (
            Variant("direct, D = 100", Run("ours", {"n_components": 100})),
            Variant("replay, D = 100", Run("replay", {"n_components": 100})),
        ),
        ("sessions", "summary"),
    ),
    Experiment(
        "backbone",
        "Another backbone",
        "What does another embedder change? Needs the same rows embedded twice (--data, --second).",
        (_OURS, Variant("ours, second embedder", Run("ours"), second=True)),
        ("sessions", "summary"),
    ),
)
#: Experiments by name, in the order of the catalogue.
EXPERIMENTS = {experiment.name: experiment for experiment in _CATALOGUE}


def with_methods(
    experiment: Experiment,
    methods: str | Sequence[str] | None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
) -> Experiment:
    """The experiment over a list of methods instead of its own variants.

    Parameters
    ----------
    experiment : Experiment
    methods : str, sequence of str or None
        Names of methods, or a comma-separated list of them; "all" is ours and every rival from the papers,
        "tools" what people use today. None is ours.
    options : mapping of str to mapping, optional
        Options of methods, by the name of the method.
    """
    options = options or {}
    chosen = expand_methods(
        "ours" if methods is None else ",".join([methods] if isinstance(methods, str) else methods)
    )
    for name in options:
        if name not in chosen:
            expand_methods(name)
            raise InputError(
                f"Options are set for {name}, which is not among the methods to run ({', '.join(chosen)}); "
                "add it to them.",
                option="methods",
            )
    if not experiment.takes_methods:
        others = ", ".join(e.name for e in EXPERIMENTS.values() if e.takes_methods)
        raise InputError(
            f"{experiment.name} has its own variants and takes no methods; these experiments do: {others}.",
            option="methods",
        )
    return replace(experiment, variants=tuple(_variant(experiment, m, options.get(m, {})) for m in chosen))


def _variant(experiment: Experiment, method: str, options: Mapping[str, Any]) -> Variant:
    """A method in the role of an experiment's first variant; one that cannot count is told the number."""
    first = experiment.variants[0].run
    told = first.number_known or not METHODS[method].counts
    settings = ", ".join(f"{k}={v}" for k, v in options.items())
    label = f"{method} ({settings})" if settings else method
    if told and not first.number_known:
        label += ", number told"
    return Variant(label, Run(method, options, number_known=told, supervised=first.supervised))
