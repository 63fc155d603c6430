// Categories: table or cards, search over names and items, filters, and decisions about several at once.
import { get, known, post, query } from "../lib/api.js";
import { meter } from "../lib/charts.js";
import { category, decimal, h, hue, number, percent, plural } from "../lib/dom.js";
import { itemList, lines, ofCategory } from "../lib/items.js";
import { live } from "../lib/live.js";
import { attempt, ask, confirmed, dialog, keyHelp, keys, readOnly } from "../lib/ui.js";

const COLUMNS = [["name", "Name"], ["size", "Items"], ["birth", "Session"], ["reliability", "Sure"], ["spread", "Spread"], ["nearest_name", "Nearest"]];

export async function show(_, { go, reload }) {
  const address = new URLSearchParams(location.search);
  const state = { find: address.get("find") ?? "", filter: address.get("filter") ?? "all", sort: address.get("sort") ?? "id", down: address.get("down") === "1", cards: address.get("cards") === "1" };
  const selected = new Map(); // rows by id, since a search leaves others
  let rows = [];
  let shown = [];
  let cursor = 0;
  let head = live.status.head;

  const table = h("table", { className: "rows categories" });
  const count = h("span", { className: "soft", role: "status" });
  const tools = h("div", { className: "selection", hidden: true });
  const find = h("input", { type: "search", value: state.find, placeholder: "Find in names and items", "aria-label": "Find in names and items" });
  const filter = h("select", { "aria-label": "Which categories" },
    [["all", "All"], ["labelled", "Labelled"], ["discovered", "Discovered"], ["unnamed", "Not named by a person"], ["doubtful", "Doubtful"], ["small", "Fewer than 10 items"], ["retired", "Retired"]].map(([value, words]) => h("option", { value, selected: value === state.filter }, words)));

  const cards = cardGrid(selected, (one) => toggle(one));

  async function load() {
    const answer = await get(`/categories${query({ find: state.find, retired: state.filter === "retired" ? "true" : null })}`);
    ({ categories: rows, head } = answer);
    draw();
  }

  const keep = {
    all: () => true, labelled: (one) => !one.discovered, discovered: (one) => one.discovered,
    unnamed: (one) => !["user", "label"].includes(one.named_by), doubtful: (one) => one.reliability < 0.7, small: (one) => one.size < 10, retired: (one) => one.status !== "live",
  };

  function draw() {
    shown = rows.filter(keep[state.filter]).sort((a, b) => compare(a[state.sort], b[state.sort]) * (state.down ? -1 : 1) || a.id - b.id);
    count.textContent = plural(shown.length, "category", "categories");
    table.replaceChildren(
      h("thead", null, h("tr", null, h("th", null, h("input", { type: "checkbox", "aria-label": "Select all", checked: alive().length > 0 && alive().every((one) => selected.has(one.id)), onclick: (event) => { alive().forEach((one) => (event.target.checked ? selected.set(one.id, one) : selected.delete(one.id))); draw(); showTools(); } })),
        COLUMNS.map(([name, words]) => h("th", { className: ["size", "birth", "spread"].includes(name) ? "n" : "", "aria-sort": state.sort === name ? (state.down ? "descending" : "ascending") : null },
          h("button", { type: "button", className: "plain", onclick: () => sort(name) }, words, state.sort === name ? (state.down ? " ↓" : " ↑") : ""))))),
      h("tbody", null, shown.map(row)));
    cards.draw(state.cards ? shown : []);
    table.hidden = state.cards;
    address.set("find", state.find);
    history.replaceState(null, "", `/categories${query({ find: state.find, filter: state.filter === "all" ? "" : state.filter, sort: state.sort === "id" ? "" : state.sort, down: state.down ? "1" : "", cards: state.cards ? "1" : "" })}`);
  }

  function row(one, place) {
    return h("tr", { className: [selected.has(one.id) && "on", place === cursor && "cursor"].filter(Boolean).join(" ") },
      h("td", null, one.status === "live" && h("input", { type: "checkbox", checked: selected.has(one.id), "aria-label": `Select ${one.name}`, onclick: () => toggle(one) })),
      h("td", { "data-l": "Name" }, h("i", { className: `swatch ${hue(one.birth)}` }), category(one.id, one.name), h("span", { className: "id" }, ` #${one.id}`),
        one.status !== "live" && h("span", { className: "badge" }, one.status), one.hits > 0 && h("small", null, ` ${plural(one.hits, "item")} found`)),
      h("td", { className: "n", "data-l": "Items" }, number(one.size)), h("td", { className: "n", "data-l": "Session" }, one.birth),
      h("td", { "data-l": "Sure" }, one.status === "live" && [meter(one.reliability, percent(one.reliability)), " ", percent(one.reliability)]),
      h("td", { className: "n", "data-l": "Spread" }, decimal(one.spread)), h("td", { "data-l": "Nearest" }, one.nearest !== null && category(one.nearest, one.nearest_name)));
  }

  const look = h("button", { type: "button", "aria-pressed": String(state.cards), onclick: () => { state.cards = !state.cards; look.setAttribute("aria-pressed", String(state.cards)); draw(); } }, "Cards");
  const alive = () => shown.filter((one) => one.status === "live");
  const toggle = (one) => { if (one?.status !== "live") return; selected.has(one.id) ? selected.delete(one.id) : selected.set(one.id, one); draw(); showTools(); };
  const sort = (name) => { state.down = state.sort === name ? !state.down : ["size", "birth", "reliability"].includes(name); state.sort = name; draw(); };

  function showTools() {
    tools.hidden = !selected.size || readOnly();
    const ids = [...selected.keys()];
    tools.replaceChildren(h("strong", null, plural(ids.length, "category", "categories"), " selected "),
      ids.length === 1 && h("button", { type: "button", onclick: rename }, "Rename"),
      ids.length > 1 && h("button", { type: "button", onclick: merge }, "Merge"),
      ids.length === 1 && h("button", { type: "button", onclick: () => split(ids[0], head, reload) }, "Split"),
      h("button", { type: "button", className: "danger", onclick: drop }, "Drop"),
      h("button", { type: "button", className: "plain", onclick: () => { selected.clear(); draw(); showTools(); } }, "Clear"));
  }

  const done = async (answer) => { if (!answer) return; selected.clear(); showTools(); await reload(); };

  async function rename() {
    const [one] = selected.values();
    const name = await ask("Rename", "Name", one.name);
    if (name) done(await attempt(() => post(`/categories/${one.id}/rename`, { name, seen: head }), `Renamed to ${name}.`));
  }

  async function merge() {
    const ids = [...selected.keys()];
    const choice = await mergeDialog([...selected.values()]);
    if (choice) done(await attempt(() => post("/categories/merge", { ids, ...choice, seen: head }), `Merged ${plural(ids.length, "category", "categories")}.`));
  }

  async function drop() {
    const ids = [...selected.keys()];
    if (!(await confirmed("Drop", `Drop ${plural(ids.length, "category", "categories")}? Items like theirs go to others from now on. You can undo it.`, { submit: "Drop", danger: true }))) return;
    let answer = null;
    for (const id of ids) {
      answer = await attempt(() => post(`/categories/${id}/drop`, { seen: head }), "Dropped.");
      if (!answer) break;
    }
    done(answer);
  }

  let timer = 0;
  find.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => { state.find = find.value.trim(); attempt(load); }, 200); });
  filter.addEventListener("change", () => { state.filter = filter.value; attempt(load); });
  const map = {
    j: [() => move(1), "next"], k: [() => move(-1), "previous"], x: [() => toggle(shown[cursor]), "select"], Enter: [() => shown[cursor] && go(`/categories/${shown[cursor].id}`), "open"],
    "/": [() => find.focus(), "find"], m: [() => selected.size > 1 && merge(), "merge"], r: [() => selected.size === 1 && rename(), "rename"],
  };
  const move = (by) => { cursor = Math.max(0, Math.min(shown.length - 1, cursor + by)); draw(); table.querySelector(".cursor")?.scrollIntoView({ block: "nearest" }); };
  const close = keys(map);
  await load();
  return { content: [h("h1", null, "Categories"), h("div", { className: "bar" }, find, filter, look, count), tools, h("div", { className: "scroll" }, table), cards.root, keyHelp(map)], close: () => { close(); cards.close(); } };
}

