"""A workspace and a model that an earlier release wrote answer with the same bits (data/README.md)."""

import json
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from vbcgcd import CategoryDiscoverer, InputError, Workspace

DATA = Path(__file__).parent / "data"
COLUMNS = ("category", "probability", "novelty", "best", "second", "second_probability")


def load(name):
    with np.load(DATA / name) as archive:
        return dict(archive)


def rounding():
    """What this machine's linear algebra makes of fixed numbers."""
    a = np.random.default_rng(0).normal(size=(96, 64))
    parts = (a.T @ a, np.linalg.cholesky(a.T @ a), a.astype(np.float32).T @ a.astype(np.float32))
    return np.concatenate([part.ravel()[:200].astype(np.float64) for part in parts])


def check_same(value, expected, machine):
    """The same, or nearly equal numbers on a machine whose linear algebra rounds in another way.

    "The same" allows for the last bits: exp and log of another NumPy, or on another processor, may differ,
    and the error of exp(-100) is a hundred times that of -100.
    """
    assert value.dtype == expected.dtype
    if expected.dtype.kind != "f":
        np.testing.assert_array_equal(value, expected)
    elif np.array_equal(rounding(), machine):
        np.testing.assert_allclose(value, expected, rtol=512 * np.finfo(expected.dtype).eps)
    else:
        np.testing.assert_allclose(value, expected, rtol=1e-3, atol=1e-5)


