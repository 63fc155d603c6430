import numpy as np
import pytest

from vbcgcd.items.natures import is_picture, nature_of


@pytest.mark.parametrize(
    ("cells", "typed", "nature"),
    [
        (["1", "2.5", "", "nan", "-1e3"], False, "number"),
        (["1", "2.5"], True, "text"),
        (["1", "x"], False, "text"),
        (["[1, 2]", "[0.5]"], False, "vector"),
        (["[1, 2]", "[note] x"], False, "text"),
        (["[]"], False, "text"),
        (["a.png", "dir/b.JPEG "], False, "picture"),
        (["a.png", "b.txt"], True, "text"),
        ([[1, 2.0], None], True, "vector"),
        ([["a"], ["b"]], True, "other"),
        ([1, 2.0, None], True, "number"),
        ([True, False], True, "other"),
        ([{"a": 1}], True, "other"),
        (["a", 1], True, "other"),
        (["", " "], False, "empty"),
        ([None], True, "empty"),
        (np.zeros(3), True, "number"),
        (np.zeros((3, 2)), True, "vector"),
    ],
)
def test_the_nature_of_a_column(cells, typed, nature):
    assert nature_of(cells, typed=typed) == nature


def test_pictures_are_known_by_their_ending():
    assert is_picture("a.b.WebP")
    assert not any(map(is_picture, ["png", ".png", "a.png.txt", "a"]))
