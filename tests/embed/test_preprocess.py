import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from vbcgcd.embed.preprocess import PilPreprocess, ProcessorPreprocess, from_processor
from vbcgcd.errors import InputError

SIDES = st.integers(8, 90)


def picture(width, height, seed=0):
    values = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(values)


def ours(preprocess, image):
    torch = pytest.importorskip("torch", reason="needs the extra 'vision'")
    return preprocess.tensor(torch.from_numpy(preprocess.pixels(image)[None]))[0].numpy()


@given(width=SIDES, height=SIDES)
def test_size_is_kept_for_every_picture(width, height):
    for preprocess in (PilPreprocess.square(16), PilPreprocess((12, 20))):
        assert preprocess.pixels(picture(width, height)).shape == (*preprocess.size, 3)


@pytest.mark.parametrize("sides", [(50, 61), (61, 50), (33, 33), (20, 90)])
def test_equals_the_processors_of_transformers(sides):
    transformers = pytest.importorskip("transformers", reason="needs the extra 'vision'")
    cropping = transformers.BitImageProcessorPil(
        size={"shortest_edge": 36}, crop_size={"height": 32, "width": 32}, image_mean=[0.4, 0.5, 0.6]
    )
    squeezing = transformers.ViTImageProcessorPil(size={"height": 24, "width": 40})
    for processor in (cropping, squeezing):
        preprocess = from_processor(processor)
        assert isinstance(preprocess, PilPreprocess)
        expected = processor(images=picture(*sides), return_tensors="np")["pixel_values"][0]
        np.testing.assert_allclose(ours(preprocess, picture(*sides)), expected, atol=1e-5)


def test_other_processors_are_called_themselves():
    transformers = pytest.importorskip("transformers", reason="needs the extra 'vision'")
    processor = transformers.ConvNextImageProcessorPil(size={"shortest_edge": 32})
    preprocess = from_processor(processor)
    assert isinstance(preprocess, ProcessorPreprocess)
    expected = processor(images=picture(50, 40), return_tensors="np")["pixel_values"][0]
    np.testing.assert_array_equal(ours(preprocess, picture(50, 40)), expected)
    assert preprocess.describe()["size"] == {"shortest_edge": 32}


def test_published_recipe_of_dino():
    assert PilPreprocess.square(224).resize == 256
    assert PilPreprocess.square(224).with_side(112).resize == 128
    assert PilPreprocess((224, 224)).with_side(112).resize is None


@pytest.mark.parametrize("bad", [{"size": (0, 4)}, {"size": (4, 4), "interpolation": "cubic"}])
def test_bad_options(bad):
    with pytest.raises(InputError):
        PilPreprocess(**bad)
