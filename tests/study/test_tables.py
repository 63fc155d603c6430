import dataclasses
import math

import pytest

import vbcgcd
from vbcgcd import InputError
from vbcgcd.study.experiments import EXPERIMENTS
from vbcgcd.study.methods import Run
from vbcgcd.study.plans import PlanOrigin
from vbcgcd.study.records import PlanResult, RunRecord, SessionEvaluation
from vbcgcd.study.scoring import Accuracies, ClusterScore, SessionScore, StreamScore
from vbcgcd.study.stability import IdStability
from vbcgcd.study.tables import make_tables


def session(old, new, *, n_old, n_new, labelled, seconds=1.0):
    score = SessionScore((n_old * old + n_new * new) / (n_old + n_new), old, new, labelled)
    joint = SessionScore(*(min(1.0, v + 0.01) for v in dataclasses.astuple(score)))
    stream = StreamScore(10, 5, 5, *[0.5] * 5)
    return SessionEvaluation(score, joint, stream, 2, 2, 6, 6 * 1024, seconds, 2**20)


def record(seed, old, new, *, bound=0.8, seconds=1.0, method="ours", plan="b50t5", version=None):
    sessions = (
        session(0.9, 0.7, n_old=4, n_new=2, labelled=0.9, seconds=seconds),
        session(old, new, n_old=6, n_new=2, labelled=0.75, seconds=seconds),
    )
    scores = (SessionScore(bound, 0.8, 0.9, 0.85, 0.9), SessionScore(bound, 0.8, 0.8, 0.85, 0.75))
    return RunRecord(
        str(seed),
        Run(method),
        "cifar100",
        "digest",
        PlanOrigin(plan, "random", seed),
        PlanResult(
            0.95,
            0.96,
            sessions,
            2.0,
            0,
            stability=IdStability(10, 8, 7, 6),
            test_clusters=ClusterScore(0.5, 0.6, 0.4),
            session_clusters=ClusterScore(0.7, 0.8, 0.6),
            calibration_error=0.05,
        ),
        Accuracies(0.95, scores),
        version or vbcgcd.__version__,
    )


@pytest.fixture
def two():
    return {"ours": (record(0, 0.6, 0.5), record(1, 0.7, 0.6))}


SUMMARY = ("method", "All", "Old", "New", "M_f", "M_d", "ids kept", "upper", "share", "of best")


def tables(kind, groups, **options):
    return {t.columns: t for t in make_tables(EXPERIMENTS[kind], groups, data="other", **options)}


def test_the_summary_by_hand(two):
    table = tables("main", two)[SUMMARY]
    # All: (6 * .6 + 2 * .5) / 8 = .575 and (6 * .7 + 2 * .6) / 8 = .675, sample sd .0707
    assert table.rows == (
        (
            "ours",
            "62.50 ± 7.07",
            "65.00 ± 7.07",
            "55.00 ± 7.07",
            "20.00 ± 0.00",
            "62.50 ± 3.54",
            "75.00",
            "80.00",
            "0.781 ± 0.088",
            "0.781",
        ),
    )
    assert "frozen" in table.notes[0]


OVERVIEW = ("method", "All", "of best", "New", "M_f", "ECE", "AUROC", "ids kept", "seconds")


def test_the_overview_by_hand(two):
    silent = dataclasses.replace(record(1, 0.7, 0.6, bound=0.9, method="ncm"))
    silent = dataclasses.replace(silent, result=dataclasses.replace(silent.result, calibration_error=None))
    table = tables("main", two | {"ncm": (silent,)})[OVERVIEW]
    ours, ncm = table.rows
    # Bounds are .8 with seed 0, and the rival's .9 with seed 1: .575 / .8 and .675 / .9.
    assert ours == ("ours", "62.50 ± 7.07", "0.734", "55.0", "20.0", "0.050", "50.0", "75.0", "4.0")
    assert ncm == ("ncm [1 of 2 seeds]", "67.50", "0.750", "60.0", "20.0", "–", "50.0", "75.0", "4.0")
    assert "Side by side: other" in table.title


def test_records_without_stability_leave_a_gap(two):
    old = tuple(
        dataclasses.replace(r, result=dataclasses.replace(r.result, stability=None)) for r in two["ours"]
    )
    assert tables("main", {"ours": old})[SUMMARY].rows[0][6] == "–"


def test_the_table_of_the_text_protocol(two):
    columns = ("method", "ACC", "NMI", "ARI", "ACC (session)", "NMI (session)", "ARI (session)", "found")
    table = tables("textoir", two)[(*columns, "seconds")]
    assert table.rows[0][:4] == ("ours", "50.00 ± 0.00", "60.00 ± 0.00", "40.00 ± 0.00")
    assert table.rows[0][4:] == ("70.00", "80.00", "60.00", "2.0", "1.0")
    runs = (record(0, 0.6, 0.5, plan="textoir75"),)
    [table, _] = make_tables(EXPERIMENTS["textoir"], {"ours": runs}, data="clinc150-minilm")
    assert table.rows[1] == ("paper: USNID", "90.40", *["–"] * 7)
    assert "BERT" in " ".join(table.notes)


def test_joint_scoring_is_named_and_shown(two):
    table = tables("main", two, protocol="joint")[SUMMARY]
    assert "joint" in table.notes[0]
    assert table.rows[0][1] == "63.50 ± 7.07"
    assert table.rows[0][4] == "20.00 ± 0.00"  # .96 - .76
    assert (
        table.rows[0][8] == table.rows[0][9] == "–"
    )  # the bound is scored by equality, so a joint share would flatter


