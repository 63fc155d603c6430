// One item: where it is, why, what else it could be, and a way to correct it.
import { get } from "../lib/api.js";
import { meter } from "../lib/charts.js";
import { baseName, category, decimal, h, link, number } from "../lib/dom.js";
import { actions, lines } from "../lib/items.js";

export async function show(key, { reload }) {
  const item = await get(`/items/${key}`);
  const why = item.explanation;
  const content = [
    h("p", { className: "crumbs" }, link("/items", "Items"), item.category !== null && [" · ", category(item.category, item.name)]),
    h("h1", null, "Item ", h("code", null, item.reference)),
    h("blockquote", { dir: "auto" }, item.jpeg ? h("img", { className: "large", src: `data:image/jpeg;base64,${item.jpeg}`, alt: item.reference }) : item.text || "Its text or picture is not there any more."),
    h("dl", { className: "facts" }, fact("Category", category(item.category, item.name)), fact("How", item.state), fact("Probability", decimal(item.probability)), fact("Novelty", decimal(item.novelty)), item.second !== null && fact("Second choice", [category(item.second, item.second_name), ` ${decimal(item.second_probability)}`]), fact("Session", item.session), fact("Source", h("bdi", { title: item.source }, baseName(item.source)))),
    h("div", { className: "selection" }, actions([item.key], reload, item.head).slice(1)),
    why && h("section", null, h("h2", null, "Why"), h("p", { className: "lead" }, why.text), explained(why)),
    item.problem && h("p", { className: "warning" }, item.problem),
    item.neighbours?.length > 0 && h("section", null, h("h2", null, "Similar items"), lines(item.neighbours)),
  ];
  return { content: content.filter(Boolean) };
}

/** Candidates of an explanation as bars. */
export function explained(why) {
  return h("div", { className: "scroll" }, h("table", { className: "rows" },
    h("thead", null, h("tr", null, ["Category", "Probability", "", "Distance", "Typical items"].map((text) => h("th", null, text)))),
    h("tbody", null, why.candidates.map((one) => h("tr", null, h("td", null, category(one.id, one.name)), h("td", { className: "n" }, decimal(one.probability, 3)), h("td", null, meter(one.probability, decimal(one.probability, 3))), h("td", { className: "n" }, decimal(one.distance, 1)),
      h("td", null, (one.typical_texts.some(Boolean) ? one.typical_texts : one.typical).slice(0, 3).map((text) => h("span", { className: "quote", dir: "auto" }, text))))))));
}

const fact = (title, value) => h("div", null, h("dt", null, title), h("dd", null, value));
export { number };
