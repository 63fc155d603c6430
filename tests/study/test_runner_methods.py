import sys

import pytest
from packages import skip_without_package

from vbcgcd import CategoryDiscoverer, InputError
from vbcgcd.study import run_study
from vbcgcd.study.methods import METHODS, TOOLS, MethodCard
from vbcgcd.study.runner import Method, make_method


def test_ours_is_the_default_model():
    assert make_method("ours").get_params() == CategoryDiscoverer().get_params()
    assert make_method("ours", count="rehearsal").count == "rehearsal"


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_the_three_verbs(name):
    skip_without_package(name)
    assert isinstance(make_method(name), Method)


def test_a_card_makes_its_method_from_a_class_or_a_class_method(monkeypatch):
    model = "vbcgcd.model:CategoryDiscoverer"
    card = MethodCard("x", "?", model, options={"count": "merge", "svi_steps": 5})
    monkeypatch.setitem(METHODS, "x", card)
    monkeypatch.setitem(METHODS, "preset", MethodCard("preset", "?", f"{model}.paper"))
    assert (make_method("x").count, make_method("x", count="evidence").count) == ("merge", "evidence")
    assert make_method("x", count="evidence").svi_steps == 5
    assert make_method("preset").get_params() == CategoryDiscoverer.paper().get_params()
    with pytest.raises(InputError, match="nonsense"):
        make_method("x", nonsense=1)


def test_an_unknown_method_is_refused():
    with pytest.raises(InputError) as caught:
        make_method("nmc")
    assert caught.value.option == "method"


def test_a_missing_torch_is_one_clear_error(monkeypatch):
    for module in [m for m in sys.modules if m.startswith("vbcgcd.study.rivals.")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InputError, match="torch"):
        make_method("simgcd-frozen")


@pytest.mark.parametrize("name", [card.name for card in TOOLS if card.needs])
def test_a_missing_tool_is_one_clear_error_before_anything_runs(name, monkeypatch, small_data, small_plans):
    monkeypatch.setitem(sys.modules, METHODS[name].needs, None)
    with pytest.raises(InputError, match=r"pip install 'vbcgcd\[rivals\]'"):
        make_method(name)
    steps = []
    with pytest.raises(InputError, match=METHODS[name].needs):
        run_study("main", small_data, plan=small_plans, methods=f"ncm,{name}", progress=steps.append)
    assert steps == []


def test_options_that_do_not_exist_are_refused():
    with pytest.raises(InputError, match="nonsense"):
        make_method("ours", nonsense=3)
