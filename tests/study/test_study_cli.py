import json

import numpy as np
import pytest
from typer.testing import CliRunner

from vbcgcd.cli import app
from vbcgcd.study import study
from vbcgcd.study.experiments import EXPERIMENTS
from vbcgcd.study.plans import check_plan, read_plan


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Function (arguments) -> result, run in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(app, ["study", *map(str, arguments)])


@pytest.fixture
def plan_file(run, small_file):
    result = run("plan", "--data", small_file, "--sessions", 2, "-o", "plan.json")
    assert result.exit_code == 0, result.output
    return "plan.json"


FAST = ("--set", "ours.n_components=8")


def test_experiments_and_methods_are_listed(run):
    listed = run("list").output
    assert all(name in listed for name in EXPERIMENTS)
    assert "happy-frozen" in run("methods").output
    assert "NeurIPS" in run("methods").output


def test_a_plan_is_written_and_described(run, plan_file, small_data, tmp_path):
    plan = read_plan(tmp_path / plan_file)
    check_plan(plan, small_data.train_y)
    assert [len(s.novel) for s in plan.sessions] == [2, 2]
    shown = run("plan", "--data", "nowhere.npz", "-o", "other.json")
    assert shown.exit_code == 2
    assert not (tmp_path / "other.json").exists()


@pytest.mark.parametrize("order", ["natural", "happy", "random"])
def test_orders_and_seeds_of_plans(run, small_file, order, tmp_path):
    run("plan", "--data", small_file, "--sessions", 2, "--order", order, "--seed", 3, "-o", "a.json")
    content = json.loads((tmp_path / "a.json").read_text())
    assert content["about"]["order"] == order
    assert (content["labelled"] == [0, 1, 2, 3]) == (order != "random")


def test_a_run_prints_its_tables_and_is_resumed(run, plan_file, small_file, tmp_path, monkeypatch):
    arguments = ("run", "main", "--data", small_file, "--plan", plan_file, *FAST)
    first = run(*arguments)
    assert first.exit_code == 0, first.output
    for word in ("All", "Old", "New", "M_f", "M_d", "upper", "share", "AUROC", "kB/category", "frozen"):
        assert word in first.output
    monkeypatch.setattr(study, "execute", None)  # a second run must not run anything
    again = run(*arguments)
    assert again.stdout == first.stdout
    markdown = run("table", "main", *FAST, "--format", "markdown", "--protocol", "joint")
    assert "| ours (n_components=8) |" in markdown.output
    assert "Scoring joint" in markdown.output
    latex = run("table", "main", *FAST, "--format", "latex")
    assert latex.output.count(r"\begin{tabular}") == 5


@pytest.fixture
def stream_file(tmp_path):
    """Embeddings of twelve classes, enough for a realistic stream."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(12), 40)
    x = (5 * rng.standard_normal((12, 6)))[y] + rng.standard_normal((len(y), 6))
    np.savez(tmp_path / "classes.npz", x=x, y=y)
    return "classes.npz"


def test_a_stream_is_planned_and_run_with_junk(run, stream_file, small_file, tmp_path):
    junk = ("--data", stream_file, "--junk", small_file)
    planned = run("plan", *junk, "--plan", "stream-even", "-o", "stream.json")
    assert planned.exit_code == 0, planned.output
    assert "returning" in planned.output
    result = run("run", "stream", *junk, "--plan", "stream.json")
    assert result.exit_code == 0, result.output
    for word in ("invented", "21-40 rows", "ECE", "returning", "ours, number told"):
        assert word in result.output
    assert "plan stream-even" in run("table", "stream").output
    alone = run("run", "stream", "--data", stream_file, "--plan", "stream.json")
    assert alone.exit_code == 2
    assert "junk" in alone.output


def test_a_figure_is_drawn(run, plan_file, small_file, tmp_path):
    pytest.importorskip("matplotlib")
    result = run("figure", "novel-rows", "--data", small_file, "--plan", plan_file, *FAST, "-o", "rows.png")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "rows.png").stat().st_size > 5000


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("run", "mian", "--data", "FILE"), "mian"),
        (("run", "main", "--data", "absent.npz"), "absent.npz"),
        (("run", "main", "--data", "FILE", "--plan", "b50t6"), "b50t6"),
        (("run", "main", "--data", "FILE", "--methods", "nothing"), "nothing"),
        (("run", "main", "--data", "FILE", "--set", "ours=3"), "METHOD.OPTION=VALUE"),
        (("run", "main", "--data", "FILE", "--set", "nothing.x=3"), "nothing"),
        (("run", "ablation", "--data", "FILE", "--methods", "ours"), "own variants"),
        (("run", "backbone", "--data", "FILE", "--plan", "PLAN"), "two embeddings"),
        (("run", "main", "--data", "FILE", "--seeds", "0"), "seeds"),
        (("run", "main", "--data", "FILE", "--first-seed", "-1"), "first_seed"),
        (("plan", "--data", "FILE", "--seed", "-1", "-o", "p.json"), "seed"),
        (("run", "main", "--data", "FILE"), "too few for 5"),
        (("table", "main", "--out", "empty"), "No finished runs"),
        (("figure", "nothing", "--data", "FILE", "-o", "x.png"), "nothing"),
        (("figure", "progress", "--data", "FILE", "-o", "x.doc"), "x.doc"),
    ],
)
def test_bad_input_is_one_message(run, small_file, plan_file, tmp_path, arguments, word):
    names = {"FILE": str(small_file), "PLAN": plan_file}
    result = run(*(names.get(a, a) for a in arguments))
    assert result.exit_code == 2
    assert word in " ".join(result.output.split())
    assert "Traceback" not in result.output
    assert {f.name for f in tmp_path.iterdir()} == {"plan.json"}


def test_ctrl_c_keeps_what_is_finished(run, plan_file, small_file, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(study, "execute", interrupted)
    result = run("run", "main", "--data", small_file, "--plan", plan_file, *FAST)
    assert result.exit_code == 130
    assert "Interrupted" in result.output


def test_embeddings_of_wrong_shape_are_refused(run, tmp_path):
    np.savez(
        tmp_path / "bad.npz",
        train_x=np.zeros((4, 2)),
        train_y=np.zeros(3),
        test_x=np.zeros((1, 2)),
        test_y=[0],
    )
    result = run("run", "main", "--data", "bad.npz")
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def test_the_text_protocol_is_run_and_read_again(run, small_file):
    result = run("run", "textoir", "--data", small_file, "--plan", "textoir75", "--seeds", 1)
    assert result.exit_code == 0, result.output
    for word in ("ACC", "NMI", "ARI", "textoir75", "number unknown"):
        assert word in result.output
    assert "plan textoir75" in run("table", "textoir").output
