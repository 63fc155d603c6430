import errno
import re

import numpy as np
import pytest
from sklearn.datasets import load_digits

from vbcgcd.demo.pictures import DAYS, MARKER, NAMES, digit_plan, prepare_folder, write_pictures
from vbcgcd.embed.pixels import PixelEmbedder
from vbcgcd.errors import DiskError, InputError
from vbcgcd.items import read_items

DIGITS = load_digits()
X, Y = DIGITS.images, DIGITS.target
FOLDERS = ["labelled", *DAYS, "held-out"]


@pytest.mark.parametrize("seed", [0, 1])
def test_the_plan_covers_what_it_says(seed):
    plan = digit_plan(Y, seed=seed)
    assert np.bincount(Y[plan.held_out]).tolist() == [50] * 10
    assert np.unique(Y[plan.labelled]).tolist() == [0, 1, 2, 3, 4]
    known = [0, 1, 2, 3, 4]
    for day, novel in DAYS.items():
        counts = np.bincount(Y[plan.days[day]], minlength=10)
        assert set(np.flatnonzero(counts)) == {*known, *novel}
        assert all(counts[digit] == 15 for digit in known)
        assert all(counts[digit] == (digit == Y).sum() - 95 for digit in novel)
        known += novel
    assert known == list(range(10))


@pytest.mark.parametrize("seed", [0, 1])
def test_no_picture_is_in_two_folders(seed):
    plan = digit_plan(Y, seed=seed)
    rows = np.concatenate([plan.labelled, *plan.days.values(), plan.held_out])
    assert len(np.unique(rows)) == len(rows)


def test_pictures_show_what_the_truth_says_and_their_names_do_not_tell(tmp_path):
    plan = digit_plan(Y)
    truth = write_pictures(tmp_path, X, Y, plan)
    assert sorted(truth) == sorted(path.name for path in tmp_path.iterdir()) == sorted(FOLDERS)
    for name in FOLDERS:
        items = read_items(tmp_path / name)
        assert sorted(items.references) == sorted(truth[name])
        pixels = PixelEmbedder(size=8, grey=True).embed(items.values[:40])
        gaps = ((pixels[:, None] - (1 - X.reshape(len(X), 64) / 16)) ** 2).sum(axis=2)
        nearest = [NAMES[digit] for digit in Y[gaps.argmin(axis=1)]]
        assert nearest == [truth[name][reference] for reference in items.references[:40]]
        if name == "labelled":
            assert items.labels.tolist() == [truth[name][reference] for reference in items.references]
        else:
            assert items.labels is None
            assert all(re.fullmatch(r"\d{3}\.png", reference) for reference in items.references)
    for day, novel in DAYS.items():  # new digits are spread over the numbers
        new = [truth[day][name] in [NAMES[digit] for digit in novel] for name in sorted(truth[day])]
        assert 0.3 < np.mean(new[: len(new) // 2]) / np.mean(new) < 1.7


def contents(path):
    return {str(p.relative_to(path)): p.read_bytes() if p.is_file() else None for p in path.rglob("*")}


class TestFolder:
    def test_made_anew_where_the_demo_made_it(self, tmp_path):
        for _ in range(2):
            prepare_folder(tmp_path / "a" / "demo")
            (tmp_path / "a" / "demo" / "digits" / "commits").mkdir(parents=True)
            (tmp_path / "a" / "demo" / "report.html").write_text("old")
            (tmp_path / "a" / "demo" / "mine.txt").write_text("mine")
        prepare_folder(tmp_path / "a" / "demo")
        assert sorted(contents(tmp_path / "a" / "demo")) == [MARKER, "mine.txt"]

    def test_an_empty_folder_will_do(self, tmp_path):
        prepare_folder(tmp_path)
        assert list(contents(tmp_path)) == [MARKER]

    @pytest.mark.parametrize("names", [["a.txt"], ["pictures/a.png"], [MARKER], ["digits/HEAD", MARKER]])
    def test_others_are_left_alone(self, tmp_path, names):
        for name in names:
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text("not of the demo")
        before = contents(tmp_path)
        with pytest.raises(InputError) as error:
            prepare_folder(tmp_path)
        assert error.value.option == "folder"
        assert contents(tmp_path) == before

    def test_a_file_is_no_folder(self, tmp_path):
        (tmp_path / "demo").write_text("text")
        with pytest.raises(InputError) as error:
            prepare_folder(tmp_path / "demo")
        assert error.value.option == "folder"
        with pytest.raises(DiskError) as disk:
            prepare_folder(tmp_path / "demo" / "below")
        assert disk.value.cause.errno == errno.ENOTDIR
        assert (tmp_path / "demo").read_text() == "text"

    def test_links_are_removed_and_not_followed(self, tmp_path):
        (tmp_path / "photos").mkdir()
        (tmp_path / "photos" / "a.png").write_bytes(b"mine")
        demo = prepare_folder(tmp_path / "demo")
        (demo / "pictures").symlink_to(tmp_path / "photos")
        prepare_folder(demo)
        assert not (demo / "pictures").exists()
        assert (tmp_path / "photos" / "a.png").read_bytes() == b"mine"


def test_a_disk_that_cannot_be_written_is_an_error_of_the_disk(tmp_path):
    (tmp_path / "pictures").write_text("a file")
    with pytest.raises(DiskError) as error:
        write_pictures(tmp_path / "pictures", X, Y, digit_plan(Y))
    assert error.value.cause.errno == errno.ENOTDIR
