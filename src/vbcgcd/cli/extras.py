"""``vbcgcd plugins``, ``vbcgcd schema`` and ``vbcgcd mcp``: what other programs ask about this one."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.console import Group
from rich.text import Text

from vbcgcd.cli import arguments as a
from vbcgcd.cli.common import AsJson, errors_are_messages, find_workspace, finish, manner, writes
from vbcgcd.words import add_row, grid, one_line

__all__ = ["mcp", "plugins", "schema"]


@errors_are_messages
def plugins(as_json: AsJson = False) -> None:
    """List the plug-ins of installed packages: embedders, namers, clusterers and readers.

    Each is imported to see whether it works; one that does not is listed with the reason.

    Example: vbcgcd plugins
    """
    from vbcgcd.plugins import list_plugins

    infos = list_plugins()

    def render() -> Any:
        if not infos:
            return Text("No plug-ins are installed.")
        table = grid("kind", "**name", "***package", "works")
        for info in infos:
            package = one_line(f"{info.package} {info.version}".strip() or info.value)
            add_row(table, info.kind, one_line(info.name), package, "no" if info.problem else "yes")
        problems = [Text(one_line(info.problem, 500), style="red") for info in infos if info.problem]
        return Group(table, *(line for problem in problems for line in (Text(), problem)))

    finish({"plugins": infos}, as_json, render)


@errors_are_messages
def schema(
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="COMMAND",
            help="A command as it is typed, such as categories rename, or log. Default: all of them.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Print the JSON Schema of what a command prints with --json, or of the lines of a log.

    Example: vbcgcd schema status

    Example: vbcgcd schema categories rename

    Example: vbcgcd schema log
    """
    from vbcgcd.cli.schemas import all_schemas, schema_of_command

    value = schema_of_command(" ".join(command)) if command else all_schemas()
    typer.echo(json.dumps(value, indent=2))


@writes
def mcp(
    write: Annotated[
        bool,
        typer.Option("--write", help="Also offer tools that rename, merge and move; each can be undone."),
    ] = False,
    workspace: a.Place = None,
) -> None:
    """Serve the workspace to an assistant over the Model Context Protocol, on standard input and output.

    Read-only by default: the assistant can ask for categories, items, predictions, sessions and
    explanations. It needs the extra mcp.

    Example: vbcgcd mcp --workspace tickets

    Example: vbcgcd mcp --write
    """
    from vbcgcd.mcp_server import serve

    serve(find_workspace(workspace), write=write, wait=manner().wait)