@pytest.fixture(autouse=True)
def _one_thread():
    """Two threads share out the rows of a product, and round some of them in another way."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def answers():
    return load("digits.npz")


@pytest.fixture(scope="module")
def plain():
    return json.loads((DATA / "digits.json").read_text())


@pytest.fixture
def digits(tmp_path):
    return Workspace.import_(DATA / "digits.zip", tmp_path / "digits")


def test_the_files_are_small():
    assert sum(file.stat().st_size for file in DATA.iterdir()) < 200_000


def test_an_old_workspace_verifies(digits, plain):
    assert digits.verify() == plain["files"]
    assert digits.last_commit == plain["last_commit"]
    later = {"vocabulary": [], "namer": None, "columns": {}}
    assert digits.config() == plain["config"] | later
    assert dict(digits.embedder) == plain["embedder"]


@pytest.mark.parametrize(("prefix", "reject"), [("", 0), ("refusing_", None)])
def test_an_old_workspace_predicts_the_same(digits, answers, prefix, reject):
    predictions = digits.predict(answers["probe"].astype(np.float32), reject=reject)
    assert predictions.name == answers[f"{prefix}names"].tolist()
    for column in COLUMNS:
        check_same(getattr(predictions, column), answers[prefix + column], answers["rounding"])


def test_an_old_workspace_discovers_the_same(digits, answers):
    digits.discover(answers["next"].astype(np.float32), 2)
    predictions = digits.predict(answers["probe"].astype(np.float32), reject=0)
    assert predictions.name == answers["next_names"].tolist()
    for column in COLUMNS:
        check_same(getattr(predictions, column), answers[f"next_{column}"], answers["rounding"])


def test_its_sessions(digits, plain):
    sessions = digits.sessions()
    assert len(sessions) == len(plain["sessions"]) == 4
    for session, expected in zip(sessions, plain["sessions"], strict=True):
        for name in ("session", "rows", "known_rows", "novel_rows", "estimated", "seconds"):
            assert getattr(session, name) == expected[name], name
        assert session.flagged == expected["unfamiliar"]
        assert session.mean_probability == expected["mean_probability"]
        assert session.commit == expected["commit"]
        assert session.time == expected["time"]
        for name in ("novel", "counts"):
            assert {str(k): v for k, v in getattr(session, name).items()} == expected[name]


def test_its_categories(digits, plain):
    categories = digits.categories(retired=True)
    assert [category.id for category in categories] == [expected["id"] for expected in plain["categories"]]
    for category, expected in zip(categories, plain["categories"], strict=True):
        for name in ("name", "named_by", "status", "birth", "size", "taught", "nearest", "nearest_name"):
            assert getattr(category, name) == expected[name], name
        for name in ("samples", "into", "parents"):
            assert list(getattr(category, name)) == expected[name], name
        for name in ("spread", "log_volume", "nearest_distance"):
            if expected[name] is None:
                assert getattr(category, name) is None
            else:
                assert getattr(category, name) == pytest.approx(expected[name], rel=1e-6)


def test_its_history(digits, plain):
    assert [(c.commit, c.command, c.time, c.undone) for c in digits.history()] == [
        (c["commit"], c["command"], c["time"], c["undone"]) for c in plain["history"]
    ]
    assert [dict(c.parameters) for c in digits.history()] == [c["parameters"] for c in plain["history"]]


def test_what_was_undone_can_be_redone(digits, plain):
    assert digits.next_redo().commit == plain["next_redo"]["commit"]
    digits.redo()
    assert digits.category("drei").id == plain["next_redo"]["parameters"]["category"]
    digits.undo()
    assert digits.category("three").id == plain["next_redo"]["parameters"]["category"]


def test_what_changed_and_why(digits, answers, plain):
    changes, expected = digits.changes(), plain["changes"]
    assert changes.session == expected["session"]
    assert {str(k): v for k, v in changes.gains.items()} == expected["grown"]
    assert {str(k): v for k, v in changes.novel.items()} == expected["novel"]
    explanation = digits.explain(answers["probe"].astype(np.float32), row=3)
    for candidate, wanted in zip(explanation.candidates, plain["explain"]["candidates"], strict=True):
        assert (candidate.id, candidate.name) == (wanted["id"], wanted["name"])
        for name in ("distance", "log_density", "log_volume", "probability"):
            assert getattr(candidate, name) == pytest.approx(wanted[name], rel=1e-6)


def test_its_overview_and_report(digits, plain, tmp_path):
    overview = digits.overview()
    assert (overview.items, overview.release) == (plain["items"], plain["release"])
    assert [(item.reference, item.category, item.session) for item in overview.map] == [
        (item["reference"], item["category"], item["session"]) for item in plain["map"]
    ]
    positions = [(item["x"], item["y"]) for item in plain["map"]]
    np.testing.assert_allclose([(item.x, item.y) for item in overview.map], positions, rtol=1e-6, atol=1e-6)
    digits.report(tmp_path / "report.html")
    assert "novel-9" in (tmp_path / "report.html").read_text()


def test_a_file_that_an_old_session_used_is_recognised(digits, answers, tmp_path):
    np.save(tmp_path / "tuesday.npy", answers["first"].astype(np.float32))
    with pytest.raises(InputError) as caught:
        digits.discover(tmp_path / "tuesday.npy", 2)
    assert caught.value.option == "again"


def test_old_items_are_corrected_as_far_as_it_was_recorded(digits, answers, tmp_path):
    first = answers["first"].astype(np.float32)
    before = digits.last_commit
    labelled, found = (
        digits.items("session=0", "category=one")[0],
        digits.items("session=1", "category=curly")[0],
    )
    with pytest.raises(InputError, match="did not come from a file"):
        digits.move_items(labelled, "two")
    with pytest.raises(InputError, match="was not recorded"):
        digits.move_items(found, "two", data=first)
    with pytest.raises(InputError, match=r"not by a model of release 0\.1\.0"):
        digits.split("curly", first)
    with pytest.raises(InputError, match=r"None of the 37 items of 'curly' .*was imported"):
        digits.split("curly", n_parts=2)
    assert digits.last_commit == before
    np.save(tmp_path / "tuesday.npy", first)
    digits.relocate("/tmp/digits/monday.npy", tmp_path / "tuesday.npy")
    done = digits.split("curly", n_parts=2)
    taught = {info.id: info.taught for info in digits.categories()}
    assert sum(taught[i] for i in done.categories) == pytest.approx(32, abs=1e-5)
    assert (done.shared, done.missing) == (32, 0)
    part = digits.items("session=1", f"category={min(done.categories)}")[0]
    with pytest.raises(InputError, match="was not recorded"):
        digits.move_items(part, "two")
    digits.undo()
    digits.rename("curly", "six")


def test_an_old_model_answers_the_same():
    expected = load("model.npz")
    model, probe = CategoryDiscoverer.load(DATA / "model.safetensors"), expected["probe"].astype(np.float32)

    def check(name, value):
        check_same(value, expected[name], expected["rounding"])

    check("classes", model.classes_.astype(str))
    check("births", model.births_)
    check("predict", model.predict(probe).astype(str))
    for method in ("predict_proba", "novelty", "score_samples"):
        check(method, getattr(model, method)(probe))
    model.set_params(unassigned=False)  # every row had a category then
    session = model.discover(expected["batch"].astype(np.float32))
    check("session_labels", session.labels_.astype(str))
    check("session_probabilities", session.probabilities_)
    check("session_novelty", session.novelty_)
    check("session_classes", model.classes_.astype(str))
    check("session_predict_proba", model.predict_proba(probe))
