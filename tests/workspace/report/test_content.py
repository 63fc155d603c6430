from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbcgcd.workspace import ItemInfo
from vbcgcd.workspace.queries import item_contents, labelled_sessions, overview
from vbcgcd.workspace.report.content import Content, birth_colours


def content_of(workspace, n_items=3):
    now = workspace.snapshot()
    return Content(
        overview(now, n_items=n_items),
        lambda item: item_contents(now, [item])[0],
        labelled_sessions(now),
        now.state.resolve,
        n_items,
    )


def test_found_categories_come_first_and_the_newest_before_the_others(animals, blobs):
    animals.discover(blobs.probe, n_novel=1)
    content = content_of(animals)
    groups = [(group.when, group.labelled) for group in content.groups]
    assert groups == [("session 2", False), ("session 1", False), ("session 0", True)]
    assert content.counts() == (3, 3)
    for group in content.groups:
        sizes = [card.info.size for card in group.cards]
        assert sizes == sorted(sizes, reverse=True)
    assert [card.info.name for card in content.by_name][:2] == ["cat", "dog"]


def test_many_sessions_share_groups(animals, blobs):
    for k in range(7):
        animals.discover(blobs.probe + 9 * k, n_novel=1)
    content = content_of(animals)
    found = [group for group in content.groups if not group.labelled]
    assert len(found) == 6
    assert [group.births for group in found] == sorted((g.births for g in found), reverse=True)
    assert sum(len(group.births) for group in found) == 8
    births = [card.info.birth for group in found for card in group.cards]
    assert births == sorted(births, reverse=True)
    assert any(" to " in group.when for group in found)


def test_later_labels_are_labelled_too(animals, blobs):
    animals.learn(blobs.probe[:20], ["yak"] * 20)
    content = content_of(animals)
    assert content.cards[animals.category("yak").id].labelled
    assert content.counts() == (4, 2)
    growth = content.overview.growth
    assert [(g.session, g.labelled, g.discovered) for g in growth] == [(0, 3, 0), (1, 3, 2), (2, 4, 2)]


def test_the_balance_compares_medians(animals):
    content = content_of(animals)
    spreads = {card.info.id: card.info.spread for card in content.cards.values()}
    known, found = np.median([spreads[k] for k in (0, 1, 2)]), np.median([spreads[k] for k in (3, 4)])
    assert f"(spread {found:.2f} against {known:.2f})" in content.balance()
    assert len(content.spreads()) == 5


def test_without_found_categories_there_is_nothing_to_compare(fresh, blobs):
    fresh.learn(blobs.rows, blobs.labels)
    assert content_of(fresh).balance() == ""


def test_the_second_choice_follows_merges(animals):
    content = content_of(animals)
    item = ItemInfo("7", "here", 1, 0.5, 0.1, 1, 0.4, 3)
    assert (content._line(item, 0).second, content._line(item, 0).second_name) == (1, "dog")
    assert content._line(item, 1).second_name == ""  # its own category is no alternative
    merged = animals.merge([1, 2], name="both")
    content = content_of(animals)
    assert content._line(item, 0).second == next(iter(merged.categories))
    assert content._line(item, next(iter(merged.categories))).second_name == ""
    animals.drop("both")
    line = content_of(animals)._line(item, 0)
    assert (line.second, line.second_name) == (None, "both")  # named, but there is no card to go to


def test_sure_items_are_not_called_doubtful(animals):
    for card in content_of(animals, n_items=40).cards.values():
        for line in card.doubtful:
            assert line.probability - line.second_probability < 0.9


@pytest.mark.parametrize("zero", [(0, 1, 2), (0, 1, 2, 3, 4)])
def test_without_labelled_spread_there_is_nothing_to_compare(animals, zero):
    content = content_of(animals)
    for k in zero:
        card = content.cards[k]
        content.cards[k] = replace(card, info=replace(card.info, spread=0.0))
    assert content.balance() == ""


@given(st.lists(st.integers(0, 80)))
def test_every_birth_has_a_colour_and_the_legend_tells_it(births):
    classes, legend = birth_colours(births)
    assert set(classes) == set(births)
    assert {classes[b] for b in births} == {birth.css for birth in legend}
    assert all((classes[b] == "b0") == (b == 0) for b in births)
    later = sorted(set(births) - {0})
    assert [classes[b] for b in later] == sorted(classes[b] for b in later)  # in the order of time
    assert len({classes[b] for b in later}) == min(6, len(later))


def test_many_sessions_share_colours():
    classes, legend = birth_colours(range(13))
    assert classes[1] == classes[2] == "b1"
    assert [birth.label for birth in legend][:2] == ["base session", "sessions 1 to 2"]


def test_nothing_has_no_legend():
    assert birth_colours([]) == ({}, ())


def test_unassigned_items_link_to_their_best_category(animals, blobs, leave):
    leave(7, [3, 5], grown=True)
    record = animals.discover(blobs.probe + 9, n_novel=1)
    content = content_of(animals)
    items = animals.unassigned()
    assert [line.content.reference for line in content.unassigned] == [item.reference for item in items]
    assert [line.second for line in content.unassigned] == [item.second for item in items]
    assert all(line.second_name == content.names[line.second] for line in content.unassigned)
    assert {i: card.since for i, card in content.cards.items() if card.since is not None} == record.grown
    animals.drop(items[0].second)
    first = content_of(animals).unassigned[0]
    assert (first.second, bool(first.second_name)) == (None, True)
