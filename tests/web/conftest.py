"""A workspace of sentences, learned and with one session, and a server in front of a copy of it."""

import csv
import shutil

import pytest

pytest.importorskip("fastapi", reason="the extra 'web' is not installed")
from fastapi.testclient import TestClient

from vbcgcd.web.app import create_app
from vbcgcd.web.server import addresses
from vbcgcd.workspace import Workspace

TOKEN = "a-token-for-tests"
HOST = "127.0.0.1:8000"
THINGS = {
    "weather": (
        "will it {} today",
        ["rain", "snow", "hail", "be sunny", "be windy", "be cold", "be warm", "storm"],
    ),
    "food": (
        "how do I cook {}",
        ["rice", "pasta", "beans", "a steak", "an egg", "lentils", "potatoes", "fish"],
    ),
    "music": ("play some {} music", ["jazz", "rock", "folk", "piano", "blues", "opera", "techno", "choir"]),
    "bank": (
        "what is the balance of my {} account",
        ["savings", "checking", "joint", "second", "business", "credit", "old", "new"],
    ),
    "travel": ("book a flight to {}", ["rome", "paris", "oslo", "lima", "cairo", "tokyo", "delhi", "boston"]),
}
ENDINGS = ("", " please", " for me")


def sentences(name):
    pattern, parts = THINGS[name]
    return [pattern.format(part) + ending for part in parts for ending in ENDINGS]


def write_table(path, rows, names=("text", "label")):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(rows)
    return path


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    """A folder with the tables and the workspace that learned from them."""
    folder = tmp_path_factory.mktemp("served")
    labelled = [(text, name) for name in ("weather", "food", "music") for text in sentences(name)]
    write_table(folder / "labelled.csv", labelled)
    monday = [(text,) for name in ("weather", "bank") for text in sentences(name)]
    write_table(folder / "monday.csv", [*monday, ("<script>alert('x')</script> & \"quotes\"",)], ("text",))
    here = Workspace.init(folder / "desk")
    here.learn(folder / "labelled.csv")
    here.discover(folder / "monday.csv")
    return folder


@pytest.fixture
def desk(prepared, tmp_path):
    """A copy of the workspace; its tables stay where they are."""
    return Workspace(shutil.copytree(prepared / "desk", tmp_path / "desk"))


@pytest.fixture
def serve(desk):
    """Function: a client of a server in front of the workspace, let in unless asked otherwise."""
    clients = []

    def start(*, entered=True, **options):
        app = create_app(desk, token=TOKEN, hosts=addresses("127.0.0.1", 8000), port=8000, **options)
        client = TestClient(app, base_url=f"http://{HOST}", follow_redirects=False)
        client.__enter__()
        clients.append(client)
        if entered:
            assert client.get("/", params={"token": TOKEN}).status_code == 303
            client.headers["origin"] = f"http://{HOST}"
        return client

    yield start
    for client in clients:
        client.__exit__(None, None, None)


@pytest.fixture
def client(serve):
    return serve()
