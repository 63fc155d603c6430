import pytest

from vbcgcd.workspace.queries import item_contents, labelled_sessions, overview
from vbcgcd.workspace.report.changes import news, recent
from vbcgcd.workspace.report.content import Content


def content_of(workspace, n_items=3):
    now = workspace.snapshot()
    return Content(
        overview(now, n_items=n_items),
        lambda item: item_contents(now, [item])[0],
        labelled_sessions(now),
        now.state.resolve,
        n_items,
    )


def test_a_session_in_a_sentence(animals):
    found = news(content_of(animals))
    session = animals.sessions()[-1]
    assert found.lead.endswith(
        f"assigned 100 items: {session.known_rows} to known categories and {session.novel_rows} to 2 novel "
        "categories (as requested)."
    )
    assert {card.info.id for card in found.novel} == {3, 4}
    assert [card.info.size for card in found.novel] == sorted(
        (c.info.size for c in found.novel), reverse=True
    )


def test_growth_adds_up(animals):
    found = news(content_of(animals))
    assert {growth.card.info.id for growth in found.growth} <= {0, 1, 2}
    assert all(growth.before == 30 for growth in found.growth)
    assert [g.gained for g in found.growth] == sorted((g.gained for g in found.growth), reverse=True)
    assert found.largest_gain == found.growth[0].gained


def test_changes_by_hand(animals):
    animals.rename("cat", "tom")
    animals.merge([3, 1], name="mix")
    animals.drop(2)
    content = content_of(animals)
    found = news(content)
    assert [(before, now) for _, before, now in found.renamed] == [("cat", "tom")]
    assert [(card.info.name, how) for card, how in found.derived] == [
        ("mix", "merged from novel-3 (#3) and dog (#1)")
    ]
    assert {info.name: how for info, how in found.retired} == {
        "dog": "merged into mix (#5)",
        "owl": "dropped",
    }
    assert recent(content) == ["1 rename", "1 merge", "1 drop"]


@pytest.mark.parametrize("n", [1, 2])
def test_a_learned_session_has_no_table_of_its_labels(fresh, blobs, n):
    for _ in range(n):
        fresh.learn(blobs.rows, blobs.labels)
    found = news(content_of(fresh))
    assert found.novel == ()
    assert "labelled items" in found.lead


def test_nothing_yet(fresh):
    assert news(content_of(fresh)).lead.startswith("Nothing has been learned yet")


def test_what_a_session_left_is_news(animals, blobs, leave):
    leave(7, [3, 5], grown=True, returned={0: 2, 1: 1})
    record = animals.discover(blobs.probe + 9, n_novel=1)
    found = news(content_of(animals))
    assert f"assigned {record.rows - 7} items: {record.known_rows} to known categories" in found.lead
    assert found.lead.endswith(
        "7 items fitted no category well enough then. It left 2 seedlings waiting for more items. "
        "1 novel category grew from a "
        "seedling. 3 items came back to 2 categories found in earlier sessions."
    )
    assert found.warnings == record.warnings
    leave(1, [])
    animals.discover(blobs.probe, n_novel=0)
    lead = news(content_of(animals)).lead
    assert lead.endswith("all to known categories. 1 item fitted no category well enough then.")
