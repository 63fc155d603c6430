import shutil

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vbcgcd.bayes import recover_statistics, statistics_by_label
from vbcgcd.embed.pictures import open_picture
from vbcgcd.errors import InputError
from vbcgcd.workspace import Workspace

EXACT = {"count": "evidence", "n_components": 6, "prior_strength": 20.0, "dtype": "float64"}


def statistics(workspace):
    """Statistics of the live categories, by id."""
    now = workspace.snapshot()
    every = recover_statistics(now.knowledge.prior, now.knowledge.posterior)
    return {i: every.take([row]) for row, i in enumerate(now.state.ids)}


def assert_same(one, other, tolerance=1e-9):
    scale = max(np.abs(other.scatter).max(), 1.0)
    np.testing.assert_allclose(one.count, other.count, rtol=0, atol=tolerance)
    np.testing.assert_allclose(one.mean, other.mean, rtol=0, atol=tolerance * 10)
    np.testing.assert_allclose(one.scatter, other.scatter, rtol=0, atol=tolerance * scale * 10)


@pytest.fixture
def pets(blobs, tmp_path):
    """Rows in files, in double precision: two labelled weeks, and a batch; cat and dog are one, 'pet' (6)."""
    workspace = Workspace.init(tmp_path / "pets", model=EXACT)
    for name, rows in (("first", blobs.rows), ("batch", blobs.batch), ("second", blobs.rows[::2] + 0.1)):
        np.save(tmp_path / f"{name}.npy", rows)
    labels = {"first": blobs.labels, "second": blobs.labels[::2]}
    for name in ("first", "second"):
        np.savez(tmp_path / f"{name}.npz", x=np.load(tmp_path / f"{name}.npy"), y=labels[name])
        workspace.learn(tmp_path / f"{name}.npz", embedding="x", label="y", update_known=name == "second")
    workspace.discover(tmp_path / "batch.npy", n_novel=2)
    assert list(workspace.merge(["cat", "dog"], name="pet").categories) == [5]
    return workspace


def test_a_split_finds_the_items_the_number_and_the_halves(pets, blobs):
    before = statistics(pets)[5]
    done = pets.split("pet")
    assert done.retired == {5: "pet"}
    assert list(done.categories.values()) == ["pet 1", "pet 2"]
    assert (done.judged, done.missing, done.shared) == (True, 0, 0.0)
    found = pets.predict(blobs.rows[:60]).category
    halves = [np.unique(part, return_counts=True) for part in (found[:30], found[30:])]
    assert {int(ids[counts.argmax()]) for ids, counts in halves} == set(done.categories)
    assert min(counts.max() for _, counts in halves) >= 28
    after = statistics(pets)
    one, two = (after[i] for i in done.categories)
    assert_same(one + two, before)
    assert sorted(done.counts) == sorted(done.categories)
    guessed = sum(item.category in done.categories for item in pets.items("session=2"))
    assert sum(done.counts.values()) == 90 + guessed
    old = {c.id: c for c in pets.categories(retired=True)}[5]
    assert (old.status, old.into) == ("split", tuple(done.categories))
    assert {c.parents for c in pets.categories() if c.id in done.categories} == {(5,)}
    assert pets.items("category=5") == ()
    assert sum(c.size for c in pets.categories()) == pets.count_items() == 90 + 45 + 100


def test_a_split_undone_restores_every_bit_and_a_merge_the_statistics(pets, blobs, answers):
    before, items, whole = answers(pets, blobs.probe), pets.items(), statistics(pets)[5]
    parts = pets.split("pet", names=["tom", "rex"]).categories
    after, now = answers(pets, blobs.probe), pets.items()
    assert list(parts.values()) == ["tom", "rex"]
    pets.undo()
    assert (answers(pets, blobs.probe), pets.items()) == (before, items)
    pets.redo()
    assert (answers(pets, blobs.probe), pets.items()) == (after, now)
    assert Workspace.open(pets.path).items() == now
    merged = next(iter(pets.merge(list(parts)).categories))
    assert_same(statistics(pets)[merged], whole)
    assert {item.category for item in pets.items("session=0")} == {2, merged}


