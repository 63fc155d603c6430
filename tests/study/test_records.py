import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from vbcgcd.errors import DiskError
from vbcgcd.study.methods import Run
from vbcgcd.study.plans import PlanOrigin
from vbcgcd.study.records import (
    PlanResult,
    Results,
    RunRecord,
    SessionEvaluation,
    identity,
    run_key,
)
from vbcgcd.study.runner import execute
from vbcgcd.study.scoring import Accuracies, ClusterScore, SessionScore, StreamScore
from vbcgcd.study.stability import IdStability

SCORE = SessionScore(0.5, 0.75, math.nan, 0.7)
BOUND = Accuracies(0.9, (SessionScore(0.8, 0.9, 0.6, 0.8),))


def session(**changes):
    stream = StreamScore(10, 4, 3, 1.0, 0.75, math.nan, 0.5, 0.25)
    values = {
        "n_novel": 2,
        "n_discovered": 3,
        "n_categories": 8,
        "nbytes": 64,
        "seconds": 1.5,
        "peak_bytes": 9,
    }
    return SessionEvaluation(SCORE, SessionScore(0.6, 0.8, 0.1, 0.7), stream, **values | changes)


def record(key="a", *, result=True, **changes):
    outcome = PlanResult(0.9, 0.95, (session(), session(nbytes=None)), 2.0, 7) if result else None
    run = Run("ours", {"alignment": 0.0}, supervised=not result)
    values = {"data": "dü", "data_digest": "d1", "plan": PlanOrigin("b50t5", "random", 3, "l1")}
    return RunRecord(key, run, result=outcome, bound=BOUND, **values | changes)


def same(one, other):
    """Equal, with NaN in the same places."""
    return one.as_json() == other.as_json() and repr(one) == repr(other)


def test_stability_and_clusters_are_read_back_and_may_be_missing():
    clusters = ClusterScore(0.75, 0.5, math.nan)
    sessions = (session(),)
    full = PlanResult(0.9, 0.9, sessions, 1.0, 0, None, IdStability(9, 8, 7, 6), clusters, clusters, 0.25)
    content = record().as_json() | {"result": replace(record(), result=full).as_json()["result"]}
    read = RunRecord.from_json(json.loads(json.dumps(content)))
    assert repr(read.result) == repr(full)
    bare = RunRecord.from_json(record().as_json()).result
    assert bare.stability is bare.test_clusters is bare.session_clusters is None
    assert bare.calibration_error is None
    assert math.isnan(record().calibration_error)
    names = {"stability", "test_clusters", "session_clusters", "calibration_error"}
    assert not names & set(record().as_json()["result"])


@pytest.mark.parametrize("result", [True, False])
def test_a_record_is_read_back_as_written(tmp_path, result):
    results = Results(tmp_path / "new" / "folder")
    assert results.read() == {}
    results.add(record("a", result=result))
    results.add(record("b", data="other"))
    records = results.read()
    assert list(records) == ["a", "b"]
    assert same(records["a"], record("a", result=result))
    assert same(records["b"], record("b", data="other"))
    assert len(results.path.read_text().splitlines()) == 2


def test_a_record_is_plain_json_with_null_for_nan():
    content = record().as_json()
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    assert content["result"]["sessions"][0]["frozen"]["new"] is None
    assert math.isnan(RunRecord.from_json(content).sessions[0].frozen.new)


def test_results_of_the_previous_version_are_read():
    [line] = (Path(__file__).parent / "runs-0.1.jsonl").read_text().splitlines()
    content = json.loads(line)
    old = RunRecord.from_json(content)
    assert old.as_json() == content
    assert (old.run, old.plan.plan) == (Run("ours", {"n_components": 8}), "tiny")
    assert old.sessions[0].n_discovered == content["result"]["sessions"][0]["found"]
    assert old.result.final.all == content["result"]["sessions"][-1]["frozen"]["all"]


