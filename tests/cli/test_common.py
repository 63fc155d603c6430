"""Errors are data: their class decides the exit code, and ``option`` what the message points at."""

import errno
from typing import Annotated

import pytest
import typer

from vbcgcd.cli.common import ExitCode, errors_are_messages, note
from vbcgcd.errors import (
    DiskError,
    InputError,
    MissingFileError,
    NotFittedError,
    NothingToDo,
    NumericalError,
    WorkspaceBusy,
    WorkspaceDamaged,
)


def fail(error, capsys, **values):
    """Exit code and message of a command with a few options that raises ``error``."""

    @errors_are_messages
    def command(
        n_novel: Annotated[int | None, typer.Option("--n-novel")] = None,
        again: Annotated[bool, typer.Option("--again")] = False,
        rows: Annotated[str | None, typer.Option("--split")] = None,
        skip_broken: Annotated[bool, typer.Option(help="Without a spelling of its own.")] = False,
        name: Annotated[str, typer.Argument()] = "",
    ):
        raise error

    with pytest.raises(typer.Exit) as stop:
        command(**values)
    return stop.value.exit_code, capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InputError("Wrong: x."), ExitCode.INPUT),
        (MissingFileError("Wrong: x."), ExitCode.INPUT),
        (NotFittedError("Wrong: x."), ExitCode.INPUT),
        (NumericalError("Wrong: x."), ExitCode.INPUT),
        (NothingToDo("Wrong: x."), ExitCode.NOTHING),
        (WorkspaceBusy("Wrong: x."), ExitCode.BUSY),
        (WorkspaceDamaged("Wrong: x."), ExitCode.DAMAGED),
        (DiskError("Wrong: x."), ExitCode.DISK),
        (FileNotFoundError(errno.ENOENT, "Wrong", "x"), ExitCode.INPUT),
        (PermissionError(errno.EACCES, "Wrong", "x"), ExitCode.INPUT),
        (OSError(errno.ENOSPC, "Wrong", "x"), ExitCode.DISK),
        (OSError(errno.EROFS, "Wrong", "x"), ExitCode.DISK),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_kind_of_error_has_its_exit_code(error, code, capsys):
    assert fail(error, capsys) == (code, "Error: Wrong: x.\n")


def test_exit_codes_differ_and_leave_0_and_1_alone():
    assert [int(code) for code in ExitCode] == [2, 3, 4, 5, 6, 7, 130]


def test_a_full_disk_is_told_even_if_the_system_names_no_file(capsys):
    code, message = fail(OSError(errno.ENOSPC, "No space left on device"), capsys)
    assert (code, message) == (ExitCode.DISK, "Error: No space left on device.\n")


@pytest.mark.parametrize(
    "error", [RuntimeError("ours"), BrokenPipeError(errno.EPIPE, "x", "y"), OSError(7, "x")]
)
def test_other_errors_are_not_hidden(error, capsys):
    with pytest.raises(type(error)):
        fail(error, capsys)


@pytest.mark.parametrize(
    ("option", "values", "flag"),
    [
        ("n_novel", {"n_novel": 60}, "--n-novel"),
        ("split", {"rows": "a"}, "--split"),
        ("rows", {"rows": "a"}, "--split"),
        ("again", {"again": True}, "--again"),
        ("skip_broken", {"skip_broken": True}, "--skip-broken"),
    ],
)
def test_an_option_at_fault_is_named_as_it_was_typed(option, values, flag, capsys):
    message = fail(InputError("Too many.", option=option), capsys, **values)[1]
    assert message == f"Error in {flag}: Too many.\n"


def test_an_option_that_was_not_passed_is_a_hint(capsys):
    message = fail(InputError("Used before.", option="again"), capsys, again=False)[1]
    assert message == "Error: Used before.\nHint: pass --again.\n"
    named = InputError("Used before; set the option 'again' to repeat it.", option="again")
    assert fail(named, capsys, again=False)[1] == "Error: Used before; pass --again to repeat it.\n"


@pytest.mark.parametrize("option", [None, "prior_strength", "name"])
def test_options_that_the_command_does_not_have_are_not_mentioned(option, capsys):
    assert fail(InputError("Wrong.", option=option), capsys)[1] == "Error: Wrong.\n"


def test_a_message_is_never_rewritten(capsys):
    text = "There is no file n_novel kind= give again=True or None, got None."
    assert fail(InputError(text), capsys)[1] == f"Error: {text}\n"


def test_no_to_a_question_ends_with_130(capsys):
    assert fail(typer.Abort(), capsys) == (130, "Nothing was changed.\n")


def test_ctrl_c_ends_with_130(capsys):
    assert fail(KeyboardInterrupt(), capsys)[0] == 130


def test_long_lines_are_not_cut_and_keep_their_indent(capsys):
    path = "/".join(["folder"] * 150)
    note(f"These failed:\n  {path} is not a picture; remove it.")
    assert f"\n  {path} is not a picture; remove it.\n" in capsys.readouterr().err
