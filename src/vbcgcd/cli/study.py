"""``vbcgcd study``: the paper's experiments on any embeddings."""

from __future__ import annotations

import json
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from vbcgcd.checks import check_number
from vbcgcd.cli.common import console, errors_are_messages, manner, progress_bar

if TYPE_CHECKING:
    from vbcgcd.study import Study, StudyProgress
    from vbcgcd.study.plans import Plan

app = typer.Typer(
    no_args_is_help=True, help="The paper's experiments: datasets, plans, scoring, tables, figures."
)


class Format(StrEnum):
    """Format of tables."""

    TERMINAL = "terminal"
    MARKDOWN = "markdown"
    LATEX = "latex"


class Order(StrEnum):
    """Order in which classes arrive."""

    RANDOM = "random"
    NATURAL = "natural"
    HAPPY = "happy"


class Protocol(StrEnum):
    """How ids are matched to true classes."""

    FROZEN = "frozen"
    JOINT = "joint"


Data = Annotated[
    str,
    typer.Option(
        "--data", help="Embeddings (.npz), a table of texts, a folder of pictures, or a published dataset."
    ),
]
PlanName = Annotated[
    str,
    typer.Option(
        "--plan",
        help="b50t5, b50t10, b10t9, stream, stream-even, uneven, textoir25, textoir50, textoir75, or a file "
        "of 'vbcgcd study plan'.",
    ),
]
OrderOption = Annotated[Order, typer.Option("--order", help="Order in which the classes arrive.")]
Out = Annotated[
    Path, typer.Option("--out", help="Folder of the results; runs finished there are not repeated.")
]
FormatOption = Annotated[Format, typer.Option("--format", help="Format of the tables.")]
ProtocolOption = Annotated[Protocol, typer.Option("--protocol", help="How ids are matched to true classes.")]
Methods = Annotated[
    str | None,
    typer.Option("--methods", help="Comma-separated methods, all or tools; see 'vbcgcd study methods'."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="Option of a method as METHOD.OPTION=VALUE, for example vb-released.n_components=128."
    ),
]
Junk = Annotated[
    str | None,
    typer.Option("--junk", help="Another dataset, from which realistic streams draw rows of no category."),
]
Embedder = Annotated[
    str | None, typer.Option("--with", help="Embedder for texts and pictures: a name or a path.")
]
RESULTS = Path("vbcgcd-study")


@app.command("list")
@errors_are_messages
def list_experiments() -> None:
    """List the experiments and the question of each.

    Example: vbcgcd study list
    """
    from vbcgcd.study.experiments import EXPERIMENTS

    table = Table(title="Experiments", title_justify="left")
    table.add_column("name", no_wrap=True)
    table.add_column("question")
    table.add_column("runs", justify="right")
    for e in EXPERIMENTS.values():
        table.add_row(e.name, e.question, str(len(e.variants)))
    console().print(table)
    others = ", ".join(e.name for e in EXPERIMENTS.values() if e.takes_methods)
    console().print(f"runs: variants for each seed. --methods works with {others}.")


@app.command()
@errors_are_messages
def methods() -> None:
    """List the methods that a study can run: ours, the rivals and today's tools, with paper and year.

    Example: vbcgcd study methods
    """
    from vbcgcd.study.methods import METHODS

    table = Table(title="Methods", title_justify="left")
    for column in ("name", "what it does", "paper", "year", "needs"):
        table.add_column(column, no_wrap=column in ("name", "year"))
    for card in METHODS.values():
        table.add_row(card.name, card.what, card.paper, str(card.year or ""), card.needs)
    console().print(table)


@app.command()
@errors_are_messages
def fetch(
    name: Annotated[
        str, typer.Argument(help="cifar100 (with torchvision) or hf:OWNER/NAME (with Hugging Face datasets).")
    ],
    folder: Annotated[Path, typer.Argument(help="Folder to put it in.")],
) -> None:
    """Fetch a public dataset with torchvision or Hugging Face datasets, if installed.

    Example: vbcgcd study fetch cifar100 data/
    """
    from vbcgcd.study.datasets.fetch import fetch as fetch_dataset

    path = fetch_dataset(name, folder)
    console().print(f"Dataset ready. Use it with: vbcgcd study run main --data {path}")


