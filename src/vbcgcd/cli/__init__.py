"""The command line: parse, call, print."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Annotated

import typer

import vbcgcd
from vbcgcd.cli import embed, study
from vbcgcd.cli.common import console, errors_are_messages

app = typer.Typer(
    no_args_is_help=True,
    add_completion=True,
    help="Category discovery: learn labelled categories, find new ones batch after batch, forget nothing.",
)
app.add_typer(study.app, name="study")
app.command()(embed.embed)
app.command()(embed.finetune)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"vbcgcd {vbcgcd.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Category discovery: learn labelled categories, find new ones batch after batch, forget nothing."""


@app.command()
@errors_are_messages
def demo(
    picture: Annotated[
        Path, typer.Option(help="Where to draw the categories found (needs the extra 'plot').")
    ] = Path("demo-report.png"),
) -> None:
    """Discover handwritten digits: five are labelled, five arrive unlabelled.

    Example: vbcgcd demo
    """
    from vbcgcd.demo import run_demo

    drawable = importlib.util.find_spec("matplotlib") is not None
    run_demo(console(), picture if drawable else None)
