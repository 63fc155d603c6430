import dataclasses
import json

import pytest

import vbcgcd
from vbcgcd import InputError
from vbcgcd.study import Dataset, Study, read_studies, run_study, runner, study
from vbcgcd.study.experiments import EXPERIMENTS, Experiment, Variant, sweep
from vbcgcd.study.methods import Run
from vbcgcd.study.plans import write_plan
from vbcgcd.study.records import Results
from vbcgcd.study.runner import upper_bound


@pytest.fixture(scope="module")
def experiment():
    variants = (
        Variant("means", Run("ncm-kmeans")),
        Variant("k-means", Run("gcd-frozen", {"n_restarts": 2})),
    )
    return Experiment("try", "A try", "?", variants, ("sessions", "summary", "stream"))


@pytest.fixture
def executed(monkeypatch):
    """Keys of the runs that were executed, in order."""
    keys, real = [], study.execute

    def execute(run, data, plan, key, **options):
        keys.append(key)
        return real(run, data, plan, key, **options)

    monkeypatch.setattr(study, "execute", execute)
    return keys


def shown(result):
    return [(t.title, t.rows) for t in result.tables()]


def test_an_interrupted_study_resumes_and_gives_the_identical_table(
    experiment, small_data, small_plans, tmp_path, monkeypatch
):
    whole = run_study(experiment, small_data, plan=small_plans, output=tmp_path / "whole")
    real, calls = study.execute, []

    def dies_in_the_third(*args, **kwargs):
        calls.append(args[3])
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*args, **kwargs)

    monkeypatch.setattr(study, "execute", dies_in_the_third)
    with pytest.raises(KeyboardInterrupt):
        run_study(experiment, small_data, plan=small_plans, output=tmp_path / "cut")
    assert len(Results(tmp_path / "cut").read()) == 2
    resumed = run_study(experiment, small_data, plan=small_plans, output=tmp_path / "cut")
    assert len(calls) == 5  # the two finished runs were not repeated
    assert shown(resumed) == shown(whole)
    again = run_study(experiment, small_data, plan=small_plans, output=tmp_path / "cut")
    assert len(calls) == 5
    assert shown(again) == shown(whole)
    [from_disk] = read_studies(experiment, tmp_path / "cut")
    assert shown(from_disk) == shown(whole)
    run_study(experiment, small_data, plan=small_plans, output=tmp_path / "cut", again=True)
    assert len(calls) == 9


def test_other_data_or_plans_are_other_runs(experiment, small_data, small_plans, tmp_path, executed):
    one = dataclasses.replace(experiment, variants=experiment.variants[:1])
    moved = dataclasses.replace(small_data, train_x=small_data.train_x + 1)
    for data, plan, n_executed in (
        (small_data, small_plans[0], 1),
        (moved, small_plans[0], 2),
        (small_data, small_plans[1], 3),
        (small_data, small_plans[0], 3),
    ):
        run_study(one, data, plan=plan, output=tmp_path)
        assert len(executed) == n_executed
    assert len(set(executed)) == 3


def test_a_run_with_the_default_written_out_is_the_same_run(small_data, small_plans, tmp_path, executed):
    """The level R = 0 of a sweep is what the recipe does by itself; it must not get lost from the table."""
    plain = Experiment("ablation", "?", "?", (Variant("recipe", Run("recipe")),))
    levels = Experiment("alignment", "?", "?", tuple(sweep("R = {:g}", "recipe", "alignment", (0.0, 1.0))))
    run_study(plain, small_data, plan=small_plans[0], output=tmp_path)
    result = run_study(levels, small_data, plan=small_plans[0], output=tmp_path)
    assert len(executed) == 2
    [from_disk] = read_studies(levels, tmp_path)
    assert list(from_disk.runs) == list(result.runs) == ["R = 0", "R = 1"]
    assert shown(from_disk) == shown(result)


def test_results_of_different_versions_are_not_mixed(experiment, small_data, small_plans, tmp_path, executed):
    one = dataclasses.replace(experiment, variants=experiment.variants[:1])
    run_study(one, small_data, plan=small_plans[0], output=tmp_path)
    path = Results(tmp_path).path
    content = json.loads(path.read_text())
    older = {**content, "key": "older", "version": "0.0.1", "plan": {**content["plan"], "seed": 7}}
    path.write_text(json.dumps(older) + "\n" + path.read_text())
    old, new = sorted(read_studies(one, tmp_path), key=lambda s: s.runs["means"][0].version)
    assert [[r.plan.seed for r in s.runs["means"]] for s in (old, new)] == [[7], [0]]
    assert "0.0.1" in old.table().title
    assert vbcgcd.__version__ not in new.table().title
    run_study(one, small_data, plan=small_plans[0], output=tmp_path)
    assert len(executed) == 1


