"""``vbcgcd learn``, ``discover``, ``predict`` and ``explain``: commands that take data."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group
from rich.text import Text

from vbcgcd.cli import arguments as a
from vbcgcd.cli.common import AsJson, errors_are_messages, finish, manner, note, working, writes
from vbcgcd.cli.engines import check_engine, discover_source, learn_source, predict_folder
from vbcgcd.cli.incoming import STDIN, incoming, is_terminal
from vbcgcd.cli.lines import check_stdin, predict_stdin
from vbcgcd.errors import InputError
from vbcgcd.words import saved

if TYPE_CHECKING:
    from vbcgcd.items import Failure
    from vbcgcd.workspace import SessionRecord

#: Items that could not be embedded and are named one by one.
NAMED_FAILURES = 20

__all__ = ["discover", "explain", "learn", "predict", "report_failures"]


@writes
def learn(
    data: a.Data,
    label: a.Label = None,
    text: a.Text = None,
    image: a.Image = None,
    embedding: a.Embedding = None,
    id: a.Id = None,
    split: a.Split = None,
    kind: a.Kind = None,
    format: a.Format = None,
    update_known: Annotated[
        bool,
        typer.Option("--update-known", help="Also learn from items whose category is already known."),
    ] = False,
    new_labels: Annotated[
        bool,
        typer.Option("--new-labels", help="Accept new labels that look like mistyped names of categories."),
    ] = False,
    again: a.Again = False,
    engine: a.Engine = None,
    address: a.Address = None,
    workers: a.Workers = None,
    workspace: a.Place = None,
    as_json: AsJson = False,
) -> None:
    """Learn categories from labelled items.

    The first call is the base session; later calls add labels that are new.
    Items without a label are skipped.
    A new label that differs from a category's name by one letter is probably a typo:
    on a terminal you are asked, a script is refused unless it passes --new-labels.

    Example: vbcgcd learn labelled.csv

    Example: vbcgcd learn tickets.csv --text body --label team --split part=train

    Example: vbcgcd learn pictures/labelled

    Example: vbcgcd learn - --format csv

    Example: vbcgcd learn lake/ --label team --engine processes
    """
    from vbcgcd.show import sessions as show

    columns = a.column_options(
        text=text, image=image, embedding=embedding, label=label, id=id, split=split, kind=kind, format=format
    )
    sharded = check_engine(engine, address=address, workers=workers, stdin=data == STDIN)
    here = a.open_workspace(workspace)
    with nullcontext((data, columns)) if sharded else incoming(here, data, columns) as (source, options):

        def attempt(new_labels: bool) -> tuple[SessionRecord, float]:
            with working("learning") as steps:
                if sharded:
                    asked = (engine, address, workers)
                    wanted = {"update_known": update_known, "new_labels": new_labels, "again": again}
                    record = learn_source(here, data, columns, asked, steps, **wanted)
                else:
                    record = here.learn(
                        source,
                        update_known=update_known,
                        new_labels=new_labels,
                        again=again,
                        embedding_progress=steps.embedding,
                        **options,
                    )
            return record, steps.seconds

        try:
            record, seconds = attempt(new_labels)
        except InputError as error:
            asks = is_terminal() and sys.stderr.isatty() and not manner().quiet
            if error.option != "new_labels" or not asks:
                raise
            from vbcgcd.workspace.commands.typos import ADVICE

            note(str(error).removesuffix(ADVICE).rstrip())
            typer.confirm("Learn all labels as they are?", abort=True, err=True)
            record, seconds = attempt(True)
    report_failures(record.failures, record.rows + record.unlabelled)
    finish(
        record,
        as_json,
        lambda: show.session(record, seconds=seconds, updated=update_known),
        steps=("vbcgcd discover DATA", "vbcgcd categories"),
    )


@writes
def discover(
    data: a.Data,
    n_novel: Annotated[
        int | None,
        typer.Option("--n-novel", help="Number of novel categories. Default: estimate it."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Save a row for each item: its category, how probable, how novel, the second choice. .csv, "
            ".jsonl or .parquet; with --engine a folder.",
        ),
    ] = None,
    raw_cells: a.RawCells = False,
    text: a.Text = None,
    image: a.Image = None,
    embedding: a.Embedding = None,
    id: a.Id = None,
    split: a.Split = None,
    kind: a.Kind = None,
    format: a.Format = None,
    keep: a.Keep = None,
    again: a.Again = False,
    engine: a.Engine = None,
    address: a.Address = None,
    workers: a.Workers = None,
    workspace: a.Place = None,
    as_json: AsJson = False,
) -> None:
    """Discover novel categories among unlabelled items; labels in the data are ignored.

    Known categories do not change.
    Novel ones get an automatic name, which you can change.
    Items that fit no category well enough stay unassigned;
    groups that are too small or too doubtful wait as seedlings until later batches add to them.

    Example: vbcgcd discover monday.csv

    Example: vbcgcd discover monday.csv --n-novel 4

    Example: vbcgcd discover monday.csv -o sorted.csv --keep customer --keep date

    Example: vbcgcd discover lake/ -o sorted/ --engine ray --address auto
    """
    from vbcgcd.cli.writing import check_output, write_predictions
    from vbcgcd.show import sessions as show

    columns = a.column_options(
        text=text,
        image=image,
        embedding=embedding,
        id=id,
        split=split,
        kind=kind,
        format=format,
        keep=keep,
    )
    if output is None and keep:
        raise InputError("Columns are carried along into a file; name it with -o FILE.", option="keep")
    sharded = check_engine(engine, address=address, workers=workers, stdin=data == STDIN)
    here = a.open_workspace(workspace)
    if output is not None and not sharded:
        check_output(output, data)
        here.check_target(output)
    given = nullcontext((data, columns)) if sharded else incoming(here, data, columns)
    with given as (source, options), working("preparing") as steps:

        def progress(step: str) -> None:
            steps.step(show.STEPS.get(step, step))

        if sharded:
            asked = (engine, address, workers)
            record = discover_source(
                here, data, n_novel, output, columns, asked, again=again, progress=progress
            )
        else:
            record = here.discover(
                source,
                n_novel,
                progress=progress,
                again=again,
                embedding_progress=steps.embedding,
                **options,
            )
    report_failures(record.failures, record.rows)
    if output is not None and not sharded:
        write_predictions(record, output, raw_cells=raw_cells)
    following = ["vbcgcd predict DATA", "vbcgcd report"]
    if record.novel:
        first = max(record.novel, key=lambda i: record.counts.get(i, 0))
        rename, look = (f"vbcgcd categories {word} {first}" for word in ("rename", "show"))
        following = ["vbcgcd review", f"{rename} 'a name'", look, "vbcgcd undo"]
    if record.unassigned:
        following.append("vbcgcd unassigned")

    def render() -> Any:
        novel = here.categories(n_samples=3, items=True, only=record.novel) if record.novel else ()
        page = show.session(record, novel, seconds=steps.seconds)
        return page if output is None else Group(page, Text(saved(record.rows, output)))

    finish(record, as_json, render, steps=following)


@errors_are_messages
def predict(
    data: a.OptionalData = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Save all predictions: .csv, .jsonl or .parquet; with --engine a folder. Default: show a "
            "table.",
        ),
    ] = None,
    reject: Annotated[
        float | None,
        typer.Option(
            "--reject",
            metavar="RATE",
            help="Answer 'none of these' for items that fit no known category. RATE, such as 0.05, is the "
            "share of items of known categories that may be rejected by mistake; 0 rejects nothing. Default: "
            "the setting 'reject'.",
        ),
    ] = None,
    raw_cells: a.RawCells = False,
    stdin: Annotated[
        bool,
        typer.Option(
            "--stdin",
            help="Read items from standard input, one on each line, and answer each at once: id, name, "
            "probability and novelty, separated by tabs, or a JSON object with --json.",
        ),
    ] = False,
    text: a.Text = None,
    image: a.Image = None,
    embedding: a.Embedding = None,
    id: a.Id = None,
    split: a.Split = None,
    kind: a.Kind = None,
    format: a.Format = None,
    keep: a.Keep = None,
    engine: a.Engine = None,
    address: a.Address = None,
    workers: a.Workers = None,
    workspace: a.Place = None,
    as_json: AsJson = False,
) -> None:
    """Predict the category of each item, with its probability and the second choice. Nothing is stored.

    With --engine, DATA is a folder of Parquet shards with embeddings and -o a folder for the answers;
    after an interruption the same command does only what is missing.

    Example: vbcgcd predict tuesday.csv

    Example: vbcgcd predict tuesday.csv -o answers.csv --reject 0.05

    Example: vbcgcd predict 'my card was stolen'

    Example: vbcgcd predict --stdin

    Example: vbcgcd predict tuesday.csv -o answers.csv --keep all

    Example: vbcgcd predict lake/ -o answers/ --engine ray --address 10.0.0.5:6379
    """
    columns = a.column_options(
        text=text,
        image=image,
        embedding=embedding,
        id=id,
        split=split,
        kind=kind,
        format=format,
        keep=keep,
    )
    if check_engine(engine, address=address, workers=workers, stdin=stdin):
        predict_folder(
            a.open_workspace(workspace), data, output, reject, columns, (engine, address, workers), as_json
        )
        return
    if stdin or (data == STDIN and format is None):
        check_stdin(None if data == STDIN else data, output, columns)
        predict_stdin(workspace, reject=reject, as_json=as_json)
        return
    if data is None:
        raise InputError("Give the DATA to predict, or read it line by line.", option="stdin")
    if keep and output is None and not as_json:
        raise InputError("Columns are carried along into a file; name it with -o FILE.", option="keep")
    from vbcgcd.cli.writing import check_output, write_predictions
    from vbcgcd.show import answers as show
    from vbcgcd.workspace.batch import single_item

    if output is not None:
        check_output(output, data)
    here = a.open_workspace(workspace)
    if output is not None:
        here.check_target(output)
    words = not columns and not data.exists() and (here.embedder or {}).get("kind") == "text"
    items = single_item(str(data), "text") if words else None
    with incoming(here, data, columns) as (source, options), working("predicting") as steps:
        items = here.read(source, **options) if items is None else items
        answers = here.predict(items, reject, embedding_progress=steps.embedding)
    report_failures(answers.failures, len(answers))
    if output is not None:
        write_predictions(answers, output, raw_cells=raw_cells)
        values = {"output": str(output), **show.summary(answers)}
        finish(values, as_json, lambda: Group(show.summary_lines(answers), Text(saved(len(answers), output))))
        return
    texts: dict[str, str] = {}
    if items.shown is not None and items.shown_kind == "text":
        texts = {r: str(value) for r, value in zip(items.references, items.shown, strict=True)}
    values = {**show.summary(answers), "predictions": list(answers.rows())}
    finish(values, as_json, lambda: show.predictions(answers, texts))


@errors_are_messages
def explain(
    item: Annotated[
        str,
        typer.Argument(
            metavar="ITEM",
            help="A text (in a workspace of texts), a picture, or DATA of which --row is one item.",
        ),
    ],
    row: Annotated[int, typer.Option("--row", min=0, help="Which item of the data, counted from 0.")] = 0,
    n: Annotated[int, typer.Option("--candidates", min=1, help="How many categories to compare.")] = 3,
    text: a.Text = None,
    image: a.Image = None,
    embedding: a.Embedding = None,
    id: a.Id = None,
    split: a.Split = None,
    kind: a.Kind = None,
    format: a.Format = None,
    workspace: a.Place = None,
    as_json: AsJson = False,
) -> None:
    """Explain why an item belongs to its category: distances, evidence, novelty, typical items.

    Example: vbcgcd explain 'my card was stolen'

    Example: vbcgcd explain photo.jpg

    Example: vbcgcd explain tuesday.csv --row 17
    """
    from vbcgcd.show import answers as show
    from vbcgcd.workspace.batch import single_item

    columns = a.column_options(
        text=text, image=image, embedding=embedding, id=id, split=split, kind=kind, format=format
    )
    here = a.open_workspace(workspace)
    kind_here = None if here.embedder is None else str(here.embedder["kind"])
    items = None if Path(item) == STDIN else single_item(item, kind_here)
    with incoming(here, Path(item), columns) as (source, options), working("explaining"):
        items = here.read(source, **options) if items is None else items
        answer = here.explain(items, row=row, n=n, items=True)
    words = str(items.shown[row]) if items.shown is not None and items.shown_kind == "text" else ""
    finish(answer, as_json, lambda: show.explanation(answer, words))


def report_failures(failures: Sequence[Failure], embedded: int | None = None) -> None:
    """Name the items that could not be embedded, on the error stream; ``embedded`` is how many could."""
    if not failures:
        return
    total = "" if embedded is None else f" of {embedded + len(failures):,}"
    items = "item" if len(failures) == 1 and embedded is None else "items"
    lines = [f"{len(failures):,}{total} {items} could not be embedded and were skipped:"]
    lines += [f"  {failure.reference}: {failure.reason}" for failure in failures[:NAMED_FAILURES]]
    rest = len(failures) - NAMED_FAILURES
    note("\n".join([*lines, *([f"  and {rest:,} more"] if rest > 0 else [])]))