@app.command()
@errors_are_messages
def plan(
    data: Data,
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write the plan to (JSON).")],
    name: Annotated[
        str | None,
        typer.Option(
            "--plan",
            help="b50t5, b50t10, b10t9, stream, stream-even, uneven, textoir25, textoir50 or textoir75, "
            "instead of the numbers below.",
        ),
    ] = None,
    order: OrderOption = Order.RANDOM,
    seed: Annotated[int, typer.Option(help="Draws the rows and, in the random order, the classes.")] = 0,
    labelled_share: Annotated[float, typer.Option(help="Share of the classes that is labelled.")] = 0.5,
    sessions: Annotated[int, typer.Option(help="Number of unlabelled sessions.")] = 5,
    train_share: Annotated[
        float, typer.Option(help="Share of a class's rows used when it is labelled or novel.")
    ] = 0.8,
    known_share: Annotated[
        float, typer.Option(help="Share of a known class's rows that arrives in each later session.")
    ] = 0.05,
    junk: Junk = None,
) -> None:
    """Write a session plan to a file, to share and to run again: class order and row numbers.

    Example: vbcgcd study plan --data cifar100.npz --plan b50t5 --order happy -o happy.json

    Example: vbcgcd study plan --data tickets.csv --labelled-share 0.3 --sessions 8 -o plan.json

    Example: vbcgcd study plan --data clinc.npz --plan stream --junk questions.npz --seed 1 -o stream.json
    """
    from vbcgcd.study.datasets import load_labels
    from vbcgcd.study.named import named_plan
    from vbcgcd.study.plans import check_plan, make_plan, write_plan
    from vbcgcd.study.shapes import shape_by_shares

    check_number("seed", seed, low=0, whole=True)
    y, dataset = load_labels(data)
    if name is not None:
        junk_y = None if junk is None else load_labels(junk)[0]
        drawn = named_plan(name, y, dataset=dataset, order=order.value, seed=seed, junk_y=junk_y)
    else:
        shape = shape_by_shares(
            y,
            labelled_share=labelled_share,
            n_sessions=sessions,
            train_share=train_share,
            known_share=known_share,
        )
        drawn = make_plan(y, shape, order=order.value, seed=seed)
    check_plan(drawn, y)
    write_plan(drawn, output)
    console().print(_plan_table(drawn, y, dataset))
    console().print(f"Plan written to {output}. Checked for leaks: no row is labelled or novel twice.")


@app.command()
@errors_are_messages
def run(
    experiment: Annotated[str, typer.Argument(help="Name of an experiment; see 'vbcgcd study list'.")],
    data: Data,
    second: Annotated[
        str | None, typer.Option(help="Other embeddings of the same rows, for experiments that compare two.")
    ] = None,
    junk: Junk = None,
    plan: PlanName = "b50t5",
    order: OrderOption = Order.RANDOM,
    seeds: Annotated[int, typer.Option(help="Number of plans to run, with the seeds 0, 1, 2, ...")] = 3,
    first_seed: Annotated[
        int, typer.Option(help="First of these seeds, for class orders that nobody looked at.")
    ] = 0,
    methods: Methods = None,
    settings: Settings = None,
    embedder: Embedder = None,
    out: Out = RESULTS,
    protocol: ProtocolOption = Protocol.FROZEN,
    format: FormatOption = Format.TERMINAL,
    again: Annotated[bool, typer.Option("--again", help="Repeat finished runs.")] = False,
) -> None:
    """Run an experiment over several seeds and print its tables; after an interruption, it resumes.

    Example: vbcgcd study run main --data cifar100.npz --plan b50t5 --seeds 3

    Example: vbcgcd study run main --data cifar100.npz --methods all

    Example: vbcgcd study run stream --data clinc.npz --junk questions.npz --seeds 1
    """
    study = _run(
        experiment,
        data,
        second=second,
        junk=junk,
        plan=plan,
        order=order.value,
        seeds=seeds,
        first_seed=first_seed,
        methods=methods,
        options=_options(settings),
        embedder=embedder,
        output=out,
        again=again,
    )
    _print(study, protocol, format)
    console(stderr=True).print(f"Results: {out}", style="dim")


@app.command()
@errors_are_messages
def table(
    experiment: Annotated[str, typer.Argument(help="Name of an experiment.")],
    out: Out = RESULTS,
    data: Annotated[str | None, typer.Option(help="Only this dataset (its name or its file).")] = None,
    plan: Annotated[str | None, typer.Option("--plan", help="Only this plan.")] = None,
    methods: Methods = None,
    settings: Settings = None,
    protocol: ProtocolOption = Protocol.FROZEN,
    format: FormatOption = Format.TERMINAL,
) -> None:
    """Print the tables of finished runs, in any protocol or format.

    Example: vbcgcd study table main --protocol joint --format latex
    """
    from vbcgcd.errors import InputError
    from vbcgcd.study import read_studies

    name = None if data is None else Path(data).stem
    studies = read_studies(experiment, out, data=name, plan=plan, methods=methods, options=_options(settings))
    if not studies:
        raise InputError(
            f"No finished runs of {experiment} in {out}; run it with 'vbcgcd study run {experiment}'."
        )
    for study in studies:
        _print(study, protocol, format)


