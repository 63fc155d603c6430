import base64
import hashlib
import json
import re

import numpy as np
import pytest

from vbcgcd.errors import InputError
from vbcgcd.items import Items
from vbcgcd.workspace import Workspace
from vbcgcd.workspace.report.page import option_lines

MODEL = {"count": "evidence", "n_components": 6, "prior_strength": 20.0}
NASTY = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</style></title></svg>]]><b>bold</b>",
    "\u202eשלום עולם مرحبا",
    "🙂👩‍👩‍👧 emoji",
    "x" * 200,
    "{{ 7 * 7 }} {% raw %}",
]


def test_a_report_shows_everything(animals, page):
    animals.rename(3, "found it")
    found = page(animals, title="My animals")
    for part in (
        "My animals",
        "found it",
        "cat",
        "dog",
        "owl",
        "What changed last",
        "Sessions over time",
        "Map",
    ):
        assert part in found.text
    assert {"c0", "c1", "c2", "c3", "c4"} <= set(found.ids)
    assert "190" in found.text
    assert "gone" not in found.text
    assert len(found.all("article")) == 2
    assert "Session 1 (the array" in found.text
    assert "labelled ones are usually near 1" in found.text
    assert "A category far above it may mix several things. Spread" in found.text  # narrow is no fault


def test_the_result_tells_what_was_written(animals, tmp_path):
    done = animals.report(tmp_path / "r.html")
    assert (done.categories, done.sessions) == (5, 2)
    json.dumps(done.as_json())
    assert (tmp_path / "r.html").stat().st_mode & 0o777 != 0o600  # as other files, not as a temporary one


def test_the_title_is_the_folder_unless_another_is_given(animals, page):
    assert "<title>animals</title>" in page(animals).source
    assert "<title>A &amp; B</title>" in page(animals, title="  A &\n B ").source


def test_the_script_is_allowed_by_its_digest_and_nothing_else_is(animals, page):
    found = page(animals)
    script = found.source.partition("<script>")[2].partition("</script>")[0]
    mark = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    [policy] = [m["content"] for m in found.all("meta") if m.get("http-equiv")]
    assert f"script-src 'sha256-{mark}'" in policy
    assert policy.startswith("default-src 'none'")
    assert policy.endswith("; base-uri 'none'; form-action 'none'")  # these two have no default


def empty(tmp_path, blobs):
    return Workspace.init(tmp_path / "w", model=MODEL)


def base_only(tmp_path, blobs):
    workspace = empty(tmp_path, blobs)
    workspace.learn(blobs.rows, blobs.labels)
    return workspace


def one_category(tmp_path, blobs):
    workspace = empty(tmp_path, blobs)
    workspace.learn(blobs.rows[:30], ["only"] * 30)
    return workspace


def without_sample(tmp_path, blobs):
    workspace = Workspace.init(tmp_path / "w", model=MODEL, sample=0)
    workspace.learn(blobs.rows, blobs.labels)
    return workspace


def all_but_one_dropped(tmp_path, blobs):
    workspace = base_only(tmp_path, blobs)
    workspace.discover(blobs.batch, n_novel=2)
    for category in (0, 1, 2, 3):
        workspace.drop(category)
    return workspace


def single_items(tmp_path, blobs):
    workspace = empty(tmp_path, blobs)
    workspace.learn(blobs.rows[:90:30], ["a", "b", "c"])
    workspace.learn(blobs.batch[:1] + 50, ["d"])
    return workspace


def one_single_item(tmp_path, blobs):
    workspace = base_only(tmp_path, blobs)
    workspace.learn(blobs.batch[:1] + 50, ["d"])
    return workspace


def nothing_novel(tmp_path, blobs):
    workspace = base_only(tmp_path, blobs)
    workspace.learn(blobs.rows, blobs.labels)
    return workspace


