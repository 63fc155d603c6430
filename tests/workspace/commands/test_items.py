import os
import shutil
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vbcgcd.bayes import recover_statistics, statistics_by_label
from vbcgcd.errors import InputError, MissingFileError, WorkspaceBusy
from vbcgcd.items import Items
from vbcgcd.workspace import Workspace

FEW = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def bits(workspace, rows):
    """All that answers depend on: posteriors, reliability and predictions."""
    known, found = workspace.snapshot().knowledge, workspace.predict(rows)
    parts = (known.posterior.mean, known.posterior.kappa, known.posterior.nu, known.posterior.factor)
    more = (known.reliabilities, found.category, found.probability, found.novelty)
    return [part.tobytes() for part in (*parts, *more)]


def taught(workspace):
    return {info.name: info.taught for info in workspace.categories(n_samples=0)}


def numbers(items):
    return [int(item.reference) for item in items]


@pytest.fixture
def exact(blobs, tmp_path):
    """In double precision: two labelled sessions, the second of which taught known categories too."""
    model = {"count": "evidence", "n_components": 6, "prior_strength": 20.0, "dtype": "float64"}
    workspace = Workspace.init(tmp_path / "exact", model=model)
    workspace.learn(blobs.rows, blobs.labels)
    names = np.array(["cat", "dog", "owl", "newt", "toad"])[blobs.truth]
    workspace.learn(blobs.batch, names, update_known=True)
    return workspace


@FEW
@given(st.integers(0, 10**6))
def test_moving_there_and_back_restores_every_bit(animals, blobs, seed):
    rng = np.random.default_rng(seed)
    labelled = animals.items("state=labelled")
    chosen = [labelled[i] for i in rng.choice(len(labelled), rng.integers(1, 6), replace=False)]
    before, sizes = bits(animals, blobs.probe), animals.categories(n_samples=0)
    to = int(rng.integers(3, 5))
    animals.move_items(chosen, to, data=blobs.rows)
    assert bits(animals, blobs.probe) != before
    for item in chosen:
        animals.move_items(item, item.category, data=blobs.rows)
    assert bits(animals, blobs.probe) == before
    assert animals.categories(n_samples=0) == sizes


@FEW
@given(st.integers(0, 10**6))
def test_a_guess_is_restored_when_nobody_says_anything_any_more(animals, blobs, seed):
    rng = np.random.default_rng(seed)
    found = animals.items("state=guessed")
    chosen = [found[i] for i in rng.choice(len(found), 4, replace=False)]
    before = bits(animals, blobs.probe)
    animals.move_items(chosen[:2], 4, data=blobs.batch)
    animals.reject_items(chosen[2:], data=blobs.batch)
    for item in rng.permutation(np.arange(4)):
        animals.unlabel_items(chosen[int(item)], data=blobs.batch)
    assert bits(animals, blobs.probe) == before
    assert animals.items("state=guessed") == found


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10**6))
def test_corrections_equal_learning_the_corrected_labels(exact, blobs, seed):
    rng = np.random.default_rng(seed)
    names = ["cat", "dog", "owl", "newt", "toad"]
    truth = dict(enumerate(np.array(names)[blobs.truth]))
    steps = []
    for _ in range(6):
        chosen = rng.choice(100, rng.integers(1, 5), replace=False)
        items = [item for item in exact.items("session=1") if int(item.reference) in chosen]
        steps.append(bits(exact, blobs.probe))
        if rng.random() < 0.3:
            items = [item for item in items if item.category is not None]
            if not items:
                steps.pop()
                continue
            exact.reject_items(items, data=blobs.batch)
            truth |= dict.fromkeys(numbers(items), None)
        else:
            to = names[rng.integers(5)]
            try:
                exact.move_items(items, to, data=blobs.batch)
            except InputError:  # all of them are there
                steps.pop()
            truth |= dict.fromkeys(numbers(items), to)
    known = exact.snapshot().knowledge
    rows = known.reduced(np.concatenate([blobs.rows, blobs.batch]))
    labels = [*blobs.labels, *(truth[i] for i in range(100))]
    codes = np.array([-1 if label is None else names.index(label) for label in labels])
    direct = statistics_by_label(rows, codes, 5)
    have = recover_statistics(known.prior, known.posterior)
    np.testing.assert_allclose(have.count, direct.count, rtol=0, atol=1e-9)
    np.testing.assert_allclose(have.mean, direct.mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        have.scatter, direct.scatter, rtol=1e-9, atol=1e-9 * np.abs(direct.scatter).max()
    )
    for before in reversed(steps):
        exact.undo()
        assert bits(exact, blobs.probe) == before


