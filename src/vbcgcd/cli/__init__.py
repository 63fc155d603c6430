"""The command line: parse, call, print."""

from __future__ import annotations

import typer

from vbcgcd.cli import (
    batches,
    categories,
    common,
    embed,
    extras,
    items,
    review,
    serve,
    settings,
    study,
    unassigned,
    workspace,
)

_HELP = "Learn labelled categories, discover novel ones batch by batch, and forget nothing."

app = typer.Typer(
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    add_completion=True,
    help=_HELP,
)
_WORK, _LOOK, _MORE = "Workspace", "Inspect", "Embeddings and experiments"
_SCRIPTS = "Other programs"
app.command(rich_help_panel=_WORK)(settings.init)
app.command(rich_help_panel=_WORK)(batches.learn)
app.command(rich_help_panel=_WORK)(batches.discover)
app.command(rich_help_panel=_WORK)(batches.predict)
app.add_typer(categories.app, name="categories", rich_help_panel=_WORK)
app.add_typer(items.app, name="items", rich_help_panel=_WORK)
app.add_typer(review.app, name="review", rich_help_panel=_WORK)
app.command(rich_help_panel=_WORK)(workspace.undo)
app.command(rich_help_panel=_WORK)(workspace.redo)
app.command(rich_help_panel=_WORK)(settings.config)
app.command(rich_help_panel=_WORK)(workspace.export)
app.command("import", rich_help_panel=_WORK)(workspace.import_)
app.command(rich_help_panel=_WORK)(workspace.relocate)
app.command(rich_help_panel=_LOOK)(workspace.status)
app.command(rich_help_panel=_LOOK)(serve.serve)
app.command(rich_help_panel=_LOOK)(batches.explain)
app.command(rich_help_panel=_LOOK)(unassigned.unassigned)
app.command(rich_help_panel=_LOOK)(workspace.sessions)
app.command(rich_help_panel=_LOOK)(workspace.report)
app.command(rich_help_panel=_LOOK)(workspace.verify)
app.command(rich_help_panel=_WORK)(workspace.repair)
app.command(rich_help_panel=_SCRIPTS)(extras.plugins)
app.command(rich_help_panel=_SCRIPTS)(extras.schema)
app.command(rich_help_panel=_SCRIPTS)(extras.mcp)
app.command(rich_help_panel=_MORE)(embed.embed)
app.command(rich_help_panel=_MORE)(embed.finetune)
app.add_typer(study.app, name="study", rich_help_panel=_MORE)
app.command(rich_help_panel=_WORK)(workspace.demo)
app.callback()(common.main)
