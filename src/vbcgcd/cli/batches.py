"""``vbcgcd learn``, ``discover``, ``predict`` and ``explain``: commands that take data."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vbcgcd.cli import columns as c
from vbcgcd.cli.common import AsJson, errors_are_messages, finish, note, working, wrong
from vbcgcd.cli.places import Place, opened

if TYPE_CHECKING:
    from vbcgcd.embed import Failure
    from vbcgcd.items import Items

NAMED_FAILURES = 20

__all__ = ["discover", "explain", "learn", "predict", "tell_failures"]


@errors_are_messages
def learn(
    data: c.Data,
    label: c.Label = None,
    text: c.Text = None,
    image: c.Image = None,
    embedding: c.Embedding = None,
    id: c.Id = None,
    split: c.Split = None,
    kind: c.Kind = None,
    update_known: Annotated[
        bool,
        typer.Option("--update-known", help="Items of categories that are known already teach them more."),
    ] = False,
    again: c.Again = False,
    workspace: Place = None,
    as_json: AsJson = False,
) -> None:
    """Learn labelled items. The first time this is the base session; later it adds labels that are new.

    Items without a label are left out.

    Example: vbcgcd learn labelled.csv

    Example: vbcgcd learn tickets.csv --text body --label team --split part=train

    Example: vbcgcd learn pictures/labelled
    """
    from vbcgcd.cli.show import sessions as show

    said = c.columns_of(
        text=text, image=image, embedding=embedding, label=label, id=id, split=split, kind=kind
    )
    here = opened(workspace)
    with working("learning") as steps:
        done = here.learn(
            c.check_data(data),
            update_known=update_known,
            again=again,
            embedding_progress=steps.embedding,
            **said,
        )
    tell_failures(done.failures, done.rows + done.unlabelled)
    finish(
        done, as_json, lambda: show.learned(done, here.sessions()[-1], steps.seconds, updated=update_known)
    )


@errors_are_messages
def discover(
    data: c.Data,
    n_novel: Annotated[
        int | None,
        typer.Option(
            "--n-novel", min=1, help="How many categories are new, if you know it; without it estimated."
        ),
    ] = None,
    text: c.Text = None,
    image: c.Image = None,
    embedding: c.Embedding = None,
    id: c.Id = None,
    split: c.Split = None,
    kind: c.Kind = None,
    again: c.Again = False,
    workspace: Place = None,
    as_json: AsJson = False,
) -> None:
    """Find the new categories of items without labels; labels in the data are not looked at.

    What was learned before stays as it is. New categories get automatic names; rename them.

    Example: vbcgcd discover monday.csv

    Example: vbcgcd discover monday.csv --n-novel 4
    """
    from vbcgcd.cli.show import sessions as show

    said = c.columns_of(text=text, image=image, embedding=embedding, id=id, split=split, kind=kind)
    here = opened(workspace)
    with working("preparing") as steps:
        done = here.discover(
            c.check_data(data),
            n_novel,
            progress=lambda step: steps.step(show.STEPS.get(step, step)),
            again=again,
            embedding_progress=steps.embedding,
            **said,
        )
    tell_failures(done.failures, done.rows)

    def shown() -> Any:
        found = here.categories(n_samples=3, items=True, only=done.categories)
        return show.discovered(done, here.sessions()[-1], found, steps.seconds)

    finish(done, as_json, shown)


@errors_are_messages
def predict(
    data: c.Data,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Where to write all of it: .csv, .jsonl or .parquet. Without it a table."
        ),
    ] = None,
    reject: Annotated[
        float | None,
        typer.Option(
            "--reject",
            metavar="RATE",
            help="Answer 'none of these' to strangers; RATE, such as 0.05, is the share of items of known "
            "categories that is refused wrongly. 0 refuses nothing. Without it the setting 'reject'.",
        ),
    ] = None,
    text: c.Text = None,
    image: c.Image = None,
    embedding: c.Embedding = None,
    id: c.Id = None,
    split: c.Split = None,
    kind: c.Kind = None,
    workspace: Place = None,
    as_json: AsJson = False,
) -> None:
    """Say to which category items belong, how surely, and what the second choice is. Nothing is stored.

    Example: vbcgcd predict tuesday.csv

    Example: vbcgcd predict tuesday.csv -o answers.csv --reject 0.05
    """
    from vbcgcd.cli.show import answers as show
    from vbcgcd.cli.writing import check_output, write_predictions

    if output is not None:
        check_output(output, data)
    said = c.columns_of(text=text, image=image, embedding=embedding, id=id, split=split, kind=kind)
    here = opened(workspace)
    if output is not None:
        here.check_target(output)
    items = _from_table(c.check_data(data), said)
    with working("predicting") as steps:
        given: Any = data if items is None else items
        found = here.predict(
            given, reject, embedding_progress=steps.embedding, **(said if items is None else {})
        )
    tell_failures(found.failures, len(found))
    if output is not None:
        write_predictions(found, output)
        told = {"output": str(output), **show.summary(found)}
        finish(told, as_json, lambda: show.written(found, str(output)))
        return
    texts: dict[str, str] = {}
    if items is not None and items.kind == "text":
        texts = {r: str(value) for r, value in zip(items.references, items.values, strict=True)}
    told = {**show.summary(found), "predictions": list(found.rows())}
    finish(told, as_json, lambda: show.predictions(found, texts))


@errors_are_messages
def explain(
    item: Annotated[
        str,
        typer.Argument(
            metavar="ITEM",
            help="A text, where the workspace is for texts; a picture; or data, of which --row is one item.",
        ),
    ],
    row: Annotated[int, typer.Option("--row", min=0, help="Which item of the data, from 0.")] = 0,
    n: Annotated[int, typer.Option("--candidates", min=1, help="How many categories to compare.")] = 3,
    text: c.Text = None,
    image: c.Image = None,
    embedding: c.Embedding = None,
    id: c.Id = None,
    split: c.Split = None,
    kind: c.Kind = None,
    workspace: Place = None,
    as_json: AsJson = False,
) -> None:
    """Say why an item belongs to its category: distances, evidence, novelty, typical members.

    Example: vbcgcd explain 'my card was stolen'

    Example: vbcgcd explain photo.jpg

    Example: vbcgcd explain tuesday.csv --row 17
    """
    from vbcgcd.cli.show import answers as show

    said = c.columns_of(text=text, image=image, embedding=embedding, id=id, split=split, kind=kind)
    here = opened(workspace)
    mark = here.embedder
    given = _single(item, None if mark is None else str(mark["kind"]))
    if given is None:
        given = _from_table(c.check_data(Path(item)), said)
    with working("explaining"):
        options = said if given is None else {}
        found = here.explain(item if given is None else given, row=row, n=n, items=True, **options)
    shown = str(given.values[row]) if given is not None and given.kind == "text" else ""
    finish(found, as_json, lambda: show.explanation(found, shown))


def tell_failures(failures: Sequence[Failure], embedded: int | None = None) -> None:
    """Name the items that could not be embedded, on the error stream; ``embedded`` is how many could."""
    if not failures:
        return
    of = "" if embedded is None else f" of {embedded + len(failures)}"
    lines = [f"{len(failures)}{of} items could not be embedded and are left out:"]
    lines += [f"  {failure.reference}: {failure.reason}" for failure in failures[:NAMED_FAILURES]]
    rest = len(failures) - NAMED_FAILURES
    note("\n".join([*lines, *([f"  and {rest} more"] if rest > 0 else [])]))


def _single(item: str, kind: str | None) -> Items | None:
    """One item that is given itself: a picture, or a text where no such file exists; None for data."""
    from vbcgcd.items import Items
    from vbcgcd.items.arrays import ARRAYS
    from vbcgcd.items.cells import is_picture
    from vbcgcd.items.tables import TABLES

    if os.path.isfile(item) and is_picture(item):
        return Items("image", [Path(item).absolute()], [item], item)
    endings = (*ARRAYS, *TABLES)
    looks_like_a_file = len(item.split()) == 1 and (item.lower().endswith(endings) or is_picture(item))
    if os.path.exists(item) or looks_like_a_file:
        return None
    if kind not in ("text", None):  # None: nothing was learned, which is what the error should say
        raise wrong(
            f"There is no file {item[:200]!r} (this workspace is for {kind}s); give one, with --row if it "
            "holds several items."
        )
    return Items("text", [item], ["this text"], "the command line")


def _from_table(data: Path, said: dict[str, Any]) -> Items | None:
    """The items of a table, so that texts can be shown; None for everything else."""
    from vbcgcd.items import read_items
    from vbcgcd.items.tables import TABLES

    if data.suffix.lower() not in TABLES or not data.is_file():
        return None
    return read_items(data, **said)
