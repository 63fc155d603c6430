"""The map: axes that the base session fixed, against an independent computation."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from vbcgcd.errors import InputError
from vbcgcd.workspace import Workspace
from vbcgcd.workspace.log.files import SKETCH
from vbcgcd.workspace.log.lessons import STATES
from vbcgcd.workspace.queries.chart import chart, principal_axes

VALUES = st.floats(-100, 100, width=32)


@given(arrays(np.float64, st.tuples(st.integers(1, 9), st.integers(1, 6)), elements=VALUES))
def test_axes_keep_the_most_of_the_spread(means):
    center, axes = principal_axes(means)
    assert axes.shape == (means.shape[1], 2)
    np.testing.assert_allclose(center, means.mean(axis=0), atol=1e-9)
    norms = np.linalg.norm(axes, axis=0)
    assert np.allclose(norms[0], 1)
    assert np.isclose(norms[1], 1) or norms[1] == 0  # one dimension has no second axis
    assert abs(axes[:, 0] @ axes[:, 1]) < 1e-9
    scatter = (means - center).T @ (means - center)
    largest = np.sort(np.linalg.eigvalsh(scatter))[::-1][:2]
    kept = np.sum(((means - center) @ axes) ** 2, axis=0)
    np.testing.assert_allclose(kept[: len(largest)], largest, atol=1e-6 * (1 + largest[0]))


@given(arrays(np.float64, (5, 4), elements=VALUES), st.permutations(range(5)))
def test_neither_the_order_nor_a_sign_is_left_to_chance(means, order):
    values = np.linalg.svd(means - means.mean(axis=0), compute_uv=False)
    # Axes of equal spread have no order, and two coordinates that are equally large could each decide a sign.
    assume(min(values[0] - values[1], values[1] - values[2]) > 1e-3 * (1 + values[0]))
    axes = principal_axes(means)[1]
    largest = np.sort(np.abs(axes), axis=0)[-2:]
    assume(np.all(largest[1] - largest[0] > 1e-6))
    np.testing.assert_allclose(principal_axes(means[list(order)])[1], axes, atol=1e-6)
    assert np.all(axes[np.abs(axes).argmax(axis=0), [0, 1]] > 0)


def test_points_are_items_where_their_sketch_is(animals):
    now = animals.snapshot()
    drawn = chart(now)
    assert len(drawn.position) > 0
    assert drawn.position.shape == (len(drawn.row), 2)
    every = {(item.commit, item.row): item for item in animals.items()}
    for place, key in enumerate(zip(drawn.commit.tolist(), drawn.row.tolist(), strict=True)):
        item = every[key]
        assert drawn.category[place] == (-1 if item.category is None else item.category)
        assert drawn.session[place] == item.session
        assert STATES[drawn.state[place]] == item.state
        assert drawn.novelty[place] == pytest.approx(item.novelty, abs=1e-2)


def test_categories_are_where_their_means_are(animals):
    now = animals.snapshot()
    drawn = chart(now)
    base = now.base.knowledge.posterior.mean[:, :SKETCH].astype(float)
    center, axes = principal_axes(base)
    assert drawn.ids.tolist() == list(now.state.ids)
    np.testing.assert_allclose(drawn.means, (now.posterior().mean[:, :SKETCH] - center) @ axes)


def test_points_lie_near_their_category(animals):
    """Of all categories the own mean is the nearest one for most items of these blobs."""
    drawn = chart(animals.snapshot())
    own = drawn.category >= 0
    distance = np.linalg.norm(drawn.position[own][:, None] - drawn.means[None], axis=2)
    nearest = drawn.ids[distance.argmin(axis=1)]
    assert np.mean(nearest == drawn.category[own]) > 0.6


def test_a_merge_moves_no_point(animals):
    before = chart(animals.snapshot())
    first, second, *_ = before.ids.tolist()
    animals.merge([first, second])
    after = chart(animals.snapshot())
    np.testing.assert_array_equal(after.position, before.position)
    assert {first, second}.isdisjoint(after.category.tolist())


def test_an_empty_workspace_has_no_map(tmp_path):
    with pytest.raises(InputError, match="empty"):
        chart(Workspace.init(tmp_path / "new").snapshot())
