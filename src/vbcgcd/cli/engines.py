"""Commands on folders of Parquet shards: ``--engine``, ``--address`` and ``--workers``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from vbcgcd.cli.common import Steps, check_data, console, finish, note, working
from vbcgcd.errors import InputError
from vbcgcd.words import plural, series

if TYPE_CHECKING:
    from vbcgcd.cli.arguments import EngineName
    from vbcgcd.engine import Engine
    from vbcgcd.record import SessionRecord
    from vbcgcd.shards import Manifest
    from vbcgcd.workspace import Workspace

#: What was asked for: the engine, its address and its workers.
Asked = tuple["EngineName | None", str | None, int | None]
#: Categories that a summary names, and failures.
LARGEST, NAMED_FAILURES = 5, 20

__all__ = ["check_engine", "discover_source", "embed_folder", "learn_source", "opened", "predict_folder"]


def check_engine(
    engine: EngineName | None,
    *,
    address: str | None = None,
    workers: int | None = None,
    stdin: bool = False,
) -> bool:
    """Whether an engine was asked for; raise for options that make no sense with it or without it."""
    if engine is None:
        for name, value in (("address", address), ("workers", workers)):
            if value is not None:
                raise InputError("This is an option of an engine; choose one with --engine.", option=name)
        return False
    if stdin:
        raise InputError("An engine reads folders, not standard input; leave out --stdin.", option="stdin")
    return True


@contextmanager
def opened(asked: Asked) -> Iterator[Engine]:
    """The engine that was asked for; its workers go in the end, however it ends."""
    from vbcgcd.engine import open_engine

    name, address, workers = asked
    assert name is not None
    with open_engine(name.value, workers=workers, address=address) as engine:
        yield engine


def predict_folder(
    here: Workspace,
    data: Path | None,
    output: Path | None,
    reject: float | None,
    columns: Mapping[str, Any],
    asked: Asked,
    as_json: bool,
) -> None:
    """``vbcgcd predict --engine``."""
    if data is None or output is None:
        raise InputError(
            "With an engine, give a folder of shards and a folder for the answers.", option="output"
        )
    with working("preparing") as steps, opened(asked) as engine:
        manifest = here.predict_shards(
            check_data(data),
            output,
            reject,
            engine=engine,
            progress=lambda finished, total: steps.counting("predicting", finished, total),
            **columns,
        )
    names = {str(entry.id): entry.name for entry in here.entries()} | {"-1": "none of these"}
    counts = manifest.total("categories")
    by_name = {names[i]: n for i, n in sorted(counts.items(), key=lambda item: (-item[1], int(item[0])))}
    values = {
        "items": manifest.rows,
        "reject": manifest.job["reject"],
        "rejected": counts.get("-1", 0),
        "counts": by_name,
        "output": str(output),
        "shards": len(manifest.shards),
        "shards_written": manifest.done,
    }
    largest = series([f"{name} ({n:,})" for name, n in by_name.items()], most=LARGEST)
    lines = f"{plural(manifest.rows, 'item')}. Largest: {largest}.\n{_saved(manifest)}"
    finish(values, as_json, lambda: Text(lines))


def embed_folder(
    data: Path,
    output: Path,
    embedder: str | None,
    options: Mapping[str, Any],
    columns: Mapping[str, Any],
    asked: Asked,
) -> None:
    """``vbcgcd embed --engine``."""
    from vbcgcd.shards import embed_shards, open_shards

    shards = open_shards(check_data(data), **columns)
    with working("preparing") as steps, opened(asked) as engine:
        manifest = embed_shards(
            engine,
            shards,
            output,
            embedder=embedder,
            options=options,
            progress=lambda finished, total: steps.counting("embedding", finished, total),
        )
    failed = manifest.total("items").get("failed", 0)
    if failed:
        named = [f for shard in manifest.shards for f in shard.summary.get("failures", ())][:NAMED_FAILURES]
        lines = [f"{failed:,} of {manifest.rows + failed:,} items could not be embedded and were left out:"]
        note("\n".join([*lines, *(f"  {reference}: {reason}" for reference, reason in named)]))
    by = next((str(s.summary["embedder"]) for s in manifest.shards if "embedder" in s.summary), "")
    console().print(f"{plural(manifest.rows, 'item')} embedded by {by}. {_saved(manifest)}", markup=False)


def _saved(manifest: Manifest) -> str:
    shards = plural(len(manifest.shards), "shard")
    before = len(manifest.shards) - manifest.done
    return f"Wrote {shards} to {manifest.folder}" + (f", {before:,} of them before." if before else ".")


def learn_source(
    here: Workspace, data: Path, columns: Mapping[str, Any], asked: Asked, steps: Steps, **options: Any
) -> SessionRecord:
    """``vbcgcd learn --engine``."""
    with opened(asked) as engine:
        return here.learn_shards(
            check_data(data), engine=engine, progress=steps.counted, **options, **columns
        )


def discover_source(
    here: Workspace,
    data: Path,
    n_novel: int | None,
    output: Path | None,
    columns: Mapping[str, Any],
    asked: Asked,
    **options: Any,
) -> SessionRecord:
    """``vbcgcd discover --engine``."""
    with opened(asked) as engine:
        return here.discover_shards(
            check_data(data), n_novel, engine=engine, output=output, **options, **columns
        )
