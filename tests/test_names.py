import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbcgcd.names import confusable_with, normalised, skeleton, unseen_character, without_unseen


@given(st.text(max_size=40))
def test_what_is_left_can_be_seen_and_stays_the_same(text):
    clean = without_unseen(text)
    assert not unseen_character(clean)
    assert normalised(clean) == clean == without_unseen(clean)


@given(st.text(max_size=40))
def test_a_skeleton_does_not_depend_on_the_way_of_writing(text):
    forms = {skeleton(unicodedata.normalize(form, text)) for form in ("NFC", "NFD", "NFKC", "NFKD")}
    assert len(forms) == 1


@given(st.text(alphabet="abcxyz ABC123", min_size=1, max_size=10))
def test_plain_names_are_their_own_skeletons(text):
    assert skeleton(text) == " ".join(text.split())


def test_accents_count_and_scripts_do_not():
    assert skeleton("re\u0301sume\u0301") == skeleton("résumé") != skeleton("resume")
    assert skeleton("\u0440\u00e9") == skeleton("p\u00e9")


@pytest.mark.parametrize("text", ["می\u200cخواهم", "क्\u200dष", "👨\u200d👩\u200d👧"])
def test_joiners_are_allowed_where_scripts_need_them(text):
    assert unseen_character(text) == ""
    assert confusable_with(text, [text.replace("\u200c", "").replace("\u200d", "")]) is not None


@pytest.mark.parametrize("text", ["\u200dcat", "ca\u200ct", "猫\u200d", "猫\u200c 犬"])
def test_joiners_are_unseen_elsewhere(text):
    assert unseen_character(text)
