import errno
import os

import numpy as np
import pytest
from PIL import Image

from vbcgcd.embed import embed_items
from vbcgcd.embed import run as run_module
from vbcgcd.embed.images import ImageEmbedder
from vbcgcd.embed.preprocess import PilPreprocess
from vbcgcd.errors import InputError


def files(folder, pictures):
    for i, picture in enumerate(pictures):
        Image.fromarray(picture).save(folder / f"{i}.png")
    return [folder / f"{i}.png" for i in range(len(pictures))]


@pytest.fixture
def colours():
    """An image embedder without weights: the mean of normalised pixels."""
    torch = pytest.importorskip("torch", reason="needs the extra 'vision'")

    def mean(module, pixels):
        return pixels.mean((2, 3))

    return ImageEmbedder(
        "colours", torch.nn.Identity(), mean, PilPreprocess.square(16), 3, torch.device("cpu"), batch_size=5
    )


class TestCache:
    def test_nothing_is_computed_twice(self, things, pictures, counting, tmp_path):
        model, items = counting(), things("image", pictures)
        first = embed_items(items, model, cache=tmp_path)
        again = embed_items(items, model, cache=tmp_path)
        assert (first.computed, first.reused, again.computed, again.reused) == (12, 0, 0, 12)
        assert model.seen == 12
        np.testing.assert_array_equal(first.vectors, again.vectors)
        np.testing.assert_allclose(first.vectors, pictures.mean((1, 2)), rtol=1e-6)

    def test_only_changed_items_are_computed(self, things, pictures, counting, tmp_path):
        paths = files(tmp_path, pictures)
        embed_items(things("image", paths), counting(), cache=tmp_path / "c")
        Image.fromarray(255 - pictures[3]).save(paths[3])
        paths[4].rename(tmp_path / "renamed.png")
        paths[4] = tmp_path / "renamed.png"
        model = counting()
        result = embed_items(things("image", paths), model, cache=tmp_path / "c")
        assert model.seen == 1
        np.testing.assert_allclose(result.vectors[3], 255 - pictures[3].mean((0, 1)), rtol=1e-5)

    def test_equal_items_are_computed_once(self, things, pictures, counting):
        model = counting()
        result = embed_items(things("image", pictures[[0, 1, 0, 0]]), model, cache=False)
        assert model.seen == 2
        np.testing.assert_array_equal(result.vectors[0], result.vectors[3])

    def test_goes_on_after_an_interruption(self, things, pictures, counting, tmp_path):
        items = things("image", pictures)
        with pytest.raises(KeyboardInterrupt):
            embed_items(items, counting(fail_at=8), cache=tmp_path)
        model = counting()
        result = embed_items(items, model, cache=tmp_path)
        assert (model.seen, result.reused) == (4, 8)
        np.testing.assert_allclose(result.vectors, pictures.mean((1, 2)), rtol=1e-6)

    def test_usual_folder_or_none(self, things, pictures, counting, tmp_path):
        embed_items(things("image", pictures), counting(), cache=None)
        assert not (tmp_path / "usual-cache").exists()
        embed_items(things("image", pictures), counting())
        assert list((tmp_path / "usual-cache").rglob("*.safetensors"))

    def test_a_full_disk_is_in_the_summary_and_the_rest_goes_on(
        self, things, pictures, counting, tmp_path, monkeypatch
    ):
        def full(handle):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        result = embed_items(things("image", pictures), counting(), cache=tmp_path)
        assert len(result.rows) == 12
        assert "No space left on device" in result.summary()
        assert not list(tmp_path.rglob("*.safetensors*"))


