import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import EpsImagePlugin, Image

from vbcgcd.embed.cache import item_key
from vbcgcd.embed.pictures import MOST_PIXELS, Augmentation, most_pixels, open_picture
from vbcgcd.embed.protocol import ItemError
from vbcgcd.errors import InputError
from vbcgcd.items.cells import PICTURES

COLOURS = np.random.default_rng(0).integers(0, 256, (5, 7, 3), dtype=np.uint8)


def test_file_array_and_image_are_the_same(tmp_path):
    Image.fromarray(COLOURS).save(tmp_path / "a.png")
    for value in (tmp_path / "a.png", str(tmp_path / "a.png"), COLOURS, Image.fromarray(COLOURS)):
        np.testing.assert_array_equal(np.asarray(open_picture(value)), COLOURS)


@pytest.mark.parametrize("mode", ["L", "LA", "RGBA", "CMYK", "1", "P", "I", "F"])
def test_every_mode_becomes_rgb(tmp_path, mode):
    image = Image.fromarray(COLOURS).convert("L" if mode in "IF" else "RGB").convert(mode)
    assert open_picture(image).mode == "RGB"
    if mode in "IF":
        np.testing.assert_array_equal(
            np.asarray(open_picture(image))[..., 0], np.asarray(image).astype(np.uint8)
        )


def test_sixteen_bit_grey_keeps_its_upper_bits():
    deep = np.array([[0, 256, 65535]], dtype=np.uint16)
    assert np.asarray(open_picture(Image.fromarray(deep)))[0, :, 0].tolist() == [0, 1, 255]


def test_palette_with_transparency(tmp_path):
    image = Image.fromarray(COLOURS).quantize(4)
    image.save(tmp_path / "p.png", transparency=b"\x00\xff\x80\x10")
    assert open_picture(tmp_path / "p.png").mode == "RGB"


def test_orientation_of_cameras_is_applied(tmp_path):
    image = Image.fromarray(COLOURS)
    exif = Image.Exif()
    exif[274] = 6
    image.save(tmp_path / "turned.png", exif=exif)
    assert open_picture(tmp_path / "turned.png").size == (5, 7)


@pytest.mark.parametrize("keep", [0, 20, 60])
def test_broken_files_say_why(tmp_path, keep):
    Image.fromarray(COLOURS.repeat(20, axis=0)).save(tmp_path / "a.png")
    (tmp_path / "a.png").write_bytes((tmp_path / "a.png").read_bytes()[:keep])
    with pytest.raises(ItemError):
        open_picture(tmp_path / "a.png")


def test_absent_files_and_odd_arrays(tmp_path):
    with pytest.raises(ItemError):
        open_picture(tmp_path / "absent.png")
    for bad in (COLOURS.astype(float), COLOURS[None], COLOURS[..., :2], COLOURS[:0]):
        with pytest.raises(ItemError):
            open_picture(bad)


POSTSCRIPT = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 20 20\n%%EndComments\nshowpage\n%%EOF\n"


def test_postscript_never_reaches_ghostscript(tmp_path, monkeypatch):
    def ran(*args, **kwargs):
        raise AssertionError("Ghostscript was asked")

    monkeypatch.setattr(EpsImagePlugin, "Ghostscript", ran)
    (tmp_path / "x.png").write_bytes(POSTSCRIPT)
    with pytest.raises(ItemError, match="not a picture"):
        open_picture(tmp_path / "x.png")


def test_every_listed_extension_is_opened(tmp_path):
    for extension in PICTURES:
        path = tmp_path / f"x{extension}"
        Image.fromarray(COLOURS if extension != ".pgm" else COLOURS[..., 0]).save(path)
        assert open_picture(path).size == (7, 5)


def test_a_picture_of_too_many_pixels_or_bytes_is_refused_before_it_is_decoded(tmp_path, monkeypatch):
    monkeypatch.setenv("VBCGCD_MAX_PIXELS", "1199")
    Image.new("RGB", (40, 30)).save(tmp_path / "a.png")
    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", lambda self: pytest.fail("it was decoded"))
    with pytest.raises(ItemError, match=r"40 x 30 pixels, at most 1,199 .*VBCGCD_MAX_PIXELS"):
        open_picture(tmp_path / "a.png")
    (tmp_path / "b.png").write_bytes(b"x" * (4 * 1199 + 1))
    for read in (open_picture, item_key):
        with pytest.raises(ItemError, match="4,797 bytes, at most 4,796"):
            read(tmp_path / "b.png")


def test_the_limit_can_be_raised_and_must_be_a_number(tmp_path, monkeypatch):
    Image.fromarray(COLOURS).save(tmp_path / "a.png")
    assert most_pixels() == MOST_PIXELS
    monkeypatch.setenv("VBCGCD_MAX_PIXELS", "1000000000")
    assert open_picture(tmp_path / "a.png").size == (7, 5)
    for wrong in ("many", "-3", "0", "1e6", "²"):
        monkeypatch.setenv("VBCGCD_MAX_PIXELS", wrong)
        with pytest.raises(InputError, match="VBCGCD_MAX_PIXELS must be a number"):
            most_pixels()


def test_only_regular_files_are_read(tmp_path):
    os.mkfifo(tmp_path / "pipe.png")  # reading it would wait for ever
    (tmp_path / "folder.png").mkdir()
    (tmp_path / "loop.png").symlink_to("loop.png")
    for name in ("pipe.png", "folder.png", "loop.png", "zero\0.png"):
        for read in (open_picture, item_key):
            with pytest.raises(ItemError, match="cannot be read"):
                read(tmp_path / name)


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
