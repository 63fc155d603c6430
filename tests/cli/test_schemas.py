"""Every document that a command prints with --json is what its schema says, and nothing else."""

import copy
import json
import shlex

import jsonschema
import pytest
from typer.main import get_command

from vbcgcd.cli import app
from vbcgcd.cli.schemas import SCHEMAS, all_schemas, schema_of_command
from vbcgcd.errors import InputError

#: Command lines in the workspace ``animals``, in this order: later ones need what earlier ones did.
LINES = (
    "init ../new",
    "status",
    "sessions",
    "sessions --all",
    "config",
    "config model",
    "config reject 0.05",
    "categories",
    "categories --all",
    "categories show 0",
    "items",
    "unassigned",
    "predict ../probe.npz",
    "predict ../probe.npz -o ../answers.csv",
    "explain ../probe.npz --row 2",
    "learn ../labelled.npz --again --update-known",
    "discover ../batch.npz --again",
    "review",
    "review show 1",
    "review dismiss odd-4",
    "undo",
    "review accept odd-4",
    "undo",
    "categories suggest",
    "categories suggest 3 --apply",
    "categories rename 3 bird",
    "categories undo",
    "categories redo",
    "items confirm batch.npz:3@1",
    "items move batch.npz:4@1 --to dog",
    "items reject batch.npz:3@1",
    "items unlabel batch.npz:3@1",
    "categories split 4 --parts 2",
    "categories merge 0 1",
    "categories show 1",
    "categories drop 3",
    "undo",
    "redo",
    "export ../animals.zip",
    "import ../animals.zip ../copy",
    "relocate",
    "report -o ../report.html",
    "verify",
    "repair",
    "plugins",
)


def strict(schema):
    """The schema without room for anything that it does not describe."""
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: strict(value) for key, value in schema.items()}
    return {**closed, "additionalProperties": False} if isinstance(closed.get("properties"), dict) else closed


def check(document, command):
    jsonschema.Draft202012Validator(strict(schema_of_command(command))).validate(document)


def command_of(line):
    first, second = [*shlex.split(line), ""][:2]
    return f"{first} {second}" if f"{first} {second}" in SCHEMAS else first


@pytest.mark.usefixtures("animals")
def test_what_commands_print_is_what_the_schemas_say(run_json):
    for line in LINES:
        document = run_json(*shlex.split(line))
        assert next(iter(document)) == "schema_version"
        check(document, command_of(line))


def test_lines_of_standard_input(animals):
    from vbcgcd.cli.lines import answer_lines
    from vbcgcd.workspace import Workspace

    lines = [b"[0, 0, 0, 0, 0, 0]", b"nonsense"]
    answers = [json.loads(answer) for answer in answer_lines(Workspace(animals), lines, as_json=True)]
    assert [sorted(answer)[-1] for answer in answers] == ["second_probability", "schema_version"]
    for answer in answers:
        check(answer, "predict --stdin")


def commands_with_json(command, path=()):
    names = {name for parameter in command.params for name in parameter.opts}
    if "--json" in names and path:
        yield " ".join(path)
    for name, below in getattr(command, "commands", {}).items():
        yield from commands_with_json(below, (*path, name))


def test_every_command_with_json_has_a_schema_and_is_tried():
    commands = set(commands_with_json(get_command(app)))
    assert commands == set(SCHEMAS) - {"predict --stdin", "config model", "log"}
    assert {*commands, "config model"} == {command_of(line) for line in LINES}


@pytest.mark.parametrize("command", SCHEMAS)
def test_schemas_are_schemas_and_every_reference_leads_somewhere(command):
    schema = schema_of_command(command)
    jsonschema.Draft202012Validator.check_schema(schema)
    text = json.dumps(schema)
    for name in {part.partition('"')[0] for part in text.split("#/$defs/")[1:]}:
        assert name in schema["$defs"]


def test_a_wrong_document_does_not_pass():
    document = {"schema_version": 1, "workspace": "/w", "files": 3}
    check(document, "verify")
    for key, value in (("files", "3"), ("schema_version", 2), ("more", 1)):
        wrong = copy.deepcopy(document) | {key: value}
        with pytest.raises(jsonschema.ValidationError):
            check(wrong, "verify")


def test_descriptions_come_from_the_library():
    session = schema_of_command("learn")
    assert session["properties"]["rows"]["description"] == "Rows that took part."
    assert "labels_" not in session["properties"]


def test_the_command_prints_one_or_all(run):
    assert json.loads(run("schema", "categories", "rename").stdout) == schema_of_command("categories rename")
    assert json.loads(run("schema").stdout) == all_schemas()
    with pytest.raises(InputError, match="status"):
        schema_of_command("nonsense")
    assert "nonsense" in run("schema", "nonsense", code=2).stderr