const compare = (a, b) => (typeof a === "string" || typeof b === "string" ? String(a ?? "").localeCompare(String(b ?? "")) : (a ?? -Infinity) - (b ?? -Infinity));

/** Cards with typical items, which are fetched when a card comes into sight. */
function cardGrid(selected, toggle) {
  const root = h("div", { className: "category-cards" });
  const fill = async (card) => {
    const { items } = await get(`/categories/${card.dataset.id}/items?limit=4`).catch(() => ({ items: [] }));
    card.querySelector(".some").replaceChildren(lines(items));
  };
  const watcher = new IntersectionObserver((entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => { watcher.unobserve(entry.target); fill(entry.target); }), { rootMargin: "200px" });
  const draw = (shown) => {
    watcher.disconnect();
    root.replaceChildren(...shown.map((one) => h("article", { className: selected.has(one.id) ? "card on" : "card", "data-id": one.id },
      h("h3", null, one.status === "live" && h("input", { type: "checkbox", checked: selected.has(one.id), "aria-label": `Select card ${one.name}`, onclick: () => toggle(one) }), " ", h("i", { className: `swatch ${hue(one.birth)}` }), category(one.id, one.name), h("span", { className: "id" }, ` #${one.id}`)),
      h("p", { className: "soft" }, `${plural(one.size, "item")}, session ${one.birth}${one.status === "live" ? `, ${percent(one.reliability)} sure` : `, ${one.status}`}`),
      h("div", { className: "some" }))));
    root.querySelectorAll("article").forEach((card) => watcher.observe(card));
  };
  return { root, draw, close: () => watcher.disconnect() };
}

