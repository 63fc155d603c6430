// All items: find them by words and conditions.
import { h } from "../lib/dom.js";
import { itemList, where } from "../lib/items.js";
import { live } from "../lib/live.js";

const READY = [["", "All"], ["category=none", "Unassigned"], ["probability<0.5", "Doubtful"], ["novelty>0.95", "Novel"], ["state=moved", "Moved"], ["state=confirmed", "Confirmed"], ["state=rejected", "Rejected"]];

export async function show(_, { reload }) {
  const address = new URLSearchParams(location.search);
  const find = h("input", { type: "search", value: address.get("find") ?? "", placeholder: "Words in the text", "aria-label": "Words in the text" });
  const choice = h("select", { "aria-label": "Which items" }, READY.map(([value, words]) => h("option", { value, selected: value === address.get("which") }, words)));
  const more = h("input", { type: "text", value: address.get("where") ?? "", placeholder: "Conditions: session=3 margin<0.1", "aria-label": "Conditions, separated by blanks" });
  const place = h("div");
  const draw = () => {
    const conditions = [choice.value, ...more.value.trim().split(/\s+(?=[a-z]+\s*[<>=~])/), find.value.trim() && `text~${find.value.trim()}`].filter(Boolean);
    history.replaceState(null, "", `/items?${new URLSearchParams({ find: find.value, which: choice.value, where: more.value })}`);
    place.replaceChildren(itemList(where(...conditions), { pictures: live.status.kind === "image", changed: reload }).root);
  };
  let timer = 0;
  for (const input of [find, more]) input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(draw, 300); });
  choice.addEventListener("change", draw);
  draw();
  return { content: [h("h1", null, "Items"), h("div", { className: "bar" }, find, choice, more), place] };
}
