// Predict: paste texts, or drop a file.
import { post } from "../lib/api.js";
import { category, decimal, h } from "../lib/dom.js";
import { dropZone } from "../lib/jobs.js";
import { live } from "../lib/live.js";
import { attempt, readOnly } from "../lib/ui.js";
import { explained } from "./item.js";

export async function show(_, { reload }) {
  const texts = live.status.kind === "text";
  const box = h("textarea", { rows: 4, placeholder: "One text on each line", "aria-label": "Texts to predict, one on each line" });
  const place = h("div", { "aria-live": "polite" });
  const run = async () => {
    const lines = box.value.split("\n").map((line) => line.trim()).filter(Boolean);
    if (!lines.length) return;
    const started = performance.now();
    const answer = await attempt(() => post("/predict", { texts: lines }));
    if (!answer) return;
    place.replaceChildren(
      h("p", { className: "soft" }, `Answered in ${Math.round(performance.now() - started)} ms.`),
      h("div", { className: "scroll" }, h("table", { className: "rows" }, h("thead", null, h("tr", null, ["Text", "Category", "Probability", "Novelty", "Second choice"].map((text) => h("th", null, text)))),
        h("tbody", null, answer.rows.map((row, k) => h("tr", null, h("td", { dir: "auto" }, lines[k]), h("td", null, category(row.category, row.name)), h("td", { className: "n" }, decimal(row.probability)), h("td", { className: "n" }, decimal(row.novelty)), h("td", null, row.second_name, h("small", null, ` ${decimal(row.second_probability)}`))))))),
      h("h2", null, "Why the first one"), h("p", { className: "lead" }, answer.explanation.text), explained(answer.explanation));
  };
  return { content: [
    h("h1", null, "Predict"),
    texts && h("form", { onsubmit: (event) => { event.preventDefault(); run(); } }, box, h("p", null, h("button", { type: "submit", className: "main" }, "Predict"))),
    place,
    !readOnly() && live.status.learned && dropZone(reload),
  ].filter(Boolean) };
}
