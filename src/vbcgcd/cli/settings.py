"""``vbcgcd init`` and ``vbcgcd config``: settings as KEY VALUE or KEY=VALUE, parts of them as KEY.PART."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from vbcgcd.cli import arguments as a
from vbcgcd.cli.common import AsJson, errors_are_messages, finish, print_json, writes
from vbcgcd.errors import InputError
from vbcgcd.words import one_line

__all__ = ["config", "init"]


@errors_are_messages
def init(
    name: Annotated[
        Path | None,
        typer.Argument(metavar="NAME", help="Folder to create. Default: the current folder, if it is empty."),
    ] = None,
    embedder: Annotated[
        str | None,
        typer.Option("--with", help="Embedder: a name or a path. Default: the offline one for the items."),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option("--kind", help="image, text or embedding. Default: whatever the first items are."),
    ] = None,
    excerpts: Annotated[
        int | None,
        typer.Option("--excerpts", min=0, help="Short excerpts to keep of each novel category."),
    ] = None,
    reject: Annotated[
        float | None,
        typer.Option("--reject", metavar="RATE", help="Default of 'vbcgcd predict --reject'."),
    ] = None,
    text: a.Text = None,
    image: a.Image = None,
    embedding: a.Embedding = None,
    label: a.Label = None,
    id: a.Id = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any other setting; see 'vbcgcd config'."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Create a workspace: a folder that remembers what it learned, session after session.

    Your items are not copied into it, only their references and categories.
    With --excerpts it also keeps a few short excerpts of each novel category.
    Columns named here, or in the first 'vbcgcd learn', are used by later commands where a table has them.

    Example: vbcgcd init tickets --excerpts 5

    Example: vbcgcd init tickets --text body --label team

    Example: vbcgcd init photos --kind image --with dinov2-vitb14

    Example: vbcgcd init vectors --set model.covariance=diagonal --set sample=500
    """
    from vbcgcd.show import sessions as show
    from vbcgcd.workspace import Workspace
    from vbcgcd.workspace.config import DEFAULTS

    path = a.new_folder(Path.cwd() if name is None else name)
    columns = a.column_options(text=text, image=image, embedding=embedding, label=label, id=id)
    options: dict[str, Any] = {"embedder": embedder, "kind": kind, "excerpts": excerpts, "reject": reject}
    options["columns"] = columns or None
    values = [(key, value) for key, value in options.items() if value is not None]
    pairs = [a.key_value(setting, "set") for setting in settings or []]
    values += [(key, parse_value(value)) for key, value in pairs]
    here = Workspace.init(path, **merge_settings(values, DEFAULTS))
    go = [] if name is None else [f"cd {shlex.quote(str(name))}"]
    finish(
        {"workspace": str(here.path), "config": here.config()},
        as_json,
        lambda: show.creation(here.path),
        steps=[*go, "vbcgcd learn LABELLED-DATA"],
    )


@writes
def config(
    key: Annotated[
        str | None,
        typer.Argument(
            metavar="SETTING",
            help="A setting, or a part of one, such as model.covariance.",
            autocompletion=a.complete_setting,
        ),
    ] = None,
    value: Annotated[str | None, typer.Argument(metavar="VALUE", help="New value: JSON or text.")] = None,
    workspace: a.Place = None,
    as_json: AsJson = False,
) -> None:
    """Show all settings, show one, or change one.

    'vbcgcd config model' lists the options of the model. The first 'vbcgcd learn' fixes them, all but
    model.device, which says where it computes.

    Example: vbcgcd config

    Example: vbcgcd config reject 0.05

    Example: vbcgcd config model

    Example: vbcgcd config model.device auto

    Example: vbcgcd config embedder_options.device cpu
    """
    from vbcgcd.show import sessions as show

    here = a.open_workspace(workspace)
    before = here.config()
    if key is None:
        finish(before, as_json, lambda: show.settings(before), steps=["vbcgcd config SETTING VALUE"])
        return
    if value is None and key == "model":
        rows, learned = model_options(before["model"]), here.snapshot().state.model is not None
        steps = [] if learned else ["vbcgcd config model.OPTION VALUE"]
        finish({"options": rows}, as_json, lambda: show.options(rows), steps=steps)
        return
    if value is None:
        print_json(look_up(before, key))
        return
    changes = merge_settings([(key, parse_value(value))], before)
    same = all(name in before and before[name] == new for name, new in changes.items())
    same = same and not changes.keys() & here.unconfirmed().keys()  # saying it again confirms it
    after = before if same else here.configure(**changes).config
    now = one_line(json.dumps(look_up(after, key), ensure_ascii=False))
    verb = "is already" if same else "is now"
    finish(dict(after), as_json, lambda: Text(f"{one_line(key)} {verb} {now}."))


def model_options(chosen: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every option of the model with its value, its default, whether it is set, and one line of meaning."""
    from vbcgcd.discovery.options import Options
    from vbcgcd.show.sessions import OPTIONS

    defaults = asdict(Options())
    return [
        {
            "option": name,
            "value": chosen.get(name, default),
            "default": default,
            "set": name in chosen,
            "meaning": OPTIONS[name],
        }
        for name, default in defaults.items()
    ]


def parse_value(text: str) -> Any:
    """The JSON value, or the text itself if it is not JSON.

    Examples
    --------
    >>> parse_value("0.05"), parse_value("null"), parse_value("auto"), parse_value("None")
    (0.05, None, 'auto', None)
    """
    try:
        return json.loads({"None": "null", "True": "true", "False": "false"}.get(text, text))
    except (ValueError, RecursionError):
        return text


def merge_settings(values: Sequence[tuple[str, Any]], config: Mapping[str, Any]) -> dict[str, Any]:
    """Settings to change, from keys and values; ``model.covariance`` changes a part of ``model``.

    Parameters
    ----------
    values : sequence of (key, value)
    config : mapping
        Present settings, into which parts are merged.
    """
    changes: dict[str, Any] = {}
    for key, value in values:
        name, dot, part = key.partition(".")
        if name not in config:
            raise _unknown(key, config)
        if not dot:
            changes[name] = _absolute(value) if name == "embedder" else value
            continue
        whole = changes.get(name, config.get(name))
        if not isinstance(whole, Mapping) or not part:
            raise InputError(
                f"There is no setting {key!r}; only model, embedder_options and columns have parts."
            )
        changes[name] = {**whole, part: value}
    return changes


def look_up(config: Mapping[str, Any], key: str) -> Any:
    """The value of a setting or of a part of one: of an option of the model the one in effect, else None."""
    name, dot, part = key.partition(".")
    if name not in config or (dot and not isinstance(config[name], Mapping)):
        raise _unknown(key, config)
    if dot and name == "model" and part not in config[name]:
        values = {row["option"]: row["value"] for row in model_options(config[name])}
        if part not in values:
            raise InputError(f"There is no option {part!r} of the model; 'vbcgcd config model' lists them.")
        return values[part]
    return config[name].get(part) if dot else config[name]


def _unknown(key: str, config: Mapping[str, Any]) -> InputError:
    return InputError(f"There is no setting {key!r}; the settings are {', '.join(config)}.")


def _absolute(embedder: Any) -> Any:
    """A path as an absolute one, also after a colon, so that later commands find it from any folder."""
    if not isinstance(embedder, str):
        return embedder
    if Path(embedder).exists():
        return os.path.abspath(embedder)
    kind, colon, path = embedder.partition(":")
    return f"{kind}:{os.path.abspath(path)}" if colon and Path(path).exists() else embedder
