"""A server in front of a copy of a small workspace of sentences."""

import shutil

import pytest

pytest.importorskip("fastapi", reason="the extra 'web' is not installed")
from fastapi.testclient import TestClient
from served import prepare

from vbcgcd.web.app import create_app
from vbcgcd.web.server import addresses
from vbcgcd.workspace import Workspace

TOKEN = "a-token-for-tests"
HOST = "127.0.0.1:8000"


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    return prepare(tmp_path_factory.mktemp("served"))


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
