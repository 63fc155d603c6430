"""``vbcgcd study``: the paper's experiments on any embeddings."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from vbcgcd.cli.common import console, errors_are_messages, progress_bar, wrong

app = typer.Typer(
    no_args_is_help=True, help="The paper's experiments: datasets, plans, scoring, tables, figures."
)


class Format(StrEnum):
    """How tables are written."""

    TERMINAL = "terminal"
    MARKDOWN = "markdown"
    LATEX = "latex"


class Order(StrEnum):
    """In which order classes arrive."""

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
        "--data", help="Embeddings (.npz), a table of texts, an image folder, or a dataset in its own layout."
    ),
]
PlanName = Annotated[
    str, typer.Option("--plan", help="b50t5, b50t10, b10t9, or a plan file made by 'vbcgcd study plan'.")
]
OrderOption = Annotated[Order, typer.Option("--order", help="Order in which the classes arrive.")]
Out = Annotated[
    Path, typer.Option("--out", help="Folder of the results; finished runs in it are not repeated.")
]
FormatOption = Annotated[Format, typer.Option("--format", help="How the tables are written.")]
ProtocolOption = Annotated[Protocol, typer.Option("--protocol", help="How ids are matched to true classes.")]
Methods = Annotated[
    str | None, typer.Option("--methods", help="Comma-separated methods, or all; see 'vbcgcd study methods'.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="An option of a method: METHOD.OPTION=VALUE, for example vb-released.n_components=128."
    ),
]
Embedder = Annotated[
    str | None, typer.Option("--with", help="Embedder for texts and pictures: a name or a path.")
]
RESULTS = Path("vbcgcd-study")


@app.command("list")
@errors_are_messages
def list_experiments() -> None:
    """List the experiments and what each asks.

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
    console().print("runs: variants per seed. main, forgetting, bounds, long and scarce also take --methods.")


@app.command()
@errors_are_messages
def methods() -> None:
    """List the methods that a study can run: ours and the rivals, with paper and year.

    Example: vbcgcd study methods
    """
    from vbcgcd.study.methods import METHODS

    table = Table(title="Methods", title_justify="left")
    for column in ("name", "what it does", "paper", "year", "needs"):
        table.add_column(column, no_wrap=column in ("name", "year"))
    for card in METHODS.values():
        table.add_row(card.name, card.what, card.paper, str(card.year or ""), "torch" if card.torch else "")
    console().print(table)


@app.command()
@errors_are_messages
def fetch(
    name: Annotated[
        str, typer.Argument(help="cifar100 (by torchvision) or hf:OWNER/NAME (by Hugging Face datasets).")
    ],
    folder: Annotated[Path, typer.Argument(help="Where to put it.")],
) -> None:
    """Fetch a public dataset, where a library that can do so is installed; else give --data a local path.

    Example: vbcgcd study fetch cifar100 data/
    """
    from vbcgcd.study.datasets import fetch as fetch_dataset

    console().print(f"Fetched. Use it with: vbcgcd study run main --data {fetch_dataset(name, folder)}")