def undone(tmp_path, blobs):
    workspace = base_only(tmp_path, blobs)
    workspace.undo()
    return workspace


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (empty, "Nothing has been learned yet"),
        (base_only, "learned 3 categories from 90 labelled items."),
        (one_category, "learned 1 category from 30 labelled items."),
        (without_sample, "No items are drawn"),
        (all_but_one_dropped, "dropped"),
        (single_items, "learned 1 category from 1 labelled item."),
        (one_single_item, "such as those with a single item, are not shown"),
        (nothing_novel, "learned 0 categories from 90 labelled items; 90 of them"),
        (undone, "Nothing has been learned yet"),
    ],
)
def test_every_state_has_a_report(tmp_path, blobs, page, make, says):
    assert says in page(make(tmp_path, blobs)).text


def test_nothing_links_to_parts_that_are_not_there(tmp_path, blobs, page):
    found = page(empty(tmp_path, blobs))
    assert [a["href"] for a in found.all("a")] == ["#changes", "#about"]


def test_three_hundred_categories(tmp_path, page):
    rng = np.random.default_rng(0)
    means = 6 * rng.normal(size=(300, 8))
    labels = np.repeat(np.arange(300), 4)
    workspace = Workspace.init(tmp_path / "w", model={**MODEL, "n_components": 8})
    names = np.array([f"category number {k:03d}" for k in range(300)])
    workspace.learn(means[labels] + rng.normal(size=(1200, 8)), names[labels])
    found = page(workspace)
    assert len(found.all("details")) >= 301
    assert len(found.source) < 1_500_000
    named = int(re.search(r"(\d+) of 300 categories are labelled on the map", found.text)[1])
    assert 30 < named < 300


def test_what_users_write_is_shown_as_text(tmp_path, words, page):
    texts, labels = [], []
    for k, name in enumerate(NASTY):
        for i in range(6):
            texts.append(f"{words.words[k % 6]} {words.words[(k * 2) % 6]} {i} {NASTY[(k + i) % len(NASTY)]}")
            labels.append(name.replace("\u202e", "")[:200])  # what a label may not hold, a text may
    references = [f"{i} {NASTY[i % len(NASTY)]}" for i in range(len(texts))]
    items = Items("text", texts, references, f"/data/{NASTY[0]}/{NASTY[1]}.csv", np.array(labels))
    workspace = Workspace.init(tmp_path / "w", embedder=words, excerpts=3, model={"count": "evidence"})
    workspace.learn(items)
    workspace.rename(0, "</script><script>alert(2)</script>")
    workspace.merge([1, 2], name="]]></svg><svg onload=alert(3)>")
    workspace.drop(3)
    found = page(workspace, title=NASTY[1])
    assert "alert(2)" in found.text
    assert not {"b", "img"} & {tag for tag, _ in found.tags}
    for name in (NASTY[4], NASTY[5], NASTY[6], "]]></svg><svg onload=alert(3)>"):
        assert name in "".join(found.texts)
    assert "49" not in found.text.partition("emoji")[0].partition("{{")[2][:20]
    style = (found.source.partition("<style>")[2]).partition("</style>")[0]
    assert "overflow-wrap: anywhere" in style


def write_texts(path, words, n=6):
    rows = [f"{w} {w} secret {i}" for w in words[:4] for i in range(n)]
    path.write_text("text,label\n" + "\n".join(f"{row},{row.split()[0]}" for row in rows) + "\n")
    return path


def test_texts_come_from_the_source_unless_they_are_not_wanted(tmp_path, words, page):
    workspace = Workspace.init(tmp_path / "w", embedder=words, model={"count": "evidence"})
    path = write_texts(tmp_path / "data.csv", words.words)
    workspace.learn(path)
    assert "secret" in page(workspace).source
    assert "secret" not in page(workspace, items=False).source
    path.write_text(path.read_text().replace("secret 1", "altered 1"))
    other = Workspace.open(tmp_path / "w", embedder=words)
    assert not re.search("secret|altered", page(other).source)


