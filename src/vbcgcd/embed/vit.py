"""Vision transformers by name, folder or file: DINO, DINOv2 and any other model of transformers."""

from __future__ import annotations

import inspect
import os
from pathlib import Path
from typing import Any, NamedTuple

from vbcgcd.embed.checkpoint import Architecture, hub_tensors, infer_architecture, read_tensors
from vbcgcd.embed.devices import choose_device, quiet_transformers, require
from vbcgcd.embed.preprocess import PilPreprocess, Preprocess, from_processor
from vbcgcd.errors import InputError, MissingFileError

#: Short names of the backbones with which category discovery is usually evaluated.
ALIASES = {
    "dino-vits16": "facebook/dino-vits16",
    "dino-vitb16": "facebook/dino-vitb16",
    "dino-vits8": "facebook/dino-vits8",
    "dino-vitb8": "facebook/dino-vitb8",
    "dinov2-vits14": "facebook/dinov2-small",
    "dinov2-vitb14": "facebook/dinov2-base",
    "dinov2-vitl14": "facebook/dinov2-large",
    "dinov2-vitg14": "facebook/dinov2-giant",
}
WEIGHT_FILES = (".pth", ".pt", ".bin", ".safetensors")

__all__ = ["ALIASES", "LoadedVit", "load_vit", "pooled"]


class LoadedVit(NamedTuple):
    """A backbone ready to run: in evaluation mode, on its device, in float32.

    Parameters
    ----------
    module : torch.nn.Module
        The transformers model; ``pooled(module, pixels)`` gives its embeddings.
    preprocess : Preprocess
        From an opened picture to its pixels.
    dimension : int
        Length of an embedding.
    """

    module: Any
    preprocess: Preprocess
    dimension: int


def load_vit(
    name_or_path: str | os.PathLike[str],
    *,
    device: str | None = None,
    size: int | None = None,
    heads: int | None = None,
) -> LoadedVit:
    """Load a backbone by name, from a folder or from one file of weights.

    Parameters
    ----------
    name_or_path : str or path
        A short name (``'dino-vitb16'``, ``'dino-vits16'``, ``'dinov2-vitb14'``, ...), a name on the
        Hugging Face hub, a folder written by ``save_pretrained``, or a single file ``.pth``, ``.pt``,
        ``.bin`` or ``.safetensors`` with tensors named as in DINO, DINOv2 or transformers. Anything on this
        disk is loaded without network access.
    device : str, optional
        ``'cpu'``, ``'cuda'``, ``'cuda:1'`` or ``'mps'``; None takes the fastest one available.
    size : int, optional
        Side of the square input in pixels; position embeddings are interpolated to it. None follows the
        recipe of the model, at most 224 for DINO and DINOv2.
    heads : int, optional
        Number of attention heads, for single files only: their weights do not tell it. None takes
        width // 64, as in all published DINO and DINOv2 models.

    Returns
    -------
    LoadedVit
        ``(module, preprocess, dimension)``.

    Notes
    -----
    DINO and DINOv2 use the recipe of their authors' evaluation: shorter side to 256, bicubic, centre crop
    224, ImageNet mean and standard deviation. Other models follow the image processor stored with them.
    """
    require("torch", "transformers", extra="vision")
    path = Path(name_or_path).expanduser()
    target = choose_device(device)
    if path.is_file():
        module, preprocess = _from_file(path, heads)
    elif path.is_dir():
        _reject_heads(heads, path)
        module, preprocess = _from_library(str(path), local=True)
    else:
        _reject_heads(heads, path)
        module, preprocess = _from_library(_hub_name(str(name_or_path)), local=False)
    preprocess = _with_size(preprocess, size, module)
    module = module.eval().to(target)
    module.requires_grad_(False)
    return LoadedVit(module, preprocess, _dimension(module))


def pooled(module: Any, pixels: Any) -> Any:
    """Embeddings (N, D) of a batch (N, 3, H, W): the CLS token after the last normalisation.

    Models without a CLS token give the mean over positions; models with an image and a text tower give their
    image embedding. The extra layer of a pooler is never used: in self-supervised checkpoints it is random.
    """
    if hasattr(module, "get_image_features"):
        features = module.get_image_features(pixel_values=pixels)
        return getattr(features, "pooler_output", features)
    options = (
        {"interpolate_pos_encoding": True} if _accepts(module.forward, "interpolate_pos_encoding") else {}
    )
    hidden = module(pixel_values=pixels, **options).last_hidden_state
    if hidden.ndim == 4:
        return hidden.mean((2, 3))
    return hidden[:, 0] if _has_cls(module) else hidden.mean(1)


def _has_cls(module: Any) -> bool:
    names = ("cls_token", "class_embedding")
    return any(name.rpartition(".")[2] in names for name, _ in module.named_parameters())


def _accepts(function: Any, name: str) -> bool:
    return name in inspect.signature(function).parameters


def _from_file(path: Path, heads: int | None) -> tuple[Any, Preprocess]:
    """A model whose architecture follows from its tensors, or from the config.json beside them."""
    import transformers

    tensors = read_tensors(path)
    beside = path.parent / "config.json"
    if beside.is_file() and "embeddings.cls_token" in tensors and heads is None:
        config = _config(str(path.parent), local=True)
        model_class = transformers.MODEL_MAPPING[type(config)]
    else:
        config, model_class = _config_of(infer_architecture(tensors, heads=heads))
    weights = hub_tensors(tensors)
    module = _load(model_class, None, config=config, state_dict=weights, label=str(path))
    return module, PilPreprocess.square(_default_side(config))