def test_sessions_of_one_method_show_old_and_new(two):
    table = tables("main", two)[("method", "session", "All", "Old", "New")]
    assert table.rows[0] == ("ours", "0", "95.00 ± 0.00", "", "")
    assert table.rows[2] == ("", "2", "62.50 ± 7.07", "65.00 ± 7.07", "55.00 ± 7.07")


def test_sessions_of_many_methods_show_all_alone():
    groups = {name: (record(0, 0.6, 0.5),) for name in "abcd"}
    table = tables("main", groups)[("All after session", "0", "1", "2")]
    assert table.rows[3] == ("d", "95.00", "83.33", "57.50")


def test_the_supervised_bound_of_forgetting(two):
    table = tables("forgetting", two)[("method", "M_f", "M_d")]
    assert table.rows[1] == ("ours, supervised bound", "10.00 ± 0.00", "85.00 ± 0.00")
    assert table.rows[2][0] == "ours, two-part bound"
    assert table.rows[2][1] == table.rows[1][1]
    assert table.rows[2][2] != table.rows[1][2]  # all later classes at once, not the mean of the sessions


def test_cost_is_relative_to_ours(two):
    slow = tuple(record(s, 0.6, 0.5, seconds=30.0, method="ncm") for s in (0, 1))
    table = tables("main", two | {"ncm": slow})[
        ("method", "fit s", "session s", "x ours", "peak MB", "kB/category")
    ]
    assert table.rows == (
        ("ours", "2.0", "1.00", "1.00", "1", "1.0"),
        ("ncm", "2.0", "30.00", "30.00", "1", "1.0"),
    )


def test_the_papers_figures_stand_beside_ours_where_it_prints_them(two):
    [sessions, summary, *_] = make_tables(EXPERIMENTS["main"], two, data="cifar100-any-embedder")
    printed = [row for row in summary.rows if row[0] == "paper: VB-CGCD"]
    assert printed == [("paper: VB-CGCD", "81.23", "81.84", "75.70", "–", "79.14", *["–"] * 4)]
    assert any("as printed" in note for note in summary.notes)
    assert ("paper: VB-CGCD", "0", "91.68", "", "") in sessions.rows
    assert all(
        "paper" not in row[0] for t in make_tables(EXPERIMENTS["main"], two, data="clinc") for row in t.rows
    )


def test_without_runs_there_is_no_table():
    assert make_tables(EXPERIMENTS["main"], {}, data="x") == []


def test_a_method_with_fewer_seeds_says_so(two):
    table = tables("main", two | {"ncm": (record(0, 0.6, 0.5, method="ncm"),)})[SUMMARY]
    assert [row[0] for row in table.rows] == ["ours", "ncm [1 of 2 seeds]"]


def test_of_best_divides_by_the_largest_bound(two):
    table = tables("main", two | {"ncm": (record(0, 0.6, 0.5, method="ncm", bound=0.5),)})[SUMMARY]
    assert [row[9] for row in table.rows] == ["0.781", "0.719"]  # .575 / .8, not .575 / .5


def test_the_papers_figures_stand_beside_their_own_plan_only():
    groups = {"ours": (record(0, 0.6, 0.5, plan="b10t9"),)}
    [_, summary, *_] = make_tables(EXPERIMENTS["main"], groups, data="cifar100")
    assert [row[1] for row in summary.rows if row[0] == "paper: VB-CGCD"] == ["74.72"]
    groups = {"ours": (record(0, 0.6, 0.5, plan="custom"),)}
    [_, summary, *_] = make_tables(EXPERIMENTS["main"], groups, data="cifar100")
    assert len(summary.rows) == 1


def test_classes_without_test_rows_leave_a_gap():
    one = record(0, 0.6, 0.5)
    last = one.sessions[-1]
    gap = dataclasses.replace(last, frozen=dataclasses.replace(last.frozen, new=math.nan))
    result = dataclasses.replace(one.result, sessions=(one.sessions[0], gap))
    table = tables("main", {"ours": (dataclasses.replace(one, result=result),)})[SUMMARY]
    assert table.rows[0][3] == table.rows[0][5] == "–"


def test_bounds_of_a_method_that_learns_all_sessions_at_once_have_no_m_d(two):
    whole = dataclasses.replace(two["ours"][0], bound=Accuracies(0.95, (SessionScore(0.8, 0.8, 0.8, 0.85),)))
    table = tables("forgetting", {"ours": (whole,)})[("method", "M_f", "M_d")]
    assert table.rows[1] == ("ours, supervised bound", "10.00", "–")


def test_supervised_bounds_need_no_sessions(two):
    alone = tuple(dataclasses.replace(r, result=None) for r in two["ours"])
    table = tables("bounds", {"ours": alone})[("method", "S0", "All(S0)", "lost", "later", "All")]
    cells = ("95.00 ± 0.00", "85.00 ± 0.00", "10.00 ± 0.00", "75.00 ± 0.00", "80.00 ± 0.00")
    assert table.rows == (("ours", *cells),)


def test_numbers_of_categories_are_listed_for_each_seed(two):
    table = tables("unknown", two)[("method", "seed", "estimated", "true")]
    assert table.rows == (("ours", "0", "2 2", "2 2"), ("ours", "1", "2 2", "2 2"))


def test_runs_of_another_version_say_so(two):
    old = tables("forgetting", {"ours": (record(0, 0.6, 0.5, version="0.0.1"),)})
    assert [t.title.endswith("vbcgcd 0.0.1") for t in old.values()] == [True]
    assert [vbcgcd.__version__ in t.title for t in tables("forgetting", two).values()] == [False]


def test_unknown_protocols_are_refused(two):
    with pytest.raises(InputError) as caught:
        make_tables(EXPERIMENTS["main"], two, data="x", protocol="frosen")
    assert caught.value.option == "protocol"
