import numpy as np
import pytest

from vbcgcd import CategoryDiscoverer
from vbcgcd.errors import InputError
from vbcgcd.items import Items
from vbcgcd.record import SessionRecord
from vbcgcd.workspace import Workspace


def texts_of(*words, n=12):
    return [f"{word} {word} please number{i}" for word in words for i in range(n)]


def test_sessions_are_those_of_the_model(template, blobs):
    workspace = Workspace.open(template)
    model = CategoryDiscoverer(**workspace.config()["model"]).fit(
        blobs.rows, np.unique(blobs.labels, return_inverse=True)[1]
    )
    report = model.discover(blobs.batch, n_novel=2)
    [base, first] = workspace.sessions()
    assert (base.command, base.session, base.rows, base.novel) == (
        "learn",
        0,
        90,
        {0: "cat", 1: "dog", 2: "owl"},
    )
    assert (first.command, first.session, first.known_rows) == ("discover", 1, report.known_rows)
    assert first.counts == dict(
        zip(*(a.tolist() for a in np.unique(report.labels_, return_counts=True)), strict=True)
    )
    assert first.estimated is False
    assert first.evidence == report.evidence
    np.testing.assert_array_equal(workspace.predict(blobs.probe).category, model.predict(blobs.probe))


def test_ids_and_session_numbers_are_never_used_again(animals, blobs):
    found = animals.discover(blobs.batch + 30, n_novel=2)
    assert (found.session, list(found.novel)) == (2, [5, 6])
    animals.undo()
    again = animals.discover(blobs.batch + 30, n_novel=1)
    assert (again.session, list(again.novel)) == (3, [7])
    undone = {s.session: s.undone for s in animals.sessions()}
    assert undone == {0: False, 1: False, 2: True, 3: False}
    assert [s.session for s in animals.sessions(undone=False)] == [0, 1, 3]


def test_a_session_may_find_nothing(animals, blobs):
    before = animals.categories(n_samples=0)
    found = animals.discover(blobs.rows, n_novel=0)
    assert (found.novel_rows, found.known_rows, found.novel) == (0, 90, {})
    assert [c.id for c in animals.categories()] == [c.id for c in before]
    assert not (animals.path / "commits" / f"{found.commit:06d}" / "posteriors.safetensors").exists()


def test_a_later_labelled_session_adds_and_teaches_only_if_told_to(animals, blobs, answers):
    rows, labels = np.vstack([blobs.rows[:10], blobs.rows[:10] + 50]), ["cat"] * 10 + ["emu"] * 10
    taught = animals.categories()[0].taught
    done = animals.learn(rows, labels)
    assert (done.novel, done.counts) == ({5: "emu"}, {0: 10, 5: 10})
    assert animals.categories()[0].taught == taught
    assert animals.category("emu").birth == done.session == 2
    animals.learn(rows[:10], labels[:10], update_known=True)
    assert animals.categories()[0].taught == pytest.approx(taught + 10)
    assert answers(Workspace.open(animals.path), blobs.probe) == answers(animals, blobs.probe)


def test_rows_without_labels_are_counted_and_left_out(fresh, blobs):
    labels = np.array([None if i % 10 == 0 else label for i, label in enumerate(blobs.labels)], dtype=object)
    done = fresh.learn(Items("embedding", blobs.rows, [str(i) for i in range(90)], "here", labels))
    assert (done.rows, done.unlabelled) == (81, 9)
    assert sum(done.counts.values()) == 81


def test_no_label_at_all_is_one_clear_error(fresh, blobs, tree):
    before = tree(fresh.path)
    with pytest.raises(InputError) as caught:
        fresh.learn(blobs.rows)
    assert caught.value.option == "label"
    assert tree(fresh.path) == before


def test_labels_and_numbers_are_checked_before_anything_is_embedded(tmp_path, words, monkeypatch):
    workspace = Workspace.init(tmp_path / "w", embedder=words, model={"count": "evidence"})
    workspace.learn(texts_of("card", "table"), np.repeat(["pay", "eat"], 12))
    monkeypatch.setattr(words, "embed", lambda items: pytest.fail("embedded"))
    with pytest.raises(InputError) as caught:
        workspace.learn(texts_of("music"))
    assert caught.value.option == "label"
    for wrong in (7, 12, 1.5, True, "two", float("nan")):
        with pytest.raises(InputError) as raised:
            workspace.discover(texts_of("music"), n_novel=wrong)
        assert raised.value.option == "n_novel"


def test_novel_texts_are_named_by_their_terms_and_the_user_wins(tmp_path, words):
    workspace = Workspace.init(tmp_path / "w", embedder=words, model={"count": "evidence"})
    workspace.learn(texts_of("card", "table", "rain"), np.repeat(["pay", "eat", "wet"], 12))
    found = workspace.discover(texts_of("music", "card", "flight"), n_novel=2)
    assert sorted(name.split(",")[0].split()[0] for name in found.novel.values()) == ["flight", "music"]
    assert {workspace.category(i).named_by for i in found.novel} == {"terms"}
    [music] = [i for i, name in found.novel.items() if "music" in name]
    workspace.rename(music, "songs")
    workspace.discover(texts_of("music", "card"), n_novel=0)
    assert workspace.category(music).name == "songs"
    other = workspace.merge([music, *(set(found.novel) - {music})])
    assert list(other.categories.values()) == ["songs"]


