"""Embedders by name."""

from __future__ import annotations

import os
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from vbcgcd.embed.arrays import ArrayEmbedder
from vbcgcd.embed.protocol import Embedder
from vbcgcd.errors import InputError, VbcgcdError
from vbcgcd.validation import check_choice

GROUP = "vbcgcd.embedders"

__all__ = ["GROUP", "embedder", "registered"]


def embedder(
    name_or_path: str | os.PathLike[str] | None = None,
    *,
    kind: str,
    device: str | None = None,
    batch_size: int | None = None,
    precision: str = "float32",
    **options: Any,
) -> Embedder:
    """Make an embedder.

    Parameters
    ----------
    name_or_path : str or path, optional
        None takes what needs no hub: EfficientNet-Lite0 for images (trained with ImageNet labels),
        all-MiniLM-L6-v2 for texts. For images otherwise ``'dino-vitb16'``, ``'dino-vits16'``,
        ``'dinov2-vitb14'``, any model of transformers by hub name or folder, a file of weights,
        ``'timm:NAME'``, or ``'pixels'``, which needs no torch: the pixels themselves, for digits, icons and
        other small simple pictures (a folder of this name is ``'./pixels'``). For texts any model of
        sentence-transformers by hub name or folder. For both, ``'NAME'`` or ``'NAME:ARGUMENT'`` of an
        installed package that offers embedders.
    kind : {'image', 'text', 'embedding'}
        ``'embedding'`` passes vectors through.
    device : str, optional
        ``'cpu'``, ``'cuda'``, ``'mps'``; None takes the fastest present.
    batch_size : int, optional
        None: 64 pictures (8 on a processor, which is faster there), 256 texts, 256 pictures as pixels.
    precision : {'float32', 'bfloat16', 'float16'}
        Of the forward pass.
    **options
        Images: ``size``, ``crop``, ``heads`` (see ``load_vit`` and ``efficientnet_lite0``); ``'pixels'``:
        ``size``, ``grey``, ``interpolation`` (see ``PixelEmbedder``). Texts: ``normalise``.

    Returns
    -------
    Embedder

    Examples
    --------
    >>> embedder(kind="embedding").name
    'array'
    >>> embedder("pixels", kind="image", size=8, grey=True).dimension
    64
    """
    check_choice("kind", kind, ("image", "text", "embedding"))
    name = None if name_or_path is None else os.fspath(name_or_path)
    options |= {"device": device, "precision": precision}
    if batch_size is not None:
        options["batch_size"] = batch_size
    found = None if name is None else registered().get(name.partition(":")[0])
    try:
        if name is not None and found is not None:
            return _from_entry(found, name, kind, options)
        if kind == "embedding":
            return _array(name)
        return _image(name, options) if kind == "image" else _text(name, options)
    except TypeError as error:
        if "unexpected keyword argument" not in str(error):
            raise
        raise InputError(
            f"The embedder {name or 'by default'} for {kind}s takes no such option: {error}."
        ) from None


def registered() -> dict[str, EntryPoint]:
    """Entry points of installed packages that offer embedders, by name."""
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def _array(name: str | None) -> ArrayEmbedder:
    if name not in (None, "array"):
        raise InputError(f"Embeddings are passed through by 'array', got {name!r}; leave the embedder out.")
    return ArrayEmbedder()


def _image(name: str | None, options: dict[str, Any]) -> Embedder:
    if name == "pixels":
        from vbcgcd.embed.pixels import pixel_embedder

        return pixel_embedder(**options)
    from vbcgcd.embed import backbones
    from vbcgcd.embed.finetune.folder import is_finetuned

    if name is None or name == "efficientnet-lite0":
        return backbones.efficientnet_lite0(**options)
    if is_finetuned(name):
        from vbcgcd.embed.finetune import load_finetuned

        return load_finetuned(name, **options)
    if name.startswith(("timm:", "timm/")):
        return backbones.timm_embedder(f"hf-hub:{name}" if name[4] == "/" else name[5:], **options)
    return backbones.vit_embedder(name, **options)


def _text(name: str | None, options: dict[str, Any]) -> Embedder:
    if name == "pixels":
        raise InputError(
            "The embedder 'pixels' is for images, the items are texts; leave the embedder out for "
            "all-MiniLM-L6-v2, or name a model of sentence-transformers."
        )
    from vbcgcd.embed.texts import text_embedder

    return text_embedder(name, **options)


def _from_entry(entry: EntryPoint, name: str, kind: str, options: dict[str, Any]) -> Embedder:
    """An embedder of another package, checked."""
    try:
        made = entry.load()(name.partition(":")[2] or None, kind=kind, **options)
    except (VbcgcdError, TypeError):
        raise
    except Exception as error:
        raise InputError(f"The embedder {entry.name} ({entry.value}) cannot be made: {error}.") from error
    if not isinstance(made, Embedder):
        raise InputError(
            f"The embedder {entry.name} ({entry.value}) gave a {type(made).__name__} without name, kind, "
            "dimension, fingerprint, batch_size and embed."
        )
    if made.kind != kind:
        raise InputError(f"The embedder {entry.name} is for items of kind {made.kind!r}, asked was {kind!r}.")
    return made
