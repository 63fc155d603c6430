from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import Image

torch = pytest.importorskip("torch", reason="needs the extra 'vision'")

from vbcgcd.embed.augment import Augmentation  # noqa: E402
from vbcgcd.embed.finetune.batches import Pictures, epoch_order, seed_of  # noqa: E402
from vbcgcd.embed.preprocess import PilPreprocess  # noqa: E402

PIXELS = np.random.default_rng(0).integers(0, 256, (11, 20, 20, 3), dtype=np.uint8)


def pictures(pool, read=lambda row: Image.fromarray(PIXELS[row]), seed=0):
    preprocess = PilPreprocess((16, 16))
    return Pictures(read, preprocess, Augmentation(), seed, pool, torch.device("cpu"))


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
