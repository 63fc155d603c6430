// A list of items that may be long: only the rows in sight are there. Select some, and act on them.
import { get, known, post, query } from "./api.js";
import { category, decimal, h, link, number, plural } from "./dom.js";
import { attempt, chooseCategory, readOnly } from "./ui.js";

const PAGE = 100;
const ROW = 46;
const CELL = 132;

/**
 * @param {(offset: number, limit: number) => Promise<{total: number, items: any[]}>} load
 * @param {{pictures?: boolean, own?: number | null, changed?: () => void, label?: string}} options
 */
export function itemList(load, { pictures = false, own = null, changed = () => {}, label = "Items" } = {}) {
  const pages = new Map();
  const selected = new Map();
  let total = 0;
  let last = null;
  let turn = 0;
  let head = Infinity; // the oldest state of what is shown
  const space = h("div", { className: "space" });
  const view = h("div", { className: pictures ? "items grid" : "items", tabIndex: 0, role: "list", "aria-label": label }, space);
  const tools = h("div", { className: "selection", hidden: true });
  const root = h("div", { className: "item-list" }, tools, view);

  const columns = () => (pictures ? Math.max(1, Math.floor(view.clientWidth / CELL)) : 1);
  const height = pictures ? CELL + 34 : ROW;

  async function page(number) {
    if (!pages.has(number)) {
      pages.set(number, load(number * PAGE, PAGE).then((answer) => { total = answer.total; head = Math.min(head, answer.head); return answer.items; }));
      pages.get(number).catch(() => pages.delete(number));
    }
    return pages.get(number);
  }

  async function draw() {
    if (!root.isConnected) return;
    const mine = (turn += 1);
    const across = columns();
    const first = Math.max(0, Math.floor(view.scrollTop / height) - 4) * across;
    const seen = Math.ceil(view.clientHeight / height + 8) * across;
    const needed = [];
    for (let number = Math.floor(first / PAGE); number <= Math.floor((first + seen) / PAGE); number += 1) {
      if (number === 0 || number * PAGE < total) needed.push(page(number));
    }
    try { await Promise.all(needed); } catch (error) { space.replaceChildren(h("p", { className: "error" }, error.message)); return; }
    space.style.height = `${Math.ceil(total / across) * height}px`;
    const rows = [];
    for (let place = first; place < Math.min(total, first + seen); place += 1) {
      const items = await page(Math.floor(place / PAGE));
      const item = items[place % PAGE];
      if (item) rows.push(row(item, place, across));
    }
    if (mine !== turn) return; // somebody has scrolled on meanwhile
    const focused = space.contains(document.activeElement) && document.activeElement.dataset.key;
    space.replaceChildren(...(total ? rows : [h("p", { className: "soft none" }, "No items.")]));
    if (focused) space.querySelector(`input[data-key="${focused}"]`)?.focus({ preventScroll: true });
  }

  function row(item, place, across) {
    const box = h("input", { type: "checkbox", checked: selected.has(item.key), "data-key": item.key, "aria-label": `Select ${item.reference}` });
    const pick = (event) => select(item, place, event.shiftKey, !selected.has(item.key));
    box.addEventListener("click", (event) => { event.stopPropagation(); pick(event); });
    const doubt = item.state === "guessed" || item.state === "unassigned" ? decimal(item.probability) : item.state;
    const body = pictures
      ? [h("a", { href: `/items/${item.key}` }, item.jpeg ? h("img", { src: `data:image/jpeg;base64,${item.jpeg}`, alt: item.reference, loading: "lazy" }) : h("code", null, item.reference)), h("span", { className: "caption" }, box, h("small", null, doubt))]
      : [box, h("a", { href: `/items/${item.key}`, className: "what", dir: "auto" }, item.text || h("code", null, item.reference)),
        h("span", { className: "where" }, item.category !== own && category(item.category, item.name)),
        h("span", { className: "doubt" }, doubt, item.second !== null && item.second_probability > 0.05 && h("small", null, ` or ${item.second_name} ${decimal(item.second_probability)}`))];
    const element = h("div", { className: selected.has(item.key) ? "item on" : "item", role: "listitem", onclick: (event) => { if (!event.target.closest("a")) pick(event); } }, body);
    element.style.transform = `translate(${(place % across) * (pictures ? CELL : 0)}px, ${Math.floor(place / across) * height}px)`;
    return element;
  }

  async function select(item, place, range, on) {
    if (range && last !== null) {
      for (let k = Math.min(last, place); k <= Math.max(last, place); k += 1) {
        const one = (await page(Math.floor(k / PAGE)))[k % PAGE];
        if (one) selected.set(one.key, one);
      }
    } else if (on) selected.set(item.key, item);
    else selected.delete(item.key);
    last = place;
    showTools();
    draw();
  }

  function showTools() {
    tools.hidden = selected.size === 0;
    if (selected.size === 0) return;
    tools.replaceChildren(...actions([...selected.keys()], async () => { selected.clear(); showTools(); reload(); changed(); }, head),
      h("button", { type: "button", className: "plain", onclick: () => { selected.clear(); showTools(); draw(); } }, "Clear"));
  }

  function reload() {
    pages.clear();
    head = Infinity;
    draw();
  }

  view.addEventListener("scroll", () => requestAnimationFrame(draw), { passive: true });
  new ResizeObserver(() => draw()).observe(view);
  return { root, reload, selected, total: () => total };
}

/** Buttons that act on items, as the visitor saw them in the state `head`. */
export function actions(chosen, done, head) {
  const note = h("strong", null, plural(chosen.length, "item"), " selected ");
  if (readOnly()) return [note];
  const act = async (path, body, words) => {
    const answer = await attempt(() => post(path, { items: chosen, seen: known(head), ...body }), (a) => words(a.result.items.length));
    if (answer) await done();
  };
  return [
    note,
    h("button", { type: "button", onclick: async () => {
      const choice = await chooseCategory(`Move ${plural(chosen.length, "item")} to`);
      if (choice) act("/items/move", { to: choice.to, create: choice.create }, (n) => `Moved ${plural(n, "item")}.`);
    } }, "Move to…"),
    h("button", { type: "button", onclick: () => act("/items/confirm", {}, (n) => `Confirmed ${plural(n, "item")}.`) }, "Confirm"),
    h("button", { type: "button", onclick: () => act("/items/reject", {}, (n) => `Rejected ${plural(n, "item")}.`) }, "Not of this category"),
  ];
}

/** Items of a category. */
export const ofCategory = (id, order) => (offset, limit) => get(`/categories/${id}/items${query({ order, offset, limit })}`);
export const where = (...conditions) => (offset, limit) => get(`/items${query({ where: conditions, offset, limit })}`);

/** A few items as lines, without a list of their own. */
export const lines = (items) => h("ul", { className: "lines" }, items.map((item) =>
  h("li", null, item.jpeg ? h("a", { href: `/items/${item.key}` }, h("img", { src: `data:image/jpeg;base64,${item.jpeg}`, alt: item.reference }))
    : link(`/items/${item.key}`, h("span", { dir: "auto" }, item.text || item.reference)), h("small", null, ` ${decimal(item.probability)}`))));

export { number };