/** Merge with a name, and items that do not belong there. */
export function mergeDialog(parts) {
  const name = h("input", { type: "text", maxLength: 200, placeholder: parts.find((one) => ["user", "label"].includes(one.named_by))?.name ?? parts.toSorted((a, b) => b.size - a.size)[0].name });
  const lists = parts.map((one) => ({ one, list: itemList(ofCategory(one.id, "doubtful"), { own: one.id, pictures: live.status.kind === "image", label: `Items of ${one.name}` }) }));
  for (const { list } of lists) list.root.querySelector(".selection").remove();
  return dialog("Merge", [
    h("label", null, "Name of the merged category", name),
    h("p", { className: "soft" }, "Select items that do not belong there: they become unassigned first. The most doubtful come first."),
    lists.map(({ one, list }) => h("details", null, h("summary", null, h("bdi", null, one.name), ` (${number(one.size)})`), list.root)),
  ], { submit: "Merge", value: () => ({ name: name.value.trim() || null, exclude: lists.flatMap(({ list }) => [...list.selected.keys()]) }) });
}

/** Split into parts; the workspace judges how many unless somebody says it. */
export async function split(id, head, reload) {
  const parts = h("input", { type: "number", min: 2, max: 100, placeholder: "judged from the items" });
  const choice = await dialog("Split", h("label", null, "Number of parts", parts), { submit: "Split", value: () => ({ n_parts: parts.value ? Number(parts.value) : null }) });
  if (!choice) return;
  const answer = await attempt(() => post(`/categories/${id}/split`, { ...choice, seen: known(head) }), (a) => `Split into ${plural(Object.keys(a.result.categories).length, "part")}.`);
  if (answer) await reload();
}
