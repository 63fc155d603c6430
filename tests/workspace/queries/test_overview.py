import json

import numpy as np

from vbcgcd.workspace import Workspace


def test_everything_is_plain_json(animals):
    animals.rename(0, "<b>cat</b>")
    overview = animals.overview()
    text = json.dumps(overview.as_json(), allow_nan=False)
    assert json.loads(text)["categories"][0]["info"]["name"] == "<b>cat</b>"
    assert (overview.items, overview.commit, len(overview.sessions)) == (190, 4, 2)


def test_the_bytes_are_those_of_the_commits_and_of_nothing_else(animals):
    animals.drop(0)
    animals.undo()
    files = [file for file in (animals.path / "commits").rglob("*") if file.is_file()]
    assert animals.overview().bytes == sum(file.stat().st_size for file in files)
    (animals.path / "report.html").write_text("of the user's")
    (animals.path / "vanishing").symlink_to(animals.path / "nowhere")
    half = animals.path / "commits" / f".new-{'a' * 32}"  # another process is writing
    half.mkdir()
    (half / "model.safetensors").write_text("half")
    assert animals.overview().bytes == sum(file.stat().st_size for file in files)


def test_items_that_a_category_was_split_by_are_counted_once(animals, blobs):
    before = animals.overview().items
    done = animals.split("cat", blobs.rows, n_parts=2)
    again = animals.split(next(iter(done.categories)), blobs.rows, n_parts=2)
    assert sum(done.counts.values()) > sum(again.counts.values()) > 0
    assert animals.overview().items == before == 190
    merged = animals.merge(list(again.categories))
    assert animals.overview().items == 190
    sizes = {c.id: c.size for c in animals.categories()}
    assert sizes[next(iter(merged.categories))] == sum(again.counts.values())


def test_an_empty_workspace_has_an_overview(fresh):
    overview = fresh.overview()
    assert (overview.categories, overview.sessions, overview.map) == ((), (), ())
    assert overview.changes.session is None


def test_the_map_puts_items_near_their_category(animals):
    overview = animals.overview()
    assert len(overview.map) == 190  # all of them: fewer than the sample allows
    centres = {view.info.id: np.array([view.x, view.y]) for view in overview.categories}
    nearest = [
        min(centres, key=lambda i: np.linalg.norm(centres[i] - (item.x, item.y))) == item.category
        for item in overview.map
    ]
    assert np.mean(nearest) > 0.7
    assert len(animals.overview(n_map=20).map) == 20


def test_no_sample_is_kept_where_none_is_wanted(tmp_path, blobs):
    workspace = Workspace.init(tmp_path / "w", sample=0, model={"count": "evidence"})
    workspace.learn(blobs.rows, blobs.labels)
    assert workspace.overview().map == ()


def test_an_overview_of_some_categories_says_how_many_it_leaves_out(animals):
    whole, some = animals.overview(), animals.overview(only=[3, 1])
    assert [view for view in whole.categories if view.info.id in (1, 3)] == list(some.categories)
    assert (whole.left_out, some.left_out) == (0, 3)
    assert {item.category for item in some.map} == {1, 3}
    assert (some.items, some.growth, some.sessions) == (whole.items, whole.growth, whole.sessions)


def test_without_a_map_no_positions_are_read(animals):
    assert animals.overview(n_map=0).map == ()
    views = zip(animals.overview(n_map=0).categories, animals.overview().categories, strict=True)
    assert all((a.x, a.y) == (b.x, b.y) for a, b in views)
