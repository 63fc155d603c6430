"""`run_study`: an experiment of the paper on any embeddings, over several class orders."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from vbcgcd.errors import InputError
from vbcgcd.study.datasets import Dataset, load_dataset
from vbcgcd.study.experiments import EXPERIMENTS, Experiment, Variant, with_methods
from vbcgcd.study.methods import Run, supervised_part
from vbcgcd.study.named import PLAN_NAMES, named_plan
from vbcgcd.study.plans import Plan, check_plan, read_plan
from vbcgcd.study.records import Results, RunRecord, identity, run_key
from vbcgcd.study.runner import check_available, execute
from vbcgcd.study.scoring import Accuracies
from vbcgcd.study.shapes import NAMED_PLANS
from vbcgcd.study.streams.junk import name_with_junk
from vbcgcd.study.streams.shapes import STREAMS
from vbcgcd.study.tables import ResultTable, make_tables
from vbcgcd.validation import check_choice, check_number

FilePath = str | os.PathLike[str]
Methods = str | Sequence[str]
Options = Mapping[str, Mapping[str, Any]]

__all__ = ["Study", "StudyProgress", "choose_plans", "read_studies", "run_study"]


class StudyProgress(NamedTuple):
    """Where a study is: runs completed of the total, and the step of the run at hand.

    Examples
    --------
    >>> StudyProgress(completed=1, total=3, label="ours", seed=1, step="session 2").completed
    1
    """

    completed: int
    total: int
    label: str
    seed: int
    step: str


@dataclass(frozen=True)
class Study:
    """The finished runs of an experiment on one dataset and plan.

    Parameters
    ----------
    experiment : Experiment
    data : str
        Name of the dataset.
    runs : mapping of str to tuple of RunRecord
        Runs of each variant, one for each seed, by the variant's label.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from vbcgcd.study import Dataset, random_plan, run_study
    >>> X, y = load_digits(return_X_y=True)
    >>> data = Dataset(X[:300], y[:300], X[300:500], y[300:500], name="digits")
    >>> plan = random_plan(data.train_y, n_labelled=6, n_sessions=2, n_novel=2, known_rows=2)
    >>> study = run_study("main", data, plan=plan, methods="ncm-kmeans")
    >>> study.table("sessions").columns
    ('method', 'session', 'All', 'Old', 'New')
    >>> [run.plan.seed for run in study.runs["ncm-kmeans"]]
    [0]
    """

    experiment: Experiment
    data: str
    runs: Mapping[str, tuple[RunRecord, ...]]

    def tables(self, *, protocol: str = "frozen", paper: bool = True) -> list[ResultTable]:
        """All tables of the experiment.

        Parameters
        ----------
        protocol : {"frozen", "joint"}
            How ids are matched to true classes; see `vbcgcd.study.scoring`.
        paper : bool
            Show the paper's results beside ours where it prints them.
        """
        return make_tables(self.experiment, self.runs, data=self.data, protocol=protocol, paper=paper)

    def table(self, kind: str | None = None, *, protocol: str = "frozen", paper: bool = True) -> ResultTable:
        """One table of the experiment.

        Parameters
        ----------
        kind : str, optional
            One of ``experiment.tables``, such as "summary"; by default the first.
        protocol, paper
            As for `tables`.
        """
        kinds = self.experiment.tables
        kind = kinds[0] if kind is None else kind
        check_choice("kind", kind, kinds)
        return self.tables(protocol=protocol, paper=paper)[kinds.index(kind)]

    def figure(self, name: str = "sessions") -> Any:
        """A matplotlib figure of the runs.

        Parameters
        ----------
        name : {"sessions", "novel-rows"}
            Accuracy after each session, or the rows judged novel in each session.
        """
        from vbcgcd.study.figures import draw_runs

        return draw_runs(name, self.runs, data=self.data)


def run_study(
    experiment: str | Experiment,
    data: FilePath | Dataset,
    *,
    plan: FilePath | Plan | Sequence[Plan] = "b50t5",
    order: str = "random",
    seeds: int = 3,
    first_seed: int = 0,
    methods: Methods | None = None,
    options: Options | None = None,
    second: FilePath | Dataset | None = None,
    junk: FilePath | Dataset | None = None,
    embedder: str | None = None,
    output: FilePath | None = None,
    again: bool = False,
    progress: Callable[[StudyProgress], None] | None = None,
) -> Study:
    """Run an experiment of the paper, and return its runs.

    No label of the stream reaches a method: `fit` sees the labelled rows, `discover` sees unlabelled rows.

    Parameters
    ----------
    experiment : str or Experiment
        A key of `vbcgcd.study.experiments.EXPERIMENTS`, such as "main", or an experiment of your own.
    data : path or Dataset
        Embeddings (``.npz``), or anything else that `vbcgcd.study.datasets.load_dataset` reads.
    plan : str, path, Plan or sequence of Plan
        "b50t5", "b50t10" or "b10t9"; a plan file; or plans, one for each seed. An experiment that is about
        one plan uses that instead. A realistic stream takes "stream", "stream-even", "uneven" or plans of
        yours; the text protocol takes "textoir25", "textoir50", "textoir75" or plans of yours.
    order : {"random", "natural", "happy"}
        Order in which the classes of a named plan arrive.
    seeds : int
        Number of plans to draw for a named plan, with the seeds 0, 1, 2, ...
    first_seed : int
        Where these seeds begin: other class orders than the usual ones.
    methods : str or sequence of str, optional
        Methods to compare instead of the experiment's own variants; "all" is ours and every rival from the
        papers, "tools" what people use today.
    options : mapping of str to mapping, optional
        Options of methods, by the name of the method.
    second : path or Dataset, optional
        Other embeddings of the same rows, for experiments that compare two.
    junk : path or Dataset, optional
        Another dataset, from which realistic streams draw rows that belong to no category; see
        `vbcgcd.study.streams.junk.carried_over` for rows of another width.
    embedder : str, optional
        Name or path of an embedder for texts and pictures.
    output : path, optional
        Folder of the results: each finished run is written there, and runs that it already has are not
        repeated. By default nothing is written.
    again : bool
        Repeat runs that are finished.
    progress : callable, optional
        Called with a `StudyProgress` as each step begins and once at the end.

    Returns
    -------
    Study

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from vbcgcd.study import Dataset, random_plan, run_study
    >>> X, y = load_digits(return_X_y=True)
    >>> data = Dataset(X[:600], y[:600], X[600:1000], y[600:1000], name="digits")
    >>> plan = random_plan(data.train_y, n_labelled=6, n_sessions=2, n_novel=2, known_rows=4)
    >>> study = run_study("main", data, plan=plan, methods=["ours", "ncm"])
    >>> table = study.table("summary")
    >>> table.columns
    ('method', 'All', 'Old', 'New', 'M_f', 'M_d', 'ids kept', 'upper', 'share', 'of best')
    >>> [row[0] for row in table.rows]
    ['ours', 'ncm']
    >>> study.runs["ours"][0].result.final.all > 0.8
    True
    """
    experiment = _choose(experiment, methods, options)
    for variant in experiment.variants:
        check_available(variant.run.method)
    bars = progress is not None
    dataset = data if isinstance(data, Dataset) else load_dataset(data, embedder=embedder, progress=bars)
    other = second if isinstance(second, Dataset) or second is None else load_dataset(second, progress=bars)
    if other is None and any(variant.second for variant in experiment.variants):
        raise InputError(
            f"{experiment.name} compares two embeddings of the same rows; name the second one too.",
            option="second",
        )
    if junk is not None and not isinstance(junk, Dataset):
        junk = load_dataset(junk, progress=bars)
    plans = choose_plans(dataset, _plan_of(experiment, plan), order, seeds, junk, first_seed=first_seed)
    if experiment.plan in STREAMS and not all(drawn.is_stream for drawn in plans):
        raise InputError(
            f"{experiment.name} needs a realistic stream; use {experiment.plan}, "
            f"{', '.join(experiment.plans)} or a file that 'vbcgcd study plan' wrote of one of these.",
            option="plan",
        )
    results = None if output is None else Results(output)
    finished = {} if results is None or again else results.read()
    if results is not None:
        results.check_writable()
    work = list(_work(experiment, dataset, other, plans, junk))
    runs: dict[str, list[RunRecord]] = {}
    bounds: dict[str, Accuracies] = {}
    for completed, item in enumerate(work):
        report = functools.partial(_report, progress, completed, len(work), item)
        record = finished.get(item.key)
        if record is None:
            run, bound = item.variant.run, bounds.get(item.bound_key)
            record = execute(run, item.data, item.plan, item.key, junk=junk, bound=bound, progress=report)
            finished[item.key] = record
            if results is not None:
                results.add(record)
        bounds[item.bound_key] = record.bound
        runs.setdefault(item.variant.label, []).append(record)
    if progress is not None and work:
        progress(StudyProgress(len(work), len(work), work[-1].variant.label, work[-1].seed, "finished"))
    name = name_with_junk(dataset, plans[0], junk)
    return Study(experiment, name, {label: tuple(group) for label, group in runs.items()})


class _Work(NamedTuple):
    """One run that a study needs."""

    variant: Variant
    seed: int
    data: Dataset
    plan: Plan
    key: str
    bound_key: str


def _work(
    experiment: Experiment,
    data: Dataset,
    second: Dataset | None,
    plans: Sequence[Plan],
    junk: Dataset | None,
) -> Iterator[_Work]:
    digests = {False: data.digest, True: "" if second is None else second.digest}
    elsewhere = "" if junk is None else junk.digest
    plan_digests = [plan.digest + (elsewhere if plan.junk_labels else "") for plan in plans]
    for variant in experiment.variants:
        source = second if variant.second and second is not None else data
        for plan, plan_digest in zip(plans, plan_digests, strict=True):
            key, bound_key = (
                run_key(run, digests[variant.second], plan_digest)
                for run in (variant.run, supervised_part(variant.run))
            )
            yield _Work(variant, plan.origin.seed, source, plan, key, bound_key)


def _report(
    progress: Callable[[StudyProgress], None] | None, completed: int, total: int, item: _Work, step: str
) -> None:
    if progress is not None:
        progress(StudyProgress(completed, total, item.variant.label, item.seed, step))


def _choose(experiment: str | Experiment, methods: Methods | None, options: Options | None) -> Experiment:
    """The experiment by name, over the methods if there are any."""
    if isinstance(experiment, str):
        check_choice("experiment", experiment, tuple(EXPERIMENTS))
        experiment = EXPERIMENTS[experiment]
    return experiment if methods is None and not options else with_methods(experiment, methods, options)


def _plan_of(
    experiment: Experiment, plan: FilePath | Plan | Sequence[Plan]
) -> FilePath | Plan | Sequence[Plan]:
    """The plan that an experiment is about; where it has a family, another of it or plans of one's own."""
    if experiment.plan is None or (experiment.plans and plan not in tuple(NAMED_PLANS)):
        return plan
    return experiment.plan


