// Settings, and where data is read from.
import { get, post } from "../lib/api.js";
import { h } from "../lib/dom.js";
import { attempt, ask, readOnly } from "../lib/ui.js";

const HERE = ["reject", "names", "excerpts", "sample"];

export async function show(_, { reload }) {
  const { settings, embedder, sources, head } = await get("/settings");
  const change = async (name) => {
    const text = await ask(`Setting ${name}`, "Value; empty for the default", settings[name] ?? "", { required: false });
    if (text === null) return;
    const value = text === "" || text === "null" ? null : Number.isNaN(Number(text)) ? text : Number(text);
    if (await attempt(() => post("/settings", { changes: { [name]: value }, seen: head }), "Saved.")) await reload();
  };
  return { content: [
    h("h1", null, "Settings"),
    h("div", { className: "scroll" }, h("table", { className: "rows" }, h("tbody", null, Object.entries(settings).map(([name, value]) => h("tr", null, h("td", null, h("code", null, name)), h("td", null, value === null ? h("span", { className: "soft" }, "default") : typeof value === "object" ? JSON.stringify(value) : String(value)), h("td", null, HERE.includes(name) && !readOnly() && h("button", { type: "button", className: "small", onclick: () => change(name) }, "Change"))))))),
    embedder && h("p", null, "Embedder: ", h("code", null, embedder.name), `, ${embedder.dimension} numbers for each ${embedder.kind}.`),
    h("h2", null, "Sources"),
    h("ul", { className: "lines" }, sources.map((one) => h("li", null, h("bdi", null, one.path), !one.place && h("small", null, " not opened; use vbcgcd relocate")))),
    h("h2", null, "For programs"), h("p", null, "The same as JSON: ", h("a", { href: "/api" }, "the HTTP API"), "."),
  ] };
}
