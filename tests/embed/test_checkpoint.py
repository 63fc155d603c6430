import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'vision'")

from vbcgcd.embed.checkpoint import Architecture, hub_tensors, infer_architecture, read_tensors  # noqa: E402
from vbcgcd.errors import InputError  # noqa: E402


def test_architecture_is_read_off_the_shapes(make_original):
    plain = infer_architecture(make_original(dim=192, heads=3, depth=3, patch=16, grid=2).state_dict())
    assert plain == Architecture("vit", 192, 3, 3, 16, 32, 768)
    scaled = infer_architecture(make_original(scale=True, registers=2).state_dict())
    assert (scaled.family, scaled.registers, scaled.heads) == ("dinov2_with_registers", 2, 2)
    gated = infer_architecture(make_original(scale=True, swiglu=True, bias=False).state_dict())
    assert (gated.family, gated.swiglu, gated.qkv_bias) == ("dinov2", True, False)


def test_qkv_is_cut_in_the_order_query_key_value(make_original):
    state = make_original().state_dict()
    hub = hub_tensors(state)
    parts = [hub[f"encoder.layer.1.attention.attention.{name}.weight"] for name in ("query", "key", "value")]
    assert torch.equal(torch.cat(parts), state["blocks.1.attn.qkv.weight"])


def test_hub_names_stay_as_they_are(make_original):
    hub = hub_tensors(make_original().state_dict())
    assert hub_tensors(hub | {"pooler.dense.weight": torch.zeros(1)}).keys() == hub.keys()


def test_parts_that_are_missing_are_named(make_original):
    state = make_original().state_dict()
    del state["patch_embed.proj.weight"]
    with pytest.raises(InputError, match=r"projection\.weight'"):
        infer_architecture(state)
    state = make_original().state_dict()
    state["pos_embed"] = state["pos_embed"][:, :-1]
    with pytest.raises(InputError, match="15 patch"):
        infer_architecture(state)


def test_the_teacher_is_taken_before_the_student(tmp_path, make_original):
    state = make_original().state_dict()
    both = {"student": {k: v * 0 for k, v in state.items()}, "teacher": state}
    torch.save(both, tmp_path / "both.pth")
    assert torch.equal(read_tensors(tmp_path / "both.pth")["cls_token"], state["cls_token"])