@app.command()
@errors_are_messages
def plan(
    data: Data,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the plan (JSON).")],
    name: Annotated[
        str | None, typer.Option("--plan", help="b50t5, b50t10 or b10t9; not together with the shares below.")
    ] = None,
    order: OrderOption = Order.RANDOM,
    seed: Annotated[int, typer.Option(help="Decides the rows and, in the random order, the classes.")] = 0,
    labelled_share: Annotated[float, typer.Option(help="Share of the classes that is labelled.")] = 0.5,
    sessions: Annotated[int, typer.Option(help="Unlabelled sessions.")] = 5,
    train_share: Annotated[
        float, typer.Option(help="Share of a class used when it is labelled or new.")
    ] = 0.8,
    known_share: Annotated[
        float, typer.Option(help="Share of a known class that comes back in a session.")
    ] = 0.05,
) -> None:
    """Write a session plan: class order and row numbers in a plain file, to share and to run again.

    Example: vbcgcd study plan --data cifar100.npz --plan b50t5 --order happy -o happy.json

    Example: vbcgcd study plan --data tickets.csv --labelled-share 0.3 --sessions 8 -o plan.json
    """
    from vbcgcd.study.data import load_labels
    from vbcgcd.study.plans import check_plan, make_plan, write_plan
    from vbcgcd.study.published import paper_dataset
    from vbcgcd.study.shapes import shape_by_shares, shape_of

    y, dataset = load_labels(data)
    if name is not None:
        shape = shape_of(name, y, dataset=paper_dataset(dataset))
    else:
        shape = shape_by_shares(
            y,
            labelled_share=labelled_share,
            n_sessions=sessions,
            train_share=train_share,
            known_share=known_share,
        )
    made = check_plan(make_plan(y, shape, order=order.value, seed=seed), y)
    write_plan(made, output)
    table = Table(
        title=f"Plan {made.name} of {dataset}, {order.value} order, seed {seed}", title_justify="left"
    )
    for column in ("session", "new classes", "rows", "of known classes"):
        table.add_column(column, justify="right")
    table.add_row("0 (labelled)", str(len(made.labelled)), str(len(made.base_rows)), "")
    for t, session in enumerate(made.sessions):
        known = len(session.rows) - sum(int((y[session.rows] == c).sum()) for c in session.novel)
        table.add_row(str(t + 1), str(len(session.novel)), str(len(session.rows)), str(known))
    console().print(table)
    console().print(f"Written to {output}. No row of the stream is labelled, none comes twice as new.")


@app.command()
@errors_are_messages
def run(
    experiment: Annotated[str, typer.Argument(help="Name of an experiment; see 'vbcgcd study list'.")],
    data: Data,
    second: Annotated[
        str | None, typer.Option(help="The same rows embedded otherwise, for experiments that compare two.")
    ] = None,
    plan: PlanName = "b50t5",
    order: OrderOption = Order.RANDOM,
    seeds: Annotated[int, typer.Option(help="How many plans, with the seeds 0, 1, 2, ...")] = 3,
    methods: Methods = None,
    settings: Settings = None,
    embedder: Embedder = None,
    out: Out = RESULTS,
    protocol: ProtocolOption = Protocol.FROZEN,
    format: FormatOption = Format.TERMINAL,
    again: Annotated[bool, typer.Option("--again", help="Repeat runs that are finished.")] = False,
) -> None:
    """Run an experiment over seeds and print its tables; interrupted, it goes on where it stopped.

    Example: vbcgcd study run main --data cifar100.npz --plan b50t5 --seeds 3

    Example: vbcgcd study run main --data cifar100.npz --methods all
    """
    from vbcgcd.study import experiments, tables
    from vbcgcd.study.data import load_dataset
    from vbcgcd.study.records import Records

    asked = _asked(experiment, methods, settings)
    dataset = load_dataset(data, embedder=embedder, progress=True)
    other = None if second is None else load_dataset(second, progress=True)
    plans = _plans(dataset, asked.plan or plan, order, seeds)
    records = Records(out)
    work = experiments.plan_work(asked, dataset, other, plans, {} if again else records.read())
    records.check_writable()
    finished = []
    with progress_bar() as bar:
        task = bar.add_task(asked.name, total=len(work))

        def show(item: Any, step: str) -> None:
            bar.update(task, description=f"{item.variant.label}, seed {item.seed}: {step}")

        for item in experiments.run_experiment(work, records, progress=show):
            finished.append(item)
            bar.advance(task)
    _print(tables.tables_of(asked, finished, data=dataset.name, protocol=protocol.value), format)
    console(stderr=True).print(f"Runs: {records.path}", style="dim")


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
    """Print the tables of finished runs again, in another protocol or format.

    Example: vbcgcd study table main --protocol joint --format latex
    """
    from vbcgcd.study import experiments, tables
    from vbcgcd.study.records import Records

    asked = _asked(experiment, methods, settings)
    found = experiments.finished_work(asked, Records(out).read(), data=data and Path(data).stem, plan=plan)
    if not found:
        raise wrong(f"No finished run of {experiment} in {out}; run it with 'vbcgcd study run {experiment}'.")
    for (name, *_), work in found.items():
        _print(tables.tables_of(asked, work, data=name, protocol=protocol.value), format)