class TestFailures:
    def test_broken_items_are_named_and_the_rest_embedded(self, things, pictures, colours, tmp_path):
        paths = files(tmp_path, pictures)
        paths[2].write_bytes(paths[2].read_bytes()[:50])
        paths[5].write_text("no picture")
        paths[7].unlink()
        result = embed_items(things("image", paths), colours, cache=tmp_path / "c")
        assert [f.reference for f in result.failures] == ["item-2", "item-5", "item-7"]
        assert result.rows.tolist() == [0, 1, 3, 4, 6, 8, 9, 10, 11]
        np.testing.assert_allclose(
            result.vectors, colours.embed([pictures[i] for i in result.rows]), rtol=1e-6
        )
        assert result.summary().startswith("3 of 12 items could not be embedded:\n  item-2: ")

    def test_a_failing_batch_is_tried_item_by_item(self, things, pictures, counting):
        class Picky(counting):
            def embed(self, items):
                if any(np.asarray(item)[0, 0, 0] == 7 for item in items):
                    raise RuntimeError("cannot stand sevens\nand more")
                return super().embed(items)

        pictures[:, 0, 0, 0] = 1
        pictures[6, 0, 0, 0] = 7
        result = embed_items(things("image", pictures), Picky(), cache=None)
        assert [(f.reference, f.reason) for f in result.failures] == [
            ("item-6", "the embedder failed: cannot stand sevens")
        ]
        assert len(result.rows) == 11

    def test_an_embedder_that_always_fails_is_an_error(self, things, pictures, counting):
        class Broken(counting):
            def embed(self, items):
                raise RuntimeError("out of order")

        with pytest.raises(InputError, match=r"counting .*out of order"):
            embed_items(things("image", pictures), Broken(), cache=None)

    def test_vectors_that_are_not_finite_are_failures_and_not_kept(
        self, things, pictures, counting, tmp_path
    ):
        class Overflowing(counting):
            def embed(self, items):
                vectors = super().embed(items)
                vectors[0, 0] = np.inf
                return vectors

        result = embed_items(things("image", pictures), Overflowing(), cache=tmp_path)
        assert len(result.failures) == 3
        assert embed_items(things("image", pictures), counting(), cache=tmp_path).computed == 3

    def test_wrong_shapes_and_kinds(self, things, pictures, counting):
        class Flat(counting):
            def embed(self, items):
                return super().embed(items)[:, 0]

        with pytest.raises(InputError, match=r"\(4,\) .*\(4, 3\)"):
            embed_items(things("image", pictures), Flat(), cache=None)
        with pytest.raises(InputError) as caught:
            embed_items(things("text", ["a"]), counting(), cache=None)
        assert caught.value.option == "embedder"

    def test_a_file_that_changes_meanwhile_is_not_kept_under_the_old_key(
        self, things, pictures, colours, tmp_path, monkeypatch
    ):
        paths = files(tmp_path, pictures)
        real = run_module._Run._reuse

        def reuse(self, tasks):
            Image.fromarray(255 - pictures[0]).save(paths[0])
            return real(self, tasks)

        monkeypatch.setattr(run_module._Run, "_reuse", reuse)
        result = embed_items(things("image", paths), colours, cache=tmp_path / "c")
        assert [f.reason for f in result.failures] == ["changed while it was being embedded"]

    def test_nothing_left(self, things, colours, tmp_path):
        result = embed_items(things("image", [tmp_path / "absent.png"]), colours, cache=None)
        assert result.vectors.shape == (0, 3)
        assert result.rows.tolist() == []


class TestViews:
    def test_each_view_is_kept_and_independent_of_the_order(self, things, pictures, colours, tmp_path):
        first = embed_items(things("image", pictures), colours, views=2, cache=tmp_path)
        assert first.views.shape == (12, 2, 3)
        assert first.computed == 36
        assert not np.allclose(first.views[:, 0], first.views[:, 1])
        again = embed_items(things("image", pictures[::-1]), colours, views=2, cache=tmp_path)
        assert again.computed == 0
        np.testing.assert_array_equal(again.views, first.views[::-1])
        fresh = embed_items(things("image", pictures[::-1]), colours, views=2, cache=None)
        np.testing.assert_allclose(fresh.views, again.views, rtol=1e-6)

    def test_another_seed_gives_other_views_and_the_same_vectors(self, things, pictures, colours, tmp_path):
        one = embed_items(things("image", pictures), colours, views=1, cache=tmp_path)
        other = embed_items(things("image", pictures), colours, views=1, random_state=1, cache=tmp_path)
        assert (other.computed, other.reused) == (12, 12)
        assert not np.allclose(one.views, other.views)
        np.testing.assert_array_equal(one.vectors, other.vectors)

    def test_rows_of_views_follow_failures(self, things, pictures, colours, tmp_path):
        paths = files(tmp_path, pictures)
        paths[4].write_text("broken")
        result = embed_items(things("image", paths), colours, views=3, cache=None)
        assert result.views.shape == (11, 3, 3)

    def test_are_for_pictures(self, things, counting):
        with pytest.raises(InputError) as caught:
            embed_items(things("image", []), counting(), views=1)
        assert caught.value.option == "views"


def test_threads_and_batches_do_not_change_the_answer(things, pictures, colours, tmp_path):
    paths = files(tmp_path, pictures)
    expected = colours.embed(paths)
    for workers in (1, 4):
        result = embed_items(things("image", paths), colours, cache=None, workers=workers)
        np.testing.assert_allclose(result.vectors, expected, rtol=1e-6)


def test_progress_counts_to_the_end(things, pictures, counting):
    seen = []
    embed_items(things("image", pictures), counting(5), cache=None, progress=lambda *a: seen.append(a))
    assert seen == [(0, 12), (5, 12), (10, 12), (12, 12)]
