import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'vision'")
from torch import nn  # noqa: E402

from vbcgcd.embed.finetune.layers import TunedLayers, check_butterfly, find_layers  # noqa: E402
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
    with pytest.raises(InputError, match=r"Sequential has no layer .*its dense layers are: .*classifier"):
        find_layers(model)


@pytest.mark.parametrize(
    ("widths", "block", "factors", "message"),
    [
        ((64, 176), 4, 2, None),
        ((64, 60), 4, 2, "divisible by 8; 1 of 2 are not, first b with 60"),
        ((64, 66), 4, 1, "divisible by 4"),
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
