import numpy as np
import pytest

from vbcgcd.embed import embed_items
from vbcgcd.embed.deferred import DeferredEmbedder
from vbcgcd.embed.protocol import Embedder


@pytest.fixture
def later(counting):
    """An embedder that is not loaded yet, and how often it was."""
    loads = []

    def load():
        loads.append(1)
        return counting()

    return DeferredEmbedder("counting", "image", "counting-1", 3, load), loads


def test_it_is_an_embedder(later, pictures):
    embedder, loads = later
    assert embedder.dimension == 3
    assert loads == []
    assert isinstance(embedder, Embedder)  # asks for the size of a batch, which takes the real one
    assert embedder.embed(list(pictures)).shape == (12, 3)
    assert loads == [1]


def test_cached_items_need_no_loading(later, counting, pictures, things, tmp_path):
    embedder, loads = later
    before = embed_items(things("image", list(pictures[:8])), counting(), cache=tmp_path)
    after = embed_items(things("image", list(pictures[:8])), embedder, cache=tmp_path)
    np.testing.assert_array_equal(after.vectors, before.vectors)
    assert (after.reused, after.computed, loads) == (8, 0, [])
    more = embed_items(things("image", list(pictures)), embedder, cache=tmp_path)
    assert (more.reused, more.computed, loads) == (8, 4, [1])


def test_without_a_cache_it_is_loaded_once(later, pictures, things):
    embedder, loads = later
    for _ in range(2):
        assert embed_items(things("image", list(pictures)), embedder, cache=None).computed == 12
    assert loads == [1]
