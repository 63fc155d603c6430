import pytest
from rich.console import Console

from vbcgcd.show import categories as show
from vbcgcd.words import NAMED_BY
from vbcgcd.workspace import (
    CategoryInfo,
    CategoryResult,
    CategoryView,
    ItemInfo,
    NameSuggestion,
    SeedlingInfo,
)


def text(renderable):
    console = Console(width=100, highlight=False, color_system=None, force_terminal=False)
    with console.capture() as capture:
        console.print(renderable, markup=False, emoji=False)
    return " ".join(capture.get().split())


def info(i=3, **values):
    defaults = {"name": f"c{i}", "named_by": "user", "status": "live", "birth": 1, "size": 1200}
    return CategoryInfo(id=i, **{**defaults, **values})


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (CategoryResult(1, "rename", {3: "hen"}), "3 from 'old' to 'hen'"),
        (
            CategoryResult(1, "merge", {5: "x"}, {0: "a", 1: "b", 2: "c"}),
            "0 'a', 1 'b' and 2 'c' into the new category 5 'x'",
        ),
        (
            CategoryResult(1, "split", {5: "x", 6: "y"}, {0: "a"}, {5: 8, 6: 1}),
            "0 'a' into 5 'x' (8 items) and 6 'y' (1 item)",
        ),
        (CategoryResult(1, "drop", {}, {0: "[a]"}), "Dropped 0 '[a]'"),
    ],
    ids=["rename", "merge", "split", "drop"],
)
def test_changes_name_ids_and_names(result, words):
    assert words in text(show.change(result, "old"))


def test_an_empty_list_says_why():
    assert text(show.categories([], total=0)) == "No categories yet."
    assert text(show.categories([], total=4)) == "No category matches."


def test_the_list_counts_what_it_shows():
    page = text(show.categories([info(3)], total=4))
    assert "1 of 4 categories" in page
    assert "1,200" in page
    assert "retired" not in page
    retired = text(show.categories([info(3), info(4, status="split", into=(5, 6))], total=2))
    assert "split into 5 and 6" in retired
    assert "grey: retired" in retired


def test_the_list_ends_with_what_belongs_to_no_category():
    seedlings = [SeedlingInfo(5, 2), SeedlingInfo(1, 1)]
    page = text(show.categories([info(3)], total=1, n_unassigned=1200, seedlings=seedlings))
    assert "1,200 items are unassigned" in page
    assert "2 seedlings wait for more items (5 and 1 so far)" in page
    nothing = text(show.categories([info(3)], total=1))
    assert "unassigned" not in nothing
    assert "seedling" not in nothing


def test_unassigned_items_show_their_best_category():
    items = [
        ItemInfo("7", "d.csv", 1, 0.8, 0.99, 1, 0.15, commit=2),
        ItemInfo("8", "d.csv", 1, 1.0, 0.98, None, 0.0, commit=2),
    ]
    page = text(show.unassigned(items, {1: "dog"}, {(2, "7"): "hello [x]"}, total=5))
    assert "7 hello [x] dog 0.15 0.99 1" in page
    assert "3 more items" in page
    assert "5 items are unassigned" in page
    assert text(show.unassigned([], {}, {}, total=0)) == "Every item has a category."


@pytest.mark.parametrize("named_by", NAMED_BY)
def test_one_category_in_full(named_by):
    item = ItemInfo("7", "d.csv", 1, 0.8, 0.3, 1, 0.15, commit=2)
    near = info(3, named_by=named_by, nearest=1, nearest_name="dog", nearest_distance=2.0, parents=(0, 2))
    view = CategoryView(near, 0.0, 0.0, {1: 12}, (item,), (item,), ())
    page = text(show.category(view, {1: "dog"}, {(2, "7"): "hello [x]"}))
    assert f"named by {NAMED_BY[named_by]}" in page
    assert "12 in session 1" in page
    assert "1 dog, at distance 2.0" in page
    assert "made from 0 and 2" in page
    assert page.count("hello [x]") == 2
    assert "0.80 dog 0.15 0.30" in page


def test_a_retired_category_tells_what_became_of_it():
    assert "merged into 9" in text(show.retired_category(info(3, status="merged", into=(9,))))


def test_suggestions_say_that_nothing_was_renamed():
    found = [NameSuggestion(3, "lost card", "terms", good=True)]
    assert "Nothing was renamed" in text(show.suggestions(found, {}, applied=True))
    assert "renamed" not in text(show.suggestions(found, {}))
    assert "1 category was renamed" in text(show.suggestions(found, {3: "a"}, applied=True))
