import sys

import pytest

from vbcgcd import CategoryDiscoverer, InputError
from vbcgcd.study.methods import ALL, METHODS, RIVALS, expand_methods, make_method
from vbcgcd.study.protocol import Method


def test_ours_is_the_default_model_without_the_rehearsal_that_a_known_number_spares():
    ours = make_method("ours")
    assert ours.get_params() == {**CategoryDiscoverer().get_params(), "count": "evidence"}
    assert make_method("ours", count="rehearsal").get_params() == CategoryDiscoverer().get_params()


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_the_three_verbs_and_a_card(name):
    if METHODS[name].torch:
        pytest.importorskip("torch")
    assert isinstance(make_method(name), Method)
    assert METHODS[name].what


def test_rivals_name_their_paper():
    assert all(card.paper and card.year for card in RIVALS)
    assert ALL[0] == "ours"
    assert set(ALL[1:]) == {card.name for card in RIVALS}


def test_lists_of_methods():
    assert expand_methods("ncm, ours,ncm") == ("ncm", "ours")
    assert expand_methods("all") == ALL
    assert expand_methods("ncm,all")[0] == "ncm"


@pytest.mark.parametrize("names", ["nmc", "", ",", "ours,nothing"])
def test_unknown_methods_are_refused(names):
    with pytest.raises(InputError, match="choose among ours"):
        expand_methods(names)


def test_a_missing_torch_is_one_clear_error(monkeypatch):
    for module in [m for m in sys.modules if m.startswith("vbcgcd.study.rivals.")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InputError, match="pip install torch"):
        make_method("simgcd-frozen")


def test_options_that_do_not_exist_are_refused():
    with pytest.raises(InputError, match="nonsense"):
        make_method("ours", nonsense=3)
