import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from vbcgcd.embed.augment import Augmentation
from vbcgcd.errors import InputError


def picture(width=40, height=30):
    return Image.fromarray(np.random.default_rng(1).integers(0, 256, (height, width, 3), dtype=np.uint8))


@given(width=st.integers(1, 60), height=st.integers(1, 60), seed=st.integers(0, 10_000))
def test_crops_stay_inside_and_keep_their_area(width, height, seed):
    augmentation = Augmentation(area=(0.3, 0.5), ratio=(1, 1))
    left, top, right, bottom = augmentation._box(width, height, np.random.default_rng(seed))
    assert 0 <= left < right <= width
    assert 0 <= top < bottom <= height
    area = (right - left) * (bottom - top) / (width * height)
    assert area <= 0.5 + 1e-9
    if width == height:
        assert area >= 0.3 - 1e-9


def test_same_seed_same_view():
    views = [np.asarray(Augmentation()(picture(), (16, 20), np.random.default_rng(s))) for s in (3, 3, 4)]
    assert views[0].shape == (16, 20, 3)
    np.testing.assert_array_equal(views[0], views[1])
    assert not np.array_equal(views[0], views[2])


def test_nothing_random_is_the_picture_itself():
    still = Augmentation(area=(1, 1), ratio=(4 / 3, 4 / 3), flip=0, jitter=0)
    view = still(picture(), (30, 40), np.random.default_rng(0))
    np.testing.assert_array_equal(np.asarray(view), np.asarray(picture()))
    mirrored = Augmentation(area=(1, 1), ratio=(4 / 3, 4 / 3), flip=1, jitter=0)
    view = mirrored(picture(), (30, 40), np.random.default_rng(0))
    np.testing.assert_array_equal(np.asarray(view), np.asarray(picture())[:, ::-1])


@pytest.mark.parametrize("bad", [{"area": (0, 1)}, {"area": (0.5, 1.5)}, {"flip": 2}, {"jitter": -1}])
def test_bad_options(bad):
    with pytest.raises(InputError):
        Augmentation(**bad)
