"""Files that visitors send: previews, sessions, predictions; and what must not get through."""

import io
import os
import time
import zipfile

import numpy as np
import pytest
from served import sentences

from vbcgcd.web.uploads import safe_name


def table(name):
    return ("text\n" + "\n".join(sentences(name)) + "\n").encode()


def send(client, content, name="tuesday.csv", task="preview"):
    upload = client.post("/api/v1/uploads").json()["upload"]
    sent = client.put(f"/api/v1/uploads/{upload}", params={"name": name}, content=content)
    if sent.status_code != 200:
        return sent
    return client.post("/api/v1/jobs", json={"upload": upload, "task": task, "title": name})


def finished(client, job, seconds=120):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        now = client.get(f"/api/v1/jobs/{job}").json()
        if now["status"] not in ("waiting", "running"):
            return now
        time.sleep(0.1)
    raise AssertionError(f"job {job} does not end")


def comes_true(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def test_a_preview_changes_nothing_and_is_what_accepting_does(client, desk):
    before = desk.last_commit
    preview = finished(client, send(client, table("travel")).json()["id"])
    assert preview["status"] == "done", preview["error"]
    record = preview["result"]["record"]
    assert record["rows"] == 24
    assert desk.last_commit == before
    assert not list((desk.path / "uploads").glob(".preview-*"))
    session = finished(client, client.post(f"/api/v1/jobs/{preview['id']}/accept").json()["id"])
    assert session["status"] == "done", session["error"]
    for name in ("novel", "counts", "rows", "unassigned"):
        assert session["result"]["record"][name] == record[name]
    assert desk.last_command().command == "discover"
    shown = client.get("/api/v1/items?where=session=2&limit=1").json()["items"][0]
    assert shown["text"]  # its file is kept, so it can be shown
    assert client.post(f"/api/v1/jobs/{preview['id']}/accept").status_code == 400


def test_a_preview_of_another_state_is_not_accepted(client, desk):
    preview = finished(client, send(client, table("travel")).json()["id"])
    desk.rename(0, "cooking")
    answer = client.post(f"/api/v1/jobs/{preview['id']}/accept")
    assert answer.status_code == 409
    assert desk.last_command().command == "rename"


def test_nothing_is_added_to_what_was_previewed(client):
    upload = client.post("/api/v1/uploads").json()["upload"]
    client.put(f"/api/v1/uploads/{upload}", params={"name": "a.csv"}, content=table("travel"))
    job = client.post("/api/v1/jobs", json={"upload": upload, "task": "preview"}).json()["id"]
    late = client.put(f"/api/v1/uploads/{upload}", params={"name": "b.csv"}, content=table("food"))
    assert late.status_code == 400
    assert "no more files" in late.json()["error"]
    client.post(f"/api/v1/jobs/{job}/cancel")


def test_a_preview_that_is_discarded_leaves_nothing(client, desk):
    preview = finished(client, send(client, table("travel")).json()["id"])
    assert client.post(f"/api/v1/jobs/{preview['id']}/dismiss").status_code == 200
    assert not list((desk.path / "uploads").iterdir())


def test_a_job_can_be_cancelled(client, desk):
    before = desk.last_commit
    job = send(client, table("travel")).json()["id"]
    assert client.post(f"/api/v1/jobs/{job}/cancel").json()["status"] == "cancelled"
    assert finished(client, job)["status"] == "cancelled"
    assert desk.last_commit == before


def test_a_file_is_predicted(client):
    job = finished(client, send(client, table("music"), task="predict").json()["id"])
    rows = job["result"]["rows"]
    assert job["result"]["total"] == 24
    assert sum(row["name"] == "music" for row in rows) >= 20


def test_a_job_that_takes_too_long_is_stopped(serve):
    client = serve(most_seconds=0.05)
    job = finished(client, send(client, table("travel")).json()["id"])
    assert job["status"] == "failed"
    assert "0.05 seconds" in job["error"]


def test_an_upload_that_is_too_large_is_refused(serve, desk):
    client = serve(most_upload=100)
    assert send(client, b"x" * 101).status_code == 400
    assert not [path for path in (desk.path / "uploads").rglob("*") if path.is_file()]


def pickled():
    out = io.BytesIO()
    np.save(out, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    return out.getvalue()


def bomb():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", b"\0" * (200 * 2**20))
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("model.pkl", b"\x80\x04."),
        ("export.vbcgcd", b"PK\x03\x04"),
        ("page.html", b"<script>"),
        ("x.svg", b"<svg/>"),
        ("noending", b"text\nhello\n"),
        ("../../evil.py", b"print(1)"),
    ],
)
def test_other_types_are_refused_at_the_door(client, desk, name, content):
    answer = send(client, content, name)
    assert answer.status_code == 400
    assert "Unsupported file type" in answer.json()["error"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("rows.npy", pickled()),
        ("rows.npz", bomb()),
        ("a.csv", b""),
        ("a.csv", b"\xff\xfe\x00garbage\x00"),
        ("a.parquet", b"PAR1 not really"),
    ],
)
def test_hostile_content_is_one_clear_error(client, desk, name, content):
    before = desk.last_commit
    job = finished(client, send(client, content, name).json()["id"])
    assert job["status"] == "failed"
    assert job["error"]
    assert "Traceback" not in job["error"]
    assert desk.last_commit == before


