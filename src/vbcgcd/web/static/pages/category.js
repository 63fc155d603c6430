// One category: all its items, history, neighbours, how it grew, and what it was made from.
import { get, post } from "../lib/api.js";
import { bars } from "../lib/charts.js";
import { category as categoryLink, decimal, h, hue, link, moment, number, percent, plural } from "../lib/dom.js";
import { itemList, ofCategory } from "../lib/items.js";
import { live } from "../lib/live.js";
import { attempt, ask, confirmed, keyHelp, keys, readOnly } from "../lib/ui.js";
import { mergeDialog, split } from "./categories.js";

export async function show(id, { go, reload }) {
  const one = await get(`/categories/${id}`);
  const pictures = live.status.kind === "image";
  let order = "typical";
  const place = h("div");
  const drawItems = () => place.replaceChildren(itemList(ofCategory(one.id, order), { pictures, own: one.id, changed: reload, label: `Items of ${one.name}` }).root);
  const tab = (value, words) => h("button", { type: "button", role: "tab", "aria-selected": order === value ? "true" : "false", onclick: (event) => { order = value; event.target.parentNode.querySelectorAll("[role=tab]").forEach((other) => other.setAttribute("aria-selected", other === event.target ? "true" : "false")); drawItems(); } }, words);
  const rename = async () => {
    const name = await ask("Rename", "Name", one.name);
    if (name && (await attempt(() => post(`/categories/${one.id}/rename`, { name, seen: one.head }), `Renamed to ${name}.`))) await reload();
  };
  const drop = async () => {
    if (!(await confirmed("Drop", `Drop ${one.name}? Items like its own go to others from now on. You can undo it.`, { submit: "Drop", danger: true }))) return;
    if (await attempt(() => post(`/categories/${one.id}/drop`, { seen: one.head }), "Dropped.")) { await reload(); go("/categories"); }
  };
  const mergeWith = async (other) => {
    const choice = await mergeDialog([one, await get(`/categories/${other}`)]);
    if (!choice) return;
    const answer = await attempt(() => post("/categories/merge", { ids: [one.id, other], ...choice, seen: one.head }), "Merged.");
    if (answer) { await reload(); go(`/categories/${Object.keys(answer.result.categories)[0]}`); }
  };
  const map = { r: [rename, "rename"], s: [() => split(one.id, one.head, reload), "split"], m: [() => one.neighbours[0] && mergeWith(one.neighbours[0].id), "merge with the nearest"], n: [() => one.neighbours[0] && go(`/categories/${one.neighbours[0].id}`), "go to the nearest"] };
  const usable = one.status === "live" && !readOnly();
  const close = usable ? keys(map) : () => {};
  drawItems();
  const content = [
    h("p", { className: "crumbs" }, link("/categories", "Categories")),
    h("h1", null, h("i", { className: `swatch ${hue(one.birth)}` }), h("bdi", null, one.name), h("span", { className: "id" }, ` #${one.id}`), one.status !== "live" && h("span", { className: "badge" }, one.status)),
    usable && h("p", { className: "buttons" }, h("button", { type: "button", onclick: rename }, "Rename"), h("button", { type: "button", onclick: () => split(one.id, one.head, reload) }, "Split"), h("button", { type: "button", className: "danger", onclick: drop }, "Drop")),
    h("dl", { className: "facts" }, fact("Items", number(one.size)), fact("Learned from", number(one.taught ?? 0)), fact("Put there by people", number(one.labelled)), fact("Born", `session ${one.birth}`), fact("Sure", percent(one.reliability)), fact("Spread", decimal(one.spread)), fact("Named by", { label: "a label", user: "a person", terms: "its words", likeness: "its neighbours", number: "its number" }[one.named_by] ?? one.named_by)),
    h("div", { className: "pair wide" },
      h("section", null, h("h2", null, "Items"), h("div", { className: "tabs", role: "tablist" }, tab("typical", "Typical first"), tab("doubtful", "Doubtful first")), place),
      h("aside", null,
        one.neighbours.length > 0 && h("section", null, h("h2", null, "Nearest"), h("ul", { className: "lines" }, one.neighbours.map((other) => h("li", null, categoryLink(other.id, other.name), h("small", null, ` at ${decimal(other.distance, 1)} `), usable && h("button", { type: "button", className: "small", onclick: () => mergeWith(other.id) }, "merge"))))),
        h("section", null, h("h2", null, "Over time"), bars(one.all_sessions.map((session) => ({ label: String(session), parts: [["novel", one.by_session[session] ?? 0]] })), { title: "Items of each session", width: 340, height: 120 })),
        (one.lineage.parents.length > 0 || one.lineage.into.length > 0) && h("section", null, h("h2", null, "Lineage"), one.lineage.parents.length > 0 && h("p", null, "made from ", one.lineage.parents.map((p, k) => [k > 0 && ", ", categoryLink(p.id, p.name)])), one.lineage.into.length > 0 && h("p", null, "became ", one.lineage.into.map((p, k) => [k > 0 && ", ", categoryLink(p.id, p.name)]))),
        one.history.length > 0 && h("section", null, h("h2", null, "History"), h("ul", { className: "lines" }, one.history.map((event) => h("li", null, event.text, h("small", null, ` ${moment(event.time)}`))))))),
    usable && keyHelp(map),
  ];
  return { content: content.filter(Boolean), close };
}

const fact = (title, value) => h("div", null, h("dt", null, title), h("dd", null, value));
export { plural };
