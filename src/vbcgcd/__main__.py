"""``python -m vbcgcd`` is the command line."""

from vbcgcd.cli import app

app()
