"""The base session from shards: that of one machine where rows fit, and from sums where they do not."""

import numpy as np
import pytest
from lake import KINDS, columns_of, rows_of, write_lake

from vbcgcd import CategoryDiscoverer
from vbcgcd.discovery.options import Options
from vbcgcd.errors import InputError
from vbcgcd.shards import learn_shards
from vbcgcd.shards.learning import count_labels, row_sample, sample_share


def learned(engine, data, options=None, **more):
    found = count_labels(engine, data)
    codes = {label: i for i, label in enumerate(found.labels)}
    return learn_shards(engine, data, codes, found.counts, options or Options(), **more)


def same(one, two):
    return all(
        np.array_equal(getattr(one.posterior, name), getattr(two.posterior, name))
        for name in ("mean", "kappa", "nu", "factor")
    )


def test_labels_are_counted_without_the_embeddings(here, tmp_path):
    rows, labels = rows_of(60)
    labels = [None if i % 10 == 0 else label for i, label in enumerate(labels)]
    found = count_labels(here, columns_of(write_lake(tmp_path / "lake", rows, labels)))
    assert found.unlabelled == 6
    assert dict(zip(found.labels, found.counts.tolist(), strict=True)) == {
        name: labels.count(name) for name in ("ant", "bee", "cat", "dog")
    }


def test_few_rows_are_learned_as_on_one_machine_bit_for_bit(here, processes, lake):
    rows, labels = rows_of(420)
    plain = CategoryDiscoverer().fit(rows, labels).knowledge_
    for engine in (here, processes):
        knowledge = learned(engine, columns_of(lake))
        assert same(knowledge, plain)
        assert knowledge.temperature == plain.temperature


@pytest.mark.parametrize(
    "options", [{}, {"covariance": "diagonal"}, {"standardise": True}, {"whiten": False}]
)
def test_from_sums_neither_shards_nor_engine_matter(here, processes, lake, tmp_path, options):
    rows, labels = rows_of(420)
    cut = write_lake(tmp_path / "cut", rows, labels, n_shards=9, group=17)
    probe, truth = rows_of(300, seed=5)
    answers, found = [], []
    for engine, folder in ((here, lake), (processes, lake), (here, cut), (processes, cut)):
        knowledge = learned(engine, columns_of(folder), Options(**options), sample_rows=200)
        found.append(knowledge)
        answers.append(knowledge.predict(knowledge.reduced(probe)))
    assert same(found[0], found[1])
    assert same(found[2], found[3])
    assert all(np.array_equal(answer, answers[0]) for answer in answers)
    np.testing.assert_allclose(found[0].posterior.mean, found[2].posterior.mean, atol=1e-5)
    assert np.mean(np.array(["ant", "bee", "cat", "dog"])[answers[0]] == truth) > 0.97


def test_from_sums_the_projection_is_that_of_all_rows(here, lake):
    rows, labels = rows_of(420)
    fixed = Options(normalise=False, whiten_shrinkage=0.1)
    plain = CategoryDiscoverer(normalise=False, whiten_shrinkage=0.1).fit(rows, labels)
    knowledge = learned(here, columns_of(lake), fixed, sample_rows=200)
    one, two = plain.transform(rows), knowledge.reduced(rows)
    between = KINDS - 1  # the axes along which means differ are the same, the rest any rotation of them
    np.testing.assert_allclose(one[:, :between], two[:, :between], atol=2e-4)
    np.testing.assert_allclose((one**2).sum(axis=1), (two**2).sum(axis=1), rtol=1e-3)
    np.testing.assert_allclose(knowledge.counts, plain.knowledge_.counts, rtol=1e-6)


def test_wide_rows_are_projected_by_their_sample(here, tmp_path, monkeypatch):
    from vbcgcd.discovery import gathered, reduce

    monkeypatch.setattr(gathered, "WIDEST_EXACT", 6)
    monkeypatch.setattr(reduce, "WIDEST_EXACT", 6)
    rows, labels = rows_of(420)
    data = columns_of(write_lake(tmp_path / "lake", rows, labels))
    knowledge = learned(here, data, Options(n_components=5), sample_rows=200)
    probe, truth = rows_of(300, seed=5)
    answers = np.array(["ant", "bee", "cat", "dog"])[knowledge.predict(knowledge.reduced(probe))]
    assert np.mean(answers == truth) > 0.95
    with pytest.raises(InputError, match="cannot be standardised block by block"):
        learned(here, data, Options(standardise=True), sample_rows=200)


def test_a_sample_depends_on_the_ids_alone(here, processes, lake, tmp_path):
    rows, labels = rows_of(420)
    cut = write_lake(tmp_path / "cut", rows, labels, n_shards=13, group=7)
    taken = [row_sample(e, columns_of(f), 0.3, 0) for e, f in ((here, lake), (processes, cut))]
    assert sorted(taken[0][3]) == sorted(taken[1][3])
    assert 80 < len(taken[0][3]) < 180
    assert set(row_sample(here, columns_of(lake), 0.3, 1)[3]) != set(taken[0][3])
    assert (sample_share(100, 100), sample_share(200, 100)) == (1.0, 0.5)


@pytest.mark.parametrize(("option", "value"), [("head", "ridge"), ("inference", "svi")])
def test_what_needs_all_rows_at_once_is_refused(here, lake, option, value):
    with pytest.raises(InputError, match="all rows at once") as raised:
        learned(here, columns_of(lake), Options(**{option: value}), sample_rows=200)
    assert raised.value.option == option


def test_labels_that_are_none(here, tmp_path):
    rows, _ = rows_of(20)
    with pytest.raises(InputError, match="have no labels; name the column"):
        count_labels(here, columns_of(write_lake(tmp_path / "a", rows)))
    with pytest.raises(InputError, match=r"No row of .* has a label"):
        count_labels(here, columns_of(write_lake(tmp_path / "b", rows, [""] * 20)))


def test_extreme_magnitudes_are_refused(here, tmp_path):
    rows, labels = rows_of(420)
    lake = write_lake(tmp_path / "lake", rows.astype(np.float64) * 1e60, labels)
    with pytest.raises(InputError, match="scale them to ordinary magnitudes"):
        learned(here, columns_of(lake), sample_rows=200)
