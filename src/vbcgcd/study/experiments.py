"""The experiments of the paper, each a named list of variants, and what runs them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from vbcgcd.errors import InputError
from vbcgcd.study.plans import Plan
from vbcgcd.study.records import Job, Record, Records, job_key, run_job
from vbcgcd.study.runner import Dataset

__all__ = ["EXPERIMENTS", "Experiment", "Variant", "experiment", "run_experiment", "with_methods"]


@dataclass(frozen=True)
class Variant:
    """One line of an experiment's table.

    Parameters
    ----------
    label : str
    job : Job
    second : bool
        Runs on the second embeddings (fine-tuned, or of another backbone).
    """

    label: str
    job: Job
    second: bool = False


@dataclass(frozen=True)
class Experiment:
    """A question of the paper and the runs that answer it.

    Parameters
    ----------
    name, title, question : str
    variants : tuple of Variant
    tables : tuple of str
        Kinds of tables that show it; see `vbcgcd.study.tables`.
    plan : str or None
        The plan it is about; None takes the one asked for.
    takes_methods : bool
        Whether its variants can be replaced by a list of methods.
    """

    name: str
    title: str
    question: str
    variants: tuple[Variant, ...]
    tables: tuple[str, ...] = ("summary",)
    plan: str | None = None
    takes_methods: bool = False

    @property
    def needs_second(self) -> bool:
        """Whether it compares two embeddings of the same rows."""
        return any(v.second for v in self.variants)


def _ours(label: str, **options: Any) -> Variant:
    return Variant(label, Job("ours", options))


def _recipe(label: str, **options: Any) -> Variant:
    return Variant(label, Job("recipe", options))


_OURS = Variant("ours", Job("ours"))
_LEVELS = (-2, -1, 0, 1, 2, 3)
_ABLATION = (
    _OURS,
    Variant("ours, no VB", Job("pe")),
    _ours("ours, early stopping", alignment=0.0),
    _ours("ours, no relabelling", relabel="none"),
    _ours("ours, no Mahalanobis", metric="euclidean"),
    _recipe("recipe"),
    Variant("recipe, no VB", Job("pe", {"cluster": "kmeans"})),
    _recipe("recipe, no early stop", alignment=None),
    _recipe("recipe, no relabelling", relabel="none"),
    _recipe("recipe, no Mahalanobis", metric="euclidean"),
    Variant("paper", Job("paper")),
    Variant("paper, no early stop", Job("paper", {"alignment": None})),
)

EXPERIMENTS = {
    e.name: e
    for e in (
        Experiment(
            "main",
            "Main table",
            "How accurate is each method on all, old and new classes after each session?",
            (_OURS,),
            ("sessions", "summary", "stream", "cost"),
            takes_methods=True,
        ),
        Experiment(
            "forgetting",
            "Forgetting and discovery",
            "How much is forgotten and how much is discovered, against the supervised bound?",
            (_OURS, _recipe("recipe"), Variant("paper", Job("paper"))),
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
            (_OURS, Variant("ours, fine-tuned", Job("ours"), second=True)),
        ),
        Experiment(
            "alignment",
            "Target of covariance alignment",
            "How does the target R of covariance alignment trade old against new classes?",
            (
                *(_recipe(f"recipe, R = {r}", alignment=float(r)) for r in _LEVELS),
                _recipe("recipe, never stopped", alignment=None),
                *(_ours(f"ours, R = {r}", alignment=float(r)) for r in _LEVELS),
                _ours("ours (never stopped)"),
            ),
        ),
        Experiment(
            "covariance",
            "Covariance structure and dimension",
            "What do a diagonal covariance and fewer dimensions cost, and what do they save?",
            (
                _ours("diagonal", covariance="diagonal"),
                _ours("D up to 100", n_components=100),
                _ours("D up to 200", n_components=200),
                Variant("D up to 384", Job("ours")),
            ),
            ("summary", "cost"),
        ),
        Experiment(
            "estimators",
            "Estimators, every class labelled",
            "How accurate are class means, point estimates and variational inference under supervision?",
            (
                Variant("class means (CM)", Job("ncm", supervised=True)),
                Variant("point estimate (PE)", Job("pe", supervised=True)),
                Variant("variational (VI)", Job("ours", supervised=True)),
                Variant("shared covariance (LDA)", Job("lda", supervised=True)),
            ),
            ("bounds",),
        ),
        Experiment(
            "bounds",
            "Supervised upper bounds and inevitable forgetting",
            "What would full supervision reach, and how much of the labelled classes does it lose itself?",
            (Variant("ours, supervised", Job("ours", supervised=True)),),
            ("bounds",),
            takes_methods=True,
        ),
        Experiment(
            "long",
            "Ten sessions (b50t10)",
            "What do twice as many sessions, each with fewer new classes, cost?",
            (_OURS,),
            ("sessions", "summary"),
            plan="b50t10",
            takes_methods=True,
        ),
        Experiment(
            "scarce",
            "Few labelled classes (b10t9)",
            "What if only a tenth of the classes is labelled?",
            (_OURS,),
            ("sessions", "summary"),
            plan="b10t9",
            takes_methods=True,
        ),
        Experiment(
            "unknown",
            "Unknown number of categories",
            "What does it cost not to know how many classes are new?",
            (
                Variant("number given", Job("ours")),
                *(
                    Variant(f"estimated: {count}", Job("ours", {"count": count}, number_known=False))
                    for count in ("rehearsal", "evidence", "merge", "silhouette")
                ),
            ),
            ("summary", "counts"),
        ),
        Experiment(
            "replay",
            "Posteriors as replay",
            "How close does a neural classifier come that learns only from samples of the posteriors?",
            (
                _ours("direct, D = 100", n_components=100),
                Variant("replay, D = 100", Job("replay", {"n_components": 100})),
            ),
            ("sessions", "summary"),
        ),
        Experiment(
            "backbone",
            "Another backbone",
            "What does another embedder change? Needs the same rows embedded twice (--data, --second).",
            (_OURS, Variant("ours, second embedder", Job("ours"), second=True)),
            ("sessions", "summary"),
        ),
    )
}


def experiment(name: str) -> Experiment:
    """An experiment by name."""
    if name not in EXPERIMENTS:
        raise InputError(f"No experiment is called {name!r}; choose among {', '.join(EXPERIMENTS)}.")
    return EXPERIMENTS[name]


def with_methods(
    asked: Experiment, methods: tuple[str, ...], options: dict[str, dict[str, Any]]
) -> Experiment:
    """The experiment over these methods instead of its own variants.

    Parameters
    ----------
    asked : Experiment
    methods : tuple of str
    options : dict
        Method name -> options for it.
    """
    if not asked.takes_methods:
        fitting = ", ".join(e.name for e in EXPERIMENTS.values() if e.takes_methods)
        raise InputError(f"{asked.name} has its own variants; --methods can be given to {fitting}.")
    supervised = all(v.job.supervised for v in asked.variants)
    variants = tuple(
        Variant(_label(m, options.get(m, {})), Job(m, options.get(m, {}), supervised=supervised))
        for m in methods
    )
    return replace(asked, variants=variants)


def _label(method: str, options: dict[str, Any]) -> str:
    settings = ", ".join(f"{k}={v}" for k, v in options.items())
    return f"{method} ({settings})" if settings else method


@dataclass(frozen=True)
class Work:
    """One run that an experiment asks for, finished or not."""

    variant: Variant
    seed: int
    key: str
    data: Dataset | None = field(default=None, repr=False)
    plan: Plan | None = field(default=None, repr=False)
    record: Record | None = None


def plan_work(
    asked: Experiment, data: Dataset, second: Dataset | None, plans: list[Plan], done: dict[str, Record]
) -> list[Work]:
    """Every run of an experiment, with the record of those that are finished."""
    if asked.needs_second and second is None:
        raise InputError(
            f"{asked.name} compares two embeddings of the same rows; give the other with --second."
        )
    digests = {False: data.digest, True: "" if second is None else second.digest}
    work = []
    for variant in asked.variants:
        source = second if variant.second and second is not None else data
        for seed, plan in enumerate(plans):
            key = job_key(variant.job, digests[variant.second], plan.digest)
            work.append(Work(variant, seed, key, source, plan, done.get(key)))
    return work


def finished_work(
    asked: Experiment, done: dict[str, Record], *, data: str | None = None, plan: str | None = None
) -> dict[tuple[str, str, str, str], list[Work]]:
    """Finished runs of an experiment, from the records alone, by data, plan, class order and data digest."""
    wanted_plan = asked.plan or plan
    found: dict[tuple[str, str, str, str], dict[tuple[str, int], Work]] = {}
    for variant in asked.variants:
        for key, record in done.items():
            same = (
                record["method"],
                record["options"],
                record["number_known"],
                record["result"] is None,
            ) == (
                variant.job.method,
                variant.job.options,
                variant.job.number_known,
                variant.job.supervised,
            )
            if not same or wanted_plan not in (None, record["plan"].get("plan")) or variant.second:
                continue
            if data in (None, record["data"], record["data"].partition(",")[0]):
                about, digest = record["plan"], record.get("data_digest", "")
                place = (record["data"], str(about.get("plan")), str(about.get("order")), digest)
                work = Work(variant, about.get("seed", 0), key, record=record)
                same_run = (variant.label, work.seed)
                found.setdefault(place, {})[same_run] = work  # the last one, where a run was repeated
    return {place: list(runs.values()) for place, runs in found.items()}


def run_experiment(
    work: list[Work], records: Records, *, progress: Callable[[Work, str], None] = lambda work, text: None
) -> Iterator[Work]:
    """Run what is not finished, write each run down, and yield all of them with their records."""
    for item in work:
        if item.record is not None:
            yield item
            continue
        assert item.data is not None
        assert item.plan is not None
        told = functools.partial(progress, item)
        record = run_job(item.variant.job, item.data, item.plan, item.key, progress=told)
        records.add(record)
        yield replace(item, record=record)
