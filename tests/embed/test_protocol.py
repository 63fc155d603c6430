import numpy as np
import pytest

from vbcgcd.embed import embed_items, embedder
from vbcgcd.embed.protocol import ArrayEmbedder, Embedder


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_passes_through_bit_by_bit(things, tmp_path, kind):
    values = np.random.default_rng(0).normal(size=(9000, 3)).astype(kind)
    result = embed_items(things("embedding", values), embedder(kind="embedding"))
    np.testing.assert_array_equal(result.vectors, values)
    assert result.vectors.dtype == kind
    assert not (tmp_path / "usual-cache").exists()


def test_bad_vectors_are_named(things):
    values = [[1.0, 2.0], [np.nan, 0.0], [1.0], ["a", "b"]]
    result = embed_items(things("embedding", values), ArrayEmbedder(2))
    assert result.rows.tolist() == [0]
    reasons = [f.reason for f in result.failures]
    assert [r.split()[0] for r in reasons] == ["contains", "has", "not"]


def test_is_an_embedder():
    assert isinstance(ArrayEmbedder(2), Embedder)
    assert not isinstance(np.zeros(3), Embedder)
    rows = [[1, 2], [3, 4]]
    np.testing.assert_array_equal(
        ArrayEmbedder(2).embed(rows), ArrayEmbedder().forward([ArrayEmbedder().prepare(row) for row in rows])
    )
