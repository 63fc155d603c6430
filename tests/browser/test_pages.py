"""What a visitor does, in a real browser."""

import pytest
from served import sentences, write_table

from vbcgcd.workspace import Workspace

#: How many controls a screen reader would have no name for.
NAMELESS = """[...document.querySelectorAll("button, a, input, select")].filter((one) =>
    !(one.innerText || one.ariaLabel || one.title || one.labels?.length || one.querySelector("img"))
).length"""
PAGES = [
    "/",
    "/review",
    "/categories",
    "/categories/3",
    "/map",
    "/items",
    "/items/3-0",
    "/sessions",
    "/predict",
    "/settings",
    "/api",
]


def until(page, expression):
    """Wait for a state of the page; its policy forbids Playwright's own way, which evaluates text there."""
    for _ in range(300):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"{expression} does not come true")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(1280, 820), (390, 800)])
def test_every_page_is_shown_and_fits(visit, served, tmp_path, width, height, scheme):
    page = visit(viewport={"width": width, "height": height}, color_scheme=scheme)
    for path in PAGES:
        page.goto(served.base + path)
        page.wait_for_selector("h1, .map .board")
        page.locator(".loading").wait_for(state="detached")
        assert not page.locator(".error").count(), page.locator(".error").all_inner_texts()
        overflow = page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        assert overflow <= 1, f"{path} is {overflow} pixels too wide"
        page.screenshot(path=tmp_path / f"{path.strip('/').replace('/', '-') or 'home'}-{width}-{scheme}.png")


def test_what_files_say_is_text(visit):
    page = visit("/items?find=alert")
    page.wait_for_selector(".item")
    assert "<script>alert('x')</script>" in page.locator(".item .what").first.inner_text()


def test_rename_then_undo_and_redo_by_keys(visit, desk):
    page = visit("/categories/0")
    page.get_by_role("button", name="Rename").click()
    page.get_by_role("textbox", name="Name").fill("kitchen <b>table</b>")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("heading", name="kitchen <b>table</b>").wait_for()
    assert desk.category(0).name == "kitchen <b>table</b>"
    page.keyboard.press("Shift+Z")
    page.get_by_role("heading", name="food").wait_for()
    page.keyboard.press("Shift+Y")
    page.get_by_role("heading", name="kitchen").wait_for()


def test_merge_with_an_exclusion(visit, desk):
    page = visit("/categories")
    for name in ("food", "music"):
        page.get_by_label(f"Select {name}").check()
    page.get_by_role("button", name="Merge").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name of the merged category").fill("leisure")
    dialog.locator("summary", has_text="food").click()
    dialog.locator(".item input").first.check()
    dialog.get_by_role("button", name="Merge").click()
    page.get_by_role("link", name="leisure").first.wait_for()
    assert desk.count_unassigned() >= 1
    assert {c.name for c in desk.entries()} >= {"leisure", "weather"}


def test_items_are_moved_from_a_list(visit, desk):
    page = visit("/categories/3")
    page.locator(".item input").nth(0).check()
    page.locator(".item input").nth(2).click(modifiers=["Shift"])
    page.get_by_role("button", name="Move to…").click()
    page.get_by_role("combobox").fill("accounts that are new")
    page.get_by_role("button", name="Choose").click()
    page.locator(".toast", has_text="Moved 3 items").wait_for()
    assert desk.category("accounts that are new").live


def test_split_in_two(visit, desk):
    page = visit("/categories/3")
    page.get_by_role("button", name="Split").click()
    page.get_by_label("Number of parts").fill("2")
    page.get_by_role("dialog").get_by_role("button", name="Split").click()
    page.locator(".toast", has_text="Split into 2 parts").wait_for()
    assert desk.category(3, retired=True).status == "split"


def test_items_are_moved_by_lasso(visit, desk):
    page = visit("/map")
    until(page, "window.vbcgcdMap && window.vbcgcdMap.points.n > 0")
    page.wait_for_timeout(300)
    page.get_by_role("button", name="Lasso").click()
    box = page.locator(".board").bounding_box()
    corners = [(0.02, 0.2), (0.98, 0.2), (0.98, 0.98), (0.02, 0.98), (0.02, 0.2)]
    spots = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in corners]
    page.mouse.move(*spots[0])
    page.mouse.down()
    for spot in spots[1:]:
        page.mouse.move(*spot, steps=8)
    page.mouse.up()
    page.locator(".map aside h2").wait_for()
    page.locator(".map aside").get_by_role("button", name="Move to…").click()
    page.get_by_role("dialog").get_by_role("combobox").fill("everything here")
    page.get_by_role("button", name="Choose").click()
    page.locator(".toast", has_text="Moved").first.wait_for()
    assert desk.category("everything here").live


