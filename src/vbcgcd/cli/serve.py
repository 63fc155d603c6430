"""``vbcgcd serve``: the workspace in a browser."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from vbcgcd.cli import arguments as a
from vbcgcd.cli.common import errors_are_messages, note
from vbcgcd.errors import InputError

__all__ = ["serve"]


@errors_are_messages
def serve(
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port; 0 takes a free one.")] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the address in the browser.")
    ] = True,
    read_only: Annotated[bool, typer.Option("--read-only", help="Let nobody change anything.")] = False,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on; others than loopback need --allow-network.")
    ] = "127.0.0.1",
    allow_network: Annotated[
        bool, typer.Option("--allow-network", help="Let other machines in. Put a proxy with TLS in front.")
    ] = False,
    name: Annotated[
        list[str] | None,
        typer.Option("--name", help="A further name under which it answers, such as that of a proxy."),
    ] = None,
    https: Annotated[
        bool, typer.Option("--https", help="A proxy in front speaks https: the cookie is sent by https only.")
    ] = False,
    workspace: a.Place = None,
) -> None:
    """Look at the workspace in a browser, and correct it there.

    Prints one address with a token; whoever has it is let in. Ctrl-C ends it.

    Example: vbcgcd serve

    Example: vbcgcd serve --port 8000 --no-browser --read-only
    """
    from vbcgcd.web.server import LOOPBACK
    from vbcgcd.web.server import serve as run

    if host not in LOOPBACK and not allow_network:
        raise InputError(
            f"{host} can be reached by other machines; add --allow-network if that is meant.", option="host"
        )
    if host not in LOOPBACK:
        note(
            "Other machines can reach this server, and what it sends is not encrypted: put a proxy with TLS "
            "in front of it, name it with --name, and add --https."
        )
    here = a.open_workspace(workspace)

    def ready(address: str) -> None:
        print(address, flush=True)
        note("Open it in a browser; Ctrl-C stops the server.")

    display = sys.platform != "linux" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    run(
        here,
        host=host,
        port=port,
        names=name or (),
        read_only=read_only,
        secure=https,
        browser=browser and display,
        ready=ready,
    )