def choose_plans(
    data: Dataset,
    plan: FilePath | Plan | Sequence[Plan],
    order: str,
    seeds: int,
    junk: Dataset | None = None,
    *,
    first_seed: int = 0,
) -> list[Plan]:
    """The plans of a study, one for each seed."""
    if isinstance(plan, Plan):
        return [plan]
    if not isinstance(plan, str | os.PathLike):
        plans = list(plan)
        if not plans:
            raise InputError("plan must hold at least one plan, got none.", option="plan")
        return plans
    if plan not in PLAN_NAMES:
        if not Path(plan).exists():
            names = ", ".join(PLAN_NAMES)
            raise InputError(
                f"No plan or plan file {str(plan)!r}; use {names} or a plan file.", option="plan"
            )
        return [check_plan(read_plan(plan), data.train_y)]
    check_number("seeds", seeds, low=1, whole=True)
    check_number("first_seed", first_seed, low=0, whole=True)
    junk_y = None if junk is None else junk.train_y
    return [
        named_plan(str(plan), data.train_y, dataset=data.name, order=order, seed=seed, junk_y=junk_y)
        for seed in range(first_seed, first_seed + seeds)
    ]


def read_studies(
    experiment: str | Experiment,
    output: FilePath,
    *,
    data: str | None = None,
    plan: str | None = None,
    methods: Methods | None = None,
    options: Options | None = None,
) -> list[Study]:
    """The finished runs of an experiment in a folder of results.

    Runs are apart where the data, the plan, the class order or the version of the code differ.

    Parameters
    ----------
    experiment : str or Experiment
    output : path
        Folder that `run_study` wrote to.
    data : str, optional
        Name of a dataset; by default all of them.
    plan : str, optional
        Name of a plan; by default all of them.
    methods, options
        As for `run_study`.

    Examples
    --------
    >>> from vbcgcd.study import read_studies
    >>> read_studies("main", "an-empty-folder")
    []
    """
    experiment = _choose(experiment, methods, options)
    plan = plan if experiment.plans else experiment.plan or plan
    groups: dict[tuple[Any, ...], dict[str, dict[int, RunRecord]]] = {}
    records = Results(output).read().values()
    for variant in (v for v in experiment.variants if not v.second):
        for record in records:
            names = (None, record.data, record.data.partition(",")[0])
            if data not in names or plan not in (None, record.plan.plan) or not _is_run(record, variant.run):
                continue
            if not _in_family(record, experiment):
                continue
            place = (record.data, record.data_digest, record.plan.plan, record.plan.order)
            group = groups.setdefault((*place, record.version, record.revision), {})
            # The last one, where a run was repeated.
            group.setdefault(variant.label, {})[record.plan.seed] = record
    return [
        Study(experiment, place[0], {label: tuple(seeds.values()) for label, seeds in group.items()})
        for place, group in groups.items()
    ]


def _is_run(record: RunRecord, run: Run) -> bool:
    """Whether a record is of this run, by whichever version of the code."""
    version, revision = record.version, record.revision
    return identity(record.run, version, revision) == identity(run, version, revision)


def _in_family(record: RunRecord, experiment: Experiment) -> bool:
    """Whether a record is of a plan of the experiment's family; any plan where it has none."""
    if experiment.plan in STREAMS:
        return record.result is not None and record.result.stream is not None
    return not experiment.plans or record.plan.plan in (experiment.plan, *experiment.plans)
