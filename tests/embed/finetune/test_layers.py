import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="needs the extra 'vision'")
peft = pytest.importorskip("peft", reason="needs the extra 'vision'")

from peft.tuners.boft import layer as peft_boft  # noqa: E402
from torch import nn  # noqa: E402

from vbcgcd.embed.finetune.layers import (  # noqa: E402
    ButterflyLinear,
    TunedLayers,
    all_factors,
    check_butterfly,
    find_layers,
    use_plain_torch,
)
from vbcgcd.errors import InputError  # noqa: E402


@pytest.mark.parametrize("family", ["vit", "dinov2"])
def test_mlp_and_attention_output_of_every_block(make_vit, family):
    model = make_vit(family)
    found = find_layers(model)
    assert len(found.names) == 2 * 3
    assert set(found.endings) == {"attention.o_proj", "mlp.fc1", "mlp.fc2"}
    assert sorted(found.inputs) == [64, 64, 64, 64, 128, 128]
    assert all(isinstance(model.get_submodule(name), nn.Linear) for name in found.names)
    assert found.describe().startswith("6 layers: ")


def test_gated_mlp_of_dinov2(make_vit):
    found = find_layers(make_vit("dinov2", use_swiglu_ffn=True))
    assert {e for e in found.endings if e.startswith("mlp")} == {
        "mlp.gate_proj",
        "mlp.up_proj",
        "mlp.down_proj",
    }


def test_older_names():
    def block():
        attention = nn.ModuleDict(
            {"output": nn.ModuleDict({"dense": nn.Linear(8, 8)}), "query": nn.Linear(8, 8)}
        )
        parts = {"attention": attention}
        parts |= {k: nn.ModuleDict({"dense": nn.Linear(8, 8)}) for k in ("intermediate", "output")}
        return nn.ModuleDict(parts)

    found = find_layers(nn.ModuleDict({"layer": nn.ModuleList([block(), block()])}))
    assert set(found.endings) == {"attention.output.dense", "intermediate.dense", "output.dense"}
    assert len(found.names) == 6
    assert not any("query" in name for name in found.names)


def test_a_network_without_them_is_refused():
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.ModuleDict({"classifier": nn.Linear(4, 2)}))
    with pytest.raises(InputError) as caught:
        find_layers(model)
    assert caught.value.option == "backbone"


@pytest.mark.parametrize(
    ("widths", "block", "factors", "message"),
    [
        ((64, 176), 4, 2, None),
        ((64, 60), 4, 2, "by 8; 1 of 2 .* b with 60"),
        ((64, 66), 4, 1, "by 4"),
        ((30, 30), 3, 1, None),
        ((24, 24), 3, 2, "even block_size"),
    ],
)
def test_widths_that_butterflies_fit(widths, block, factors, message):
    layers = TunedLayers(("a", "b"), ("a", "b"), widths)
    if message is None:
        check_butterfly(layers, block, factors)
    else:
        with pytest.raises(InputError, match=message):
            check_butterfly(layers, block, factors)


def made(width=24, out=10, block=4, factors=2, dropout=0.0, seed=0, spread=0.5):
    """A dense BOFT layer with random weights, in plain torch, and PEFT's permutations for it."""
    torch.manual_seed(seed)
    base = torch.nn.Linear(width, out)
    config = peft.BOFTConfig(boft_block_size=block, boft_n_butterfly_factor=factors, boft_dropout=dropout)
    with all_factors():
        layer = peft_boft.Linear(base, "default", config)
    with torch.no_grad():
        layer.boft_R["default"].normal_(0, spread)
        layer.boft_s["default"].normal_(1, 0.2)
    permutations = layer.boft_P.double().numpy()
    use_plain_torch(layer)
    assert type(layer) is ButterflyLinear
    return layer.eval(), permutations