def test_finished_runs_are_selected_by_data_and_plan(experiment, small_data, small_plans, tmp_path):
    one = dataclasses.replace(experiment, variants=experiment.variants[:1])
    embedded = dataclasses.replace(small_data, name="digits, minilm")
    run_study(one, embedded, plan=small_plans[0], output=tmp_path)
    for options, n in (
        ({"data": "digits"}, 1),
        ({"data": "digits, minilm"}, 1),
        ({"data": "letters"}, 0),
        ({"plan": "tiny"}, 1),
        ({"plan": "b50t5"}, 0),
        ({}, 1),
    ):
        assert len(read_studies(one, tmp_path, **options)) == n
    assert read_studies("main", tmp_path) == []


def test_without_output_nothing_is_written(experiment, small_data, small_plans, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    steps = []
    result = run_study(
        dataclasses.replace(experiment, variants=experiment.variants[:1]),
        small_data,
        plan=small_plans[0],
        progress=steps.append,
    )
    assert isinstance(result, Study)
    assert list(tmp_path.iterdir()) == []
    assert [s.step for s in steps] == ["fit", "session 1 of 2", "session 2 of 2", "upper bound", "finished"]
    assert [(s.completed, s.total) for s in steps] == [(0, 1)] * 4 + [(1, 1)]
    assert {(s.label, s.seed) for s in steps} == {("means", 0)}


def test_tables_are_found_by_kind(experiment, small_data, small_plans):
    one = dataclasses.replace(experiment, variants=experiment.variants[:1])
    result = run_study(one, small_data, plan=small_plans[0])
    assert result.table() == result.tables()[0]
    assert result.table("summary").columns[1:4] == ("All", "Old", "New")
    assert "joint" in result.table("summary", protocol="joint").notes[0]
    with pytest.raises(InputError) as caught:
        result.table("cost")
    assert caught.value.option == "kind"
    with pytest.raises(InputError) as caught:
        result.table(protocol="frosen")
    assert caught.value.option == "protocol"


def test_two_embeddings_are_compared(small_data, small_plans, executed):
    with pytest.raises(InputError) as caught:
        run_study("backbone", small_data, plan=small_plans[0])
    assert caught.value.option == "second"
    pair = (Variant("first", Run("ncm-kmeans")), Variant("second", Run("ncm-kmeans"), second=True))
    both = dataclasses.replace(EXPERIMENTS["backbone"], variants=pair)
    other = dataclasses.replace(small_data, train_x=small_data.train_x + 1, name="other")
    result = run_study(both, small_data, plan=small_plans[0], second=other)
    assert [r.data for group in result.runs.values() for r in group] == ["digits", "other"]
    assert len(set(executed)) == 2


def test_named_plans_and_plan_files(small_data, small_plans, tmp_path):
    with pytest.raises(InputError, match="too few"):  # eight classes for five sessions
        study.choose_plans(small_data, "b50t5", "natural", 1)
    write_plan(small_plans[1], tmp_path / "plan.json")
    [plan] = study.choose_plans(small_data, tmp_path / "plan.json", "random", 3)
    assert plan.digest == small_plans[1].digest
    with pytest.raises(InputError) as caught:
        study.choose_plans(small_data, "b50t6", "random", 1)
    assert caught.value.option == "plan"


def test_seeds_draw_different_plans(small_data):
    data = Dataset(*(getattr(small_data, name)[:] for name in ("train_x", "train_y", "test_x", "test_y")))
    data = dataclasses.replace(data, train_y=data.train_y * 2 + (data.train_x[:, 20] > 5))
    plans = study.choose_plans(data, "b50t5", "random", 3)
    assert len({plan.digest for plan in plans}) == 3
    assert [plan.origin.seed for plan in plans] == [0, 1, 2]
    [later] = study.choose_plans(data, "b50t5", "random", 1, first_seed=2)
    assert later.digest == plans[2].digest
    with pytest.raises(InputError) as caught:
        study.choose_plans(data, "b50t5", "random", 0)
    assert caught.value.option == "seeds"


def test_unknown_experiments_are_refused(small_data):
    with pytest.raises(InputError) as caught:
        run_study("mian", small_data)
    assert caught.value.option == "experiment"


def test_variants_share_a_bound(small_data, small_plans, monkeypatch):
    counted = []

    def count(*args, **kwargs):
        counted.append(args)
        return upper_bound(*args, **kwargs)

    monkeypatch.setattr(runner, "upper_bound", count)
    variants = (
        *sweep("{}", "ours", "relabel", ("none", "reassign")),
        Variant("small", Run("ours", {"n_components": 8})),
    )
    experiment = Experiment("mine", "Mine", "?", variants)
    study = run_study(experiment, small_data, plan=small_plans[0])
    assert len(counted) == 2
    bounds = [records[0].bound for records in study.runs.values()]
    assert bounds[0] == bounds[1] != bounds[2]
