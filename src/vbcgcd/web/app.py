"""The application: pages, static files and the HTTP API behind the guard."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException as AnyHTTPException

import vbcgcd
from vbcgcd.errors import DiskError, InputError, MissingFileError, VbcgcdError, WorkspaceBusy
from vbcgcd.web import reading, working, writing
from vbcgcd.web.decisions import Outdated
from vbcgcd.web.guard import App, Guard
from vbcgcd.web.hub import Hub
from vbcgcd.web.jobs import Jobs
from vbcgcd.web.uploads import Uploads
from vbcgcd.workspace import Workspace

#: Addresses of pages: each is the same document, whose scripts ask the API for what the address names.
PAGES = (
    "/",
    "/review",
    "/categories",
    "/categories/{_}",
    "/map",
    "/items",
    "/items/{_}",
    "/sessions",
    "/predict",
    "/settings",
    "/api",
)
_KINDS = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".html": "text/html"}

#: Status of an answer for each kind of error, the first that fits; 500 for all others.
_CODES = ((MissingFileError, 404), (InputError, 400), (WorkspaceBusy, 409), (DiskError, 507))

__all__ = ["create_app"]


def create_app(
    workspace: Workspace,
    *,
    token: str,
    hosts: frozenset[str],
    port: int,
    read_only: bool = False,
    secure: bool = False,
    most_upload: int = 256 * 2**20,
    most_seconds: float = 3600.0,
    memory: int | None = 8 * 2**30,
) -> App:
    """The ASGI application of a workspace.

    Parameters
    ----------
    workspace : Workspace
    token : str
        What the first address carries.
    hosts : frozenset of str
        Values of the header Host under which it answers.
    port : int
    read_only : bool
        Let nobody change anything.
    secure : bool
        Whether a proxy in front of it speaks https.
    most_upload : int
        Bytes of one upload.
    most_seconds, memory
        Limits of long work: seconds, and bytes of memory.
    """
    hub = Hub(workspace)

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        app.state.jobs = Jobs(hub.publish, most_seconds=most_seconds, memory=memory)
        watching = asyncio.create_task(hub.watch())
        try:
            yield
        finally:
            hub.close()
            watching.cancel()
            await app.state.jobs.close()
            app.state.uploads.close()

    app = FastAPI(
        title="vbcgcd",
        version=vbcgcd.__version__,
        lifespan=life,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        openapi_url="/api/v1/openapi.json",
    )
    app.state.hub, app.state.title, app.state.read_only = hub, workspace.path.name, read_only
    app.state.uploads = Uploads(workspace.path, most_upload)
    for part in (reading.router, writing.router, working.router):
        app.include_router(part)
    _add_pages(app)
    _add_errors(app)
    harmless = working.HARMLESS
    return Guard(app, token, hosts, port, read_only, harmless, secure)


def _add_pages(app: FastAPI) -> None:
    static = _static_files()
    shell = static["shell.html"][0].decode()

    def page(request: Request) -> HTMLResponse:
        return HTMLResponse(shell.replace("{{ release }}", vbcgcd.__version__))

    for address in PAGES:
        app.add_api_route(address, page, methods=["GET"], include_in_schema=False)

    @app.get("/static/{name:path}", include_in_schema=False)
    def static_file(name: str) -> Response:
        if name not in static or name == "shell.html":
            raise HTTPException(404)
        data, kind = static[name]
        return Response(data, media_type=kind, headers={"Cache-Control": "no-cache"})

    @app.get("/report.html", include_in_schema=False)
    def report(hub: reading.TheHub) -> Response:
        import tempfile

        with hub.reading(), tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "report.html"
            hub.workspace.report(path)
            return Response(
                path.read_bytes(),
                media_type="text/html",
                headers={"Content-Disposition": 'attachment; filename="report.html"'},
            )


def _static_files() -> dict[str, tuple[bytes, str]]:
    """All static files by name, read once: no request can name any other file."""
    found: dict[str, tuple[bytes, str]] = {}

    def walk(folder: Any, prefix: str) -> None:
        for entry in folder.iterdir():
            if entry.is_dir():
                walk(entry, f"{prefix}{entry.name}/")
            elif Path(entry.name).suffix in _KINDS:
                found[prefix + entry.name] = (entry.read_bytes(), _KINDS[Path(entry.name).suffix])

    walk(files("vbcgcd.web") / "static", "")
    return found


def _add_errors(app: FastAPI) -> None:
    def answer(status: int, error: str, **further: Any) -> JSONResponse:
        return JSONResponse({"error": error, **further}, status_code=status)

    @app.exception_handler(Outdated)
    async def outdated(request: Request, error: Outdated) -> JSONResponse:
        return answer(409, str(error), head=error.head, changes=error.changes)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"][1:])
        return answer(422, f"{place}: {first['msg']}" if place else str(first["msg"]), option=place or None)

    @app.exception_handler(VbcgcdError)
    async def known(request: Request, error: VbcgcdError) -> JSONResponse:
        status = next((code for kind, code in _CODES if isinstance(error, kind)), 500)
        return answer(status, str(error), option=getattr(error, "option", None))

    @app.exception_handler(AnyHTTPException)  # of FastAPI, and of Starlette for addresses that do not exist
    async def http(request: Request, error: AnyHTTPException) -> JSONResponse:
        return answer(error.status_code, str(error.detail))