def test_what_weeks_that_are_gone_taught_is_shared(pets, blobs, tmp_path):
    before = statistics(pets)[5]
    (tmp_path / "first.npz").unlink()
    done = pets.split("pet")
    after = statistics(pets)
    one, two = (after[i] for i in done.categories)
    assert_same(one + two, before)
    assert (done.missing, done.shared) == (60, 60.0)
    assert sum(done.counts.values()) == len(pets.items("category=6")) + len(pets.items("category=7"))
    found = pets.predict(blobs.rows[:60]).category
    assert [len(np.unique(part)) for part in (found[:30], found[30:])] == [1, 1]
    assert len(np.unique(found)) == 2
    with pytest.raises(InputError, match=r"'pet' was split .*undo the split"):
        pets.move_items("3@0", "owl")
    pets.move_items("3@1", "owl")
    assert sum(c.taught for c in pets.categories()) == pytest.approx(90 + 45 + 40)


def test_corrected_items_stay_labelled_in_their_part(pets, tmp_path):
    found = pets.items("session=2", "category=5")
    pets.confirm_items(found[:2])
    pets.move_items(pets.items("session=0", "category=2")[:1], "pet")
    strange = pets.items("session=0", "state=moved")[0]
    (tmp_path / "first.npz").unlink()  # what was corrected once is kept
    done = pets.split("pet")
    info = {c.id: c for c in pets.categories()}
    assert sum(info[i].labelled for i in done.categories) == 30 + 2 + 1
    confirmed, moved = pets.items("state=confirmed"), pets.items("state=moved")
    assert len(confirmed) == 2
    assert [item.reference for item in moved] == [strange.reference]
    assert {item.category for item in (*confirmed, *moved)} <= set(done.categories)
    weights = pets.reject_items(moved[0]).weights
    assert weights[moved[0].category][1] == pytest.approx(weights[moved[0].category][0] - 1)
    pets.unlabel_items(confirmed[0])  # the guess of the session, in the part where the split put it
    [again] = [item for item in pets.items("session=2") if item.reference == confirmed[0].reference]
    assert (again.state, again.category) == ("guessed", confirmed[0].category)
    with pytest.raises(InputError, match="without a label already"):
        pets.unlabel_items(found[2].reference + "@2")


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10**6))
def test_moving_between_parts_and_back_restores_every_bit(pets, blobs, answers, seed):
    rng = np.random.default_rng(seed)
    if 5 in pets.snapshot().state.ids:
        pets.split("pet", names=["tom", "rex"])
    there = pets.items("session=0", "category=tom")
    chosen = [there[i] for i in rng.choice(len(there), rng.integers(1, 6), replace=False)]
    before, posterior = answers(pets, blobs.probe), pets.snapshot().knowledge.posterior
    pets.move_items(chosen, "rex")
    assert answers(pets, blobs.probe) != before
    for i in rng.permutation(len(chosen)):
        pets.move_items(chosen[i], "tom")
    assert answers(pets, blobs.probe) == before
    now = pets.snapshot().knowledge.posterior
    for name in ("mean", "kappa", "nu", "factor"):
        np.testing.assert_array_equal(getattr(now, name), getattr(posterior, name))


def test_an_item_that_was_elsewhere_has_no_part_to_go_back_to(pets, tree):
    [item, *_] = pets.items("session=2", "category=5")
    pets.reject_items(item)
    pets.split("pet")
    before = tree(pets.path)
    with pytest.raises(InputError, match="its part is not known"):
        pets.unlabel_items(item)
    assert tree(pets.path) == before
    pets.move_items(item, "pet 1")


def test_a_category_that_is_one_is_not_split_unless_a_number_is_given(pets, tree):
    before = tree(pets.path)
    with pytest.raises(InputError, match="'owl' is one category") as caught:
        pets.split("owl")
    assert caught.value.option == "n_parts"
    assert tree(pets.path) == before
    assert list(pets.split("owl", n_parts=3).categories.values()) == ["owl 1", "owl 2", "owl 3"]


def test_items_of_arrays_are_passed_once_more(animals, blobs):
    animals.merge(["cat", "dog"], name="pet")
    with pytest.raises(InputError, match=r"None of the 94 items .*did not come from a file") as caught:
        animals.split("pet")
    assert caught.value.option == "data"
    before = statistics(animals)[5].count
    done = animals.split("pet", blobs.rows)
    after = statistics(animals)
    assert sum(after[i].count for i in done.categories) == pytest.approx(before, abs=1e-9)
    assert done.shared == 0
    assert {item.category for item in animals.items("session=0")} == {2, *done.categories}
    assert done.missing == len(animals.items("category=5")) == 34