def _config_of(arch: Architecture) -> tuple[Any, Any]:
    import transformers

    common: dict[str, Any] = {
        "hidden_size": arch.dimension,
        "num_hidden_layers": arch.depth,
        "num_attention_heads": arch.heads,
        "patch_size": arch.patch,
        "image_size": arch.image,
        "qkv_bias": arch.qkv_bias,
        "layer_norm_eps": 1e-6,
    }
    if arch.family == "vit":
        return transformers.ViTConfig(**common, intermediate_size=arch.mlp), transformers.ViTModel
    # SwiGLU narrows its width to two thirds, which hides the ratio; it is 4 in every such model.
    ratio = 4 if arch.swiglu else arch.mlp / arch.dimension
    common |= {"mlp_ratio": int(ratio) if ratio == int(ratio) else ratio, "use_swiglu_ffn": arch.swiglu}
    if arch.family == "dinov2":
        return transformers.Dinov2Config(**common), transformers.Dinov2Model
    config = transformers.Dinov2WithRegistersConfig(**common, num_register_tokens=arch.registers)
    return config, transformers.Dinov2WithRegistersModel


def _from_library(name: str, *, local: bool) -> tuple[Any, Preprocess]:
    """A model of transformers by hub name or folder."""
    import transformers

    config = _config(name, local=local)
    module = _load(transformers.AutoModel, name, config=config, local_files_only=local, label=name)
    if config.model_type == "vit" and Path(name).name.lower().startswith("dino"):
        # The processor stored with DINO squeezes pictures bilinearly; its authors resize and crop.
        return module, PilPreprocess.square(_default_side(config))
    try:
        with quiet_transformers():
            auto: Any = transformers.AutoImageProcessor
            processor = auto.from_pretrained(name, backend="pil", local_files_only=local)
    except (OSError, ValueError):
        return module, PilPreprocess.square(_default_side(config))
    return module, from_processor(processor)


def _config(name: str, *, local: bool) -> Any:
    import transformers

    try:
        with quiet_transformers():
            return transformers.AutoConfig.from_pretrained(name, local_files_only=local)
    except (OSError, ValueError) as error:
        raise _load_error(name, local, error) from None


def _load(model_class: Any, name: str | None, *, label: str, **options: Any) -> Any:
    """``from_pretrained`` that rejects missing weights, which transformers would fill in at random."""
    from safetensors import SafetensorError

    config = options["config"]
    if config.model_type in ("vit", "vit_msn", "deit", "beit"):
        options["add_pooling_layer"] = False
    try:
        with quiet_transformers():
            module, report = model_class.from_pretrained(
                name, output_loading_info=True, dtype="float32", **options
            )
    except (SafetensorError, OSError, RuntimeError, ValueError, EOFError) as error:
        raise _load_error(label, True, error) from None
    missing = sorted(k for k in report["missing_keys"] if not k.endswith("mask_token"))
    wrong = sorted(str(k) for k in report["mismatched_keys"])
    if missing or wrong or report["error_msgs"]:
        first = (missing + wrong + list(report["error_msgs"]))[0]
        raise InputError(
            f"{label} does not hold all weights of {type(module).__name__}: {len(missing)} are missing and "
            f"{len(wrong)} have another shape, first {first}; the file is incomplete or of another model."
        )
    return module


def _load_error(name: str, local: bool, error: Exception) -> InputError:
    reason = str(error).strip().split("\n")[0][:200]
    advice = (
        "use a folder with config.json and model.safetensors, or one .pth, .bin or .safetensors file"
        if local
        else f"use one of {', '.join(ALIASES)}, a name on the hub (online or in its cache), or a path"
    )
    return InputError(f"Cannot load an image model from {name!r} ({reason}); {advice}.")


def _hub_name(name: str) -> str:
    if name.lower().endswith(WEIGHT_FILES) or name.startswith((".", "/", "~")):
        raise MissingFileError(f"There is no file or folder {name}.")
    return ALIASES.get(name.lower(), name)


def _reject_heads(heads: int | None, path: Path) -> None:
    if heads is not None:
        raise InputError(
            f"heads only applies to a single weights file; {path} has a configuration.",
            option="heads",
        )


def _default_side(config: Any) -> int:
    image, patch = _side(getattr(config, "image_size", 224)), _side(getattr(config, "patch_size", 1))
    return max(min(image, 224) // patch, 1) * patch


def _side(value: Any) -> int:
    return int(value if isinstance(value, int) else value[0])


def _with_size(preprocess: Preprocess, size: int | None, module: Any) -> Preprocess:
    if size is None:
        return preprocess
    patch = getattr(module.config, "patch_size", 1)
    patch = _side(patch) if patch else 1
    if not isinstance(preprocess, PilPreprocess):
        raise InputError(
            "size cannot be chosen for this model: its own image processor decides; omit the option 'size'.",
            option="size",
        )
    if size < patch or size % patch:
        raise InputError(f"size must be a multiple of the patch side {patch}, got {size}.", option="size")
    return preprocess.with_side(size)


def _dimension(module: Any) -> int:
    config = module.config
    for holder in (config, getattr(config, "vision_config", None)):
        for name in (
            ("projection_dim", "hidden_size") if hasattr(module, "get_image_features") else ("hidden_size",)
        ):
            if isinstance(getattr(holder, name, None), int):
                return int(getattr(holder, name))
    if getattr(config, "hidden_sizes", None):
        return int(config.hidden_sizes[-1])
    raise InputError(f"The width of {type(module).__name__} is unknown; register an embedder for it instead.")
