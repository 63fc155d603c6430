"""The code in the documents runs, and the command-line reference is that of the program."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [*(ROOT / name for name in ("README.md", "SECURITY.md")), *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_python_examples_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space = {"__name__": "example"}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.S):
        exec(compile(block, str(page), "exec"), space)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_between_documents_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_every_promise_names_a_test_that_exists():
    names = re.findall(r"`(tests/[^`]+)`", (ROOT / "SECURITY.md").read_text())
    assert len(names) > 8
    assert all((ROOT / name).exists() for name in names)


def test_command_line_reference_is_current(tmp_path):
    fresh = tmp_path / "cli.md"
    command = [
        sys.executable,
        "-m",
        "typer",
        "vbcgcd.cli",
        "utils",
        "docs",
        "--name",
        "vbcgcd",
        "--output",
        fresh,
    ]
    subprocess.run(command, check=True, capture_output=True)
    assert fresh.read_text() == (ROOT / "docs" / "cli.md").read_text(), "run make reference"


def test_schemas_are_those_of_the_program():
    from vbcgcd.cli.schemas import all_schemas

    assert json.loads((ROOT / "docs" / "schemas.json").read_text()) == all_schemas(), "run make reference"


def test_every_page_is_on_the_site():
    docs = ROOT / "docs"
    listed = set()
    for page in (docs / "index.md", *(docs / "site").glob("*.md")):
        for tree in re.findall(r"```{toctree}\n(.*?)```", page.read_text(), flags=re.S):
            names = re.findall(r"^(?:.* <)?([a-z./-]+)>?$", tree, flags=re.M)
            listed |= {(page.parent / f"{name}.md").resolve() for name in names}
    assert listed == {*docs.glob("*.md"), *(docs / "site").glob("*.md")} - {docs / "index.md"}


def test_anchors_between_documents_lead_somewhere():
    for page in PAGES:
        for target, anchor in re.findall(r"\]\(([^):#]*\.md)?#([^)]+)\)", page.read_text()):
            text = (page.parent / target).read_text() if target else page.read_text()
            titles = re.findall(r"^#+ (.*)$", text, flags=re.M)
            assert anchor in {re.sub(r"[^\w -]", "", t.lower()).replace(" ", "-") for t in titles}, (
                page,
                anchor,
            )
