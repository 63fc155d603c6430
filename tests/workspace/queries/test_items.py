import numpy as np

from vbcgcd.workspace.log.files import Assignments
from vbcgcd.workspace.queries.categories import category_sizes, count_items, items_by_session
from vbcgcd.workspace.queries.items import doubtful_items, typical_items


def test_typical_and_doubtful_items_are_the_ends_of_the_table(animals):
    now = animals.snapshot()
    table = Assignments.read(animals.path / "commits" / "000003" / "assignments.parquet")
    for category in (3, 4):  # found in the only unlabelled session
        rows = np.flatnonzero(table.category == category)
        doubtful = doubtful_items(now, category, 3)
        margins = [item.probability - item.second_probability for item in doubtful]
        np.testing.assert_allclose(margins, np.sort(table.margin[rows])[:3], atol=1e-7)
        typical = typical_items(now, category, len(rows))
        assert {item.reference for item in typical} == {str(row) for row in rows}
        assert typical[0].probability >= typical[-1].probability - 0.01
        assert {item.session for item in typical} == {1}


def test_sizes_follow_merges_and_undo(animals):
    sizes = category_sizes(animals.snapshot())
    assert sum(sizes.values()) == count_items(animals.snapshot()) == 190
    animals.merge([0, 4])
    assert category_sizes(animals.snapshot())[5] == sizes[0] + sizes[4]
    assert sum(items_by_session(animals.snapshot(), 5).values()) == sizes[0] + sizes[4]
    animals.undo()
    assert category_sizes(animals.snapshot()) == sizes
    animals.undo()  # the session
    assert category_sizes(animals.snapshot()) == {0: 30, 1: 30, 2: 30}


def test_nothing_is_typical_of_nothing(fresh):
    assert typical_items(fresh.snapshot(), 0, 3) == ()


def test_items_of_a_split_stay_items_of_their_session(animals, blobs):
    parts = animals.split("cat", blobs.rows, n_parts=2).categories
    animals.discover(blobs.batch + 30, n_novel=1)
    for part in parts:
        items = typical_items(animals.snapshot(), part, 5)
        assert {(item.session, item.commit) for item in items} == {(0, 2)}
    assert {item.session for item in animals.overview().map} == {0, 1, 2}


def test_a_second_choice_is_what_it_became_and_never_the_category_itself(animals):
    def doubtful(*categories):
        now = animals.snapshot()
        return {(i.commit, i.reference): i for k in categories for i in doubtful_items(now, k, 999)}

    before = doubtful(0, 1)
    animals.merge([0, 1])
    animals.merge([2, 3])
    became = {0: 5, 1: 5, 2: 6, 3: 6, 4: 4}
    after = doubtful(5)
    assert after.keys() == before.keys()
    for key, item in after.items():
        now = became[before[key].second]
        expected = (None, 0.0) if now == 5 else (now, before[key].second_probability)
        assert (item.second, item.second_probability) == expected
    assert {item.second for item in after.values()} >= {None, 6}
    # Items between the two that are one now are in doubt no longer: both probabilities are of their own.
    own = [
        before[k].probability + before[k].second_probability * (1 if i.second is None else -1)
        for k, i in after.items()
    ]
    np.testing.assert_array_less(-1e-6, np.diff(own))


def test_the_number_of_items_does_not_depend_on_what_became_of_their_categories(animals, blobs):
    assert animals.count_items() == animals.overview().items == 190
    animals.drop(3)
    assert animals.count_items() == animals.overview().items == 190
    animals.merge([0, 1])
    animals.split(2, blobs.rows, n_parts=2)
    assert animals.count_items() == animals.overview().items == 190
    for _ in range(4):
        animals.undo()
    assert animals.count_items() == animals.overview().items == 90


def test_unassigned_items_are_the_most_novel_first_and_belong_to_no_category(animals, blobs, leave):
    leave(7, [])
    animals.discover(blobs.probe + 9, n_novel=1)
    leave(3, [])
    animals.discover(blobs.probe - 9, n_novel=0)
    items = animals.unassigned()
    assert len(items) == animals.count_unassigned() == 10
    assert animals.unassigned(4) == items[:4]
    novelty = [item.novelty for item in items]
    assert novelty == sorted(novelty, reverse=True)
    for session, n in ((0, 0), (2, 7), (3, 3)):
        of_session = animals.unassigned(session=session)
        assert {item.reference for item in of_session} == {str(row) for row in range(n)}
        assert {item.session for item in of_session} <= {session}
        assert animals.count_unassigned(session=session) == n
    assert (
        animals.count_items()
        == 190 + 2 * len(blobs.probe) - 10
        == sum(category_sizes(animals.snapshot()).values())
    )
    assert -1 not in category_sizes(animals.snapshot())


def test_the_best_category_of_an_unassigned_item_is_what_it_became(animals, blobs, leave):
    leave(len(blobs.rows), [])
    animals.discover(blobs.rows, n_novel=0)
    best = {item.reference: item.second for item in animals.unassigned()}
    assert {0, 1} <= set(best.values())
    merged = next(iter(animals.merge([0, 1]).categories))
    now = {item.reference: item.second for item in animals.unassigned()}
    assert now == {reference: {0: merged, 1: merged}.get(i, i) for reference, i in best.items()}


def test_nothing_is_unassigned_before_the_first_session(fresh):
    assert (fresh.unassigned(), fresh.count_unassigned(), fresh.seedlings()) == ((), 0, ())
