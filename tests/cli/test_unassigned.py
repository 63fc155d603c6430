import pytest

from support import WARNING
from vbcgcd.workspace import Workspace


def words(result):
    """Output without line breaks."""
    return " ".join(result.output.split())


@pytest.fixture
def left(run, leave, letters):
    """Texts of which a second session left six unassigned, with seedlings of five and three items."""
    leave(6, [3, 5], grown=True, returned={0: 4})
    texts = [f"{word} {word} on tuesday {i}" for word in ("card", "rain") for i in range(12)]
    (letters.parent / "tuesday.csv").write_text("text\n" + "\n".join(texts) + "\n")
    return run("discover", "../tuesday.csv", "--n-novel", 1)


def test_discover_says_what_it_left_and_where_to_look(left, run_json):
    page = words(left)
    assert "6 items are unassigned" in page
    assert "2 seedlings wait for more items (3 and 5 so far)" in page
    assert "grew from a seedling" in page
    assert "1 category found earlier came back: #0 (4)." in page
    assert WARNING in page
    assert "vbcgcd unassigned" in page
    record = run_json("sessions")["sessions"][-1]
    assert (record["unassigned"], record["seedlings"], record["warnings"]) == (6, [3, 5], [WARNING])
    assert list(record["grown"].values()) == [1]
    assert record["returned"] == {"0": 4}


def test_json_of_discover_has_the_same_facts(run_json, leave, letters):
    leave(4, [2])
    record = run_json("discover", "../batch.csv", "--n-novel", 0, "--again")
    assert (record["unassigned"], record["seedlings"], record["warnings"]) == (4, [2], [WARNING])
    assert sum(record["counts"].values()) == record["rows"] - 4


def test_unassigned_items_are_listed_with_their_texts(left, run, run_json):
    values = run_json("unassigned")
    assert values["unassigned"] == len(values["items"]) == 6
    assert values["seedlings"] == [{"items": 5, "since": 2}, {"items": 3, "since": 2}]
    names = {info.id: info.name for info in Workspace.open(".").categories()}
    for item in values["items"]:
        assert item["session"] == 2
        assert item["text"].startswith("card card")
        assert item["second_name"] == names[item["second"]]
    page = words(run("unassigned"))
    assert all(item["text"] in page for item in values["items"])
    assert "6 items are unassigned" in page


def test_the_list_can_be_cut_and_be_of_one_session(left, run, run_json):
    values = run_json("unassigned", "--items", 2)
    assert (values["unassigned"], len(values["items"])) == (6, 2)
    assert "4 more items" in words(run("unassigned", "--items", 2))
    assert run_json("unassigned", "--session", 1)["unassigned"] == 0
    assert run_json("unassigned", "--session", 2)["unassigned"] == 6


def test_a_best_category_may_have_retired(left, run, run_json):
    best = run_json("unassigned")["items"][0]
    run("categories", "drop", best["second"])
    assert run_json("unassigned")["items"][0] == best
    assert best["second_name"] in words(run("unassigned"))


def test_the_list_of_categories_and_the_status_count_them(left, run, run_json):
    for command in ("categories", "status"):
        values = run_json(command)
        assert values["unassigned"] == 6
        assert values["seedlings"] == [{"items": 5, "since": 2}, {"items": 3, "since": 2}]
        assert "6" in words(run(command)).partition("unassigned")[0]
        assert "seedlings" in words(run(command))
    assert run_json("status")["items"] == 60 + 60 + 24 - 6
    run("undo")
    assert (run_json("status")["unassigned"], run_json("status")["seedlings"]) == (0, [])


def test_a_workspace_without_any_says_so(run, run_json, animals):
    assert run_json("unassigned") == {"schema_version": 1, "unassigned": 0, "items": [], "seedlings": []}
    assert "Every item has a category." in run("unassigned").output
    assert "unassigned" not in run("status").output
