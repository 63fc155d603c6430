import pytest

from vbcgcd import InputError
from vbcgcd.study.experiments import EXPERIMENTS, Variant, sweep, with_methods
from vbcgcd.study.methods import METHODS, Run
from vbcgcd.study.runner import make_method
from vbcgcd.study.tables import KINDS


def test_every_variant_names_a_method_whose_options_exist():
    for e in EXPERIMENTS.values():
        assert len({v.label for v in e.variants}) == len(e.variants)
        assert set(e.tables) <= set(KINDS)
        for variant in e.variants:
            assert variant.run.method in METHODS
            make_method(variant.run.method, **variant.run.options)


def test_the_sweep_of_the_alignment_target_has_every_level():
    variants = {v.label: v.run for v in EXPERIMENTS["alignment"].variants}
    for method in ("paper", "paper-narrow"):
        assert [f"{method}, R = {r}" in variants for r in (-3, -2, -1, 0, 1, 2)] == [True] * 6
        assert variants[f"{method}, R = 0"] == Run(method)  # the preset itself: it is not run twice
        assert variants[f"{method}, R = -3"].options == {"alignment": -3.0}
        assert make_method(method).alignment == 0.0


def test_ablations_are_as_the_paper_defines_them():
    runs = {v.label: v.run for v in EXPERIMENTS["ablation"].variants}
    for method in ("paper", "paper-narrow", "ours"):
        euclidean = runs[f"{method}, no Mahalanobis"]
        model = make_method(euclidean.method, **euclidean.options)
        assert model.metric == "euclidean"
        assert not model.whiten  # in whitened space the Euclidean distance is a Mahalanobis distance
    point = runs["paper, no VB"]
    assert point.method == "pe"
    assert point.options["cluster"] == "kmeans"  # no row is named by the VB model
    assert point.options["relabel"] == "reassign"


def test_methods_replace_the_variants_where_they_may():
    chosen = with_methods(EXPERIMENTS["main"], ("ours", "ncm"), {"ncm": {"cluster": "kmeans"}})
    assert [v.label for v in chosen.variants] == ["ours", "ncm (cluster=kmeans)"]
    assert chosen.variants[1].run.options == {"cluster": "kmeans"}
    assert with_methods(EXPERIMENTS["main"], "ours, ncm").variants[1].run.method == "ncm"
    assert with_methods(EXPERIMENTS["bounds"], ["ncm"]).variants[0].run.supervised
    with pytest.raises(InputError) as caught:
        with_methods(EXPERIMENTS["ablation"], ("ours",))
    assert caught.value.option == "methods"


def test_options_alone_are_for_ours():
    chosen = with_methods(EXPERIMENTS["main"], None, {"ours": {"n_components": 8}})
    assert [v.label for v in chosen.variants] == ["ours (n_components=8)"]


@pytest.mark.parametrize(("name", "word"), [("ncm", "not among"), ("nothing", "Unknown")])
def test_options_of_methods_that_do_not_run_are_refused(name, word):
    with pytest.raises(InputError, match=word):
        with_methods(EXPERIMENTS["main"], "ours", {name: {"x": 1}})


def test_a_sweep_has_one_variant_for_each_value():
    variants = sweep("D = {}", "ours", "n_components", (8, 16), number_known=False)
    assert variants[1] == Variant("D = 16", Run("ours", {"n_components": 16}, number_known=False))
    assert len(variants) == 2


def test_experiments_are_listed_under_their_names():
    assert [experiment.name for experiment in EXPERIMENTS.values()] == list(EXPERIMENTS)
