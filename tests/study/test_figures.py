from pathlib import Path

import pytest

from vbcgcd import InputError
from vbcgcd.errors import DiskError
from vbcgcd.study import run_study
from vbcgcd.study.experiments import Experiment, Variant
from vbcgcd.study.figures import (
    DATA_FIGURES,
    RUN_FIGURES,
    check_figure,
    draw_data,
    draw_runs,
    save_figure,
)
from vbcgcd.study.methods import Run

matplotlib_figure = pytest.importorskip("matplotlib.figure")


@pytest.fixture(scope="module")
def study(small_data, small_plans):
    variants = tuple(
        Variant(name, Run("ours", {"n_components": d})) for name, d in (("ours", 16), ("D = 8", 8))
    )
    return run_study(Experiment("try", "A try", "?", variants), small_data, plan=small_plans)


def check_saved(figure, path):
    save_figure(figure, path)
    assert path.read_bytes()[:4] == b"\x89PNG"
    assert path.stat().st_size > 10_000
    assert [f.name for f in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("name", RUN_FIGURES)
def test_figures_of_runs_are_drawn_and_saved(name, study, tmp_path):
    check_saved(study.figure(name), tmp_path / f"{name}.png")


@pytest.mark.parametrize("name", DATA_FIGURES)
def test_figures_of_a_plan_are_drawn_and_saved(name, small_data, small_plans, tmp_path):
    check_saved(draw_data(name, small_data, small_plans[0]), tmp_path / f"{name}.png")


def test_the_figure_of_sessions_shows_the_scores(study):
    [axes] = study.figure("sessions").axes
    lines = {line.get_label(): line.get_ydata() for line in axes.get_lines()}
    runs = [r.accuracies("frozen") for r in study.runs["ours"]]
    assert lines["ours"][0] == pytest.approx(100 * sum(run.base for run in runs) / 2)
    assert lines["ours"][-1] == pytest.approx(100 * sum(run.final.all for run in runs) / 2)
    assert "D = 8" in lines


def test_bad_names_and_places_are_refused(tmp_path, study):
    with pytest.raises(InputError) as caught:
        check_figure("progres", Path("x.png"))
    assert caught.value.option == "name"
    with pytest.raises(InputError, match=r"\.png"):
        check_figure("progress", Path("x.txt"))
    with pytest.raises(InputError) as caught:
        check_figure("progress", tmp_path / "no" / "x.png")
    assert caught.value.option == "output"
    with pytest.raises(DiskError):
        save_figure(matplotlib_figure.Figure(), tmp_path / "no" / "x.png")
    with pytest.raises(InputError) as caught:
        draw_runs("progress", study.runs, data="digits")
    assert caught.value.option == "name"
