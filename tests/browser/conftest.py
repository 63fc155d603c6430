"""A real browser in front of a real server: Playwright with an installed Chromium."""

import contextlib
import os
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from served import prepare

from vbcgcd.workspace import Workspace

CHROMIUM = os.environ.get("VBCGCD_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


def pytest_collection_modifyitems(items):
    missing = None
    try:
        import playwright  # noqa: F401
    except ImportError:
        missing = "playwright is not installed; make test-web installs it"
    if missing is None and not CHROMIUM:
        missing = "no Chromium is installed; make test-web installs it"
    if missing:
        for item in items:
            if Path(__file__).parent in item.path.parents:
                item.add_marker(pytest.mark.skip(reason=missing))


class Served:
    """A server in a process of its own."""

    def __init__(self, folder, *options):
        self.folder, self.options = folder, options
        self.process = None

    def start(self, *options):
        command = [sys.executable, "-m", "vbcgcd", "serve", "--no-browser", "--workspace", str(self.folder)]
        self.process = subprocess.Popen(
            [*command, *self.options, *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.address = self.process.stdout.readline().strip()
        self.base = self.address.split("/?")[0]
        for _ in range(300):
            with contextlib.suppress(ConnectionError, urllib.error.URLError):
                urllib.request.urlopen(self.address, timeout=10).close()
                break
        return self

    def stop(self):
        self.process.terminate()
        self.process.communicate(timeout=20)


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    return prepare(tmp_path_factory.mktemp("served"))


@pytest.fixture
def desk(prepared, tmp_path):
    """A copy of the workspace; its tables stay where they are."""
    return Workspace(shutil.copytree(prepared / "desk", tmp_path / "desk"))


@pytest.fixture(scope="session")
def chromium():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def served(desk):
    server = Served(desk.path).start()
    yield server
    server.stop()


@pytest.fixture
def served_read_only(desk):
    server = Served(desk.path, "--read-only").start()
    yield server
    server.stop()


@pytest.fixture
def served_empty(tmp_path):
    server = Served(Workspace.init(tmp_path / "new").path).start()
    yield server
    server.stop()


@pytest.fixture
def visit(chromium, served):
    """Function: a visitor's page, let in; whatever goes wrong in it fails the test."""
    contexts, problems = [], []

    def enter(path="/", server=served, **options):
        context = chromium.new_context(**{"viewport": {"width": 1280, "height": 820}, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(30_000)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on(
            "console",
            lambda m: problems.append(m.text) if m.type == "error" and "Content Security" in m.text else None,
        )
        page.goto(server.address)
        page.wait_for_selector("h1")
        if path != "/":
            page.goto(server.base + path)
            page.wait_for_selector("h1, .map")
        return page

    yield enter
    for context in contexts:
        context.close()
    assert problems == []
