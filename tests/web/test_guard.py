"""Real requests of strangers: none is answered, and none changes anything."""

import pytest

from vbcgcd.web import guard

from .conftest import HOST, TOKEN

WRITES = [
    ("/api/v1/categories/0/rename", {"name": "taken over"}),
    ("/api/v1/categories/merge", {"ids": [0, 1]}),
    ("/api/v1/categories/0/drop", {}),
    ("/api/v1/items/reject", {"items": ["2-0"]}),
    ("/api/v1/settings", {"changes": {"reject": 0.1}}),
    ("/api/v1/undo", {}),
    ("/api/v1/uploads", {}),
]


def test_without_the_token_nothing_is_shown(serve):
    client = serve(entered=False)
    for address in ("/", "/map", "/api/v1/status", "/api/v1/items", "/static/app.js", "/report.html"):
        answer = client.get(address)
        assert answer.status_code == 401
        assert "weather" not in answer.text


def test_the_token_becomes_a_cookie_and_leaves_the_address(serve):
    client = serve(entered=False)
    answer = client.get("/categories", params={"token": TOKEN, "find": "a b"})
    assert answer.status_code == 303
    assert answer.headers["location"] == "/categories?find=a+b"
    cookie = answer.headers["set-cookie"]
    assert TOKEN not in cookie
    for part in ("HttpOnly", "SameSite=Strict", "Path=/"):
        assert part in cookie
    assert client.get("/api/v1/status").status_code == 200


def test_the_cookie_is_for_https_where_a_proxy_speaks_it(serve):
    answer = serve(entered=False, secure=True).get("/", params={"token": TOKEN})
    assert "; Secure" in answer.headers["set-cookie"]


def test_an_address_with_two_slashes_leads_to_no_other_host(serve):
    client = serve(entered=False)
    answer = client.get(f"http://{HOST}//evil.example/x", params={"token": TOKEN})
    assert answer.headers["location"] == "/evil.example/x"


def test_wrong_tokens_are_refused_and_soon_not_looked_at(serve):
    client = serve(entered=False)
    for _ in range(guard.MOST_WRONG):
        assert client.get("/", params={"token": "guess"}).status_code == 401
    late = client.get("/", params={"token": "another guess"})
    assert late.status_code == 429
    assert int(late.headers["retry-after"]) > 0
    assert client.get("/", params={"token": TOKEN}).status_code == 303  # nobody can lock out who knows it


def test_whoever_is_in_stays_in_while_others_guess(client):
    for _ in range(guard.MOST_WRONG + 1):
        client.get("/", params={"token": "guess"})
    assert client.get("/api/v1/status").status_code == 200


def test_programs_send_the_token_as_a_header(serve):
    client = serve(entered=False)
    good, bad = {"authorization": f"Bearer {TOKEN}"}, {"authorization": "Bearer nonsense"}
    assert client.get("/api/v1/status", headers=good).status_code == 200
    assert client.get("/api/v1/status", headers=bad).status_code == 401
    assert client.post("/api/v1/categories/0/rename", json={"name": "sky"}, headers=good).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "127.0.0.1", "127.0.0.1:9000", "", HOST + ".evil"]
)
def test_a_rebound_name_is_not_answered(client, host):
    assert client.get("/api/v1/status", headers={"host": host}).status_code == 421
    assert client.get("/", params={"token": TOKEN}, headers={"host": host}).status_code == 421


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", f"http://{HOST}.evil", f"http://evil/{HOST}", f"file://{HOST}", ""],
)
@pytest.mark.parametrize(("path", "body"), WRITES)
def test_pages_of_other_sites_change_nothing(client, desk, path, body, origin):
    before = desk.last_commit
    assert client.post(path, json=body, headers={"origin": origin}).status_code == 403
    assert desk.last_commit == before


def test_a_browser_that_names_no_origin_changes_nothing(client, desk):
    del client.headers["origin"]
    for path, body in WRITES:
        assert client.post(path, json=body).status_code == 403
        assert client.post(path, json=body, headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert (
        client.post(
            "/api/v1/categories/0/rename", json={"name": "sky"}, headers={"sec-fetch-site": "same-origin"}
        ).status_code
        == 200
    )


def test_read_only_means_read_only(serve, desk):
    client, before = serve(read_only=True), desk.last_commit
    for path, body in WRITES:
        assert client.post(path, json=body).status_code == 403
    assert client.put("/api/v1/uploads/0123456789abcdef?name=a.csv", content=b"x").status_code == 403
    assert client.post("/api/v1/predict", json={"texts": ["will it snow"]}).status_code == 200
    assert client.get("/api/v1/status").json()["read_only"] is True
    assert desk.last_commit == before


@pytest.mark.parametrize("path", ["/", "/api/v1/status", "/static/app.js", "/nowhere", "/api/v1/items/9-9"])
def test_every_answer_carries_the_headers(client, path):
    answer = client.get(path)
    for name, value in guard.HEADERS.items():
        assert answer.headers[name] == value
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static//etc/passwd",
        "/static/..%2f..%2fapp.py",
        "/static/pages/",
        "/static/shell.html",
    ],
)
def test_no_other_file_can_be_named(client, path):
    assert client.get(path).status_code == 404


@pytest.mark.parametrize(
    "path", ["/%5cevil.example", "/%09/evil.example", "/%5c%5cevil.example", "///evil.example"]
)
def test_no_way_of_writing_an_address_leads_away(serve, path):
    answer = serve(entered=False).get(f"http://{HOST}{path}?token={TOKEN}")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/evil.example"


def test_a_request_that_is_too_long_is_not_read(client):
    long = {"items": ["2-0"] * 10, "to": "x" * (guard.LONGEST_BODY + 1)}
    assert client.post("/api/v1/items/move", json=long).status_code == 413
    endless = (b"x" for _ in range(3))
    assert client.post("/api/v1/items/move", content=endless).status_code == 413
