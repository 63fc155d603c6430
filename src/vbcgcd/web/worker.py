"""Long work in a process of its own: it reads a task as JSON, and prints progress and result as lines.

A preview runs in a copy of the workspace, whose files are links to the commits, which never change. If it
is accepted, the same session runs in the workspace itself: the same data, state and seed, the same answer.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

#: Items that a preview shows of each novel category, and rows of a table of predictions.
SAMPLES, ROWS = 5, 5000

__all__ = ["main"]


def main() -> int:
    """Do what standard input says."""
    task = json.loads(sys.stdin.readline())
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library prints must not be taken for a line of ours

    def say(kind: str, **values: Any) -> None:
        out.write(json.dumps({"type": kind, **values}, ensure_ascii=False) + "\n")
        out.flush()

    from vbcgcd.errors import VbcgcdError

    _limit(task.get("memory"))
    try:
        say("result", **_TASKS[task["task"]](task, say))
    except VbcgcdError as error:
        say("error", error=str(error))
    except MemoryError:
        say("error", error="This needs more memory than one upload may use; use the command line for it.")
    except Exception as error:
        say("error", error=f"The work failed with {type(error).__name__}: {error}")
    return 0


def _limit(memory: int | None) -> None:
    if memory and sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))


def _columns(task: Mapping[str, Any]) -> dict[str, Any]:
    """Tables may hold texts and vectors; a column of pictures would name files of this machine."""
    return {} if task["kind"] == "image" else {"kind": task["kind"]}


def _preview(task: Mapping[str, Any], say: Callable[..., None]) -> dict[str, Any]:
    from vbcgcd.web.uploads import FOLDER, PREVIEW

    folder = Path(task["folder"])
    with tempfile.TemporaryDirectory(prefix=f"{PREVIEW}{task['upload']}-", dir=folder / FOLDER) as place:
        copy = Path(place) / "workspace"
        _linked(folder, copy)
        return _session(copy, task, say)


def _discover(task: Mapping[str, Any], say: Callable[..., None]) -> dict[str, Any]:
    return _session(Path(task["folder"]), task, say)


def _session(folder: Path, task: Mapping[str, Any], say: Callable[..., None]) -> dict[str, Any]:
    from vbcgcd.errors import WorkspaceBusy
    from vbcgcd.web.views import item_values
    from vbcgcd.workspace import Workspace
    from vbcgcd.workspace.queries.items import typical_items

    here = Workspace(folder, lock_timeout=30)
    if here.last_commit != task["head"]:
        raise WorkspaceBusy("The workspace has changed since the preview; look at a new preview first.")
    here.by = task.get("by")
    record = here.discover(
        task["data"],
        task.get("n_novel"),
        again=bool(task.get("again")),
        progress=lambda step: say("step", step=step),
        embedding_progress=lambda done, total: say("embedding", done=done, total=total),
        **_columns(task),
    )
    now = here.snapshot()
    samples = {i: item_values(now, typical_items(now, int(i), SAMPLES)) for i in record.novel}
    names = {c.id: c.name for c in now.state.live}
    values = {k: v for k, v in record.as_json().items() if k not in ("steps", "count_curve")}
    return {
        "record": values,
        "samples": {str(i): part for i, part in samples.items()},
        "names": {str(i): names[int(i)] for i in record.counts if int(i) in names},
    }


def _predict(task: Mapping[str, Any], say: Callable[..., None]) -> dict[str, Any]:
    from vbcgcd.workspace import Workspace

    here = Workspace(Path(task["folder"]))
    answers = here.predict(
        task["data"],
        embedding_progress=lambda done, total: say("embedding", done=done, total=total),
        **_columns(task),
    )
    rows = [row for _, row in zip(range(ROWS), answers.rows(), strict=False)]
    return {"total": len(answers), "rows": rows, "n_failures": len(answers.failures)}


def _linked(folder: Path, copy: Path) -> None:
    """A copy of a workspace that shares the files of its commits."""

    def link(source: str, target: str) -> None:
        try:
            os.link(source, target)
        except OSError:  # another disk, or a system without links
            shutil.copy2(source, target)

    copy.mkdir(mode=0o700)
    for entry in folder.iterdir():
        if entry.name in ("commits", "packs"):
            shutil.copytree(entry, copy / entry.name, copy_function=link)
        elif entry.is_file() and not entry.name.startswith(".") and not entry.is_symlink():
            shutil.copy2(entry, copy / entry.name)


_TASKS: dict[str, Callable[[Mapping[str, Any], Callable[..., None]], dict[str, Any]]] = {
    "preview": _preview,
    "discover": _discover,
    "predict": _predict,
}

if __name__ == "__main__":
    sys.exit(main())
