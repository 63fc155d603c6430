import io

import pytest
from rich.console import Console

from vbcgcd.study.experiments import EXPERIMENTS, Variant, Work
from vbcgcd.study.published import paper_dataset, published
from vbcgcd.study.records import Job
from vbcgcd.study.rendering import Table, render
from vbcgcd.study.tables import tables_of


def session(old, new, *, n_old, n_new, labelled, found=2, seconds=1.0):
    score = {
        "all": (n_old * old + n_new * new) / (n_old + n_new),
        "old": old,
        "new": new,
        "labelled": labelled,
    }
    stream = dict.fromkeys(("precision", "recall", "auroc", "nmi", "ari"), 0.5)
    return {
        "frozen": score,
        "joint": {k: min(1.0, v + 0.01) for k, v in score.items()},
        "stream": {**stream, "rows": 10, "novel_rows": 5, "judged_novel": 5},
        "n_novel": 2,
        "found": found,
        "n_categories": 6,
        "nbytes": 6 * 1024,
        "seconds": seconds,
        "peak_bytes": 2**20,
    }


def record(seed, old, new, *, bound=0.8, seconds=1.0, method="ours"):
    sessions = [
        session(0.9, 0.7, n_old=4, n_new=2, labelled=0.9, seconds=seconds),
        session(old, new, n_old=6, n_new=2, labelled=0.75, seconds=seconds),
    ]
    last = {"all": bound, "old": 0.8, "new": 0.8, "labelled": 0.85}
    return {
        "key": str(seed),
        "data": "cifar100",
        "plan": {"plan": "b50t5", "order": "random", "seed": seed},
        "method": method,
        "options": {},
        "number_known": True,
        "result": {"base": 0.95, "base_joint": 0.96, "sessions": sessions, "fit_seconds": 2.0},
        "bound": {"base": 0.95, "scores": [{**last, "new": 0.9}, last]},
    }


def work(*records, label="ours"):
    return [Work(Variant(label, Job(r["method"])), r["plan"]["seed"], r["key"], record=r) for r in records]


@pytest.fixture
def two():
    return work(record(0, 0.6, 0.5), record(1, 0.7, 0.6))


SUMMARY = ("method", "All", "Old", "New", "M_f", "M_d", "upper", "share", "of best")


def rows(kind, made, **options):
    return {t.columns: t for t in tables_of(EXPERIMENTS[kind], made, data="other", **options)}


def test_the_summary_by_hand(two):
    table = rows("main", two)[SUMMARY]
    # All: (6 * .6 + 2 * .5) / 8 = .575 and (6 * .7 + 2 * .6) / 8 = .675, sample sd .0707
    assert table.rows == [
        (
            "ours",
            "62.50 ± 7.07",
            "65.00 ± 7.07",
            "55.00 ± 7.07",
            "20.00 ± 0.00",
            "62.50 ± 3.54",
            "80.00",
            "0.781 ± 0.088",
            "0.781",
        )
    ]
    assert "frozen" in table.notes[0]


def test_joint_scoring_is_named_and_shown(two):
    table = rows("main", two, protocol="joint")[SUMMARY]
    assert "joint" in table.notes[0]
    assert table.rows[0][1] == "63.50 ± 7.07"
    assert table.rows[0][4] == "20.00 ± 0.00"  # .96 - .76
    assert (
        table.rows[0][7] == table.rows[0][8] == "–"
    )  # the bound is scored by equality, so a joint share would flatter


def test_sessions_of_one_method_show_old_and_new(two):
    table = rows("main", two)[("method", "session", "All", "Old", "New")]
    assert table.rows[0] == ("ours", "0", "95.00 ± 0.00", "", "")
    assert table.rows[2] == ("", "2", "62.50 ± 7.07", "65.00 ± 7.07", "55.00 ± 7.07")


def test_sessions_of_many_methods_show_all_alone():
    made = [w for name in "abcd" for w in work(record(0, 0.6, 0.5), label=name)]
    table = rows("main", made)[("All after session", "0", "1", "2")]
    assert table.rows[3] == ("d", "95.00", "83.33", "57.50")


def test_the_supervised_bound_of_forgetting(two):
    table = rows("forgetting", two)[("method", "M_f", "M_d")]
    assert table.rows[1] == ("ours, supervised bound", "10.00 ± 0.00", "85.00 ± 0.00")