def test_soft_weights_are_taken_back_as_they_were(blobs, tmp_path):
    workspace = Workspace.init(
        tmp_path / "soft",
        model={
            "count": "evidence",
            "n_components": 6,
            "prior_strength": 20.0,
            "relabel": "em",
            "dtype": "float64",
        },
    )
    workspace.learn(blobs.rows, blobs.labels)
    record = workspace.discover(blobs.batch, n_novel=2)
    lessons = record.lessons_
    row = next(r for r, w in zip(lessons.row, lessons.weight, strict=True) if 0.01 < w < 0.999)
    before = taught(workspace)
    [item] = workspace.items("session=1", f"reference={row}")
    done = workspace.move_items(item, "dog", data=blobs.batch)
    after = taught(workspace)
    for position, weight in zip(
        lessons.category[lessons.row == row], lessons.weight[lessons.row == row], strict=True
    ):
        name = workspace.categories(n_samples=0)[position].name
        assert before[name] - after[name] == pytest.approx(weight, abs=2e-6)
    assert after["dog"] == before["dog"] + 1
    assert done.items[0].after == 1


def test_twelve_corrected_items_change_the_answers(animals, blobs):
    wrong = animals.items("category=3")[:12]
    rows = blobs.batch[numbers(wrong)]
    assert (animals.predict(rows).category == 3).all()
    animals.move_items(wrong, "frog", create=True, data=blobs.batch)
    assert animals.predict(rows[:1]).probability[0] < 1
    animals.reject_items(animals.items("category=3"), data=blobs.batch)
    assert (animals.predict(rows).name == np.array(["frog"] * 12)).all()
    assert taught(animals)["novel-3"] == 0


@pytest.mark.data
def test_twelve_moved_sentences_teach_more_than_twelve_new_labels(tmp_path):
    folder = os.environ.get("VBCGCD_DATA")
    if not folder:
        pytest.skip("VBCGCD_DATA is not set")
    with np.load(Path(folder) / "clinc150-minilm.npz") as data:
        x, y, test_x, test_y = (data[name] for name in ("train_x", "train_y", "test_x", "test_y"))
    x, test_x = x.astype(np.float32), test_x.astype(np.float32)
    first, second = 70, 109  # two intents that are nearly the same, found as one
    labelled = np.concatenate([np.flatnonzero(y == c)[:20] for c in range(60)])
    batch = np.concatenate([np.flatnonzero(y == c)[:20] for c in (first, second)])
    right = {}
    for way in ("learn", "move"):
        workspace = Workspace.init(tmp_path / way)
        workspace.learn(x[labelled], [f"intent {c}" for c in y[labelled]])
        workspace.discover(x[batch], n_novel=1)
        if way == "learn":
            workspace.learn(x[batch[20:32]], ["second"] * 12)
        else:
            chosen = [item for item in workspace.items("session=1") if 20 <= int(item.reference) < 32]
            workspace.move_items(chosen, "second", create=True, data=x[batch])
        names = np.array(workspace.predict(test_x[test_y == second]).name)
        right[way] = float(np.mean(names == "second"))
    assert right["learn"] < 0.3  # the wrong items keep teaching the other category
    assert right["move"] > right["learn"] + 0.3