def test_the_map_works_without_webgl(visit):
    page = visit("/map?canvas")
    until(page, "window.vbcgcdMap && window.vbcgcdMap.painter.kind === 'canvas'")
    page.keyboard.press("+")
    page.keyboard.press("0")


def test_review_by_keys_alone(visit, desk, tmp_path):
    desk.discover(write_table(tmp_path / "more.csv", [(t,) for t in sentences("travel")], ("text",)))
    before = desk.review(None).total
    assert before > 0
    page = visit("/review")
    page.wait_for_selector("#asked")
    first = page.locator("#asked").inner_text()
    page.keyboard.press("n")
    page.locator("aside li", has_text="No:").wait_for()
    page.keyboard.press("u")
    page.locator("aside ol").wait_for(state="detached")
    assert page.locator("#asked").inner_text() == first
    assert desk.last_command().command == "discover"  # nothing has been decided yet
    page.keyboard.press("n")
    page.locator("aside li", has_text="No:").wait_for()
    page.keyboard.press("a")
    page.locator(".toast", has_text="Applied 1 answer").wait_for()
    assert desk.last_command().command == "dismiss"
    assert desk.review(None).total < before


def test_a_file_is_discovered_with_a_preview(visit, desk, tmp_path):
    table = write_table(tmp_path / "tuesday.csv", [(t,) for t in sentences("travel")], ("text",))
    page = visit()
    before = desk.last_commit
    page.locator("#file").set_input_files(table)
    page.locator(".job progress").first.wait_for()
    page.get_by_role("button", name="Accept this session").wait_for(timeout=90_000)
    assert desk.last_commit == before
    page.get_by_role("button", name="Accept this session").click()
    page.locator(".toast", has_text="is part of the workspace now").wait_for(timeout=90_000)
    assert desk.last_command().command == "discover"
    assert desk.last_commit > before


def test_a_reload_in_the_middle_finds_the_work_again(visit, desk, tmp_path):
    table = write_table(tmp_path / "tuesday.csv", [(t,) for t in sentences("travel")], ("text",))
    page = visit()
    page.locator("#file").set_input_files(table)
    page.locator(".job").first.wait_for()
    page.reload()
    page.get_by_role("button", name="Accept this session").wait_for(timeout=90_000)


def test_work_is_cancelled(visit, desk, tmp_path):
    table = write_table(tmp_path / "tuesday.csv", [(t,) for t in sentences("travel")], ("text",))
    page = visit()
    before = desk.last_commit
    page.locator("#file").set_input_files(table)
    page.locator(".job").get_by_role("button", name="Cancel").click()
    page.locator(".job", has_text="Cancelled; nothing was changed").wait_for()
    assert desk.last_commit == before


def test_two_visitors_see_each_other(visit, desk):
    one, two = visit("/categories"), visit("/categories/0")
    two.get_by_role("button", name="Rename").click()
    two.get_by_role("textbox", name="Name").fill("kitchen")
    two.get_by_role("button", name="Save").click()
    two.get_by_role("heading", name="kitchen").wait_for()
    one.locator(".toast", has_text="renamed").wait_for(timeout=3000)
    one.get_by_role("button", name="Show").click()
    one.get_by_role("link", name="kitchen", exact=True).first.wait_for()


def test_a_decision_on_an_outdated_page_is_refused(visit, desk):
    page = visit("/categories/0")
    page.get_by_role("button", name="Rename").click()
    Workspace(desk.path).rename(0, "cooking")  # somebody else, while the dialog is open
    page.get_by_role("textbox", name="Name").fill("kitchen")
    page.get_by_role("button", name="Save").click()
    page.locator(".toast.bad", has_text="Somebody was quicker").wait_for()
    assert desk.category(0).name == "cooking"


def test_a_lost_connection_is_told_and_comes_back(visit, served):
    page = visit("/categories")
    port = served.base.rsplit(":", 1)[1]
    token = served.address.split("token=")[1]
    served.stop()
    page.locator(".lost").wait_for(timeout=10_000)
    page.get_by_label("Select food").check()
    page.get_by_role("button", name="Rename").click()
    page.get_by_role("textbox", name="Name").fill("kitchen")
    page.get_by_role("button", name="Save").click()
    page.locator(".toast.bad", has_text="cannot be reached").wait_for()
    assert token
    served.start("--port", port)


def test_everything_can_be_reached_by_keyboard(visit):
    page = visit("/categories")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.keyboard.press("Enter")
    until(page, "/^.categories.[0-9]+$/.test(location.pathname)")
    page.get_by_role("button", name="Rename").wait_for()
    nameless = page.evaluate(NAMELESS)
    assert nameless == 0


def test_read_only_offers_no_buttons(visit, served_read_only):
    page = visit("/categories/0", server=served_read_only)
    page.locator(".badge", has_text="read-only").wait_for()
    page.wait_for_selector(".item")
    assert page.get_by_role("button", name="Rename").count() == 0


