"""A workspace of pictures behind the server: what is no picture, or too large, is refused."""

import io
import shutil

import numpy as np
import pytest
from PIL import Image

from vbcgcd.web.app import create_app
from vbcgcd.web.server import addresses
from vbcgcd.workspace import Workspace

from .conftest import HOST, TOKEN, TestClient
from .test_working import finished


def png(array):
    out = io.BytesIO()
    Image.fromarray(array).save(out, "PNG")
    return out.getvalue()


def stripes(kind, rng):
    picture = rng.integers(0, 60, (12, 12)).astype(np.uint8)
    picture[:: 2 if kind == "rows" else 1, :: 1 if kind == "rows" else 2] += 180
    return png(picture)


@pytest.fixture(scope="module")
def album(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("album"), np.random.default_rng(0)
    for kind in ("rows", "columns"):
        (folder / "pictures" / kind).mkdir(parents=True)
        for k in range(12):
            (folder / "pictures" / kind / f"{k}.png").write_bytes(stripes(kind, rng))
    Workspace.init(folder / "album", embedder="pixels").learn(folder / "pictures")
    return folder


@pytest.fixture
def client(album, tmp_path):
    here = Workspace(shutil.copytree(album / "album", tmp_path / "album"))
    app = create_app(here, token=TOKEN, hosts=addresses("127.0.0.1", 8000), port=8000)
    with TestClient(app, base_url=f"http://{HOST}", follow_redirects=False) as client:
        client.get("/", params={"token": TOKEN})
        client.headers["origin"] = f"http://{HOST}"
        yield client


def predicted(client, *files):
    upload = client.post("/api/v1/uploads").json()["upload"]
    for name, content in files:
        assert (
            client.put(f"/api/v1/uploads/{upload}", params={"name": name}, content=content).status_code == 200
        )
    job = client.post("/api/v1/jobs", json={"upload": upload, "task": "predict"}).json()["id"]
    return finished(client, job)


def huge():
    out = io.BytesIO()
    Image.new("1", (20_000, 10_000)).save(out, "PNG")
    return out.getvalue()


EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n(x) run\nshowpage\n"


def test_pictures_are_predicted_and_shown(client):
    job = predicted(client, ("a.png", stripes("rows", np.random.default_rng(1))))
    assert [row["name"] for row in job["result"]["rows"]] == ["rows"]
    item = client.get("/api/v1/items?limit=1").json()["items"][0]
    assert item["jpeg"]


@pytest.mark.parametrize(
    ("name", "content"), [("eps.png", EPS), ("huge.png", huge()), ("html.png", b"<html>")]
)
def test_what_is_no_picture_of_ours_is_named_and_the_rest_predicted(client, name, content):
    good = ("good.png", stripes("columns", np.random.default_rng(2)))
    job = predicted(client, (name, content), good)
    assert job["status"] == "done", job["error"]
    assert (job["result"]["total"], job["result"]["n_failures"]) == (1, 1)


def test_tables_are_no_pictures(client):
    upload = client.post("/api/v1/uploads").json()["upload"]
    sent = client.put(f"/api/v1/uploads/{upload}", params={"name": "a.csv"}, content=b"image\n/etc/passwd\n")
    assert sent.status_code == 400
