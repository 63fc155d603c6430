import json

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from vbcgcd.bayes import Classifier
from vbcgcd.discovery import knowledge
from vbcgcd.discovery.top import is_listed
from vbcgcd.errors import InputError
from vbcgcd.workspace import Workspace


def test_chunks_do_not_matter(animals, blobs, monkeypatch):
    whole = animals.predict(blobs.probe)
    monkeypatch.setattr(knowledge, "CHUNK_ROWS", 7)
    parts = animals.predict(blobs.probe)
    np.testing.assert_array_equal(whole.category, parts.category)
    np.testing.assert_allclose(whole.probability, parts.probability, rtol=1e-6)
    np.testing.assert_allclose(whole.novelty, parts.novelty, rtol=1e-6)


def test_rows_are_plain(animals, blobs):
    found = animals.predict(blobs.probe, reject=0.05)
    rows = list(found.rows())
    assert json.loads(json.dumps(rows)) == rows
    assert len(rows) == len(found) == 40
    assert list(rows[0])[:4] == ["reference", "category", "name", "probability"]
    refused = [row for row in rows if row["category"] == -1]
    assert refused
    assert all(
        row["name"] == "none of these" and row["best"] >= 0 and row["novelty"] > 0.95 for row in refused
    )


def test_refusal_grows_with_the_rate(animals, blobs):
    shares = [(animals.predict(blobs.probe, reject=r).category == -1).mean() for r in (0.01, 0.1, 0.5)]
    assert shares == sorted(shares)
    assert shares[0] < shares[-1]


@pytest.mark.parametrize("rate", [-0.1, 1.0, 2, "x", float("nan")])
def test_a_wrong_rate_is_one_clear_error(animals, blobs, rate):
    with pytest.raises(InputError) as raised:
        animals.predict(blobs.probe, reject=rate)
    assert raised.value.option == "reject"


def test_with_many_categories_the_explanation_comes_from_the_short_list_as_the_answer_does(
    tmp_path, monkeypatch
):
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(300), 3)
    rows = 4 * rng.standard_normal((300, 40))[labels] + rng.standard_normal((900, 40))
    workspace = Workspace.init(tmp_path / "many", model={"count": "evidence"})
    workspace.learn(rows, [f"label {k}" for k in labels])
    probe = rows[::90] + 0.5
    answer = workspace.predict(probe)
    known = workspace.snapshot().knowledge
    assert is_listed(known)
    scored = []
    whole = Classifier.log_density

    def counted(self, part, posterior, **options):
        scored.append(len(posterior))
        return whole(self, part, posterior, **options)

    monkeypatch.setattr(Classifier, "log_density", counted)
    for place in range(len(probe)):
        first, second = workspace.explain(probe, row=place, n=2).candidates
        assert (first.id, second.id) == (answer.best[place], answer.second[place])
        assert first.probability == pytest.approx(answer.probability[place], rel=1e-5)
        k = workspace.snapshot().state.ids.index(first.id)
        mean, covariance = known.posterior.mean[k].astype(float), known.posterior.covariance(k)
        row = known.reduced(probe[[place]])[0].astype(float)
        assert first.log_density == pytest.approx(multivariate_normal(mean, covariance).logpdf(row), rel=1e-4)
    assert max(scored) < len(known.posterior)


def test_the_explanation_agrees_with_scipy(animals, blobs):
    found = animals.explain(blobs.probe, row=4, n=5)
    known = animals.snapshot().knowledge
    row = known.reduced(blobs.probe[[4]])[0].astype(float)
    density = {}
    for k, category in enumerate(animals.snapshot().state.ids):
        mean, covariance = known.posterior.mean[k].astype(float), known.posterior.covariance(k)
        density[category] = multivariate_normal(mean, covariance).logpdf(row)
    for candidate in found.candidates:
        k = animals.snapshot().state.ids.index(candidate.id)
        assert candidate.log_density == pytest.approx(density[candidate.id], rel=1e-4)
        gap = row - known.posterior.mean[k]
        expected = np.sqrt(gap @ np.linalg.inv(known.posterior.covariance(k)) @ gap)
        assert candidate.distance == pytest.approx(expected, rel=1e-6)
        assert candidate.log_volume == pytest.approx(
            0.5 * np.linalg.slogdet(known.posterior.covariance(k))[1], abs=1e-4
        )
    first, second = found.candidates[:2]
    odds = known.temperature * (density[first.id] - density[second.id])
    assert found.log_odds == pytest.approx(odds, rel=1e-3)
    sure = {c.id: c.reliability for c in animals.snapshot().state.live}
    ratio = first.probability / sure[first.id] / (second.probability / sure[second.id])
    assert found.log_odds == pytest.approx(np.log(ratio), rel=1e-6)
    nearness = 0.5 * known.temperature * (second.distance**2 - first.distance**2)
    assert found.from_distance == pytest.approx(nearness, rel=1e-3)
    assert found.from_distance + found.from_volume == pytest.approx(found.log_odds)


@pytest.mark.parametrize("place", range(0, 40, 4))
def test_the_explanation_tells_what_predict_says(animals, blobs, place):
    found = animals.explain(blobs.probe, row=place)
    row = list(animals.predict(blobs.probe).rows())[place]
    first, second = found.candidates[:2]
    assert (found.reference, first.id, second.id) == (row["reference"], row["best"], row["second"])
    assert first.probability == pytest.approx(row["probability"])
    assert found.novelty == pytest.approx(row["novelty"], rel=1e-4)
    assert len(first.typical) == 3
    assert first.name in found.text
    assert second.name in found.text
    assert json.dumps(found.as_json(), allow_nan=False)


def test_a_single_category_is_explained(animals, blobs):
    for key in (1, 2, 3, 4):
        animals.drop(key)
    found = animals.explain(blobs.probe)
    assert found.log_odds == float("inf")
    assert found.as_json()["log_odds"] is None
    assert animals.predict(blobs.probe).second_name == [""] * 40


def test_a_row_that_is_not_there(animals, blobs):
    with pytest.raises(InputError) as caught:
        animals.explain(blobs.probe, row=40)
    assert caught.value.option == "row"
