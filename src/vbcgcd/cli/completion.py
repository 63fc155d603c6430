"""Shell completion of categories and settings: what is there, and never an error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from typer import Context

__all__ = ["complete_category", "complete_setting"]


def _never_fails(complete: Callable[[Context, str], list[Any]]) -> Callable[[Context, str], list[Any]]:
    def quiet(ctx: Context, incomplete: str) -> list[Any]:
        try:
            return complete(ctx, incomplete)
        except Exception:  # a shell that completes has no place for errors
            return []

    return quiet


@_never_fails
def complete_category(ctx: Context, incomplete: str) -> list[tuple[str, str]]:
    """Ids with the names as help, and names with the ids as help."""
    from vbcgcd.cli.places import opened
    from vbcgcd.cli.show.text import visible

    given = ctx.params.get("workspace")
    live = opened(Path(given) if given else None).categories(n_samples=0)
    wanted = incomplete.strip("'\"").casefold()
    ids = [(str(c.id), visible(c.name, 60)) for c in live if str(c.id).startswith(wanted)]
    names = [(c.name, f"id {c.id}") for c in live if wanted and c.name.casefold().startswith(wanted)]
    return [*ids, *names]


@_never_fails
def complete_setting(ctx: Context, incomplete: str) -> list[str]:
    """Names of settings, and ``model.`` with the options of the model."""
    from vbcgcd.model import CategoryDiscoverer
    from vbcgcd.workspace.config import DEFAULTS

    names = [*DEFAULTS, *(f"model.{option}" for option in CategoryDiscoverer().get_params())]
    return [name for name in names if name.startswith(incomplete)]
