"""Pictures, texts and arrays -> vectors, each computed once and cached."""

from typing import TYPE_CHECKING

from vbcgcd.lazy import lazy_names

if TYPE_CHECKING:
    from vbcgcd.embed.cache import cache_folder
    from vbcgcd.embed.files import embed_file, embed_parts
    from vbcgcd.embed.protocol import Embedder
    from vbcgcd.embed.registry import embedder
    from vbcgcd.embed.result import EmbedResult
    from vbcgcd.embed.run import embed_items
    from vbcgcd.items import Failure

__all__ = [
    "EmbedResult",
    "Embedder",
    "Failure",
    "cache_folder",
    "embed_file",
    "embed_items",
    "embed_parts",
    "embedder",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "vbcgcd.embed.cache": ("cache_folder",),
        "vbcgcd.embed.files": ("embed_file", "embed_parts"),
        "vbcgcd.embed.protocol": ("Embedder",),
        "vbcgcd.embed.registry": ("embedder",),
        "vbcgcd.embed.result": ("EmbedResult",),
        "vbcgcd.embed.run": ("embed_items",),
        "vbcgcd.items": ("Failure",),
    },
)
