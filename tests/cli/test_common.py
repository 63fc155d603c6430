import pytest
import typer

from vbcgcd import InputError
from vbcgcd.cli.common import errors_are_messages, note


def message_of(text, capsys):
    @errors_are_messages
    def command():
        raise InputError(text)

    with pytest.raises(typer.Exit):
        command()
    return capsys.readouterr().err


def test_options_are_named_as_the_shell_knows_them(capsys):
    said = "n_novel must be a whole number from 0 to 5 (all rows) or None, got 9; use None to estimate it."
    message = message_of(said, capsys)
    assert "--n-novel must be a whole number from 0 to 5 (all rows), got 9; leave it out" in message


@pytest.mark.parametrize("name", ["n_novel.csv", "data/n_novel", "my_n_novel rows"])
def test_names_of_files_stay_as_they_are(name, capsys):
    assert f"There is no file {name}." in message_of(f"There is no file {name}.", capsys)


def test_long_lines_are_not_cut_and_keep_their_indent(capsys):
    path = "/".join(["folder"] * 150)
    note(f"These failed:\n  {path} is no picture; remove it.")
    assert f"\n  {path} is no picture; remove it.\n" in capsys.readouterr().err
