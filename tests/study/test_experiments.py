import dataclasses

import pytest

from vbcgcd import InputError
from vbcgcd.study import experiments
from vbcgcd.study.experiments import (
    EXPERIMENTS,
    Experiment,
    Variant,
    finished_work,
    plan_work,
    run_experiment,
    with_methods,
)
from vbcgcd.study.methods import METHODS, make_method
from vbcgcd.study.records import Job, Records
from vbcgcd.study.tables import tables_of

FAST = {"n_components": 8}


@pytest.fixture(scope="module")
def asked():
    variants = (
        Variant("ours", Job("ours", FAST)),
        Variant("aligned", Job("ours", {**FAST, "alignment": 0.0})),
    )
    return Experiment("try", "A try", "?", variants, ("sessions", "summary", "stream"))


def finish(asked, data, plans, folder):
    records = Records(folder)
    return list(run_experiment(plan_work(asked, data, None, plans, records.read()), records))


def shown(asked, work):
    return [(t.title, t.rows) for t in tables_of(asked, work, data="digits")]


def test_every_variant_names_a_method_whose_options_exist():
    for e in EXPERIMENTS.values():
        assert len({v.label for v in e.variants}) == len(e.variants)
        for variant in e.variants:
            assert variant.job.method in METHODS
            make_method(variant.job.method, **variant.job.options)


def test_an_interrupted_run_resumes_and_gives_the_identical_table(
    asked, small_data, small_plans, tmp_path, monkeypatch
):
    whole = finish(asked, small_data, small_plans, tmp_path / "whole")
    real, calls = experiments.run_job, []

    def dies_in_the_third(*args, **kwargs):
        calls.append(args[3])
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*args, **kwargs)

    monkeypatch.setattr(experiments, "run_job", dies_in_the_third)
    with pytest.raises(KeyboardInterrupt):
        finish(asked, small_data, small_plans, tmp_path / "cut")
    assert len(Records(tmp_path / "cut").read()) == 2
    resumed = finish(asked, small_data, small_plans, tmp_path / "cut")
    assert len(calls) == 5  # the two finished runs were not repeated
    assert shown(asked, resumed) == shown(asked, whole)
    again = finish(asked, small_data, small_plans, tmp_path / "cut")
    assert len(calls) == 5
    assert shown(asked, again) == shown(asked, whole)
    from_records = finished_work(asked, Records(tmp_path / "cut").read())[
        "digits", "tiny", "random", small_data.digest
    ]
    assert shown(asked, from_records) == shown(asked, whole)


def test_other_data_or_plans_are_other_runs(asked, small_data, small_plans, tmp_path):
    one = dataclasses.replace(asked, variants=asked.variants[:1])
    finish(one, small_data, small_plans[:1], tmp_path)
    moved = dataclasses.replace(small_data, train_x=small_data.train_x + 1)
    done = Records(tmp_path).read()
    for data, plan in ((moved, small_plans[0]), (small_data, small_plans[1])):
        [work] = plan_work(one, data, None, [plan], done)
        assert work.record is None
    [work] = plan_work(one, small_data, None, small_plans[:1], done)
    assert work.record is not None


def test_two_embeddings_are_asked_for(small_data, small_plans):
    with pytest.raises(InputError, match="--second"):
        plan_work(EXPERIMENTS["backbone"], small_data, None, small_plans, {})
    work = plan_work(EXPERIMENTS["backbone"], small_data, small_data, small_plans[:1], {})
    assert [w.variant.second for w in work] == [False, True]


def test_methods_replace_the_variants_where_they_may():
    asked = with_methods(EXPERIMENTS["main"], ("ours", "ncm"), {"ncm": {"cluster": "kmeans"}})
    assert [v.label for v in asked.variants] == ["ours", "ncm (cluster=kmeans)"]
    assert asked.variants[1].job.options == {"cluster": "kmeans"}
    assert with_methods(EXPERIMENTS["bounds"], ("ncm",), {}).variants[0].job.supervised
    with pytest.raises(InputError, match="own variants"):
        with_methods(EXPERIMENTS["ablation"], ("ours",), {})


def test_unknown_experiments_are_refused():
    with pytest.raises(InputError, match="main"):
        experiments.experiment("mian")
