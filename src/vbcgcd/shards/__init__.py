"""Folders of Parquet shards: read, computed with on any engine, and written shard by shard."""

from typing import TYPE_CHECKING

from vbcgcd.lazy import lazy_names

if TYPE_CHECKING:
    from vbcgcd.shards.dataset import ShardedData, open_shards
    from vbcgcd.shards.embedding import embed_shards
    from vbcgcd.shards.folder import Manifest, read_manifest
    from vbcgcd.shards.learning import learn_shards
    from vbcgcd.shards.prediction import predict_shards
    from vbcgcd.shards.statistics import shard_statistics

__all__ = [
    "Manifest",
    "ShardedData",
    "embed_shards",
    "learn_shards",
    "open_shards",
    "predict_shards",
    "read_manifest",
    "shard_statistics",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "vbcgcd.shards.dataset": ("ShardedData", "open_shards"),
        "vbcgcd.shards.embedding": ("embed_shards",),
        "vbcgcd.shards.folder": ("Manifest", "read_manifest"),
        "vbcgcd.shards.learning": ("learn_shards",),
        "vbcgcd.shards.prediction": ("predict_shards",),
        "vbcgcd.shards.statistics": ("shard_statistics",),
    },
)