def test_other_items_help_to_find_the_parts_and_teach_nothing(animals, blobs):
    animals.merge(["cat", "dog"], name="pet")
    before = statistics(animals)[5]
    done = animals.split("pet", blobs.rows[:60] + 0.01)
    after = statistics(animals)
    one, two = (after[i] for i in done.categories)
    assert (one + two).count == pytest.approx(before.count, abs=1e-9)
    assert (done.shared, done.missing, set(done.counts.values())) == (60.0, 94, {0})
    found = animals.predict(blobs.rows[:60]).category
    assert min(np.bincount(part).max() for part in (found[:30], found[30:])) >= 27
    assert (np.bincount(found[:30]).argmax(), np.bincount(found[30:]).argmax()) in ((6, 7), (7, 6))


def test_a_file_that_is_elsewhere_can_be_given(pets, tmp_path):
    (tmp_path / "first.npz").rename(tmp_path / "moved.npz")
    done = pets.split("pet", tmp_path / "moved.npz")
    assert (done.missing, done.shared) == (0, 0.0)


def test_what_was_not_recorded_is_shared_and_refused_later(animals, blobs, leave, answers):
    leave(2, [5])
    record = animals.discover(blobs.probe)  # without lessons, as earlier releases did
    new = next(iter(record.novel))
    whole = statistics(animals)[new]
    done = animals.split(new, blobs.probe, n_parts=2)
    after = statistics(animals)
    assert sum(after[i].count for i in done.categories) == pytest.approx(whole.count, abs=1e-9)
    assert done.shared == pytest.approx(float(whole.count[0]))
    [item, *_] = animals.items("session=2", f"category={min(done.categories)}")
    with pytest.raises(InputError, match="not recorded"):
        animals.move_items(item, 0, data=blobs.probe)


def test_a_part_must_have_learned_something(blobs, tmp_path, tree):
    workspace = Workspace.init(tmp_path / "w", model={**EXACT, "unassigned": False})
    np.savez(tmp_path / "first.npz", x=blobs.rows, y=blobs.labels)
    np.save(tmp_path / "far.npy", blobs.rows[60:] - [12, 0, 0, 0, 0, 0])
    workspace.learn(tmp_path / "first.npz", embedding="x", label="y")
    workspace.discover(tmp_path / "far.npy", n_novel=0)
    guessed = workspace.items("session=1", "category=owl")
    assert len(guessed) == 30
    before = tree(workspace.path)
    with pytest.raises(InputError, match=r"less than one of the 30 items.*items confirm"):
        workspace.split("owl", n_parts=2)
    assert tree(workspace.path) == before
    workspace.confirm_items(guessed)
    workspace.split("owl", n_parts=2)


@pytest.mark.parametrize("gone", [False, True])
def test_items_that_waited_in_a_seedling_go_along(tmp_path, gone):
    rng = np.random.default_rng(0)
    means = 4 * rng.normal(size=(12, 16))
    labels = np.repeat(np.arange(8), 30)
    truth = np.concatenate([np.repeat(np.arange(8), 10), [8] * 4, [9] * 3, [10] * 5])
    rows, batch = (means[kind] + rng.normal(size=(len(kind), 16)) for kind in (labels, truth))
    second = np.concatenate([np.repeat(np.arange(8), 5), [9] * 10])
    np.save(tmp_path / "first.npy", batch)
    np.save(tmp_path / "second.npy", means[second] + rng.normal(size=(len(second), 16)))
    workspace = Workspace.init(tmp_path / "w", model={"dtype": "float64"})
    workspace.learn(rows, [f"c{i}" for i in labels])
    waiting = workspace.discover(tmp_path / "first.npy").lessons_.waiting
    [waited, *_] = [item for item in workspace.items("session=1") if waiting[int(item.reference)] >= 0]
    [grown] = workspace.discover(tmp_path / "second.npy").grown
    before = statistics(workspace)[grown]
    if gone:
        (tmp_path / "first.npy").unlink()
    done = workspace.split(grown, n_parts=2)
    one, two = (statistics(workspace)[i] for i in done.categories)
    assert_same(one + two, before)
    assert (done.shared, done.missing, sum(done.counts.values())) == (3.0 if gone else 0.0, 0, 10)
    if gone:
        with pytest.raises(InputError, match="its part is not known"):
            workspace.move_items(waited, 0)
    else:
        weights = workspace.move_items(waited, 0).weights
        assert sum(after - before for before, after in weights.values()) == pytest.approx(0)
        assert set(weights) - {0} <= set(done.categories)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_parts": 1}, "n_parts"),
        ({"n_parts": 99}, "'pet'.* 99 .* 198"),
        ({"names": ["a"]}, "2 different names"),
        ({"names": ["a", "owl"]}, "2 .*'owl'"),
        ({"names": ["a", "b", "c"], "n_parts": 2}, "2 different names"),
        ({"data": "nothing.csv"}, "nothing.csv"),
        ({"text": "body"}, "no data was given"),
    ],
)
def test_a_wrong_split_changes_nothing(pets, tree, options, message):
    before = tree(pets.path)
    with pytest.raises(InputError, match=message):
        pets.split("pet", **options)
    assert tree(pets.path) == before


