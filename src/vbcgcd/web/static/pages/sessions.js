// Everything that was done, when and by whom; undo and redo are at the top of every page.
import { get } from "../lib/api.js";
import { baseName, h, moment, number, percent } from "../lib/dom.js";

export async function show() {
  const { sessions, commands } = await get("/sessions");
  return { content: [
    h("h1", null, "Sessions"),
    h("div", { className: "scroll" }, h("table", { className: "rows" },
      h("thead", null, h("tr", null, [["No.", "n"], ["Date"], ["Command"], ["Source"], ["Items", "n"], ["Known", "n"], ["Novel", "n"], ["Unassigned", "n"], ["Novel categories", "n"], ["Flagged", "n"]].map(([text, name]) => h("th", { className: name ?? "" }, text)))),
      h("tbody", null, sessions.toReversed().map((one) => h("tr", { className: one.undone ? "undone" : "" }, cell("No.", one.session), cell("Date", moment(one.time), "w"), cell("Command", one.command), cell("Source", h("bdi", { title: one.source }, baseName(one.source))), cell("Items", number(one.rows), "n"), cell("Known", number(one.known_rows), "n"), cell("Novel", number(one.novel_rows), "n"), cell("Unassigned", number(one.unassigned ?? 0), "n"), cell("Novel categories", Object.keys(one.novel).length, "n"), cell("Flagged", percent(one.flagged), "n")))))),
    h("h2", null, "All commands"),
    h("ol", { className: "log", reversed: true }, commands.slice(0, 500).map((one) => h("li", { className: one.undone ? "undone" : "", value: one.commit }, h("span", null, one.text), h("small", null, ` ${moment(one.time)}`), one.undone && h("span", { className: "badge" }, "undone")))),
    h("p", null, h("a", { href: "/report.html", download: "report.html", className: "button" }, "Download the report")),
  ] };
}

const cell = (label, value, name = "") => h("td", { "data-l": label, className: name }, value);
