import pytest

from vbcgcd.embed.devices import autocast, choose_device, require
from vbcgcd.errors import InputError


def test_what_is_missing_is_named_with_its_extra():
    require("json", "math", extra="vision")
    with pytest.raises(InputError, match=r"no_such_module.*vbcgcd\[vision\]"):
        require("json", "no_such_module", extra="vision")


def test_devices():
    torch = pytest.importorskip("torch", reason="needs the extra 'vision'")
    assert choose_device("cpu") == torch.device("cpu")
    assert choose_device(None).type in ("cpu", "cuda", "mps")
    with pytest.raises(InputError) as caught:
        choose_device("toaster")
    assert caught.value.option == "device"
    if not torch.cuda.is_available():
        with pytest.raises(InputError) as caught:
            choose_device("cuda")
        assert caught.value.option == "device"


def test_autocast():
    torch = pytest.importorskip("torch", reason="needs the extra 'vision'")
    a = torch.ones(2, 2)
    with autocast(torch.device("cpu"), "bfloat16"):
        assert (a @ a).dtype == torch.bfloat16
    with autocast(torch.device("cpu"), "float32"):
        assert (a @ a).dtype == torch.float32
