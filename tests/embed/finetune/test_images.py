from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from vbcgcd.embed.finetune.images import (
    PictureBatches,
    broken_images,
    epoch_order,
    labelled_images,
    seed_of,
    stratified_split,
)
from vbcgcd.embed.pictures import Augmentation
from vbcgcd.embed.preprocess import PilPreprocess
from vbcgcd.errors import InputError
from vbcgcd.items import Failure, Items

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
        assert broken_images(found, pool) == {}


def test_broken_pictures_are_found_with_their_reasons(tmp_path):
    paths = forms(tmp_path)["paths"]
    paths[0].write_bytes(paths[0].read_bytes()[:-30])
    (tmp_path / "text.png").write_text("not a picture")
    found = labelled_images([*paths, tmp_path / "text.png", tmp_path / "none.png"], [0, 1, 0, 1, 0])
    with ThreadPoolExecutor(2) as pool:
        broken = broken_images(found, pool)
    assert list(broken) == [0, 3, 4]
    assert "format" in broken[3].reason
    assert broken[4] == Failure(str(tmp_path / "none.png"), "cannot be read: No such file or directory")


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
        (COLOURS, [0, 1], "3 .* 2 labels"),
        (COLOURS, [0, 0, 0], "categories, got 1"),
        (COLOURS, [0, None, None], "categories, got 1"),
        (COLOURS, [None] * 3, "categories, got 0"),
        ([], [], "categories, got 0"),
        (COLOURS.astype(float), [0, 1, 0], "uint8 .*got float64"),
        (COLOURS[..., 0], [0, 1, 0], r"\(N, H, W, 3\)"),
        (Path("folder"), [0], "list of paths"),
        ([1, 2], [0, 1], "number 0 is a int"),
        (COLOURS, ["a", 1, "a"], "mixes labels"),
        (Items("text", ["a", "b"], ["0", "1"], "file.csv", np.array([0, 1])), None, "file.csv .*texts"),
    ],
)
def test_what_cannot_be_used_is_refused(images, labels, message):
    with pytest.raises(InputError, match=message):
        labelled_images(images, labels)


@given(
    counts=st.lists(st.integers(1, 40), min_size=1, max_size=6),
    share=st.floats(0.01, 0.9),
    seed=st.integers(0, 9),
)
def test_every_category_keeps_its_share(counts, share, seed):
    codes = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))
    if max(counts) < 3:
        with pytest.raises(InputError) as caught:
            stratified_split(codes, share, seed)
        assert caught.value.option == "validation_share"
        return
    train, validation = stratified_split(codes, share, seed)
    assert sorted([*train, *validation]) == list(range(len(codes)))
    for code, count in enumerate(counts):
        held = int((codes[validation] == code).sum())
        if count < 3:
            assert held == 0
        else:
            assert 1 <= held <= count - 2
            assert abs(held - share * count) <= 1 or held == count - 2


def test_the_seed_decides():
    codes = np.repeat([0, 1], 50)
    first = stratified_split(codes, 0.2, 0)[1]
    assert np.array_equal(first, stratified_split(codes, 0.2, 0)[1])
    assert not np.array_equal(first, stratified_split(codes, 0.2, 1)[1])


def test_no_share_no_validation():
    train, validation = stratified_split(np.array([0, 0, 1]), 0.0, 0)
    assert train.tolist() == [0, 1, 2]
    assert len(validation) == 0


PIXELS = np.random.default_rng(0).integers(0, 256, (11, 20, 20, 3), dtype=np.uint8)


def pictures(pool, read=lambda row: Image.fromarray(PIXELS[row]), seed=0):
    preprocess = PilPreprocess((16, 16))
    torch = pytest.importorskip("torch", reason="needs the extra 'vision'")
    return PictureBatches(read, preprocess, Augmentation(), seed, pool, torch.device("cpu"))


def all_views(workers, epoch=1, start=0, seed=0):
    with ThreadPoolExecutor(workers) as pool:
        rows = np.arange(11)[start:]
        return [(r.tolist(), t.numpy()) for r, t in pictures(pool, seed=seed).views(rows, 4, epoch)]


def test_plain_batches_are_what_an_embedder_sees():
    with ThreadPoolExecutor(2) as pool:
        source = pictures(pool)
        rows = np.array([3, 1, 4, 1, 5])
        found = list(source.plain(rows, 2))
        assert [r.tolist() for r, _ in found] == [[3, 1], [4, 1], [5]]
        one = source.preprocess.pixels(Image.fromarray(PIXELS[4]))
        torch = pytest.importorskip("torch")
        expected = source.preprocess.tensor(torch.from_numpy(np.stack([one])))
    torch.testing.assert_close(found[1][1][:1], expected)


def test_views_come_in_two_halves():
    found = all_views(2)
    assert [len(t) for _, t in found] == [8, 8, 6]
    first, second = found[0][1][:4], found[0][1][4:]
    assert all(not np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def test_views_do_not_depend_on_threads_or_where_the_epoch_was_taken_up():
    one, many, later = all_views(1), all_views(3), all_views(2, start=4)
    for (rows, views), (same_rows, same_views) in zip(one, many, strict=True):
        assert rows == same_rows
        assert np.array_equal(views, same_views)
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(one[1:], later, strict=True))


@pytest.mark.parametrize("change", [{"epoch": 2}, {"seed": 1}])
def test_other_epochs_and_seeds_give_other_views(change):
    assert not np.array_equal(all_views(1)[0][1], all_views(1, **change)[0][1])


def test_only_a_little_is_read_ahead():
    seen = []

    def read(row):
        seen.append(row)
        return Image.fromarray(PIXELS[row])

    with ThreadPoolExecutor(1) as pool:
        batches = pictures(pool, read).plain(np.arange(11), 2)
        next(batches)
        batches.close()
    assert len(set(seen)) <= 6


def test_errors_of_reading_reach_the_training():
    def read(row):
        raise OSError("gone")

    with ThreadPoolExecutor(1) as pool, pytest.raises(OSError, match="gone"):
        list(pictures(pool, read).plain(np.arange(3), 2))


def test_orders_and_seeds():
    rows = np.arange(100, 150)
    assert sorted(epoch_order(rows, 0, 1)) == rows.tolist()
    assert epoch_order(rows, 0, 1).tolist() == epoch_order(rows, 0, 1).tolist()
    assert epoch_order(rows, 0, 1).tolist() != epoch_order(rows, 0, 2).tolist()
    seeds = {seed_of(a, b, c) for a in range(5) for b in range(5) for c in range(5)}
    assert len(seeds) == 125
    assert all(0 <= s < 2**63 for s in seeds)
