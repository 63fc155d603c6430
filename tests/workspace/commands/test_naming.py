import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbcgcd.errors import InputError
from vbcgcd.workspace.commands.naming import (
    check_distinct,
    check_name,
    label_name,
    label_names,
    unique_name,
)


@pytest.mark.parametrize("name", ["", "   ", None, 3, "a\nb", "a\x00b", "x" * 201, "none of these", "\ud800"])
def test_what_is_no_name(name):
    with pytest.raises(InputError):
        check_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "TNFα",
        "می\u200cخواهم",
        "👨\u200d👩\u200d👧",
        "<b>bold</b>",
        "[red]x[/red]",
        "猫",
        "a,b",
        "# 3",
        "#3a",
        "'; drop table",
        "..\\..",
    ],
)
def test_markup_is_text(name):
    assert check_name(f"  {name} ") == name


@pytest.mark.parametrize("label", ["none of these", " none of these\n", "none\tof these"])
def test_a_label_that_means_refusal_is_refused(label):
    with pytest.raises(InputError, match="'none of these'"):
        label_name(label)


@given(st.text(max_size=300))
def test_every_label_gives_a_name_or_one_clear_error(label):
    with contextlib.suppress(InputError):
        name = unique_name(label_name(label), ())
        assert name.encode()
        assert check_name(name) == name or name.startswith("#")


def test_long_labels_that_begin_alike_are_not_one_category():
    assert label_name("x" * 200) == "x" * 200
    for end in "ab":
        with pytest.raises(InputError, match="201 characters, at most 200"):
            label_name("x" * 200 + end)


UNSEEN = ["c\u200bat", "\ufeffcat", "cat\u202etac", "c\u00adat", "cat\u2066", "c\u034fat", "ㅤcat", "ca\u200dt"]


@pytest.mark.parametrize("name", [*UNSEEN, "cat\u2028dog", "c\x1bat"])
def test_what_cannot_be_seen_is_no_part_of_a_name(name):
    for check in (check_name, label_name):
        with pytest.raises(InputError, match=r"U\+[0-9A-F]{4} ") as error:
            check(name)
        assert str(error.value).isascii()


def test_labels_mean_a_category_however_their_accents_are_written():
    assert label_names(["cafe\u0301", "caf\u00e9"], []) == ["caf\u00e9"] * 2
    assert label_names(["caf\u00e9"], ["cafe\u0301", "tea"]) == ["cafe\u0301"]
    assert label_names(["caf\u00e9"], ["cafe\u0301", "caf\u00e9"]) == ["caf\u00e9"]


LOOKALIKES = ["\u0441at", "c\u0430t", "ｃａｔ", "cat\ufe0f", "\u0441\u0430t"]


@pytest.mark.parametrize("other", LOOKALIKES)
def test_lookalikes_do_not_stand_side_by_side(other):
    for labels, live in ((["cat", other], []), ([other], ["cat"])):
        with pytest.raises(InputError, match="looks the same as the"):
            label_names(labels, live)
    with pytest.raises(InputError, match="looks the same as the"):
        check_distinct(other, ["dog", "cat"])
    assert label_names([other, "cat"], ["cat", other]) == [other, "cat"]  # an old workspace may have both
    assert unique_name(other, ["cat"]) == f"{other} (2)"


def test_blanks_that_look_alike_are_not_one_category():
    assert label_names(["a\tb", "a b", "a\nb"], []) == ["a b"] * 3
    for other in ("a  b", "a\u00a0b", "a\u3000b"):
        with pytest.raises(InputError, match="looks the same"):
            label_names(["a b", other], [])


def test_capital_and_small_letters_are_different_categories():
    assert label_names(["A", "a", "TNFα", "TNFβ"], []) == ["A", "a", "TNFα", "TNFβ"]


@pytest.mark.parametrize("name", ["none of these", "nоne of these", "none  of these"])
def test_the_answer_for_rejected_items_is_no_name(name):
    for check in (check_name, label_name):
        with pytest.raises(InputError, match="'none of these' is reserved"):
            check(name)


def test_names_that_are_not_utf8_stay_different():
    labels = [b"\xff".decode("utf-8", "surrogateescape"), b"\xfe".decode("utf-8", "surrogateescape")]
    assert label_names(labels, []) == ["\\udcff", "\\udcfe"]


@given(st.lists(st.sampled_from(["a", "b", "a (2)", "none of these"]), max_size=12))
def test_names_become_unique(proposals):
    names = []
    for proposal in proposals:
        names.append(unique_name(proposal, names))
    assert len(set(names)) == len(proposals)
    assert "none of these" not in names
