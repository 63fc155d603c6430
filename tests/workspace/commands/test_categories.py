import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vbcgcd import CategoryDiscoverer
from vbcgcd.bayes import posterior_of, statistics_by_label
from vbcgcd.errors import InputError
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
