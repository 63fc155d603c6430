"""Every page has its JSON; every decision is a command of the workspace, and an outdated one is refused."""

import json

import numpy as np
import pytest
from served import sentences, write_table

from vbcgcd.workspace import Workspace


def ids(client):
    return {row["name"]: row["id"] for row in client.get("/api/v1/categories").json()["categories"]}


def found(client):
    """The category that the session found."""
    return next(r for r in client.get("/api/v1/categories").json()["categories"] if r["discovered"])


def test_status_tells_what_undo_would_do(client):
    status = client.get("/api/v1/status").json()
    assert (status["name"], status["kind"], status["read_only"]) == ("desk", "text", False)
    assert status["undo"]["command"] == "discover"
    assert status["categories"] == len(ids(client))


def test_home_tells_what_changed_since_a_visit(client):
    head = client.get("/api/v1/status").json()["head"]
    assert client.get(f"/api/v1/home?since={head}").json()["since"] == []
    client.post("/api/v1/categories/0/rename", json={"name": "cooking"}, headers={"x-visitor": "J%C3%B6rg"})
    (change,) = client.get(f"/api/v1/home?since={head}").json()["since"]
    assert (change["command"], change["by"]) == ("rename", "Jörg")
    assert "Jörg" in client.get("/api/v1/sessions").json()["commands"][0]["text"]


def test_search_looks_into_items(client):
    hits = client.get("/api/v1/categories?find=savings").json()["categories"]
    assert [row["id"] for row in hits] == [found(client)["id"]]
    assert hits[0]["hits"] == 3
    assert client.get("/api/v1/categories?find=weath").json()["total"] == 1
    assert client.get("/api/v1/categories?find=%20").json()["total"] == len(ids(client))


def test_items_come_in_pages_and_in_order(client):
    category = ids(client)["weather"]
    every = client.get(f"/api/v1/categories/{category}/items?limit=500").json()
    parts = [
        client.get(f"/api/v1/categories/{category}/items?limit=10&offset={k}").json()["items"]
        for k in range(0, every["total"], 10)
    ]
    assert [i["key"] for part in parts for i in part] == [i["key"] for i in every["items"]]
    assert all(item["text"] for item in every["items"])


def test_an_item_is_explained(client):
    key = client.get(f"/api/v1/categories/{found(client)['id']}/items?limit=1").json()["items"][0]["key"]
    item = client.get(f"/api/v1/items/{key}").json()
    first = item["explanation"]["candidates"][0]
    assert first["id"] == item["category"]
    assert item["problem"] is None
    assert item["key"] not in {other["key"] for other in item["neighbours"]}
    assert all(other["text"] for other in item["neighbours"])


@pytest.mark.parametrize(
    "path",
    [
        "categories/999",
        "categories/-1",
        "categories/x",
        "items/9-9",
        "items/2-99999",
        "items/..%2f",
        "items?key=%C2%B2-0",
        "items?key=%D9%A3-%D9%A3",
        "items?where=nonsense",
        "items?limit=0",
        "review/same-1-999999",
        "jobs/0123456789abcdef",
        "nowhere",
    ],
)
def test_what_is_not_there_is_one_clear_error(client, path):
    answer = client.get(f"/api/v1/{path}")
    assert answer.status_code in (400, 404, 422)
    assert answer.json()["error"]


def test_the_map_has_a_place_for_every_stored_item(client, desk):
    about = client.get("/api/v1/map").json()
    data = client.get("/api/v1/map/points").content
    n = about["points"]
    assert n > 0
    assert len(data) == n * (8 + 4 + 4 + 4 + 4 + 4 + 1)
    category = np.frombuffer(data, "<i4", n, 8 * n)
    assert set(category) <= {row["id"] for row in about["categories"]} | {-1}


def test_nothing_on_the_map_moves_when_a_session_comes(client, desk, prepared, tmp_path):
    def places():
        n, data = client.get("/api/v1/map").json()["points"], client.get("/api/v1/map/points").content
        commit, row = np.frombuffer(data, "<i4", n, 16 * n), np.frombuffer(data, "<i4", n, 20 * n)
        xy = np.frombuffer(data, "<f4", 2 * n).reshape(n, 2)
        return {(int(c), int(r)): tuple(p) for c, r, p in zip(commit, row, xy, strict=True)}

    before = places()
    desk.discover(write_table(tmp_path / "tuesday.csv", [(t,) for t in sentences("travel")], ("text",)))
    after = places()
    assert len(after) > len(before)
    assert {key: after[key] for key in before} == before


