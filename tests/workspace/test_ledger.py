import numpy as np

from vbcgcd.workspace.assignments import read_assignments


def test_typical_and_doubtful_items_are_the_ends_of_the_table(animals):
    ledger = animals._query().ledger
    table = read_assignments(animals.path / "commits" / "000003" / "assignments.parquet")
    for category in (3, 4):  # found in the only unlabelled session
        rows = np.flatnonzero(table.category == category)
        doubtful = ledger.doubtful(category, 3)
        margins = [item.probability - item.second_probability for item in doubtful]
        np.testing.assert_allclose(margins, np.sort(table.margin[rows])[:3], atol=1e-7)
        typical = ledger.typical(category, len(rows))
        assert {item.reference for item in typical} == {str(row) for row in rows}
        assert typical[0].probability >= typical[-1].probability - 0.01
        assert {item.session for item in typical} == {1}


def test_sizes_follow_merges_and_undo(animals):
    sizes = animals._query().ledger.sizes()
    assert sum(sizes.values()) == animals._query().ledger.total() == 190
    animals.merge([0, 4])
    assert animals._query().ledger.sizes()[5] == sizes[0] + sizes[4]
    assert sum(animals._query().ledger.by_session(5).values()) == sizes[0] + sizes[4]
    animals.undo()
    assert animals._query().ledger.sizes() == sizes
    animals.undo()  # the session
    assert animals._query().ledger.sizes() == {0: 30, 1: 30, 2: 30}


def test_nothing_is_typical_of_nothing(fresh):
    assert fresh._query().ledger.typical(0, 3) == ()
