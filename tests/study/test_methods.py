import pytest

from vbcgcd import InputError
from vbcgcd.study.methods import ALL, METHODS, RIVALS, TOOLS, Run, expand_methods, supervised_part


def test_cards_are_listed_under_their_names_and_say_what_they_are():
    assert [card.name for card in METHODS.values()] == list(METHODS)
    assert all(card.what for card in METHODS.values())


def test_rivals_name_their_paper():
    assert all(card.paper and card.year for card in (*RIVALS, *TOOLS))
    assert ALL[0] == "ours"
    assert set(ALL[1:]) == {card.name for card in RIVALS}


def test_lists_of_methods():
    assert expand_methods("ncm, ours,ncm") == ("ncm", "ours")
    assert expand_methods("all") == ALL
    assert expand_methods("ncm,all")[0] == "ncm"
    assert expand_methods("tools") == tuple(card.name for card in TOOLS)
    assert not set(expand_methods("tools")) & set(ALL)


@pytest.mark.parametrize("names", ["nmc", "", ",", "ours,nothing"])
def test_unknown_methods_are_refused(names):
    with pytest.raises(InputError) as caught:
        expand_methods(names)
    assert caught.value.option == "methods"


def test_bounds_do_not_depend_on_the_options_of_sessions():
    assert supervised_part(Run("paper", {"alignment": 1.0})) == supervised_part(Run("paper"))
    assert supervised_part(Run("ours", number_known=False)) == supervised_part(Run("ours"))
    assert supervised_part(Run("ours", {"whiten": False})) != supervised_part(Run("ours"))
    assert supervised_part(Run("pe", {"cluster": "kmeans"})) != supervised_part(Run("pe"))
