from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vbcgcd.embed.finetune.images import broken_images, labelled_images
from vbcgcd.errors import InputError
from vbcgcd.items import Items

COLOURS = (
    np.array([[[[200, 0, 0]]], [[[0, 200, 0]]], [[[0, 0, 200]]]], dtype=np.uint8).repeat(6, 1).repeat(5, 2)
)


def forms(folder):
    paths = []
    for i, pixels in enumerate(COLOURS):
        paths.append(folder / f"{i}.png")
        Image.fromarray(pixels).save(paths[-1])
    return {
        "array": COLOURS,
        "list of arrays": list(COLOURS),
        "paths": paths,
        "strings": [str(p) for p in paths],
        "pil": [Image.fromarray(p) for p in COLOURS],
        "items": Items("image", paths, ["a", "b", "c"], "folder", np.array(["x", "y", "x"])),
    }


@pytest.mark.parametrize("form", ["array", "list of arrays", "paths", "strings", "pil", "items"])
def test_every_form_gives_the_same_pictures(tmp_path, form):
    given = forms(tmp_path)[form]
    found = labelled_images(given, None if form == "items" else ["x", "y", "x"])
    assert found.labels.tolist() == ["x", "y", "x"]
    for row in range(3):
        assert np.array_equal(np.asarray(found.read(row)), COLOURS[row])
    taken = found.take(np.array([2, 0]))
    assert np.array_equal(np.asarray(taken.read(0)), COLOURS[2])
    assert taken.references == (found.references[2], found.references[0])


def test_unlabelled_pictures_are_never_opened(tmp_path):
    paths = [*forms(tmp_path)["paths"], tmp_path / "missing.png"]
    found = labelled_images(paths, [1, 2, 1, None])
    assert len(found) == 3
    with ThreadPoolExecutor(1) as pool:
        assert broken_images(found, pool) == []


def test_broken_pictures_are_found_with_their_reasons(tmp_path):
    paths = forms(tmp_path)["paths"]
    paths[0].write_bytes(paths[0].read_bytes()[:-30])
    (tmp_path / "text.png").write_text("not a picture")
    found = labelled_images([*paths, tmp_path / "text.png", tmp_path / "none.png"], [0, 1, 0, 1, 0])
    with ThreadPoolExecutor(2) as pool:
        broken = broken_images(found, pool)
    assert [row for row, _ in broken] == [0, 3, 4]
    assert "format" in broken[1][1]
    assert "No such file" in broken[2][1]


def test_fingerprints_tell_other_data(tmp_path):
    given = forms(tmp_path)
    first = labelled_images(given["paths"], [0, 1, 0]).fingerprint()
    assert first == labelled_images(given["strings"], [0, 1, 0]).fingerprint()
    assert first != labelled_images(given["paths"], [0, 1, 1]).fingerprint()
    Image.fromarray(COLOURS[1]).save(given["paths"][0])
    assert first != labelled_images(given["paths"], [0, 1, 0]).fingerprint()


@pytest.mark.parametrize(
    ("images", "labels", "message"),
    [
        (COLOURS, None, "needs labels"),
        (COLOURS, [0, 1], "3 pictures but 2 labels"),
        (COLOURS, [0, 0, 0], "at least two categories, got 1"),
        (COLOURS, [0, None, None], "at least two categories, got 1"),
        (COLOURS, [None] * 3, "at least two categories, got 0"),
        ([], [], "at least two categories, got 0"),
        (COLOURS.astype(float), [0, 1, 0], r"uint8 with shape \(N, H, W, 3\), got float64"),
        (COLOURS[..., 0], [0, 1, 0], r"\(N, H, W, 3\)"),
        (Path("folder"), [0], "must be a list of paths"),
        ([1, 2], [0, 1], "number 0 is a int"),
        (COLOURS, ["a", 1, "a"], "mixes labels"),
        (Items("text", ["a", "b"], ["0", "1"], "file.csv", np.array([0, 1])), None, "file.csv holds 'text'"),
    ],
)
def test_what_cannot_be_used_is_refused(images, labels, message):
    with pytest.raises(InputError, match=message):
        labelled_images(images, labels)