@app.command()
@errors_are_messages
def figure(
    name: Annotated[str, typer.Argument(help="progress, novel-rows, dimensions, estimators or sessions.")],
    data: Data,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to save the picture (PNG, PDF or SVG).")
    ],
    plan: PlanName = "b50t5",
    order: OrderOption = Order.RANDOM,
    seeds: Annotated[int, typer.Option(help="For 'sessions': how many plans; the others draw seed 0.")] = 3,
    methods: Methods = None,
    settings: Settings = None,
    embedder: Embedder = None,
    out: Out = RESULTS,
) -> None:
    """Draw a figure of the paper on your embeddings.

    Example: vbcgcd study figure progress --data cifar100.npz -o progress.png
    """
    from vbcgcd.study import figures
    from vbcgcd.study.data import load_dataset

    figures.check_figure(name, output)
    dataset = load_dataset(data, embedder=embedder, progress=True)
    plans = _plans(dataset, plan, order, seeds if name == "sessions" else 1)
    asked = _asked("main", methods, settings)
    with console(stderr=True).status(f"drawing {name} ..."):
        drawn = figures.draw(name, dataset, plans, asked, out)
        figures.save(drawn, output)
    console().print(f"Saved {output}")


def _asked(name: str, methods: str | None, settings: list[str] | None) -> Any:
    """The experiment, over the methods asked for and with the options set."""
    from vbcgcd.study.experiments import experiment, with_methods
    from vbcgcd.study.methods import expand_methods

    asked = experiment(name)
    options: dict[str, dict[str, Any]] = {}
    for setting in settings or []:
        left, equals, value = setting.partition("=")
        method, dot, option = left.partition(".")
        if not (equals and dot and option):
            raise wrong(f"--set takes METHOD.OPTION=VALUE, got {setting!r}.")
        expand_methods(method)
        options.setdefault(method, {})[option] = _value(value)
    if methods is None and not options:
        return asked
    chosen = expand_methods(methods or "ours")
    idle = [name for name in options if name not in chosen]
    if idle:
        raise wrong(f"--set speaks of {idle[0]}, which is not run; add it to --methods.")
    return with_methods(asked, chosen, options)


def _value(text: str) -> Any:
    try:
        return json.loads({"None": "null", "True": "true", "False": "false"}.get(text, text))
    except json.JSONDecodeError:
        return text


def _plans(dataset: Any, plan: str, order: Order, seeds: int) -> list[Any]:
    from vbcgcd.study.plans import check_plan, make_plan, read_plan
    from vbcgcd.study.published import paper_dataset
    from vbcgcd.study.shapes import NAMED_PLANS, shape_of

    if plan not in NAMED_PLANS:
        if not Path(plan).exists():
            raise wrong(
                f"No plan is called {plan!r}, and no file; use {', '.join(NAMED_PLANS)} or a plan file."
            )
        return [check_plan(read_plan(plan), dataset.train_y)]
    if seeds < 1:
        raise wrong(f"--seeds must be at least 1, got {seeds}.")
    shape = shape_of(plan, dataset.train_y, dataset=paper_dataset(dataset.name))
    return [make_plan(dataset.train_y, shape, order=order.value, seed=seed) for seed in range(seeds)]


def _print(made: list[Any], format: Format) -> None:
    from vbcgcd.study.rendering import render

    for table in made:
        shown = render(table, format.value)
        if isinstance(shown, str):
            typer.echo(shown + "\n")
        else:
            console().print(shown)
            console().print()
