from hypothesis import given
from hypothesis import strategies as st

from vbcgcd.workspace.report.births import birth_colours


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