def test_novel_pictures_are_named_by_what_they_are_like(tmp_path, monkeypatch, colours):
    pytest.importorskip("PIL")
    monkeypatch.setenv("VBCGCD_CACHE", str(tmp_path / "cache"))

    rng = np.random.default_rng(0)

    def pictures(shades, n):
        plain = np.repeat(np.array(shades), n, axis=0)[:, None, None]
        return np.clip(plain + rng.normal(0, 15, (len(plain), 4, 4, 3)), 0, 255).astype(np.uint8)

    workspace = Workspace.init(tmp_path / "w", embedder=colours, model={"count": "evidence"})
    known = [[200, 40, 40], [40, 200, 40], [40, 40, 200]]
    workspace.learn(pictures(known, 12), np.repeat(["red", "green", "blue"], 12))
    found = workspace.discover(pictures([[200, 160, 40], [40, 40, 200]], 12), n_novel=1)
    [name] = found.novel.values()
    assert name in ("like red or green", "like green or red")


def test_numbers_instead_of_names_where_asked_for(tmp_path, words):
    workspace = Workspace.init(tmp_path / "w", embedder=words, names="number", model={"count": "evidence"})
    workspace.learn(texts_of("card", "table"), np.repeat(["pay", "eat"], 12))
    assert workspace.discover(texts_of("music"), n_novel=1).novel == {2: "novel-2"}


def test_a_learned_base_can_be_undone_and_learned_again(fresh, blobs):
    fresh.learn(blobs.rows, blobs.labels)
    fresh.undo()
    assert fresh.categories() == ()
    assert fresh.embedder is None
    done = fresh.learn(blobs.rows[:, :5], blobs.labels)
    assert done.novel == {3: "cat", 4: "dog", 5: "owl"}
    assert set(fresh.predict(blobs.rows[:, :5]).category) == {3, 4, 5}


def test_labels_of_one_name_are_one_category_in_every_session(fresh, blobs):
    labels = np.array(["cat", "dog", "a b"])[np.repeat([0, 1, 2], 30)]
    labels = np.where(
        np.arange(90) % 2, labels, np.array([f" {label}\n".replace("a b", "a\tb") for label in labels])
    )
    done = fresh.learn(blobs.rows, labels)
    assert done.counts == {0: 30, 1: 30, 2: 30}
    assert done.novel == {0: "a b", 1: "cat", 2: "dog"}
    again = fresh.learn(blobs.rows, labels)
    assert (again.novel, again.counts) == ({}, done.counts)
    more = fresh.learn(blobs.rows[:4] + 50, ["emu", "emu ", "\temu", "cat"])
    assert (more.novel, more.counts) == ({3: "emu"}, {1: 1, 3: 3})


def test_numbers_as_labels_keep_their_order(fresh, blobs):
    assert fresh.learn(blobs.rows, np.repeat([10, 9, 2], 30)).novel == {0: "2", 1: "9", 2: "10"}
    more = fresh.learn(blobs.rows[:30] + 50, np.repeat([9, 100, 11], 10))
    assert (more.novel, more.counts) == ({3: "11", 4: "100"}, {1: 10, 3: 10, 4: 10})


@pytest.mark.parametrize("base", [True, False])
def test_the_label_none_of_these_is_refused(fresh, animals, blobs, tree, base):
    workspace = fresh if base else animals
    before = tree(workspace.path)
    with pytest.raises(InputError, match="'none of these'"):
        workspace.learn(blobs.rows, np.where(blobs.labels == "cat", "none of these", blobs.labels))
    assert tree(workspace.path) == before


def test_commands_return_what_the_log_holds(animals, blobs):
    """Also where another process has committed in the meantime: nothing is looked up afterwards."""
    for run in (
        lambda: animals.discover(blobs.batch + 30, n_novel=1),
        lambda: animals.learn(blobs.probe[:20], ["yak"] * 20),
    ):
        record = run()
        assert record == animals.sessions()[-1]
        other = Workspace.open(animals.path)
        other.discover(blobs.batch, n_novel=0)
        assert other.sessions()[-2] == record
        assert (record.commit, record.time) == (
            other.history()[record.commit - 1].commit,
            other.history()[record.commit - 1].time,
        )


def test_a_record_has_the_rows_of_its_session(animals, blobs):
    record = animals.discover(blobs.batch, n_novel=0)
    assert record.labels_.shape == record.novelty_.shape == (100,)
    assert record.probabilities_.shape == (100, 5)
    assert {int(i): int((record.labels_ == i).sum()) for i in record.counts} == record.counts
    assert animals.sessions()[-1].labels_.size == 0
    assert SessionRecord.from_json(record.as_json()) == record


def reliabilities(workspace):
    return {category.id: category.reliability for category in workspace.snapshot().state.live}


def test_found_categories_stay_as_sure_as_they_were_judged(animals, blobs):
    before = reliabilities(animals)
    assert [before[i] for i in (0, 1, 2)] == [1, 1, 1]
    assert all(0 < before[i] < 1 for i in (3, 4))
    predictions = animals.predict(blobs.probe, reject=0)
    found = np.isin(predictions.category, [3, 4])
    assert found.any()
    most = np.array([before[i] for i in predictions.category.tolist()])
    assert (predictions.probability <= most + 1e-6).all()
    animals.learn(blobs.batch[:2], np.array([animals.categories()[3].name] * 2))
    after = reliabilities(animals)
    assert (after[3], after[4]) == (1, before[4])
    animals.undo()
    assert reliabilities(animals) == before


def test_a_name_makes_a_found_category_sure(animals):
    animals.rename(3, "fox")
    assert reliabilities(animals)[3] == 1
    assert reliabilities(animals)[4] < 1