def dense_rotation(layer, permutations):
    """The butterfly matrix by dense products of its definition, in NumPy."""
    rotation = np.eye(layer.in_features)
    for permutation, generators in zip(
        permutations, layer.boft_R["default"].detach().double().numpy(), strict=True
    ):
        blocks = np.zeros_like(rotation)
        size = generators.shape[1]
        for i, generator in enumerate(generators):
            skew = (generator - generator.T) / 2
            cayley = (np.eye(size) - skew) @ np.linalg.inv(np.eye(size) + skew)
            blocks[i * size : (i + 1) * size, i * size : (i + 1) * size] = cayley
        rotation = permutation @ blocks @ permutation.T @ rotation
    return rotation


@pytest.mark.parametrize(
    ("width", "block", "factors"), [(24, 4, 1), (24, 4, 2), (32, 4, 3), (16, 2, 2), (24, 8, 1)]
)
def test_the_layer_is_the_dense_definition(width, block, factors):
    layer, permutations = made(width, block=block, factors=factors)
    rotation = dense_rotation(layer, permutations)
    x = torch.randn(3, 5, width)
    base = layer.base_layer
    expected = x.double().numpy() @ rotation @ base.weight.detach().double().numpy().T
    expected = expected * layer.boft_s["default"].detach().double().numpy()[:, 0] + base.bias.detach().numpy()
    np.testing.assert_allclose(layer(x).detach().numpy(), expected, atol=1e-5)
    np.testing.assert_allclose(layer.get_delta_weight("default")[0].detach().numpy(), rotation, atol=1e-5)


def test_one_factor_is_as_pefts_own_layer():
    ours, _ = made(factors=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PEFT looks for a compiler
        theirs = peft_boft.Linear(ours.base_layer, "default", peft.BOFTConfig(boft_block_size=4)).eval()
    theirs.load_state_dict(ours.state_dict())
    x = torch.randn(7, 24)
    torch.testing.assert_close(ours(x), theirs(x), atol=1e-5, rtol=1e-5)


def test_two_factors_are_kept_without_a_warning():
    before = peft_boft._FBD_CUDA
    layer, _ = made(factors=2)
    assert layer.boft_R["default"].shape == (2, 6, 4, 4)
    assert peft_boft._FBD_CUDA is before


def test_it_starts_as_the_frozen_layer():
    layer, _ = made(spread=0.0)
    with torch.no_grad():
        layer.boft_s["default"].fill_(1)
    x = torch.randn(4, 24)
    assert torch.equal(layer(x), layer.base_layer(x))


def test_merged_weights_answer_the_same():
    layer, _ = made()
    x = torch.randn(4, 24)
    before = layer(x)
    layer.merge()
    torch.testing.assert_close(layer(x), before, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(layer.base_layer(x), before, atol=1e-5, rtol=1e-5)


def test_gradients_reach_every_factor_and_not_the_weight():
    layer, _ = made()
    layer.base_layer.requires_grad_(False)
    layer(torch.randn(4, 24)).square().sum().backward()
    assert (layer.boft_R["default"].grad.abs().amax(dim=(1, 2, 3)) > 0).all()
    assert layer.boft_s["default"].grad.abs().min() > 0
    assert layer.base_layer.weight.grad is None


def test_dropout_sets_blocks_to_the_identity_in_training_only():
    layer, _ = made(width=80, dropout=0.5)
    x = torch.randn(4, 80)
    assert torch.equal(layer(x), layer(x))
    layer.train()
    assert not torch.equal(layer(x), layer(x))


def test_the_rotation_stays_one_in_mixed_precision():
    layer, _ = made()
    seen = []
    rotated = layer._rotated
    layer._rotated = lambda weight, blocks: seen.append(rotated(weight, blocks)) or seen[-1]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        answer = layer(torch.randn(4, 24))
    assert seen[0].dtype == torch.float32
    assert answer.dtype == torch.bfloat16


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 10_000), spread=st.floats(0, 5))
def test_every_generator_gives_a_rotation(seed, spread):
    layer, _ = made(seed=seed, spread=spread)
    rotation = layer.get_delta_weight("default")[0].detach().double()
    torch.testing.assert_close(rotation @ rotation.T, torch.eye(24, dtype=torch.float64), atol=1e-4, rtol=0)