@app.command()
@errors_are_messages
def figure(
    name: Annotated[
        str, typer.Argument(help="progress, novel-rows, dimensions, estimators, reliability or sessions.")
    ],
    data: Data,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File to save the figure to (PNG, PDF or SVG).")
    ],
    plan: PlanName = "b50t5",
    order: OrderOption = Order.RANDOM,
    seeds: Annotated[
        int, typer.Option(help="Number of plans for 'sessions'; the other figures show seed 0.")
    ] = 3,
    methods: Methods = None,
    settings: Settings = None,
    embedder: Embedder = None,
    out: Out = RESULTS,
) -> None:
    """Draw a figure of the paper on your embeddings.

    Example: vbcgcd study figure progress --data cifar100.npz -o progress.png
    """
    from vbcgcd.study import load_dataset
    from vbcgcd.study.figures import DATA_FIGURES, check_figure, draw_data, save_figure
    from vbcgcd.study.study import choose_plans

    check_figure(name, output)
    dataset = load_dataset(data, embedder=embedder, progress=not manner().quiet)
    if name in DATA_FIGURES:
        with console(stderr=True).status(f"drawing {name} ..."):
            drawing = draw_data(name, dataset, choose_plans(dataset, plan, order.value, 1)[0])
    else:
        study = _run(
            "main",
            dataset,
            plan=plan,
            order=order.value,
            seeds=seeds if name == "sessions" else 1,
            methods=methods,
            options=_options(settings),
            output=out,
        )
        drawing = study.figure(name)
    save_figure(drawing, output)
    console().print(f"Figure saved to {output}.")


def _plan_table(plan: Plan, y: Any, dataset: str) -> Table:
    """The sessions of a plan, one line for each."""
    origin = plan.origin
    title = f"Plan {plan.name} of {dataset}, {origin.order} order, seed {origin.seed}"
    table = Table(title=title, title_justify="left")
    for column in ("session", "novel classes", "rows", "of known classes", *["junk"] * plan.is_stream):
        table.add_column(column, justify="right")
    table.add_row("0 (labelled)", str(len(plan.labelled)), str(len(plan.base_rows)), "")
    for t, session in enumerate(plan.sessions, start=1):
        known = len(session.rows) - sum(int((y[session.rows] == c).sum()) for c in session.novel)
        place = f"{t} ({session.kind})" if session.kind else str(t)
        junk = [str(len(session.junk))] * plan.is_stream
        table.add_row(place, str(len(session.novel)), str(len(session.rows)), str(known), *junk)
    return table


def _run(experiment: str, data: Any, **options: Any) -> Study:
    """`run_study` with a progress bar."""
    from vbcgcd.study import run_study

    bar = progress_bar()
    task = bar.add_task(experiment)
    with ExitStack() as stack:

        def show(at: StudyProgress) -> None:
            if not bar.live.is_started:  # not before the data is loaded, which may show a bar of its own
                stack.enter_context(bar)
            text = f"{at.label}, seed {at.seed}: {at.step}"
            bar.update(task, description=text, completed=at.completed, total=at.total)

        return run_study(experiment, data, progress=show, **options)


def _options(settings: list[str] | None) -> dict[str, dict[str, Any]]:
    """Options of methods, by method, from METHOD.OPTION=VALUE."""
    from vbcgcd.errors import InputError

    options: dict[str, dict[str, Any]] = {}
    for setting in settings or []:
        left, equals, value = setting.partition("=")
        method, dot, option = left.partition(".")
        if not (equals and dot and option):
            raise InputError(f"Expected METHOD.OPTION=VALUE, got {setting!r}.", option="set")
        options.setdefault(method, {})[option] = _value(value)
    return options


def _value(text: str) -> Any:
    try:
        return json.loads({"None": "null", "True": "true", "False": "false"}.get(text, text))
    except json.JSONDecodeError:
        return text


def _print(study: Study, protocol: Protocol, format: Format) -> None:
    for table in study.tables(protocol=protocol.value):
        if format is Format.TERMINAL:
            console().print(table)
            console().print()
        else:
            text = table.markdown() if format is Format.MARKDOWN else table.latex()
            typer.echo(text + "\n")