def test_a_selection_lasts_while_somebody_searches(visit, desk):
    page = visit("/categories")
    page.get_by_label("Select food").check()
    page.get_by_label("Find in names and items").fill("weath")
    page.get_by_label("Select food").wait_for(state="detached")
    page.get_by_role("button", name="Rename").click()
    page.get_by_role("textbox", name="Name").fill("kitchen")
    page.get_by_role("button", name="Save").click()
    page.locator(".toast", has_text="Renamed to kitchen").wait_for()
    assert {info.name for info in desk.categories(n_samples=0)} >= {"kitchen", "weather"}


def test_enter_means_the_focused_button_and_not_the_page(visit):
    page = visit("/categories")
    page.wait_for_selector("tbody tr")
    page.get_by_role("button", name="Who are you?").focus()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Your name").wait_for()
    assert page.evaluate("location.pathname") == "/categories"


def test_items_are_selected_by_keys(visit):
    page = visit("/categories/0")
    page.locator(".item input").first.focus()
    page.keyboard.press("Space")
    page.locator(".selection", has_text="1 item selected").wait_for()
    page.wait_for_timeout(300)
    assert page.evaluate("document.activeElement.dataset.key")
    page.keyboard.press("Space")
    page.locator(".selection").first.wait_for(state="hidden")


def test_items_that_somebody_else_has_judged_meanwhile_are_not_confirmed(visit, desk):
    page = visit("/categories/3")
    page.locator(".item input").first.check()
    key = page.locator(".item input").first.get_attribute("data-key")
    theirs = next(item for item in desk.items("category=3") if f"{item.commit}-{item.row}" == key)
    Workspace(desk.path).reject_items([theirs])
    page.locator(".toast", has_text="Just now").wait_for()
    page.get_by_role("button", name="Confirm").click()
    page.locator(".toast.bad", has_text="Somebody was quicker").wait_for()
    assert desk.last_command().command == "reject"


def test_a_name_can_be_taken_back(visit):
    page = visit("/")
    for name, shown in (("Ann", "Ann"), ("", "Who are you?")):
        page.locator(".tools button").last.click()
        page.get_by_role("textbox").fill(name)
        page.get_by_role("button", name="Save").click()
        page.get_by_role("button", name=shown).wait_for()


def test_answers_wait_for_a_server_that_is_away(visit, served, desk, tmp_path):
    desk.discover(write_table(tmp_path / "more.csv", [(t,) for t in sentences("travel")], ("text",)))
    page = visit("/review")
    page.wait_for_selector("#asked")
    page.keyboard.press("n")
    page.locator("aside li", has_text="No:").wait_for()
    served.stop()
    page.locator(".lost").wait_for(timeout=10_000)
    page.keyboard.press("a")
    page.locator(".toast.bad", has_text="cannot be reached").wait_for()
    assert page.locator("aside li", has_text="No:").count() == 1
    served.start()


def test_an_empty_workspace_is_shown(visit, served_empty):
    page = visit(server=served_empty)
    for path in ("/", "/categories", "/items", "/sessions", "/predict", "/settings"):
        page.goto(served_empty.base + path)
        page.locator(".loading").wait_for(state="detached")
        assert not page.locator(".error").count(), path
    for path in ("/review", "/map"):
        page.goto(served_empty.base + path)
        page.locator(".error", has_text="run learn with labelled items first").wait_for()


def test_cards_show_typical_items_and_can_be_selected(visit):
    page = visit("/categories?cards=1")
    page.locator(".category-cards .some a").first.wait_for()
    page.get_by_label("Select card food").check()
    page.locator(".selection", has_text="1 category selected").wait_for()


def test_an_item_has_neighbours_and_the_map_a_legend(visit):
    page = visit("/items/2-0")
    page.get_by_role("heading", name="Similar items").wait_for()
    page.get_by_role("link", name="Map", exact=True).click()
    page.locator(".map .key li").first.wait_for()


MARKUP = "<img src=x onerror=alert(1)>"


def test_markup_in_names_files_and_visitors_is_text_on_every_page(visit, served, desk, tmp_path):
    table = write_table(
        tmp_path / f"{MARKUP.replace('/', '')}.csv",
        [(MARKUP,)] * 3 + [(t,) for t in sentences("travel")],
        ("text",),
    )
    desk.by = MARKUP
    desk.rename(0, MARKUP)
    desk.discover(table)
    desk.move_items(desk.items("session=2")[:2], 0)
    page = visit()
    page.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
    for path in [*PAGES, "/categories/0", "/items?find=onerror", "/categories?cards=1"]:
        page.goto(served.base + path)
        page.wait_for_selector("h1, .map .board")
        page.wait_for_timeout(250)
        assert page.locator("img[src='x']").count() == 0