def test_a_table_that_names_pictures_opens_none(client, tmp_path):
    """In a workspace of texts a path is a text like any other."""
    content = f"image\n{tmp_path}/a.png\n/etc/hostname\n".encode()
    job = finished(client, send(client, content, "pictures.csv", task="predict").json()["id"])
    assert job["result"]["n_failures"] == 0  # nothing was looked for, so nothing was missed
    assert job["result"]["total"] == 2


def test_an_upload_cannot_name_a_place(client, desk):
    upload = client.post("/api/v1/uploads").json()["upload"]
    sent = client.put(f"/api/v1/uploads/{upload}", params={"name": "../../../up.csv"}, content=b"text\nhi\n")
    assert sent.json()["name"] == "up.csv"
    assert (desk.path / "uploads" / upload / "up.csv").is_file()
    assert (
        client.put("/api/v1/uploads/0123456789abcdef", params={"name": "a.csv"}, content=b"x").status_code
        == 400
    )


@pytest.mark.parametrize(
    "name", ["..", "/", "", "a/b/..", "con.csv", "\x00.csv", "é.csv", "." * 300 + "csv", "a.csv.exe"]
)
def test_stored_names_are_plain(name):
    stored = safe_name(name)
    assert "/" not in stored
    assert "\\" not in stored
    assert not stored.startswith(".")
    assert stored.isascii()
    assert len(stored) <= 71


def test_uploads_that_no_session_used_go_with_the_server(serve, desk):
    client = serve()
    upload = client.post("/api/v1/uploads").json()["upload"]
    client.put(f"/api/v1/uploads/{upload}", params={"name": "a.csv"}, content=b"text\nhi\n")
    client.__exit__(None, None, None)
    assert not (desk.path / "uploads" / upload).exists()
    client.__enter__()


def test_a_preview_that_is_stopped_leaves_no_copy_of_the_workspace(client, desk):
    job = send(client, table("travel")).json()["id"]
    uploads = desk.path / "uploads"
    assert comes_true(lambda: list(uploads.glob(".preview-*/workspace/HEAD")))
    client.post(f"/api/v1/jobs/{job}/cancel")
    assert comes_true(lambda: not list(uploads.iterdir()))


def test_what_a_killed_server_left_goes_after_a_day(client, desk):
    uploads = desk.path / "uploads"
    for name, mark, days in (("0" * 16, True, 2), ("1" * 16, True, 0.5), ("2" * 16, False, 2)):
        (uploads / name).mkdir(parents=True)
        if mark:
            (uploads / f".waiting-{name}").mkdir()
            old = time.time() - 86_400 * days
            os.utime(uploads / f".waiting-{name}", (old, old))
    (uploads / f".preview-{'0' * 16}-x").mkdir()
    begun = client.post("/api/v1/uploads").json()["upload"]
    left = {path.name for path in uploads.iterdir() if path.name[0] != "."}
    assert left == {"1" * 16, "2" * 16, begun}
    assert not list(uploads.glob(".preview-*"))


def test_a_session_that_cannot_begin_can_be_accepted_later(client, desk, monkeypatch):
    preview = finished(client, send(client, table("travel")).json()["id"])["id"]
    monkeypatch.setattr("vbcgcd.web.jobs.WAITING", 0)
    assert client.post(f"/api/v1/jobs/{preview}/accept").status_code == 400
    monkeypatch.undo()
    session = client.post(f"/api/v1/jobs/{preview}/accept")
    assert session.status_code == 200
    assert finished(client, session.json()["id"])["status"] == "done"
    assert comes_true(lambda: not list((desk.path / "uploads").glob(".*")))


def test_work_that_cannot_even_begin_has_failed(client, monkeypatch):
    monkeypatch.setattr("sys.executable", "/no/such/python")
    job = finished(client, send(client, table("travel")).json()["id"])
    assert job["status"] == "failed"
    assert "could not be done" in job["error"]
