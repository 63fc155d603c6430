import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vbcgcd import CategoryDiscoverer
from vbcgcd.bayes import posterior_of, statistics_by_label
from vbcgcd.embed.pictures import open_picture
from vbcgcd.errors import InputError
from vbcgcd.workspace import Workspace
from vbcgcd.workspace.commands.categories import merge_posteriors


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000), st.sampled_from(["full", "diagonal"]))
def test_a_merge_is_the_posterior_of_all_rows(seed, covariance):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, 60)
    rows = rng.normal(size=(60, 3)) + labels[:, None]
    model = CategoryDiscoverer(
        covariance=covariance,
        dtype="float64",
        prior_strength=6.0,
        whiten=False,
        normalise=False,
        count="evidence",
    ).fit(rows, labels)
    known = model.knowledge_
    merged = merge_posteriors(known, [0, 2])
    reduced = known.reduced(rows)
    part = np.where(np.isin(labels, [0, 2]), 0, -1)
    direct = posterior_of(known.prior, statistics_by_label(reduced, part, 1, structure=covariance))
    for name in ("mean", "kappa", "nu", "factor"):
        np.testing.assert_allclose(getattr(merged, name), getattr(direct, name), rtol=1e-7, atol=1e-8)


def test_a_merge_retires_its_parts_and_keeps_the_best_name(animals, blobs):
    animals.rename(3, "newt")
    before = animals.categories()
    done = animals.merge(["cat", 3])
    assert (done.categories, done.retired) == ({5: "newt"}, {0: "cat", 3: "newt"})
    [merged] = [c for c in animals.categories() if c.id == 5]
    assert (merged.parents, merged.birth) == ((0, 3), 0)
    assert merged.size == sum(c.size for c in before if c.id in (0, 3))
    assert merged.taught == pytest.approx(sum(c.taught for c in before if c.id in (0, 3)))
    assert set(merged.samples) <= {str(i) for i in range(100)}
    retired = {c.id: (c.status, c.into) for c in animals.categories(retired=True) if c.status != "live"}
    assert retired == {0: ("merged", (5,)), 3: ("merged", (5,))}
    assert 0 not in animals.predict(blobs.rows).category
    assert (animals.predict(blobs.rows[:30]).category == 5).mean() > 0.9


def test_a_merge_undone_is_as_if_it_had_not_been(animals, blobs, answers):
    before = answers(animals, blobs.probe), animals.categories()
    animals.merge([1, 2], name="animal")
    after = answers(animals, blobs.probe), animals.categories()
    assert after != before
    assert animals.undo().of_command == "merge"
    assert (answers(animals, blobs.probe), animals.categories()) == before
    assert animals.redo().of_command == "merge"
    assert (answers(animals, blobs.probe), animals.categories()) == after


@pytest.mark.parametrize(
    ("keys", "name", "message"),
    [
        ([0], None, r"two .*'cat' \(category 0\)"),
        ("cat", None, r"two .*'cat' \(category 0\)"),
        (1, None, r"two .*'dog' \(category 1\)"),
        ([], None, "two .* none"),
        ([0, "cat"], None, r"'cat' \(category 0\) .* once"),
        ([0, 99], None, "category 99"),
        ([0, 1], "owl", "2 .*'owl'"),
        ([0, 1], "", "non-empty"),
    ],
)
def test_a_wrong_merge_changes_nothing(animals, tree, keys, name, message):
    before = tree(animals.path)
    with pytest.raises(InputError, match=message):
        animals.merge(keys, name)
    assert tree(animals.path) == before


def test_a_split_finds_the_two_halves_of_a_merge(animals, blobs):
    merged = animals.merge(["cat", "dog"], name="pet").categories
    [pet] = merged
    done = animals.split("pet", blobs.rows)
    assert done.retired == {pet: "pet"}
    assert list(done.categories.values()) == ["pet 1", "pet 2"]
    found = animals.predict(blobs.rows[:60]).category
    halves = [np.unique(part, return_counts=True) for part in (found[:30], found[30:])]
    most = [int(ids[counts.argmax()]) for ids, counts in halves]
    assert set(most) == set(done.categories)
    assert min(counts.max() for _, counts in halves) >= 28
    assert sorted(done.counts) == sorted(done.categories)
    old = {c.id: c for c in animals.categories(retired=True)}[pet]
    assert (old.status, old.into) == ("split", tuple(done.categories))
    assert {c.parents for c in animals.categories() if c.id in done.categories} == {(pet,)}
    assert animals.undo().of_command == "split"
    assert pet in {c.id for c in animals.categories()}


def test_the_parts_of_a_split_learn_from_the_batch_alone(animals, blobs):
    animals.merge(["cat", "dog"], name="pet")
    done = animals.split("pet", blobs.rows, names=["<i>tom</i>", "rex"])
    assert list(done.categories.values()) == ["<i>tom</i>", "rex"]
    taught = {c.name: c.taught for c in animals.categories()}
    assert sorted([taught["<i>tom</i>"], taught["rex"]]) == sorted(done.counts.values())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_parts": 1}, "n_parts"),
        ({"n_parts": 40}, "'cat'.* 40 .* 80"),
        ({"names": ["a"]}, "2 different names"),
        ({"names": ["a", "owl"]}, "2 .*'owl'"),
    ],
)
def test_a_wrong_split_changes_nothing(animals, blobs, tree, options, message):
    before = tree(animals.path)
    with pytest.raises(InputError, match=message):
        animals.split("cat", blobs.rows, **options)
    assert tree(animals.path) == before


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
    done = workspace.split("red", tmp_path / "data")
    assert [failure.reference for failure in done.failures] == ["red/0.png"]
    assert done.as_json()["failures"][0]["reason"]
    assert workspace.rename("blue", "sea").failures == ()


def test_equal_items_cannot_be_split(animals, blobs):
    with pytest.raises(InputError, match="Too few distinct"):
        animals.split("cat", np.repeat(blobs.rows[:1], 8, axis=0))


def test_a_dropped_category_is_never_predicted_and_comes_back(animals, blobs, answers):
    before = answers(animals, blobs.probe)
    assert animals.drop("dog").retired == {1: "dog"}
    assert 1 not in animals.predict(blobs.rows).category
    with pytest.raises(InputError, match=r"1 \('dog'\) .*dropped"):
        animals.rename(1, "hound")
    animals.undo()
    assert answers(animals, blobs.probe) == before


def test_a_merged_category_tells_what_it_became(animals):
    animals.merge(["cat", "dog"], name="pet")
    with pytest.raises(InputError, match=r"1 \('dog'\) .*'pet' \(category 5\)"):
        animals.rename(1, "hound")


def test_the_last_category_stays(animals):
    for key in (0, 1, 2, 3):
        animals.drop(key)
    with pytest.raises(InputError):
        animals.drop(4)


def test_names_are_unique_text_and_can_be_used_again(animals, tree):
    animals.rename("cat", "<script>alert(1)</script>")
    assert animals.category("<script>alert(1)</script>").id == 0
    before = tree(animals.path)
    for name, message in (
        ("dog", "already named"),
        ("", "non-empty"),
        ("a\nb", "line breaks"),
    ):
        with pytest.raises(InputError, match=message):
            animals.rename(0, name)
    assert tree(animals.path) == before
    animals.drop("dog")
    animals.rename(0, "dog")
    assert animals.category("dog").named_by == "user"
