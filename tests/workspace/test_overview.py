import json

import numpy as np

from vbcgcd.bayes import recover_statistics
from vbcgcd.workspace import Workspace, plain


def test_everything_is_plain_json(animals):
    animals.rename(0, "<b>cat</b>")
    overview = animals.overview()
    text = json.dumps(overview.as_dict(), allow_nan=False)
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
    done = animals.split("cat", blobs.rows)
    again = animals.split(next(iter(done.categories)), blobs.rows)
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


def test_neighbours_spreads_and_volumes_agree_with_the_posterior(animals):
    knowledge = animals._shelf.knowledge(animals._history.state)
    posterior, statistics = knowledge.posterior, recover_statistics(knowledge.prior, knowledge.posterior)
    distance = np.linalg.norm(posterior.mean[:, None] - posterior.mean[None], axis=2)
    np.fill_diagonal(distance, np.inf)
    for k, info in enumerate(animals.categories()):
        assert info.nearest == distance[k].argmin()
        np.testing.assert_allclose(info.nearest_distance, distance[k].min(), rtol=1e-5)
        volume = np.linalg.slogdet(posterior.covariance(k))[1]
        np.testing.assert_allclose(info.log_volume, volume, atol=1e-4)
        own = statistics.scatter[k][np.cumsum(np.arange(1, posterior.dim + 1)) - 1].sum()  # packed: the trace
        np.testing.assert_allclose(
            info.spread, np.sqrt(own / (statistics.count[k] * posterior.dim)), rtol=1e-3
        )


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


def test_changes_since_the_last_session(animals, blobs):
    changes = animals.changes()
    assert (changes.session, set(changes.novel), changes.retired) == (1, {3, 4}, {})
    assert sum(changes.grown.values()) == 100
    animals.rename("cat", "tom")
    animals.merge([3, 1], name="mix")
    animals.drop(2)
    animals.undo()
    changes = animals.changes()
    assert changes.renamed == {0: ("cat", "tom")}
    assert changes.novel == {4: "novel-4", 5: "mix"}
    assert changes.retired == {1: "dog"}
    assert [c.command for c in changes.commands] == ["discover", "rename", "merge"]
    assert sum(changes.grown.values()) == 100


def test_the_history_tells_what_was_undone(animals):
    animals.drop(2)
    animals.undo()
    told = [(c.command, c.undone) for c in animals.history()]
    assert told == [
        ("init", False),
        ("learn", False),
        ("discover", False),
        ("drop", True),
        ("undo", False),
    ]
    assert animals.history()[2].parameters == {"n_novel": 2}


def test_plain_values():
    assert plain({1: (np.float32(0.5), np.array([1, 2])), "x": float("nan")}) == {
        "1": [0.5, [1, 2]],
        "x": None,
    }