def test_rename_merge_undo_redo(client, desk):
    head = client.get("/api/v1/status").json()["head"]
    names = ids(client)
    merged = client.post(
        "/api/v1/categories/merge",
        json={"ids": [names["food"], names["music"]], "name": "leisure", "seen": head},
    )
    assert merged.status_code == 200
    assert "leisure" in ids(client)
    assert client.post("/api/v1/undo", json={"seen": merged.json()["head"]}).status_code == 200
    assert ids(client) == names
    again = client.post("/api/v1/redo", json={})
    assert again.status_code == 200
    assert "leisure" in ids(client)


def test_members_can_be_excluded_from_a_merge(client):
    names = ids(client)
    item = client.get(f"/api/v1/categories/{names['food']}/items?order=doubtful&limit=1").json()["items"][0]
    answer = client.post(
        "/api/v1/categories/merge", json={"ids": [names["food"], names["music"]], "exclude": [item["key"]]}
    )
    assert answer.status_code == 200
    assert client.get(f"/api/v1/items?key={item['key']}").json()["items"][0]["state"] == "rejected"
    (merged,) = answer.json()["result"]["categories"]
    assert client.get(f"/api/v1/categories/{merged}").json()["size"] == 47


def test_a_merge_that_fails_excludes_nobody(client, desk):
    names, before = ids(client), desk.snapshot().state.categories
    item = client.get(f"/api/v1/categories/{names['food']}/items?limit=1").json()["items"][0]
    body = {"ids": [names["food"], names["music"]], "exclude": [item["key"]], "name": "weather"}
    assert client.post("/api/v1/categories/merge", json=body).status_code == 400
    assert desk.snapshot().state.categories == before
    assert client.get(f"/api/v1/items?key={item['key']}").json()["items"][0]["state"] == "labelled"


def test_items_are_moved_confirmed_and_rejected(client):
    names = ids(client)
    items = client.get(f"/api/v1/categories/{found(client)['id']}/items?limit=5").json()["items"]
    keys = [item["key"] for item in items]
    assert client.post("/api/v1/items/move", json={"items": keys[:2], "to": names["food"]}).status_code == 200
    assert client.post("/api/v1/items/confirm", json={"items": keys[2:3]}).status_code == 200
    assert client.post("/api/v1/items/reject", json={"items": keys[3:4]}).status_code == 200
    assert (
        client.post(
            "/api/v1/items/move", json={"items": keys[4:], "to": "accounts", "create": True}
        ).status_code
        == 200
    )
    now = client.get("/api/v1/items?" + "&".join(f"key={key}" for key in keys)).json()["items"]
    assert [item["state"] for item in now] == ["moved", "moved", "confirmed", "rejected", "moved"]
    assert now[4]["name"] == "accounts"


def test_an_outdated_decision_is_refused_with_what_changed(client, desk):
    head = client.get("/api/v1/status").json()["head"]
    desk.rename(0, "cooking")  # somebody else
    answer = client.post("/api/v1/categories/0/rename", json={"name": "kitchen", "seen": head})
    assert answer.status_code == 409
    assert answer.json()["changes"][0]["command"] == "rename"
    assert "cooking" in answer.json()["error"]
    assert ids(client)["cooking"] == 0
    # What is about other categories is not outdated.
    assert client.post("/api/v1/categories/1/rename", json={"name": "tunes", "seen": head}).status_code == 200


@pytest.mark.parametrize("verb", ["confirm_items", "reject_items"])
def test_an_item_that_somebody_else_has_judged_is_not_moved(client, desk, verb):
    head = client.get("/api/v1/status").json()["head"]
    item, other = client.get(f"/api/v1/categories/{found(client)['id']}/items?limit=2").json()["items"]
    getattr(desk, verb)([next(i for i in desk.items("session=1") if i.row == item["row"])])
    body = {"to": ids(client)["food"], "seen": head}
    refused = client.post("/api/v1/items/move", json={"items": [item["key"]], **body})
    assert refused.status_code == 409
    assert refused.json()["changes"][0]["command"] == verb.split("_")[0]
    assert client.post("/api/v1/items/move", json={"items": [other["key"]], "to": 0}).status_code == 200


def test_an_answer_tells_its_own_commits(client, desk):
    names, head = ids(client), desk.last_commit
    item = client.get(f"/api/v1/categories/{names['food']}/items?limit=1").json()["items"][0]
    body = {"ids": [names["food"], names["music"]], "exclude": [item["key"]]}
    assert client.post("/api/v1/categories/merge", json=body).json()["commits"] == [head + 1, head + 2]


