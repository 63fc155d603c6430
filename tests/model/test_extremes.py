"""Few rows, one category, constant or very wide or very large rows."""

import numpy as np
import pytest
from sklearn.base import clone

from support import assert_answers, blobs
from vbcgcd import CategoryDiscoverer

COVARIANCES = ["full", "lowrank", "diagonal"]
ROWS, LABELS = blobs()


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("inference", ["exact", "svi"])
class TestExtremes:
    @pytest.fixture
    def model(self, covariance, inference):
        return CategoryDiscoverer(covariance=covariance, inference=inference)

    def test_a_category_of_one_row(self, model):
        rows = np.vstack([ROWS, np.full(5, 60.0), np.full(5, -60.0)])
        labels = np.append(LABELS, [8, 9])
        model.fit(rows, labels)
        np.testing.assert_array_equal(model.predict(rows), labels)
        assert_answers(model, rows)

    def test_all_categories_of_one_row(self, model):
        rows = ROWS[::10]
        model.fit(rows, ["a", "b", "c"])
        assert model.predict(rows).tolist() == ["a", "b", "c"]
        # Nothing but the means is known: the nearest category wins.
        np.testing.assert_array_equal(model.predict(rows + 0.01), model.predict(rows))
        assert_answers(model, ROWS)

    def test_one_row_in_all(self, model):
        model.fit(ROWS[:1], ["only"])
        assert model.predict(ROWS).tolist() == ["only"] * 30
        assert_answers(model, ROWS)

    def test_a_single_category(self, model):
        model.fit(ROWS, np.full(30, "only"))
        assert set(model.predict(ROWS)) == {"only"}
        np.testing.assert_array_equal(model.predict_proba(ROWS), 1)
        # The density still tells its own rows from others.
        assert model.score_samples(-50 * ROWS).max() < model.score_samples(ROWS).min()

    def test_constant_columns(self, model):
        model.set_params(normalise=False)
        padded = np.insert(ROWS, [0, 2, 5], 7.0, axis=1)
        model.fit(padded, LABELS)
        assert model.reducer_.n_components == 5
        np.testing.assert_array_equal(model.predict(padded), LABELS)
        assert_answers(model, padded)

    @pytest.mark.parametrize(("value", "width"), [(0.0, 4), (-1e6, 4), (1.0, 2100)])
    def test_all_rows_identical(self, model, value, width):
        rows = np.full((10, width), value)
        model.fit(rows, np.arange(10) % 2)
        assert_answers(model, rows)
        np.testing.assert_allclose(model.predict_proba(rows), 0.5, atol=1e-6)

    def test_rows_identical_within_each_category(self, model):
        rows, labels = np.repeat(ROWS[::10], 4, axis=0), np.repeat(np.arange(3), 4)
        model.fit(rows, labels)
        np.testing.assert_array_equal(model.predict(rows), labels)
        assert_answers(model, rows)

    def test_duplicated_rows(self, model):
        model.fit(np.repeat(ROWS, 3, axis=0), np.repeat(LABELS, 3))
        np.testing.assert_array_equal(model.predict(ROWS), LABELS)
        assert_answers(model, ROWS)

    def test_fewer_rows_than_dimensions(self, model):
        rows, labels = blobs(2, dim=100, each=4, separation=2.0)
        model.fit(rows, labels)
        assert model.reducer_.n_components <= 11
        np.testing.assert_array_equal(model.predict(rows), labels)
        fresh = rows + 0.5 * np.random.default_rng(0).normal(size=rows.shape)
        assert model.score(fresh, labels) > 0.9
        assert_answers(model, fresh)

    @pytest.mark.parametrize("n_rows", [10, 30])
    def test_nearly_as_many_categories_as_rows(self, model, n_rows):
        rows = 5 * np.random.default_rng(0).normal(size=(n_rows, 5))
        rows[-1] = rows[0] + 0.01
        labels = np.append(np.arange(n_rows - 1), 0)
        model.fit(rows, labels)
        assert model.score(rows, labels) > 0.9
        assert_answers(model, rows)

    @pytest.mark.parametrize("scale", [1e12, 1e-12])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_units_do_not_matter(self, model, scale, dtype):
        rows = (scale * ROWS).astype(dtype)
        usual = clone(model).fit(ROWS, LABELS)
        model.fit(rows, LABELS)
        np.testing.assert_array_equal(model.predict(rows), LABELS)
        np.testing.assert_allclose(model.predict_proba(rows), usual.predict_proba(ROWS), atol=1e-3)
        assert_answers(model, rows)

    @pytest.mark.parametrize("n_components", [5, 384, None])
    def test_very_wide_rows(self, model, n_components):
        rows, labels = blobs(3, dim=2100, each=12, separation=0.5)
        model.set_params(n_components=n_components).fit(rows[::2], labels[::2])
        assert model.reducer_.n_components <= 17
        assert model.score(rows[1::2], labels[1::2]) > 0.9
        assert_answers(model, rows[1::2])


def test_far_from_the_origin():
    model = CategoryDiscoverer(normalise=False).fit(ROWS + 1e5, LABELS)
    np.testing.assert_array_equal(model.predict(ROWS + 1e5), LABELS)
