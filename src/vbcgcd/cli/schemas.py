"""JSON Schemas of what commands print with ``--json``, and of the lines of a log.

Most documents are the values of the library, so their schemas follow from the types and docstrings of those;
what a command adds is written down here. Within a version of the schema fields may be added, never removed.
"""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Literal, Union, get_args, get_origin

from vbcgcd.cli.scripting import SCHEMA_VERSION
from vbcgcd.errors import InputError
from vbcgcd.items import Failure
from vbcgcd.plugins import PluginInfo
from vbcgcd.record import ARRAYS, CountCurve, SessionRecord
from vbcgcd.workspace import values as v

Schema = dict[str, Any]
DIALECT = "https://json-schema.org/draft/2020-12/schema"

__all__ = ["SCHEMAS", "all_schemas", "schema_of_command"]

TEXT: Schema = {"type": "string"}
WHOLE: Schema = {"type": "integer"}
NUMBER: Schema = {"type": ["number", "null"]}
FLAG: Schema = {"type": "boolean"}
ANYTHING: Schema = {}


def obj(optional: Sequence[str] = (), /, **properties: Schema) -> Schema:
    """An object with these members, all of them required except the optional ones."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required}


def array(items: Schema) -> Schema:
    """A list of such values."""
    return {"type": "array", "items": items}


def maybe(schema: Schema) -> Schema:
    """Such a value, or null."""
    return {"anyOf": [schema, {"type": "null"}]}


def mapping(values: Schema) -> Schema:
    """An object with any keys and such values."""
    return {"type": "object", "additionalProperties": values}


def described(schema: Schema, description: str) -> Schema:
    """A schema with a sentence."""
    return {**schema, "description": description}


#: Values of the library that schemas refer to, by name.
_KINDS: dict[str, type] = {}


def ref(kind: type) -> Schema:
    """A value of the library, which is described once beside the schema."""
    _KINDS[kind.__name__] = kind
    return {"$ref": f"#/$defs/{kind.__name__}"}


def of_type(hint: Any) -> Schema:
    """The schema of a type as `vbcgcd.record.plain` writes its values.

    Examples
    --------
    >>> of_type(tuple[int, ...]), of_type(float)
    ({'type': 'array', 'items': {'type': 'integer'}}, {'type': ['number', 'null']})
    """
    simple = {str: TEXT, int: WHOLE, float: NUMBER, bool: FLAG, type(None): {"type": "null"}}
    if hint in simple:
        return simple[hint]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [of_type(part) for part in arguments]}
    if origin is tuple and arguments[-1:] != (...,):
        parts = [of_type(part) for part in arguments]
        return {"type": "array", "prefixItems": parts, "minItems": len(parts), "maxItems": len(parts)}
    if origin in (tuple, list, Sequence):
        return array(of_type(arguments[0]))
    if origin in (dict, Mapping):
        return mapping(of_type(arguments[1]))
    return ref(hint) if is_dataclass(hint) and isinstance(hint, type) else ANYTHING


def of_class(kind: type, names: Sequence[str] | None = None) -> Schema:
    """The schema of a dataclass or named tuple, with the sentences of its docstring."""
    hints = typing.get_type_hints(kind)
    chosen = names or ([f.name for f in fields(kind)] if is_dataclass(kind) else list(hints))
    about = _parameters(inspect.cleandoc(kind.__doc__ or ""))
    properties = {
        name: described(of_type(hints[name]), about[name]) if name in about else of_type(hints[name])
        for name in chosen
    }
    first = inspect.cleandoc(kind.__doc__ or "").partition("\n\n")[0]
    return described(obj(**properties), " ".join(first.split()))


def _parameters(doc: str) -> dict[str, str]:
    """Name -> sentence, of the section on parameters of a docstring."""
    section = doc.partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    about: dict[str, str] = {}
    names: list[str] = []
    for line in section.splitlines():
        if not line.startswith(" "):
            names = [name.strip() for name in line.partition(" : ")[0].split(",")]
        else:
            for name in names:
                about[name] = f"{about.get(name, '')} {line.strip()}".strip()
    return {name: re.sub(r"`{1,2}", "", text) for name, text in about.items()}


def _session_record() -> Schema:
    names = [f.name for f in fields(SessionRecord) if f.name not in (*ARRAYS, "steps", "count")]
    schema = of_class(SessionRecord, names)
    more = {
        "count": described(maybe(of_class(CountCurve)), "Score of each candidate number, if estimated."),
        "steps": array(obj(name=TEXT, seconds=NUMBER)),
        "known_rows": WHOLE,
        "novel_rows": WHOLE,
    }
    schema["properties"] |= more
    schema["required"] += list(more)
    return schema


def _with_texts(kind: type, *lists: str) -> Schema:
    """A value whose items carry their texts."""
    schema = of_class(kind, [f.name for f in fields(kind) if f.name != "texts"])
    item = of_class(v.ItemInfo)
    item["properties"]["text"] = TEXT
    schema["properties"] |= {name: array(item) for name in lists}
    return schema


def _question() -> Schema:
    schema = _with_texts(v.Question, "items")
    schema["properties"]["gain"] = NUMBER
    return schema


#: Values whose JSON form is not that of their fields.
_OWN_FORM: dict[type, Callable[[], Schema]] = {
    SessionRecord: _session_record,
    v.Side: lambda: _with_texts(v.Side, "typical", "doubtful"),
    v.Question: _question,
}


def _item_row() -> Schema:
    return obj(
        reference=TEXT,
        source=TEXT,
        session=WHOLE,
        state=TEXT,
        category=described(WHOLE, "-1 if the item is unassigned."),
        name=TEXT,
        probability=NUMBER,
        novelty=NUMBER,
        second=described(WHOLE, "-1 if there is none."),
        second_name=TEXT,
        second_probability=NUMBER,
        text=described(TEXT, "The beginning of its text; empty if it is none or cannot be found."),
    )


def _answer(*, references: bool) -> Schema:
    """One prediction."""
    return obj(
        **({"reference": TEXT} if references else {}),
        category=described(WHOLE, "-1 if the item is rejected."),
        name=TEXT,
        probability=NUMBER,
        novelty=NUMBER,
        best=described(WHOLE, "The most probable category, also where the item is rejected."),
        second=WHOLE,
        second_name=TEXT,
        second_probability=NUMBER,
    )


def _predict() -> Schema:
    return obj(
        ("output", "predictions", "mean_probability", "flagged", "failures", "shards", "shards_written"),
        items=WHOLE,
        mean_probability=NUMBER,
        flagged=described(WHOLE, "Items that probably belong to no known category."),
        reject=NUMBER,
        rejected=WHOLE,
        counts=described(mapping(WHOLE), "Items by name of category."),
        failures=array(ref(Failure)),
        output=described(TEXT, "The file, with --output."),
        predictions=described(array(_answer(references=True)), "Without --output."),
        shards=described(WHOLE, "Shards of the output, with --engine."),
        shards_written=described(WHOLE, "Those that this run wrote; the others were there before."),
    )


def _status() -> Schema:
    embedder = obj(name=TEXT, kind=TEXT, fingerprint=TEXT, dimension=WHOLE)
    last = obj(session=WHOLE, command=TEXT, source=TEXT, time=TEXT, rows=WHOLE)
    return obj(
        workspace=TEXT,
        embedder=maybe(embedder),
        categories=WHOLE,
        labelled=WHOLE,
        discovered=WHOLE,
        items=WHOLE,
        unassigned=WHOLE,
        seedlings=array(ref(v.SeedlingInfo)),
        sessions=WHOLE,
        last_session=maybe(last),
        last_command=TEXT,
        next=described(array(TEXT), "Commands to try next."),
    )


def _show() -> Schema:
    view = of_class(v.CategoryView)
    item = of_class(v.ItemInfo)
    item["properties"]["text"] = TEXT
    view["properties"] |= {"typical": array(item), "doubtful": array(item)}
    return {"anyOf": [view, described(of_class(v.CategoryInfo), "Of a category that is no longer live.")]}


def _unassigned() -> Schema:
    item = of_class(v.ItemInfo)
    item["properties"] |= {"second_name": TEXT, "text": TEXT}
    return obj(unassigned=WHOLE, items=array(item), seedlings=array(ref(v.SeedlingInfo)))


def _settings() -> Schema:
    from vbcgcd.workspace.config import DEFAULTS

    return obj(tuple(DEFAULTS), **dict.fromkeys(DEFAULTS, ANYTHING))


def _options() -> Schema:
    option = obj(
        option=TEXT,
        value=described(ANYTHING, "In effect."),
        default=ANYTHING,
        set=described(FLAG, "Whether the settings say it."),
        meaning=TEXT,
    )
    return obj(options=array(option))


def _line() -> Schema:
    answer = _answer(references=False)
    answer["properties"]["line"] = described(WHOLE, "Number of the line, from 1.")
    return {"anyOf": [answer, obj(line=WHOLE, error=TEXT)]}


def _log() -> Schema:
    return obj(
        (
            "command",
            "arguments",
            "pid",
            "name",
            "message",
            "exit_code",
            "seconds",
            "result",
            "kind",
            "option",
        ),
        time=described(TEXT, "UTC, ISO 8601."),
        version=described(TEXT, "Of vbcgcd."),
        run=described(TEXT, "The same for all events of one command."),
        event={"enum": ["start", "step", "warning", "result", "error"]},
        command=TEXT,
        arguments=described(mapping(ANYTHING), "Of a start: what differs from the defaults."),
        pid=WHOLE,
        name=described(TEXT, "Of a step."),
        message=described(TEXT, "Of a warning or an error."),
        exit_code=WHOLE,
        seconds=NUMBER,
        result=described(ANYTHING, "As --json prints it; long lists are given by their length."),
        kind=described(TEXT, "Class of an error."),
        option=described(maybe(TEXT), "The option at fault."),
    )


def _ref(kind: type) -> Callable[[], Schema]:
    return lambda: ref(kind)


#: Command -> its schema.
SCHEMAS: dict[str, Callable[[], Schema]] = {
    "init": lambda: obj(workspace=TEXT, config=_settings()),
    "learn": _ref(SessionRecord),
    "discover": _ref(SessionRecord),
    "predict": _predict,
    "predict --stdin": _line,
    "explain": _ref(v.Explanation),
    "categories": lambda: obj(
        categories=array(ref(v.CategoryInfo)), unassigned=WHOLE, seedlings=array(ref(v.SeedlingInfo))
    ),
    "categories show": _show,
    "categories suggest": lambda: obj(
        suggestions=array(ref(v.NameSuggestion)),
        renamed=described(mapping(TEXT), "Id -> new name, with --apply."),
    ),
    **{f"categories {name}": _ref(v.CategoryResult) for name in ("rename", "merge", "split", "drop")},
    **{f"categories {name}": _ref(v.UndoResult) for name in ("undo", "redo")},
    "items": lambda: obj(items=array(_item_row())),
    **{f"items {name}": _ref(v.ItemsResult) for name in ("move", "confirm", "reject", "unlabel")},
    "review": _ref(v.Review),
    "review show": _ref(v.Question),
    "review accept": lambda: {"anyOf": [of_class(v.CategoryResult), of_class(v.ItemsResult)]},
    "review dismiss": _ref(v.DismissResult),
    "undo": _ref(v.UndoResult),
    "redo": _ref(v.UndoResult),
    "config": _settings,
    "config model": _options,
    "export": _ref(v.ExportResult),
    "import": _status,
    "relocate": lambda: obj(sources=array(ref(v.SourceInfo))),
    "status": _status,
    "unassigned": _unassigned,
    "sessions": lambda: obj(
        ("sessions", "commands"),
        sessions=array(ref(SessionRecord)),
        commands=described(array(ref(v.CommandInfo)), "With --all."),
    ),
    "report": _ref(v.ReportResult),
    "verify": lambda: obj(workspace=TEXT, files=WHOLE),
    "repair": _ref(v.RepairResult),
    "plugins": lambda: obj(plugins=array(ref(PluginInfo))),
    "log": _log,
}


def schema_of_command(command: str) -> Schema:
    """The JSON Schema of what a command prints with ``--json``; ``log`` is that of a line of a log.

    Parameters
    ----------
    command : str
        As it is typed, such as ``categories rename``.

    Examples
    --------
    >>> schema = schema_of_command("verify")
    >>> schema["title"], schema["required"]
    ('vbcgcd verify --json', ['schema_version', 'workspace', 'files'])
    """
    if command not in SCHEMAS:
        raise InputError(f"There is no schema of {command!r}; choose one of {', '.join(SCHEMAS)}.")
    schema = SCHEMAS[command]()
    if "$ref" in schema:
        schema = _definition(schema)
    version = described({"const": SCHEMA_VERSION}, "Grows when a field is removed or changes its meaning.")
    schema = _with_version(schema, version)
    title = "A line of vbcgcd --log" if command == "log" else f"vbcgcd {command} --json"
    needed = _needed(schema)
    return {"$schema": DIALECT, "title": title, **schema, **({"$defs": needed} if needed else {})}


def all_schemas() -> dict[str, Schema]:
    """Every command and its schema."""
    return {command: schema_of_command(command) for command in SCHEMAS}


def _with_version(schema: Schema, version: Schema) -> Schema:
    if "anyOf" in schema:
        return {**schema, "anyOf": [_with_version(part, version) for part in schema["anyOf"]]}
    return {
        **schema,
        "properties": {"schema_version": version, **schema["properties"]},
        "required": ["schema_version", *schema["required"]],
    }


def _definition(reference: Schema) -> Schema:
    kind = _KINDS[reference["$ref"].rpartition("/")[2]]
    return _OWN_FORM[kind]() if kind in _OWN_FORM else of_class(kind)


def _needed(schema: Any) -> dict[str, Schema]:
    """The definitions that a schema refers to, and those that these refer to."""
    needed: dict[str, Schema] = {}

    def walk(part: Any) -> None:
        if isinstance(part, dict):
            name = str(part.get("$ref", "")).rpartition("/")[2]
            if name and name not in needed:
                needed[name] = _definition(part)
                walk(needed[name])
            for below in part.values():
                walk(below)
        elif isinstance(part, list):
            for below in part:
                walk(below)

    walk(schema)
    return dict(sorted(needed.items()))
