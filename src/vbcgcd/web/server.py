"""Serving a workspace: the address with its token, the browser, and until when."""

from __future__ import annotations

import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable, Collection

from vbcgcd.errors import InputError
from vbcgcd.workspace import Workspace

LOOPBACK = ("127.0.0.1", "::1", "localhost")

__all__ = ["addresses", "open_socket", "serve"]


def addresses(host: str, port: int, names: Collection[str] = ()) -> frozenset[str]:
    """Values of the header Host that mean this server.

    Examples
    --------
    >>> sorted(addresses("127.0.0.1", 8000))
    ['127.0.0.1:8000', '[::1]:8000', 'localhost:8000']
    """
    local = {f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}"}
    shown = f"[{host}]" if ":" in host else host
    own = {f"{shown}:{port}"} if host not in ("0.0.0.0", "::", *LOOPBACK) else set()
    given = {name.lower() for name in names} | {f"{name.lower()}:{port}" for name in names if ":" not in name}
    return frozenset(local | own | given)


def open_socket(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen(128)
    except OSError as error:
        sock.close()
        raise InputError(
            f"Cannot listen on {host}, port {port} ({error.strerror or error}); choose another one with "
            "--port.",
            option="port",
        ) from None
    return sock


def serve(
    workspace: Workspace,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    names: Collection[str] = (),
    token: str | None = None,
    read_only: bool = False,
    secure: bool = False,
    browser: bool = False,
    ready: Callable[[str], None] = print,
) -> None:
    """Serve a workspace until the process is interrupted.

    Parameters
    ----------
    workspace : Workspace
    host : str
        Address to listen on; anything but loopback lets others in.
    port : int
        0 takes a free one.
    names : collection of str
        Further names under which it answers, such as that of a proxy.
    token : str, optional
        Drawn at random by default.
    read_only : bool
    secure : bool
        Whether a proxy in front of it speaks https.
    browser : bool
        Open it in the browser.
    ready : callable
        Called with the address once the server listens.
    """
    try:
        import uvicorn

        from vbcgcd.web.app import create_app
    except ImportError as error:
        raise InputError(
            f"'vbcgcd serve' needs the package {error.name}; install it with pip install 'vbcgcd[web]'."
        ) from None
    sock = open_socket(host, port)
    port = sock.getsockname()[1]
    token = token or secrets.token_urlsafe(24)
    app = create_app(
        workspace,
        token=token,
        hosts=addresses(host, port, names),
        port=port,
        read_only=read_only,
        secure=secure,
    )
    shown = {"0.0.0.0": "127.0.0.1", "localhost": "127.0.0.1", "::": "[::1]"}.get(host)
    shown = shown or (f"[{host}]" if ":" in host else host)
    address = f"http://{shown}:{port}/?token={token}"
    config = uvicorn.Config(
        app, log_level="warning", server_header=False, timeout_graceful_shutdown=2, lifespan="on", ws="none"
    )
    ready(address)
    if browser:
        threading.Timer(0.5, webbrowser.open, (address,)).start()
    with sock:
        uvicorn.Server(config).run(sockets=[sock])
