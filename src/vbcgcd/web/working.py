"""The HTTP API, working: predictions, and files that visitors send for a session or for predictions."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request
from pydantic import Field

from vbcgcd.errors import InputError
from vbcgcd.items import Items
from vbcgcd.record import plain
from vbcgcd.web.bodies import Decision, Texts
from vbcgcd.web.decisions import check_current
from vbcgcd.web.hub import Hub
from vbcgcd.web.jobs import Job, Jobs
from vbcgcd.web.reading import TheHub
from vbcgcd.web.uploads import Uploads
from vbcgcd.web.writing import By

router = APIRouter(prefix="/api/v1")
Token = Annotated[str, Path(pattern=r"^[0-9a-f]{16}$")]

__all__ = ["HARMLESS", "router"]

#: What changes nothing although it is no GET.
HARMLESS = frozenset({"/api/v1/predict"})


class JobRequest(Decision):
    """What to do with an upload."""

    upload: str = Field(pattern=r"^[0-9a-f]{16}$")
    task: Literal["predict", "preview"]
    title: str = Field(default="file", max_length=300)
    n_novel: int | None = Field(default=None, ge=0, le=10_000)


@router.post("/predict")
def predict(hub: TheHub, body: Texts) -> dict[str, Any]:
    """Category, probability, novelty and second choice of each text, and why the first one is there."""
    with hub.reading() as now:
        kind = (now.state.embedder or {}).get("kind")
        if kind != "text":
            raise InputError(f"This workspace holds {kind or 'nothing yet'}, not texts; send a file instead.")
        answers = hub.workspace.predict(_texts(body.texts))
        why = hub.workspace.explain(_texts(body.texts[:1]), n=5, items=True)
        return {"head": now.head.number, "rows": list(answers.rows()), "explanation": plain(why)}


@router.post("/uploads")
def begin(request: Request, hub: TheHub) -> dict[str, Any]:
    """A place for the files of one upload."""
    with hub.reading() as now:
        upload = _uploads(request).begin((now.state.embedder or {}).get("kind"))
    return {"upload": upload.id, "kind": upload.kind}


@router.put("/uploads/{upload}")
async def send(
    request: Request, upload: Token, name: Annotated[str, Query(max_length=300)]
) -> dict[str, Any]:
    """One file, as the body of the request."""
    uploads = _uploads(request)
    return {"name": await uploads.add(uploads.get(upload), name, request.stream())}


@router.delete("/uploads/{upload}")
def remove(request: Request, upload: Token) -> dict[str, Any]:
    """Remove an upload."""
    _uploads(request).drop(upload)
    return {}


@router.post("/jobs")
async def start(request: Request, hub: TheHub, by: By, body: JobRequest) -> dict[str, Any]:
    """Predict the items of an upload, or show what a session with them would find."""
    uploads = _uploads(request)
    upload = uploads.close_for(body.upload)
    task = {
        "task": body.task,
        "folder": str(hub.workspace.path),
        "data": str(upload.data),
        "kind": upload.kind,
        "upload": upload.id,
        "head": await asyncio.to_thread(hub.look),
        "n_novel": body.n_novel,
    }

    def ended(job: Job) -> None:
        uploads.clear_previews(upload.id)
        if body.task == "predict" or job.status != "done":
            uploads.drop(upload.id)

    return _jobs(request).start(task, body.title, upload.id, by, ended).as_json()


@router.get("/jobs")
async def jobs(request: Request) -> dict[str, Any]:
    """All jobs that are remembered."""
    return {"jobs": [job.as_json(result=False) for job in _jobs(request).all()]}


@router.get("/jobs/{job}")
async def job(request: Request, job: Token) -> dict[str, Any]:
    """One job with its result."""
    return _jobs(request).get(job).as_json()


@router.post("/jobs/{job}/cancel")
async def cancel(request: Request, job: Token) -> dict[str, Any]:
    """Stop a job."""
    chosen = _jobs(request).get(job)
    _jobs(request).cancel(chosen)
    return chosen.as_json()


@router.post("/jobs/{job}/dismiss")
async def dismiss(request: Request, job: Token) -> dict[str, Any]:
    """Do not accept a preview: its upload is removed."""
    chosen = _jobs(request).get(job)
    _jobs(request).cancel(chosen)
    if not chosen.accepted:
        _uploads(request).drop(chosen.upload)
    return chosen.as_json(result=False)


@router.post("/jobs/{job}/accept")
async def accept(request: Request, hub: TheHub, by: By, job: Token) -> dict[str, Any]:
    """Let the session of a preview happen in the workspace itself; refused if it has changed since."""
    preview = _jobs(request).get(job)
    if preview.task["task"] != "preview" or preview.status != "done" or preview.accepted:
        raise InputError("Only a preview that has finished can be accepted, and only once.")
    uploads = _uploads(request)
    preview.accepted = True  # before anything is awaited: only one request gets this far

    def ended(session: Job) -> None:
        if session.status == "done":
            uploads.keep(preview.upload)
        else:
            preview.accepted = False

    task = {**preview.task, "task": "discover"}
    try:
        await asyncio.to_thread(_check_head, hub, preview.task["head"])
        return _jobs(request).start(task, preview.title, preview.upload, by, ended).as_json()
    except BaseException:
        preview.accepted = False
        raise


def _check_head(hub: Hub, head: int) -> None:
    with hub.reading() as now:
        check_current(now, head, None)


def _texts(texts: list[str]) -> Items:
    """Texts as items, which are called text 1, text 2 and so on."""
    references = [f"text {place}" for place in range(1, len(texts) + 1)]
    return Items("text", texts, references=references, source="page")


def _uploads(request: Request) -> Uploads:
    uploads: Uploads = request.app.state.uploads
    return uploads


def _jobs(request: Request) -> Jobs:
    jobs: Jobs = request.app.state.jobs
    return jobs
