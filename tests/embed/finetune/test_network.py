import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'vision'")
peft = pytest.importorskip("peft", reason="needs the extra 'vision'")

from vbcgcd.embed.finetune.network import adapter_arrays, attach, load_adapters, merge_adapters  # noqa: E402
from vbcgcd.embed.finetune.options import FinetuneOptions  # noqa: E402
from vbcgcd.embed.vit import pooled  # noqa: E402
from vbcgcd.errors import InputError  # noqa: E402

CASES = [(family, method) for family in ("vit", "dinov2") for method in ("boft", "lora")]
PIXELS = torch.randn(3, 3, 32, 32, generator=torch.Generator().manual_seed(0))


def network(make_vit, family="vit", method="boft", **options):
    return attach(make_vit(family), 64, 5, FinetuneOptions(method=method, **options).as_json())


def disturb(net):
    with torch.no_grad():
        for name, parameter in net.trainable().items():
            if not name.startswith("head"):
                parameter.add_(0.1 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)))


@pytest.mark.parametrize(("family", "method"), CASES)
def test_it_starts_as_the_frozen_backbone(make_vit, family, method):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        net = network(make_vit, family, method)
    net.train(False)
    frozen = make_vit(family)
    torch.testing.assert_close(net.embed(PIXELS), pooled(frozen, PIXELS))
    names = set(net.trainable())
    assert {n.split(".")[-2] for n in names if not n.startswith("head")} <= {"boft_R", "boft_s", "default"}
    assert {n for n in names if n.startswith("head")} == {"head.weight", "head.bias"}
    assert len(adapter_arrays(net.backbone)) == len(names) - 2 == 2 * 6


@pytest.mark.parametrize(("family", "method"), CASES)
def test_adapters_can_be_taken_out_and_put_back(make_vit, family, method):
    net, other = network(make_vit, family, method), network(make_vit, family, method)
    net.train(False)
    other.train(False)
    disturb(net)
    before = other.embed(PIXELS)
    load_adapters(other.backbone, adapter_arrays(net.backbone))
    assert torch.equal(other.embed(PIXELS), net.embed(PIXELS))
    assert not torch.allclose(before, other.embed(PIXELS), atol=1e-3)


@pytest.mark.parametrize(("family", "method"), CASES)
def test_merging_leaves_a_plain_backbone_that_answers_the_same(make_vit, family, method):
    net = network(make_vit, family, method)
    net.train(False)
    disturb(net)
    expected = net.embed(PIXELS)
    merge_adapters(net.backbone)
    torch.testing.assert_close(net.embed(PIXELS), expected, atol=1e-4, rtol=1e-4)
    assert set(net.backbone.state_dict()) == set(make_vit(family).state_dict())


def test_adapters_of_another_shape_are_refused(make_vit):
    net = network(make_vit)
    arrays = adapter_arrays(net.backbone)
    with pytest.raises(InputError, match="12 names"):
        load_adapters(net.backbone, {k: v[:1] for k, v in arrays.items()})
    arrays.pop(next(iter(arrays)))
    with pytest.raises(InputError, match="1 names"):
        load_adapters(net.backbone, arrays)


def test_a_width_without_room_for_the_blocks_is_refused(make_vit):
    with pytest.raises(InputError) as caught:
        network(make_vit, block_size=48)
    assert caught.value.option == "block_size"


def test_the_seed_decides_the_start(make_vit):
    def head(seed):
        torch.manual_seed(seed)
        return network(make_vit, method="lora").head.weight.detach().numpy()

    assert np.array_equal(head(0), head(0))
    assert not np.array_equal(head(0), head(1))