def test_an_answer_to_a_question_that_looks_different_by_now_is_refused(client, desk, tmp_path):
    table = write_table(tmp_path / "few.csv", [(text,) for text in sentences("travel")[:3]], ("text",))
    desk.discover(table, n_novel=0)
    asked = next(q for q in desk.review(None).questions if q.items)
    head = desk.last_commit
    desk.confirm_items(
        [i for i in desk.items("session=1", "category=3") if i not in asked.items][:1]
    )  # somebody else
    body = {"to": 1, "seen": head}
    answer = client.post(f"/api/v1/review/{asked.id}/accept", json=body)
    assert answer.status_code == 409
    assert answer.json()["changes"][0]["command"] == "confirm"
    assert desk.last_command().command == "confirm"
    again = client.post(f"/api/v1/review/{asked.id}/accept", json={**body, "seen": head + 1})
    assert again.status_code == 200


def test_undo_of_another_command_than_the_one_seen_is_refused(client, desk):
    head = client.get("/api/v1/status").json()["head"]
    desk.rename(0, "cooking")
    assert client.post("/api/v1/undo", json={"seen": head}).status_code == 409
    assert desk.last_command().command == "rename"


def test_another_process_that_writes_is_seen_and_never_overwritten(client, desk):
    other = Workspace(desk.path)
    other.rename(1, "tunes")
    assert ids(client)["tunes"] == 1


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("categories/0/rename", {"name": ""}),
        ("categories/0/rename", {"name": "weather"}),
        ("categories/0/rename", {"name": "x" * 300}),
        ("categories/0/rename", {"name": "a", "surprise": 1}),
        ("categories/0/rename", {"name": "a", "seen": 99}),
        ("categories/999/rename", {"name": "a"}),
        ("categories/merge", {"ids": [0]}),
        ("categories/merge", {"ids": [0, 0]}),
        ("items/move", {"items": [], "to": 0}),
        ("items/move", {"items": ["2-0"], "to": 999}),
        ("items/confirm", {"items": ["x"]}),
        ("settings", {"changes": {"embedder": "/etc/passwd"}}),
        ("settings", {"changes": {"reject": 7}}),
        ("predict", {"texts": []}),
        ("redo", {}),
    ],
)
def test_bad_decisions_change_nothing(client, desk, path, body):
    before = desk.last_commit
    answer = client.post(f"/api/v1/{path}", json=body)
    assert answer.status_code in (400, 409, 422)
    assert answer.json()["error"]
    assert desk.last_commit == before


def test_a_visitor_with_an_impossible_name_is_refused(client, desk):
    answer = client.post("/api/v1/categories/0/rename", json={"name": "a"}, headers={"x-visitor": "x%00"})
    assert answer.status_code == 400
    assert (
        client.post(
            "/api/v1/categories/0/rename", json={"name": "a"}, headers={"x-visitor": "n" * 99}
        ).status_code
        == 400
    )


def test_texts_are_predicted_and_explained(client):
    answer = client.post("/api/v1/predict", json={"texts": ["will it rain in june", "play some jazz"]}).json()
    assert [row["name"] for row in answer["rows"]] == ["weather", "music"]
    assert answer["explanation"]["candidates"][0]["name"] == "weather"


def test_questions_are_listed_answered_and_dismissed(client, desk):
    listed = client.get("/api/v1/review").json()
    assert listed["total"] == len(listed["questions"])
    for asked in listed["questions"][:2]:
        full = client.get(f"/api/v1/review/{asked['id']}").json()
        assert full["title"] == asked["title"]
    if listed["questions"]:
        first = listed["questions"][0]["id"]
        assert client.post(f"/api/v1/review/{first}/dismiss", json={}).status_code == 200
        assert first not in {q["id"] for q in client.get("/api/v1/review").json()["questions"]}
        assert client.post(f"/api/v1/review/{first}/dismiss", json={}).status_code == 400


def test_the_description_names_every_address(client):
    paths = client.get("/api/v1/openapi.json").json()["paths"]
    assert {"/api/v1/categories", "/api/v1/items/move", "/api/v1/events"} <= set(paths)
    assert all(one.get("description") for methods in paths.values() for one in methods.values())


def test_the_report_is_downloaded(client):
    answer = client.get("/report.html")
    assert answer.headers["content-disposition"].startswith("attachment")
    assert b"Category discovery report" in answer.content


def test_what_files_say_is_text_and_never_markup(client):
    (item,) = client.get("/api/v1/items?where=text~alert").json()["items"]
    assert item["text"].startswith("<script>")
    page = client.get("/items")
    assert "<script>alert" not in page.text
    assert json.dumps(item)
