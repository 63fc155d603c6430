from importlib.metadata import EntryPoint

import numpy as np
import pytest

from vbcgcd import plugins as all_plugins
from vbcgcd.embed import embedder
from vbcgcd.embed.protocol import Embedder
from vbcgcd.errors import InputError


class Lengths:
    """Texts -> their length and the number given after the colon."""

    name, kind, dimension, fingerprint, batch_size = "lengths", "text", 2, "lengths-1", 8

    def __init__(self, number):
        self.number = number

    def embed(self, items):
        return np.array([[len(item), self.number] for item in items])


def make_lengths(argument, *, kind, device=None, precision="float32"):
    return Lengths(float(argument or 0))


def make_nothing(argument, **options):
    return object()


def make_trouble(argument, **options):
    raise RuntimeError("no licence")


@pytest.fixture
def plugins(monkeypatch):
    def entry_points(*, group):
        assert group == "vbcgcd.embedders"
        names = ("make_lengths", "make_nothing", "make_trouble")
        return [EntryPoint(n.removeprefix("make_"), f"here:{n}", group) for n in names]

    monkeypatch.setattr(all_plugins, "entry_points", entry_points)
    monkeypatch.setattr(EntryPoint, "load", lambda entry: globals()[entry.attr])


@pytest.mark.usefixtures("plugins")
class TestEntryPoints:
    def test_by_name_and_argument(self):
        model = embedder("lengths:7", kind="text")
        assert isinstance(model, Embedder)
        assert model.embed(["abc"]).tolist() == [[3.0, 7.0]]
        assert embedder("lengths", kind="text").number == 0

    def test_errors_name_the_entry(self):
        with pytest.raises(InputError) as caught:
            embedder("lengths", kind="image")
        assert caught.value.option == "embedder"
        with pytest.raises(InputError, match="here:make_nothing"):
            embedder("nothing", kind="text")
        with pytest.raises(InputError, match=r"here:make_trouble.*no licence"):
            embedder("trouble", kind="text")
        with pytest.raises(InputError) as caught:
            embedder("lengths", kind="text", colour=1)
        assert caught.value.option == "colour"


def test_kinds():
    assert embedder(kind="embedding").name == embedder("array", kind="embedding").name == "array"
    with pytest.raises(InputError) as caught:
        embedder(kind="sound")
    assert caught.value.option == "kind"
    with pytest.raises(InputError) as caught:
        embedder("dino-vits16", kind="embedding")
    assert caught.value.option == "embedder"