def test_equal_items_cannot_be_split(animals, blobs):
    with pytest.raises(InputError, match="Too few distinct"):
        animals.split("cat", np.repeat(blobs.rows[:1], 8, axis=0), n_parts=2)


def test_parts_of_texts_are_named_by_their_words_and_show_excerpts(tmp_path, words):
    lines = [f"{word} {i},{word}" for word in ("card", "table", "music", "flight") for i in range(12)]
    (tmp_path / "learned.csv").write_text("text,label\n" + "\n".join(lines) + "\n")
    model = {"n_components": 4, "prior_strength": 12.0}
    workspace = Workspace.init(tmp_path / "w", model=model, excerpts=2, embedder=words)
    workspace.learn(tmp_path / "learned.csv")
    workspace.merge(["card", "table"], name="thing")
    done = workspace.split("thing")
    assert sorted(name.split()[-1] for name in done.categories.values()) == ["card", "table"]
    shown = {view.info.id: view.excerpts for view in workspace.overview().categories}
    assert all(len(shown[part]) == 2 for part in done.categories)


def test_a_split_names_items_that_could_not_be_embedded(tmp_path):
    image = pytest.importorskip("PIL.Image")

    class Colours:
        name, kind, dimension, fingerprint, batch_size = "colours", "image", 3, "colours-1", 64

        def embed(self, items):
            return np.array([np.asarray(open_picture(item), dtype=float).mean(axis=(0, 1)) for item in items])

    rng = np.random.default_rng(0)
    for name in ("red", "blue"):
        (tmp_path / "data" / name).mkdir(parents=True)
        for i in range(6):
            array = rng.integers(0, 100, 3) + np.array([150, 0, 0] if name == "red" else [0, 0, 150])
            image.new("RGB", (4, 4), tuple(array.tolist())).save(tmp_path / "data" / name / f"{i}.png")
    workspace = Workspace.init(tmp_path / "w", embedder=Colours(), cache=False, model={"count": "evidence"})
    workspace.learn(tmp_path / "data")
    (tmp_path / "data/red/0.png").write_bytes(b"no picture")
    with pytest.raises(InputError, match=r"picture 'red/0.png' .* has changed since"):
        workspace.move_items("red/0.png", "blue")
    done = workspace.split("red", tmp_path / "data", n_parts=2)
    assert [failure.reference for failure in done.failures] == ["red/0.png"]
    assert done.as_json()["failures"][0]["reason"]
    assert (done.missing, done.shared) == (1, 1.0)
    assert workspace.rename("blue", "sea").failures == ()


def test_a_split_survives_export_and_import(pets, blobs, tmp_path, answers):
    pets.split("pet")
    pets.export(tmp_path / "a.zip")
    copy = Workspace.import_(tmp_path / "a.zip", tmp_path / "copy")
    assert answers(copy, blobs.probe) == answers(pets, blobs.probe)
    assert copy.items() == pets.items()
    with pytest.raises(InputError, match=r"was imported.*relocate"):
        copy.move_items("3@0", "owl")
    with pytest.raises(InputError, match=r"was imported.*relocate"):
        copy.split("owl", n_parts=2)
    copy.relocate(tmp_path / "first.npz", tmp_path / "first.npz")
    copy.move_items("3@0", "owl")


