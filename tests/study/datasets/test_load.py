import numpy as np
import pytest

from vbcgcd.errors import InputError
from vbcgcd.study.datasets import LAYOUTS, load_items


def test_every_layout_says_what_it_is_in_one_line():
    assert set(LAYOUTS) == {
        *("cifar100", "tinyimagenet", "imagenet100", "class-folders", "cub200", "folder", "table", "npz"),
    }
    for name, layout in LAYOUTS.items():
        assert layout.name == name
        assert layout.description
        assert "\n" not in layout.description + layout.expects
    with pytest.raises(TypeError):
        LAYOUTS["mine"] = None


@pytest.mark.parametrize("name", list(LAYOUTS))
@pytest.mark.parametrize("what", ["empty folder", "text file"])
def test_every_layout_refuses_what_is_not_its_own(tmp_path, name, what):
    path = tmp_path / "a.txt"
    if what == "empty folder":
        path = tmp_path / "folder"
        path.mkdir()
    else:
        path.write_text("hello")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError):
        load_items(path, layout=name)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_path_without_a_known_layout_lists_them(tmp_path):
    (tmp_path / "a.docx").touch()
    with pytest.raises(InputError, match=r"no known layout. Known are cifar100: .* npz: the arrays"):
        load_items(tmp_path / "a.docx")


def test_a_layout_that_is_not_known(tmp_path):
    with pytest.raises(InputError, match=r"layout must be one of cifar100, .* got 'cifar'"):
        load_items(tmp_path, layout="cifar")


def test_nothing_there(tmp_path):
    with pytest.raises(InputError, match=r"There is no file or folder .*none\.$"):
        load_items(tmp_path / "none")
    with pytest.raises(InputError, match="Fetch it first"):
        load_items("hf:owner/name")


def test_options_that_are_none_are_not_given(tmp_path):
    np.savez(tmp_path / "d.npz", x=np.eye(4), y=[0, 0, 1, 1])
    data = load_items(tmp_path / "d.npz", layout="npz", classes=None, seed=None, text=None)
    assert len(data.train) == len(data.test) == 2
