import numpy as np
import pytest
from PIL import Image

from vbcgcd.embed.pictures import open_picture
from vbcgcd.embed.protocol import ItemError

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
    with pytest.raises(ItemError, match="No such file"):
        open_picture(tmp_path / "absent.png")
    for bad in (COLOURS.astype(float), COLOURS[None], COLOURS[..., :2], COLOURS[:0]):
        with pytest.raises(ItemError, match="expected uint8"):
            open_picture(bad)
