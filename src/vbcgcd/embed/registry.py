"""Embedders by name."""

from __future__ import annotations

import os
import re
from importlib.metadata import EntryPoint
from typing import Any

from vbcgcd.checks import check_choice
from vbcgcd.embed.protocol import ArrayEmbedder, Embedder
from vbcgcd.errors import InputError, VbcgcdError, reason_of
from vbcgcd.plugins import entry_points_of, load_plugin

GROUP = "vbcgcd.embedders"

__all__ = ["GROUP", "embedder", "plugins"]


def embedder(
    name_or_path: str | os.PathLike[str] | None = None,
    *,
    kind: str,
    device: str | None = None,
    batch_size: int | None = None,
    precision: str = "float32",
    **options: Any,
) -> Embedder:
    """Create an embedder by name.

    Parameters
    ----------
    name_or_path : str or path, optional
        None takes the offline default: EfficientNet-Lite0 for images (trained with ImageNet labels),
        all-MiniLM-L6-v2 for texts. Other embedders of images are ``'dino-vitb16'``, ``'dino-vits16'``,
        ``'dinov2-vitb14'``, any model of transformers by hub name or folder, a file of weights, a folder
        written by ``finetune``, ``'timm:NAME'``, and ``'pixels'``, which needs no torch: the pixels
        themselves, for digits, icons and other small simple pictures (write ``'./pixels'`` for a folder of
        this name). Texts are embedded by any model of sentence-transformers, by hub name or folder, or by
        static embeddings, ``'model2vec:FOLDER'``. For both, ``'NAME'`` or ``'NAME:ARGUMENT'`` selects an
        embedder of an installed package.
    kind : {'image', 'text', 'embedding'}
        What is embedded; ``'embedding'`` passes vectors through.
    device : str, optional
        ``'cpu'``, ``'cuda'``, ``'cuda:1'`` or ``'mps'``; None takes the fastest one available, and for text
        models that need no torch the processor.
    batch_size : int, optional
        Items in one forward pass; None takes 64 pictures (8 on a CPU, where that is faster), 256 texts
        (1,024 with static embeddings), or 256 pictures as pixels.
    precision : {'float32', 'bfloat16', 'float16'}
        Arithmetic of the forward pass.
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
    entry = None if name is None else plugins().get(name.partition(":")[0])
    try:
        if name is not None and entry is not None:
            return _from_entry(entry, name, kind, options)
        if kind == "embedding":
            return _array(name)
        return _image(name, options) if kind == "image" else _text(name, options)
    except TypeError as error:
        unknown = re.search(r"unexpected keyword argument '(\w+)'", str(error))
        if unknown is None:
            raise
        label = f"The embedder {name!r}" if name else "The default embedder"
        raise InputError(f"{label} for {kind}s has no option {unknown[1]!r}.", option=unknown[1]) from None


def plugins() -> dict[str, EntryPoint]:
    """Entry points of the installed packages that provide embedders, by name."""
    return entry_points_of(GROUP)


def _array(name: str | None) -> ArrayEmbedder:
    if name not in (None, "array"):
        raise InputError(
            f"The items are embeddings already and need no embedder, got {name!r}; leave the embedder out.",
            option="embedder",
        )
    return ArrayEmbedder()


def _image(name: str | None, options: dict[str, Any]) -> Embedder:
    if name == "pixels":
        from vbcgcd.embed.pixels import pixel_embedder

        return pixel_embedder(**options)
    from vbcgcd.embed import images
    from vbcgcd.embed.finetune import is_finetuned, load_finetuned

    if name is None or name == "efficientnet-lite0":
        return images.efficientnet_lite0(**options)
    if is_finetuned(name):
        return load_finetuned(name, **options)
    if name.startswith(("timm:", "timm/")):
        return images.timm_embedder(f"hf-hub:{name}" if name[4] == "/" else name[5:], **options)
    return images.vit_embedder(name, **options)


def _text(name: str | None, options: dict[str, Any]) -> Embedder:
    if name == "pixels":
        raise InputError(
            "The embedder 'pixels' is for images, but the items are texts; leave the embedder out to use "
            "all-MiniLM-L6-v2, or name a model of sentence-transformers.",
            option="embedder",
        )
    from vbcgcd.embed.texts import text_embedder

    return text_embedder(name, **options)


def _from_entry(entry: EntryPoint, name: str, kind: str, options: dict[str, Any]) -> Embedder:
    """An embedder of another package, checked."""
    make = load_plugin(GROUP, entry.name)
    try:
        plugin = make(name.partition(":")[2] or None, kind=kind, **options)
    except (VbcgcdError, TypeError):
        raise
    except Exception as error:
        raise InputError(
            f"The embedder {entry.name} ({entry.value}) could not be made: {reason_of(error)}."
        ) from error
    if not isinstance(plugin, Embedder):
        raise InputError(
            f"The embedder {entry.name} ({entry.value}) returned a {type(plugin).__name__} without name, "
            "kind, dimension, fingerprint, batch_size and embed."
        )
    if plugin.kind != kind:
        raise InputError(
            f"The embedder {entry.name} is for {plugin.kind}s, but the items are {kind}s.", option="embedder"
        )
    return plugin
