import json
import math

import pytest

from vbcgcd import InputError
from vbcgcd.study.records import Job, Records, job_key, run_job


def test_a_run_is_read_back_as_written(tmp_path):
    records = Records(tmp_path / "new" / "folder")
    assert records.read() == {}
    records.add({"key": "a", "value": 1.5, "missing": math.nan, "label": "ü"})
    records.add({"key": "b", "nested": {"list": [1, None]}})
    assert records.read() == {
        "a": {"key": "a", "value": 1.5, "missing": None, "label": "ü"},
        "b": {"key": "b", "nested": {"list": [1, None]}},
    }
    assert len(records.path.read_text().splitlines()) == 2


def test_the_last_of_two_equal_runs_counts(tmp_path):
    records = Records(tmp_path)
    records.add({"key": "a", "value": 1})
    records.add({"key": "a", "value": 2})
    assert records.read()["a"]["value"] == 2


@pytest.mark.parametrize("cut", [1, 5, 12])
def test_a_line_cut_off_by_a_crash_is_passed_over_and_not_glued_to_the_next(tmp_path, cut):
    records = Records(tmp_path)
    records.add({"key": "a", "value": 1})
    records.add({"key": "b", "value": 2})
    whole = records.path.read_bytes()
    records.path.write_bytes(whole[:-cut])
    records.add({"key": "c", "value": 3})
    if cut == 1:  # only the line break was lost: the run itself is whole
        assert set(records.read()) == {"a", "b", "c"}
    else:
        with pytest.warns(UserWarning, match="line 2 is cut off"):
            assert set(records.read()) == {"a", "c"}


def test_a_line_cut_inside_a_letter_is_passed_over(tmp_path):
    records = Records(tmp_path)
    records.add({"key": "a", "label": "ü"})
    whole = records.path.read_bytes()
    records.path.write_bytes(whole + whole[: whole.index("ü".encode()) + 1])
    with pytest.warns(UserWarning, match="line 2 is cut off"):
        assert set(records.read()) == {"a"}


def test_a_folder_that_cannot_be_made_is_one_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="Cannot write"):
        Records(tmp_path / "file" / "out").add({"key": "a"})


def test_keys_name_everything_that_changes_a_result():
    base = job_key(Job("ours"), "data", "plan")
    assert base == job_key(Job("ours", {}), "data", "plan")
    others = [
        job_key(Job("ours", {"alignment": 0.0}), "data", "plan"),
        job_key(Job("ours", number_known=False), "data", "plan"),
        job_key(Job("ours", supervised=True), "data", "plan"),
        job_key(Job("ncm"), "data", "plan"),
        job_key(Job("ours"), "other", "plan"),
        job_key(Job("ours"), "data", "other"),
    ]
    assert len({base, *others}) == 7


def test_a_record_holds_all_that_tables_need_and_is_json(small_data, small_plans, tmp_path):
    record = run_job(Job("ours", {"n_components": 8}), small_data, small_plans[0], "k")
    records = Records(tmp_path)
    records.add(record)
    kept = records.read()["k"]
    assert json.loads(json.dumps(kept)) == kept
    assert len(kept["result"]["sessions"]) == len(kept["bound"]["scores"]) == 2
    session = kept["result"]["sessions"][0]
    assert set(session) >= {"frozen", "joint", "stream", "found", "seconds", "peak_bytes", "nbytes"}
    assert session["joint"]["all"] >= session["frozen"]["all"]
    assert 0 < session["stream"]["auroc"] <= 1


def test_a_supervised_job_has_a_bound_and_no_sessions(small_data, small_plans):
    record = run_job(Job("ours", {"n_components": 8}, supervised=True), small_data, small_plans[0], "k")
    assert record["result"] is None
    assert record["bound"]["scores"][-1]["all"] > 0.8
