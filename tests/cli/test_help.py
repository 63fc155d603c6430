"""Help, its examples, completion, and what starting costs."""

import inspect
import os
import re
import shlex
import subprocess
import sys

import pytest
import typer

from vbcgcd.cli import app

HEAVY = ("torch", "transformers", "matplotlib", "pandas", "polars", "PIL", "sklearn", "scipy", "pyarrow")


# scikit-learn and pyarrow import pandas themselves where it is installed: here they do not find it.
WITHOUT_PANDAS = """
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name == "pandas":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
"""


def leaves(command, path=()):
    """Every command with the words that lead to it."""
    yield path, command
    for name, below in getattr(command, "commands", {}).items():
        yield from leaves(below, (*path, name))


ALL = dict(leaves(typer.main.get_command(app)))
EXAMPLES = [
    example
    for command in ALL.values()
    for example in re.findall(r"^\s*Example: (.*)$", inspect.cleandoc(command.help or ""), flags=re.M)
]


LEAVES = [path for path, command in ALL.items() if not getattr(command, "commands", None)]


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_every_command_has_help_with_an_example(path):
    command = ALL[path]
    assert command.help
    assert f"Example: vbcgcd {' '.join(path)}" in command.help
    for parameter in command.params:
        assert getattr(parameter, "help", None) or parameter.name == "help", parameter.name


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_parses(example):
    first, *words = shlex.split(example)
    assert first == "vbcgcd"
    command, path = ALL[()], ()
    while words and (*path, words[0]) in ALL:
        path = (*path, words.pop(0))
        command = ALL[path]
    with command.make_context(" ".join(path), words) as context:
        assert context.command is command


def test_there_are_examples():
    assert len(EXAMPLES) > 25


def python(program, **options):
    """What a fresh interpreter prints on its two streams."""
    process = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, **options
    )
    assert process.returncode == 0, process.stderr
    return process.stdout, process.stderr


def modules_after(*arguments, before="", folder=None):
    program = (
        f"import sys\n{before}\nfrom vbcgcd.cli import app\n"
        f"try:\n    app({list(arguments)!r})\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        f"print(*(m for m in {HEAVY} if sys.modules.get(m)), file=sys.stderr)"
    )
    return set(python(program, cwd=folder)[1].split())


def test_help_starts_without_any_large_library():
    assert modules_after("--help") == set()
    assert modules_after("discover", "--help") == set()


def test_errors_need_no_large_library():
    listing = f"import sys, vbcgcd.errors; print(*(m for m in {HEAVY} if m in sys.modules))"
    assert python(listing)[0].split() == []


def test_the_list_of_categories_needs_only_what_a_workspace_is_made_of(animals):
    loaded = modules_after("categories", before=WITHOUT_PANDAS, folder=animals)
    assert loaded == {"scipy", "pyarrow"}


def test_the_shell_gets_completions(animals):
    words = {"COMP_WORDS": "vbcgcd categories drop no", "COMP_CWORD": "3"}
    words["_VBCGCD_COMPLETE"] = "complete_bash"
    program = "from vbcgcd.cli import app; app(prog_name='vbcgcd')"
    completed, _ = python(program, env={**os.environ, **words}, cwd=animals)
    assert completed.split() == ["novel-3", "novel-4"]