def test_the_last_of_two_equal_runs_counts(tmp_path):
    results = Results(tmp_path)
    results.add(record("a", data="first"))
    results.add(record("a", data="second"))
    assert results.read()["a"].data == "second"


@pytest.mark.parametrize("cut", [1, 5, 12])
def test_a_line_cut_off_by_a_crash_is_skipped_and_not_glued_to_the_next(tmp_path, cut):
    results = Results(tmp_path)
    results.add(record("a"))
    results.add(record("b"))
    whole = results.path.read_bytes()
    results.path.write_bytes(whole[:-cut])
    results.check_writable()
    results.add(record("c"))
    if cut == 1:  # only the line break was lost: the run itself is whole
        assert set(results.read()) == {"a", "b", "c"}
    else:
        with pytest.warns(UserWarning, match="line 2"):
            assert set(results.read()) == {"a", "c"}


def test_a_line_cut_inside_a_letter_is_skipped(tmp_path):
    results = Results(tmp_path)
    results.add(record("a"))
    whole = results.path.read_bytes()
    results.path.write_bytes(whole + whole[: whole.index("ü".encode()) + 1])
    with pytest.warns(UserWarning, match="line 2"):
        assert set(results.read()) == {"a"}


def test_a_folder_that_cannot_be_created_is_one_error(tmp_path):
    (tmp_path / "file").write_text("")
    results = Results(tmp_path / "file" / "out")
    for write in (results.check_writable, lambda: results.add(record())):
        with pytest.raises(DiskError):
            write()


def test_keys_name_everything_that_changes_a_result():
    base = run_key(Run("ours"), "data", "plan")
    assert base == run_key(Run("ours", {}), "data", "plan")
    others = [
        run_key(Run("ours", {"alignment": 0.0}), "data", "plan"),
        run_key(Run("ours", number_known=False), "data", "plan"),
        run_key(Run("ours", supervised=True), "data", "plan"),
        run_key(Run("ncm"), "data", "plan"),
        run_key(Run("ours"), "other", "plan"),
        run_key(Run("ours"), "data", "other"),
    ]
    assert len({base, *others}) == 7


def test_a_default_that_is_written_out_changes_nothing():
    assert run_key(Run("recipe"), "d", "p") == run_key(Run("recipe", {"alignment": 0.0}), "d", "p")
    assert identity(Run("recipe")) == identity(Run("recipe", {"alignment": 0.0}))
    assert identity(Run("recipe"), "0.1", 1) != identity(Run("recipe"), "0.2", 1)


def test_shares_and_bounds():
    one = record()
    assert one.share("frozen") == 0.5 / 0.8
    assert math.isnan(one.share("joint"))
    assert math.isnan(one.bound_discovery)  # one score for two sessions
    assert one.bound.forgetting == pytest.approx(0.1)


def test_both_protocols_have_their_own_base():
    result = record().result
    assert result.accuracies().base == 0.9
    assert result.accuracies("joint").base == 0.95
    assert result.accuracies("joint").final.all == 0.6
    assert result.forgetting == pytest.approx(0.9 - 0.7)
    assert math.isnan(result.discovery)


def test_a_run_records_all_that_tables_need(small_data, small_plans, tmp_path):
    results = Results(tmp_path)
    results.add(execute(Run("ours", {"n_components": 8}), small_data, small_plans[0], "k"))
    kept = results.read()["k"]
    assert len(kept.sessions) == len(kept.bound.scores) == 2
    first = kept.sessions[0]
    assert first.joint.all >= first.frozen.all
    assert 0 < first.stream.auroc <= 1
    assert kept.bound_discovery == kept.bound.discovery


def test_a_supervised_run_has_a_bound_and_no_sessions(small_data, small_plans):
    kept = execute(Run("ours", {"n_components": 8}, supervised=True), small_data, small_plans[0], "k")
    assert kept.result is None
    assert kept.sessions == ()
    assert kept.bound.final.all > 0.8