def test_corrected_items_count_as_labelled_and_make_a_category_certain(animals, blobs):
    uncertain = {c.id: c.reliability for c in animals.categories()}[4]
    assert uncertain < 1
    probability = animals.predict(blobs.batch).probability
    [first, *_] = animals.items("category=4")
    done = animals.confirm_items(first, data=blobs.batch)
    info = {c.id: c for c in animals.categories()}[4]
    assert (info.reliability, info.labelled, done.command) == (1.0, 1, "confirm")
    mine = animals.predict(blobs.batch).category == 4
    assert (animals.predict(blobs.batch).probability[mine] > probability[mine]).all()
    animals.unlabel_items(first, data=blobs.batch)
    assert {c.id: c.reliability for c in animals.categories()}[4] == uncertain


def test_labels_survive_a_merge_and_sizes_follow(animals, blobs):
    chosen = animals.items("category=3")[:3]
    animals.move_items(chosen, 4, data=blobs.batch)
    sizes = {c.id: c.size for c in animals.categories()}
    assert sum(sizes.values()) == animals.count_items() == 190
    merged = next(iter(animals.merge([4, 0], name="both").categories))
    info = {c.id: c for c in animals.categories()}[merged]
    assert (info.labelled, info.size) == (33, sizes[4] + sizes[0])
    assert {item.state for item in animals.items(f"category={merged}")} == {"labelled", "moved", "guessed"}
    before = taught(animals)
    animals.move_items(chosen[0], 3, data=blobs.batch)
    assert taught(animals)["both"] == before["both"] - 1


def test_rejected_items_are_unassigned_and_teach_nothing(animals, blobs):
    chosen = animals.items("category=3")[:2]
    done = animals.reject_items(chosen, data=blobs.batch)
    assert done.weights == {3: (20.0, 18.0)}
    assert animals.count_unassigned() == animals.count_unassigned(session=1) == 2
    assert [item.state for item in animals.unassigned()] == ["rejected"] * 2
    assert animals.count_items() == 188


def test_redo_and_a_fresh_reader_give_the_same_bits(animals, blobs):
    animals.move_items(animals.items("category=3")[:2], 0, data=blobs.batch)
    after = bits(animals, blobs.probe)
    animals.undo()
    animals.redo()
    assert bits(animals, blobs.probe) == after
    assert bits(Workspace.open(animals.path), blobs.probe) == after
    assert Workspace.open(animals.path).items("state=moved") == animals.items("state=moved")


def test_corrections_survive_export_and_import(animals, blobs, tmp_path):
    animals.move_items(animals.items("category=3")[:2], 0, data=blobs.batch)
    animals.export(tmp_path / "a.zip")
    copy = Workspace.import_(tmp_path / "a.zip", tmp_path / "copy")
    assert bits(copy, blobs.probe) == bits(animals, blobs.probe)
    assert copy.items() == animals.items()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda w: w.move_items("nobody", 0), InputError, "no item 'nobody'"),
        (lambda w: w.move_items("3", 0), InputError, r"2 items .*'the array:3@0' or 'the array:3@1'"),
        (lambda w: w.move_items("3@1", 99), InputError, "no category 99"),
        (lambda w: w.move_items("3@1", 0), InputError, "did not come from a file.*'data'"),
        (lambda w: w.move_items("3@1", 0, data=np.zeros((4, 6))), InputError, "4 embeddings, .* 100"),
        (lambda w: w.move_items([], 0), InputError, "No item"),
        (lambda w: w.move_items("3@0", "cat"), InputError, "there already"),
        (lambda w: w.unlabel_items("3@1"), InputError, "without a label already"),
        (lambda w: w.move_items("3@1", "dog", create=True), InputError, "already"),
        (lambda w: w.items("probability=1"), InputError, "A condition"),
        (lambda w: w.items("state=wrong"), InputError, "state is one of"),
        (lambda w: w.items("session<x"), InputError, "session must be a number"),
        (lambda w: w.items("probability<nan"), InputError, "probability must be a number, got 'nan'"),
        (lambda w: w.items("session=NaN"), InputError, "session must be a number"),
        (lambda w: w.move_items("3@1", "frog", create="no"), InputError, "create must be one of False, True"),
        (lambda w: w.move_items(7, 0), InputError, "by its reference"),
    ],
)
def test_wrong_input_changes_nothing(animals, tree, change, error, message):
    before = tree(animals.path)
    with pytest.raises(error, match=message):
        change(animals)
    assert tree(animals.path) == before