def test_stored_excerpts_stay(tmp_path, words, page):
    workspace = Workspace.init(tmp_path / "w", embedder=words, excerpts=2, model={"count": "evidence"})
    path = write_texts(tmp_path / "data.csv", words.words)
    workspace.learn(path)
    path.unlink()
    assert page(workspace, items=False).text.count("secret") >= 4 * 2


def test_items_and_dots_are_as_many_as_asked_for(animals, page):
    few = page(animals, n_items=1, n_map=10)
    many = page(animals, n_items=8)
    assert len(few.all("code")) < len(many.all("code"))
    assert 10 <= len(re.findall(r'h0["M]', few.source)) <= 2 * 10  # the map is drawn for two widths
    none = page(animals, n_items=0, n_map=0)
    assert "No items" in none.text


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("r.csv", {}, r"end in \.html"),
        ("no/such/r.html", {}, "no folder"),
        ("folder.html", {}, "is a folder"),
        ("animals/commits/000001/r.html", {}, "belongs"),
        ("r.html", {"title": " "}, "title"),
        ("r.html", {"n_items": -1}, "n_items"),
        ("r.html", {"n_map": 1.5}, "n_map"),
    ],
)
def test_bad_input_writes_nothing(animals, tmp_path, tree, name, options, says):
    (tmp_path / "folder.html").mkdir()
    before = tree(tmp_path)
    with pytest.raises(InputError, match=says):
        animals.report(tmp_path / name, **options)
    assert tree(tmp_path) == before


def test_a_report_changes_nothing_in_the_workspace(animals, tmp_path, tree):
    before = tree(animals.path)
    animals.report(tmp_path / "r.html")
    (tmp_path / "r.html").write_text("older")
    animals.report(tmp_path / "r.html")
    assert tree(animals.path) == before
    assert (tmp_path / "r.html").read_text().startswith("<!DOCTYPE html>")


def test_settings_are_words():
    assert option_lines({"a": {"b": None}, "c": [1, 2]}) == ["a: b: not set", "c: 1, 2"]
    assert (option_lines([]), option_lines(False), option_lines(0.5)) == (["none"], ["no"], ["0.5"])
    assert option_lines(None, "nothing") == ["nothing"]


def test_unassigned_items_and_seedlings_have_a_section(animals, blobs, leave, page):
    assert "unassigned" not in page(animals).ids
    leave(7, [3, 5])
    animals.discover(blobs.probe + 9, n_novel=1)
    found = page(animals)
    assert "unassigned" in found.ids
    section = found.source.partition('<section id="unassigned">')[2].partition("</section>")[0]
    for item in animals.unassigned():
        assert f"<code>{item.reference}</code>" in section
    assert "5 items" in section
    assert animals.sessions()[-1].warnings[0] in found.text


def test_a_session_that_only_left_seedlings_or_assigned_nothing_has_a_report(animals, blobs, leave, page):
    leave(0, [2])
    animals.discover(blobs.probe, n_novel=0)
    assert "unassigned" in page(animals).ids
    leave(len(blobs.probe), [])
    animals.discover(blobs.probe, n_novel=0)
    found = page(animals, n_items=0)
    assert f"{len(blobs.probe)} items fit no category" in found.text


def test_a_page_with_too_many_categories_shows_the_newest_and_largest(animals, tmp_path, monkeypatch):
    whole = animals.report(tmp_path / "whole.html")
    monkeypatch.setattr("vbcgcd.workspace.report.MOST", 3)
    result = animals.report(tmp_path / "some.html")
    page = (tmp_path / "some.html").read_text(encoding="utf-8")
    assert result.categories == whole.categories == 5
    shown = {int(number) for number in re.findall(r'id="c(\d+)"', page)}
    largest = max(animals.categories()[:3], key=lambda info: (info.size, -info.id))
    assert shown == {3, 4, largest.id}
    assert "show the 3 newest and largest categories. 2 others are left out" in page
    linked = {int(number) for number in re.findall(r'href="#c(\d+)"', page)}
    assert linked <= shown
    assert "left out" not in (tmp_path / "whole.html").read_text(encoding="utf-8")
