"""Small models made on the spot: vision transformers under the names of DINO and DINOv2, in plain torch."""

import json
import math
import os
import socket
from types import SimpleNamespace

import numpy as np
import pytest

os.environ["HF_HUB_OFFLINE"] = "1"  # read once, when the hub's library is imported


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    """No cache outside the test."""
    monkeypatch.setenv("VBCGCD_CACHE", str(tmp_path / "usual-cache"))


@pytest.fixture
def no_network(monkeypatch):
    """Every attempt to reach another machine fails the test, also where the hub is not told to be offline."""

    def refuse(*args, **kwargs):
        raise AssertionError("the network was asked")

    hub = pytest.importorskip("huggingface_hub")
    monkeypatch.setattr(hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture
def pictures():
    """Twelve pictures (12, 24, 20, 3) of uint8."""
    return np.random.default_rng(0).integers(0, 256, (12, 24, 20, 3), dtype=np.uint8)


@pytest.fixture
def things():
    """Function kind, values -> items as the room of items gives them."""

    def make(kind, values, references=None):
        names = references or [f"item-{i}" for i in range(len(values))]
        return SimpleNamespace(kind=kind, values=values, references=names)

    return make


class CountingEmbedder:
    """Mean colours of pictures; counts what it is asked, and fails where it is told."""

    name, kind, dimension, fingerprint = "counting", "image", 3, "counting-1"

    def __init__(self, batch_size=4, fail_at=None):
        self.batch_size, self.fail_at, self.seen = batch_size, fail_at, 0

    def embed(self, items):
        if self.fail_at is not None and self.seen >= self.fail_at:
            raise KeyboardInterrupt
        self.seen += len(items)
        return np.array([np.asarray(item).mean((0, 1)) for item in items])


@pytest.fixture
def counting():
    return CountingEmbedder


def original_vit(
    *, dim=128, depth=2, heads=2, patch=8, grid=4, scale=False, registers=0, swiglu=False, bias=True
):
    """A vision transformer as the authors of DINO (or, with ``scale``, DINOv2) name its parts."""
    torch = pytest.importorskip("torch")
    nn, F = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(dim, eps=1e-6), nn.LayerNorm(dim, eps=1e-6)
            self.attn = nn.ModuleDict(
                {"qkv": nn.Linear(dim, 3 * dim, bias=bias), "proj": nn.Linear(dim, dim)}
            )
            if swiglu:
                inner = (int(4 * dim * 2 / 3) + 7) // 8 * 8
                self.mlp = nn.ModuleDict({"w12": nn.Linear(dim, 2 * inner), "w3": nn.Linear(inner, dim)})
            else:
                self.mlp = nn.ModuleDict({"fc1": nn.Linear(dim, 4 * dim), "fc2": nn.Linear(4 * dim, dim)})
            if scale:
                for name in ("ls1", "ls2"):
                    self.add_module(name, nn.ParameterDict({"gamma": torch.rand(dim)}))

        def attend(self, x):
            n, t, _ = x.shape
            q, k, v = self.attn["qkv"](x).reshape(n, t, 3, heads, dim // heads).permute(2, 0, 3, 1, 4)
            weights = (q @ k.transpose(-2, -1) / math.sqrt(dim // heads)).softmax(-1)
            return self.attn["proj"]((weights @ v).transpose(1, 2).reshape(n, t, dim))

        def feed(self, x):
            if not swiglu:
                return self.mlp["fc2"](F.gelu(self.mlp["fc1"](x)))
            gate, value = self.mlp["w12"](x).chunk(2, dim=-1)
            return self.mlp["w3"](F.silu(gate) * value)

        def forward(self, x):
            x = x + self.attend(self.norm1(x)) * (self.ls1["gamma"] if scale else 1)
            return x + self.feed(self.norm2(x)) * (self.ls2["gamma"] if scale else 1)

    class Vit(nn.Module):
        def __init__(self):
            super().__init__()
            self.cls_token = nn.Parameter(torch.randn(1, 1, dim))
            self.pos_embed = nn.Parameter(torch.randn(1, 1 + grid**2, dim))
            if registers:
                self.register_tokens = nn.Parameter(torch.randn(1, registers, dim))
            self.patch_embed = nn.ModuleDict({"proj": nn.Conv2d(3, dim, patch, stride=patch)})
            self.blocks = nn.ModuleList(Block() for _ in range(depth))
            self.norm = nn.LayerNorm(dim, eps=1e-6)

        def positions(self, height, width):
            table = self.pos_embed[:, 1:].reshape(1, grid, grid, dim).permute(0, 3, 1, 2)
            if (height, width) != (grid, grid):
                table = F.interpolate(table, size=(height, width), mode="bicubic", align_corners=False)
            return torch.cat([self.pos_embed[:, :1], table.flatten(2).transpose(1, 2)], dim=1)

        def forward(self, pixels):
            patches = self.patch_embed["proj"](pixels)
            x = torch.cat([self.cls_token.expand(len(pixels), -1, -1), patches.flatten(2).transpose(1, 2)], 1)
            x = x + self.positions(*patches.shape[2:])
            if registers:
                x = torch.cat([x[:, :1], self.register_tokens.expand(len(x), -1, -1), x[:, 1:]], 1)
            for block in self.blocks:
                x = block(x)
            return self.norm(x)[:, 0]

    torch.manual_seed(0)
    return Vit().eval().requires_grad_(False)


@pytest.fixture(scope="session")
def make_original():
    """Function **shape -> module whose forward gives the CLS token."""
    return original_vit


WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "my",
    "card",
    "was",
    "stolen",
    "what",
    "is",
    "the",
    "balance",
    "[MASK]",
]


def word_tokenizer(*, special=True):
    """A tokenizer of whole words, with [CLS] and [SEP] around a text."""
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    if special:
        tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
    return tokenizer


@pytest.fixture(scope="session")
def bert_folder(tmp_path_factory):
    """A folder with a tiny sentence model of the BERT family: 2 layers, 8 dimensions, 2 heads."""
    from safetensors.numpy import save_file

    folder = tmp_path_factory.mktemp("bert") / "tiny"
    (folder / "1_Pooling").mkdir(parents=True)
    rng, dim, wide = np.random.default_rng(0), 8, 12

    def dense(name, out, width):
        return {
            f"{name}.weight": rng.normal(size=(out, width) if width else out),
            f"{name}.bias": rng.normal(size=out),
        }

    tensors = {
        "embeddings.word_embeddings.weight": rng.normal(size=(len(WORDS), dim)),
        "embeddings.position_embeddings.weight": rng.normal(size=(10, dim)),
        "embeddings.token_type_embeddings.weight": rng.normal(size=(2, dim)),
        **dense("embeddings.LayerNorm", dim, 0),
        **dense("pooler.dense", dim, dim),
    }
    for number in range(2):
        base = f"encoder.layer.{number}"
        for part in ("query", "key", "value"):
            tensors |= dense(f"{base}.attention.self.{part}", dim, dim)
        tensors |= dense(f"{base}.attention.output.dense", dim, dim)
        tensors |= dense(f"{base}.attention.output.LayerNorm", dim, 0)
        tensors |= dense(f"{base}.intermediate.dense", wide, dim)
        tensors |= dense(f"{base}.output.dense", dim, wide) | dense(f"{base}.output.LayerNorm", dim, 0)
    arrays = {name: array.astype(np.float32) for name, array in tensors.items()}
    arrays["embeddings.position_ids"] = np.arange(10)[None]
    save_file(arrays, folder / "model.safetensors")
    config = {
        "model_type": "bert",
        "architectures": ["BertModel"],
        "hidden_act": "gelu",
        "hidden_size": dim,
        "intermediate_size": wide,
        "layer_norm_eps": 1e-12,
        "max_position_embeddings": 10,
        "num_attention_heads": 2,
        "num_hidden_layers": 2,
        "type_vocab_size": 2,
        "vocab_size": len(WORDS),
    }
    kinds = {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"}
    modules = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (path, kind) in enumerate(kinds.items())
    ]
    pooling = {"word_embedding_dimension": dim, "pooling_mode_mean_tokens": True}
    for name, values in {
        "config.json": config,
        "modules.json": modules,
        "sentence_bert_config.json": {"max_seq_length": 10},
        "1_Pooling/config.json": pooling,
    }.items():
        (folder / name).write_text(json.dumps(values))
    word_tokenizer().save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture
def static_folder(tmp_path):
    """Function **tensors -> a folder of static embeddings of three dimensions; ``vectors`` replaces them."""
    from safetensors.numpy import save_file

    def make(**tensors):
        folder = tmp_path / "static"
        folder.mkdir(exist_ok=True)
        vectors = np.random.default_rng(1).normal(size=(len(WORDS), 3)).astype(np.float32)
        save_file({"embeddings": vectors, **tensors}, folder / "model.safetensors")
        (folder / "config.json").write_text(json.dumps({"model_type": "model2vec", "normalize": True}))
        word_tokenizer(special=False).save(str(folder / "tokenizer.json"))
        return folder

    return make