def test_items_cannot_go_to_a_retired_category(animals, blobs, tree):
    animals.drop(4)
    before = tree(animals.path)
    with pytest.raises(InputError, match=r"dropped .*no longer live"):
        animals.move_items("3@1", 4, data=blobs.batch)
    assert tree(animals.path) == before


def test_a_second_writer_is_told(animals, blobs, tree):
    before = tree(animals.path)
    with animals._writing("move"), pytest.raises(WorkspaceBusy):
        Workspace.open(animals.path).move_items("3@1", 0, data=blobs.batch)
    left = {name: digest for name, digest in tree(animals.path).items() if name != ".lock"}
    assert left == {name: digest for name, digest in before.items() if name != ".lock"}


def test_what_was_never_recorded_is_refused(animals, blobs, leave, tree):
    leave(2, [5])
    animals.discover(blobs.probe, n_novel=1)
    before = tree(animals.path)
    with pytest.raises(InputError, match="session 2 taught was not recorded"):
        animals.move_items("30@2", 0, data=blobs.probe)
    assert tree(animals.path) == before


@pytest.fixture
def letters(tmp_path, words):
    """Texts in files: two categories, and a batch."""
    learned, batch = tmp_path / "learned.csv", tmp_path / "monday.csv"
    lines = [f"{word} {i},{word}" for word in ("card", "table", "music", "flight") for i in range(8)]
    learned.write_text("text,label\n" + "\n".join(lines) + "\n")
    batch.write_text("text\n" + "\n".join(f"weather {i}" for i in range(8)) + "\ncard stuck\n")
    workspace = Workspace.init(tmp_path / "letters", model={"n_components": 4, "prior_strength": 12.0})
    workspace = Workspace.open(workspace.path, embedder=words)
    workspace.learn(learned)
    workspace.discover(batch, n_novel=1)
    return workspace


def test_items_of_files_are_found_by_text_and_embedded_again(letters):
    found = letters.items("text~WEATHER 3")
    assert [item.reference for item in found] == ["3"]
    done = letters.move_items("monday.csv:3", "table")
    assert done.names[done.items[0].after] == "table"
    assert letters.items("source=monday.csv", "state=moved")[0].reference == "3"


def test_a_source_that_changed_or_vanished_is_refused(letters, tmp_path, tree):
    file = tmp_path / "monday.csv"
    kept = file.read_bytes()
    file.write_bytes(kept + b"one more\n")
    before = tree(letters.path)
    with pytest.raises(InputError, match="has changed since session 1"):
        letters.move_items("monday.csv:3", "table")
    file.unlink()
    with pytest.raises(MissingFileError, match=r"no .*monday.csv any more.*relocate"):
        letters.move_items("monday.csv:3", "table")
    assert tree(letters.path) == before
    shutil.copy(tmp_path / "learned.csv", tmp_path / "other.csv")
    file.write_bytes(kept)
    letters.move_items("monday.csv:3", "table")
    file.unlink()  # what was embedded once is kept
    letters.move_items("monday.csv:3", "card")


def test_a_row_that_was_deleted_is_refused(letters, tmp_path, tree):
    file = tmp_path / "monday.csv"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:3] + lines[4:]))
    before = tree(letters.path)
    for item in ("monday.csv:2", "monday.csv:5"):
        with pytest.raises(InputError, match=r"monday.csv has changed since session 1"):
            letters.move_items(item, "table")
    assert tree(letters.path) == before


def test_items_that_are_named_twice_are_moved_once(letters):
    [item] = letters.items("text~WEATHER 3")
    done = letters.move_items(["monday.csv:3", item, "3@1", "monday.csv:3@1"], "table")
    assert [change.reference for change in done.items] == ["3"]
    assert done.weights[letters.category("table").id] == (8.0, 9.0)