class Oracle:
    """What each item teaches, kept by hand: item -> {category: weight}."""

    def __init__(self, workspace, blobs):
        self.workspace = workspace
        self.rows = {0: blobs.rows, 1: blobs.rows[::2] + 0.1, 2: blobs.batch, 3: blobs.probe}
        names = {"cat": 5, "dog": 5, "owl": 2}
        self.taught = {(0, i): {names[label]: 1.0} for i, label in enumerate(blobs.labels)}
        self.taught |= {(1, i): {names[label]: 1.0} for i, label in enumerate(blobs.labels[::2])}

    def add_lessons(self, session, lessons, ids):
        for row, category, weight in zip(lessons.row, lessons.category, lessons.weight, strict=True):
            self.taught.setdefault((session, int(row)), {})[ids[category]] = float(weight)

    def renamed(self, into):
        """Every item that taught a key of ``into`` teaches what it is given for this item."""
        for key, taught in self.taught.items():
            now = {}
            for category, weight in taught.items():
                for part in into(key, category):
                    now[part] = now.get(part, 0.0) + weight
            self.taught[key] = now

    def check(self):
        found = statistics(self.workspace)
        known = self.workspace.snapshot().knowledge
        for category, have in found.items():
            keys = sorted(key for key, taught in self.taught.items() if taught.get(category))
            if not keys:
                np.testing.assert_allclose(have.count, 0, atol=1e-9)
                continue
            rows = known.reduced(np.array([self.rows[session][row] for session, row in keys]))
            weight = np.array([self.taught[key][category] for key in keys])
            direct = statistics_by_label(rows, np.zeros(len(keys), dtype=int), 1, weight=weight)
            assert_same(have, direct)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10**6))
def test_any_sequence_equals_learning_what_is_said_in_the_end(pets, blobs, answers, tmp_path, seed):
    rng = np.random.default_rng(seed)
    path = tmp_path / f"copy-{seed}"
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(pets.path, path)
    workspace = Workspace.open(path)
    oracle = Oracle(workspace, blobs)
    now = workspace.snapshot()
    lessons = now.content(now.history.commit(4), "lessons.parquet")
    for row, category, weight in zip(lessons.row, lessons.category, lessons.weight, strict=True):
        oracle.taught.setdefault((2, int(row)), {})[int(category)] = float(weight)
    oracle.check()
    steps = [str(step) for step in rng.choice(["correct"] * 4 + ["merge", "split", "drop", "later"], 8)]
    for step in steps:
        bits, live = answers(workspace, blobs.probe), workspace.snapshot().state.ids
        if step == "correct":
            if not _correct(workspace, oracle, rng, live):
                continue
        elif step == "merge" and len(live) > 3:
            one, two = (int(i) for i in rng.choice(live, 2, replace=False))
            new = next(iter(workspace.merge([one, two]).categories))
            oracle.renamed(lambda key, c, both=(one, two), new=new: [new if c in both else c])
        elif step == "split":
            whole = int(rng.choice(live))
            try:
                workspace.split(whole, n_parts=2)
            except InputError:
                continue
            where = {(i.session, int(i.reference)): i.category for i in workspace.items()}
            oracle.renamed(lambda key, c, whole=whole, where=where: [where[key] if c == whole else c])
        elif step == "drop" and len(live) > 3:
            out = int(rng.choice(live))
            workspace.drop(out)
            oracle.renamed(lambda key, c, out=out: [] if c == out else [c])
        elif step == "later" and workspace.sessions()[-1].session < 3:
            np.save(tmp_path / "probe.npy", blobs.probe)
            record = workspace.discover(tmp_path / "probe.npy", n_novel=1)
            oracle.add_lessons(3, record.lessons_, workspace.snapshot().state.ids)
        else:
            continue
        oracle.check()
        if rng.random() < 0.5:
            workspace.undo()
            assert answers(workspace, blobs.probe) == bits
            workspace.redo()
    oracle.check()
    assert answers(Workspace.open(path), blobs.probe) == answers(workspace, blobs.probe)


def _correct(workspace, oracle, rng, live):
    items = [item for item in workspace.items() if item.category in live]
    chosen = [items[i] for i in rng.choice(len(items), rng.integers(1, 5), replace=False)]
    keys = [(item.session, int(item.reference)) for item in chosen]
    kind = rng.choice(["move", "reject", "confirm"])
    try:
        if kind == "move":
            to = int(rng.choice(live))
            workspace.move_items(chosen, to)
            oracle.taught |= {key: {to: 1.0} for key in keys}
        elif kind == "reject":
            workspace.reject_items(chosen)
            oracle.taught |= {key: {} for key in keys}
        else:
            workspace.confirm_items(chosen)
            oracle.taught |= {key: {item.category: 1.0} for key, item in zip(keys, chosen, strict=True)}
    except InputError:  # all of them are so already
        return False
    return True
