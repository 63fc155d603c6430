import csv
import errno
from pathlib import Path

import pytest

from vbcgcd.cli.writing import FORMATS, check_output, write_predictions
from vbcgcd.errors import DiskError, InputError, MissingFileError


@pytest.mark.parametrize("name", ["x.txt", "x", "x.npz"])
def test_other_file_types_are_refused(name, place):
    with pytest.raises(InputError) as error:
        check_output(place / name, place / "data.csv")
    assert error.value.option == "output"
    assert all(ending in str(error.value) for ending in FORMATS)


def test_a_folder_a_missing_folder_and_the_data_itself_are_refused(place):
    (place / "folder.csv").mkdir()
    (place / "data.csv").write_text("text\n")
    (place / "link.csv").symlink_to(place / "data.csv")
    for output, kind in [
        ("folder.csv", InputError),
        ("no/x.csv", MissingFileError),
        ("data.csv", InputError),
        ("link.csv", InputError),
    ]:
        with pytest.raises(kind) as error:
            check_output(place / output, place / "data.csv")
        assert error.value.option == "output"
    check_output(place / "other.csv", place / "data.csv")


def test_a_full_disk_is_an_error_of_the_disk(place, monkeypatch):
    def refuse(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("vbcgcd.archive.tempfile.mkstemp", refuse)
    with pytest.raises(DiskError) as error:
        write_predictions(None, Path("out.csv"))
    assert error.value.cause.errno == errno.ENOSPC
    assert "out.csv" in str(error.value)


FORMULAS = [
    "=1+1",
    "+1+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "＝1",
    "=",
    "-",
    "--1",
    "-\r=2",
]
HARMLESS = ["-1", "+4.5", "-1e-3", "cat", "", "1=1", "'=1", "a\r=1", "a\n=1"]


def cells(place, text, **options):
    """What comes back of a text and a number in a CSV."""
    answers = [{"name": text, "probability": -0.25, "category": -1}]
    write_predictions(answers, place / "out.csv", **options)
    with (place / "out.csv").open(encoding="utf-8", newline="") as file:
        [row] = csv.DictReader(file)
    assert (row["probability"], row["category"]) == ("-0.25", "-1")
    return row["name"]


@pytest.mark.parametrize("text", FORMULAS)
def test_no_cell_starts_a_formula(place, text):
    assert cells(place, text) == f"'{text}"
    assert cells(place, text, raw_cells=True) == text


@pytest.mark.parametrize("text", HARMLESS)
def test_numbers_and_other_texts_stay_as_they_are(place, text):
    assert cells(place, text) == text