def test_references_that_are_not_unique_are_refused(tmp_path, words, tree):
    texts = [f"{word} {i}" for word in ("card", "table", "music") for i in range(6)]
    labels = np.array([text.split()[0] for text in texts])
    workspace = Workspace.init(
        tmp_path / "w", embedder=words, model={"n_components": 2, "prior_strength": 12.0}
    )
    items = Items("text", texts, ["same", "same", *map(str, range(16))], "a list", labels)
    workspace.learn(items)
    before = tree(workspace.path)
    with pytest.raises(InputError, match="2 items are called 'same'"):
        workspace.move_items("same", "table", data=items)
    with pytest.raises(InputError, match="2 items of a list are called 'same'"):
        workspace.move_items(workspace.items("reference=same")[0], "table", data=items)
    assert tree(workspace.path) == before
    workspace.move_items("3", "table", data=items)


def test_other_items_than_those_of_the_session_are_refused(animals, blobs, tree):
    before = tree(animals.path)
    for wrong in (blobs.batch[::-1], blobs.batch + 1):
        with pytest.raises(InputError, match="other items than those of session 1") as caught:
            animals.move_items("3@1", 0, data=wrong)
        assert caught.value.option == "data"
    assert tree(animals.path) == before


def test_a_frame_is_read_as_its_session_read_it(tmp_path, words):
    pandas = pytest.importorskip("pandas")
    texts = [f"{word} {i}" for word in ("card", "table", "music") for i in range(6)]
    frame = pandas.DataFrame({"a": [text.split()[0] for text in texts], "b": texts, "c": texts[::-1]})
    workspace = Workspace.init(
        tmp_path / "w", embedder=words, model={"n_components": 2, "prior_strength": 12.0}
    )
    workspace.learn(frame, text="b", label="a")
    workspace.move_items("3", "table", data=frame)
    assert taught(workspace) == {"card": 5, "music": 6, "table": 7}


def test_writers_wait_for_each_other_and_nothing_is_lost(animals, blobs):
    chosen = animals.items("category=3")[:12]
    errors = []

    def work(items):
        try:
            mine = Workspace.open(animals.path, lock_timeout=60)
            for item in items:
                mine.move_items(item, 0, data=blobs.batch)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(chosen[i::3],)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert {item.reference for item in animals.items("state=moved")} == {item.reference for item in chosen}
    assert taught(animals)["cat"] == 30 + 12


def test_an_svi_workspace_says_why_not(blobs, tmp_path, tree):
    model = {"count": "evidence", "n_components": 6, "prior_strength": 20.0, "inference": "svi"}
    workspace = Workspace.init(tmp_path / "w", model=model)
    workspace.learn(blobs.rows, blobs.labels)
    before = tree(workspace.path)
    with pytest.raises(InputError, match="'svi'"):
        workspace.move_items("3", "dog", data=blobs.rows)
    assert tree(workspace.path) == before


def test_items_leave_a_seedling_and_come_back(tmp_path):
    rng = np.random.default_rng(0)
    means = 4 * rng.normal(size=(12, 16))
    labels = np.repeat(np.arange(8), 30)
    truth = np.concatenate([np.repeat(np.arange(8), 10), [8] * 4, [9] * 3, [10] * 5])
    rows, batch = (means[kind] + rng.normal(size=(len(kind), 16)) for kind in (labels, truth))
    workspace = Workspace.init(tmp_path / "w")
    workspace.learn(rows, [f"c{i}" for i in labels])
    waiting = workspace.discover(batch).lessons_.waiting
    waits = [item for item in workspace.items("session=1") if waiting[int(item.reference)] == 0]
    assert [seedling.items for seedling in workspace.seedlings()] == [len(waits)] == [3]
    before = {name: part.tobytes() for name, part in workspace.snapshot().seedlings().arrays().items()}
    workspace.move_items(waits[0], "fox", create=True, data=batch)
    assert [seedling.items for seedling in workspace.seedlings()] == [2]
    workspace.move_items(waits[1:], "fox", data=batch)
    assert workspace.seedlings() == ()
    for item in waits:
        workspace.unlabel_items(item, data=batch)
    after = {name: part.tobytes() for name, part in workspace.snapshot().seedlings().arrays().items()}
    assert after == before