def test_cost_is_relative_to_ours(two):
    slow = work(*(record(s, 0.6, 0.5, seconds=30.0, method="ncm") for s in (0, 1)), label="ncm")
    table = rows("main", two + slow)[("method", "fit s", "session s", "x ours", "peak MB", "kB/category")]
    assert table.rows == [
        ("ours", "2.0", "1.00", "1.00", "1", "1.0"),
        ("ncm", "2.0", "30.00", "30.00", "1", "1.0"),
    ]


def test_the_papers_figures_stand_beside_ours_where_it_prints_them(two):
    [sessions, summary, *_] = tables_of(EXPERIMENTS["main"], two, data="cifar100-any-embedder")
    printed = [row for row in summary.rows if row[0] == "paper: VB-CGCD"]
    assert printed == [("paper: VB-CGCD", "81.23", "81.84", "75.70", "–", "79.14", "–", "–", "–")]
    assert any("as printed" in note for note in summary.notes)
    assert ("paper: VB-CGCD", "0", "91.68", "", "") in sessions.rows
    assert all(
        "paper" not in row[0] for t in tables_of(EXPERIMENTS["main"], two, data="clinc") for row in t.rows
    )


def test_nothing_finished_is_no_table():
    assert tables_of(EXPERIMENTS["main"], [], data="x") == []


def test_printed_means_agree_with_printed_sessions():
    """M_d is the mean of the printed New: the paper's own sum, recomputed."""
    for name in ("ablation", "covariance"):
        for dataset in ("cifar100", "tinyimagenet", "imagenet100", "cub200"):
            for row in published(name, dataset):
                if row.sessions and row.discovery is not None:
                    mean = sum(s[2] for s in row.sessions) / len(row.sessions)
                    assert abs(mean - row.discovery) < 2.0, (name, dataset, row.method)


def test_the_papers_datasets_are_recognised():
    assert paper_dataset("cifar100-efficientnet-lite0") == "cifar100"
    assert paper_dataset("Tiny-ImageNet") == "tinyimagenet"
    assert paper_dataset("CUB_200_2011") == "cub200"
    assert paper_dataset("clinc150-minilm") is None


TABLE = Table(
    "T & 50 %",
    ("name", "a|b", "x"),
    [("one", "1.00 ± 0.10", "–"), ("two_2", "2", "3")],
    ("Note.",),
    breaks=(1,),
)


def test_markdown():
    assert render(TABLE, "markdown").splitlines() == [
        "**T & 50 %**",
        "",
        "| name | a\\|b | x |",
        "| --- | ---: | ---: |",
        "| one | 1.00 ± 0.10 | – |",
        "| two_2 | 2 | 3 |",
        "",
        "Note.",
    ]


def test_latex_is_escaped():
    text = render(TABLE, "latex")
    assert r"\caption{T \& 50 \%. Note.}" in text
    assert r"one & 1.00 $\pm$ 0.10 & -- \\" in text
    assert r"two\_2 & 2 & 3 \\" in text
    assert text.count(r"\midrule") == 2
    assert text.count("{") == text.count("}")


def test_the_terminal_table_is_narrow():
    out = Console(width=60, file=io.StringIO())
    out.print(render(TABLE, "terminal"))
    text = out.file.getvalue()
    assert "1.00±0.10" in text
    assert "Note." in text


def test_fewer_seeds_than_the_others_are_said(two):
    less = work(record(0, 0.6, 0.5, method="ncm"), label="ncm")
    table = rows("main", two + less)[SUMMARY]
    assert [row[0] for row in table.rows] == ["ours", "ncm [1 of 2 seeds]"]


def test_of_best_divides_by_the_largest_bound(two):
    other = work(record(0, 0.6, 0.5, method="ncm"), label="ncm")
    other[0].record["bound"]["scores"][-1]["all"] = 0.5
    table = rows("main", two + other)[SUMMARY]
    assert [row[8] for row in table.rows] == ["0.781", "0.719"]  # .575 / .8, not .575 / .5


def test_the_papers_figures_stand_beside_their_own_plan_only(two):
    for item in two:
        item.record["plan"]["plan"] = "b10t9"
    [_, summary, *_] = tables_of(EXPERIMENTS["main"], two, data="cifar100")
    assert [row[1] for row in summary.rows if row[0] == "paper: VB-CGCD"] == ["74.72"]
    for item in two:
        item.record["plan"]["plan"] = "custom"
    [_, summary, *_] = tables_of(EXPERIMENTS["main"], two, data="cifar100")
    assert len(summary.rows) == 1


def test_classes_without_test_rows_leave_a_gap(two):
    for item in two:
        item.record["result"]["sessions"][-1]["frozen"]["new"] = None
    table = rows("main", two)[SUMMARY]
    assert table.rows[0][3] == table.rows[0][5] == "–"
