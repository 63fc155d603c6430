// Small things that pages share: messages, dialogs, choosing a category, keys.
import { get } from "./api.js";
import { h, number } from "./dom.js";
import { live } from "./live.js";

/** A short message; an error stays until it is closed. */
export function toast(text, { error = false, action = null } = {}) {
  const close = () => box.remove();
  const box = h("div", { className: error ? "toast bad" : "toast", role: error ? "alert" : null }, h("span", null, text),
    action && h("button", { type: "button", onclick: () => { close(); action.run(); } }, action.text),
    h("button", { type: "button", className: "plain", "aria-label": "Close this message", onclick: close }, "×"));
  document.getElementById("toasts").append(box);
  if (!error) setTimeout(close, 6000);
  return box;
}

/** Carry out a decision; say what went wrong in the words of the server. */
export async function attempt(work, done) {
  try {
    const answer = await work();
    if (done) toast(typeof done === "function" ? done(answer) : done);
    return answer;
  } catch (error) {
    toast(error.message, { error: true });
    return null;
  }
}

/** A dialog; resolves with what its form returns, or null. */
export function dialog(title, content, { submit = "OK", value = () => true, danger = false } = {}) {
  return new Promise((resolve) => {
    const box = h("dialog", { "aria-label": title },
      h("form", { method: "dialog", onsubmit: (event) => { event.preventDefault(); close(value()); } },
        h("h2", null, title), content,
        h("menu", null, h("button", { type: "button", className: "plain", onclick: () => close(null) }, "Cancel"),
          h("button", { type: "submit", className: danger ? "danger" : "main" }, submit))));
    const close = (result) => { box.close(); box.remove(); resolve(result); };
    box.addEventListener("cancel", (event) => { event.preventDefault(); close(null); });
    document.body.append(box);
    box.showModal();
    box.querySelector("input, select, textarea")?.focus();
  });
}

export const confirmed = (title, text, options) => dialog(title, h("p", null, text), options);

/** Ask for one line of text. */
export async function ask(title, label, initial = "", { required = true } = {}) {
  const input = h("input", { type: "text", value: initial, maxLength: 200, required, "aria-label": label });
  return dialog(title, h("label", null, label, input), { submit: "Save", value: () => input.value.trim() });
}

/** Choose a live category by typing a part of its name or id; with `create`, a new name is possible. */
export async function chooseCategory(title, { create = true, except = [] } = {}) {
  const { categories } = await get("/categories");
  const rest = categories.filter((one) => !except.includes(one.id)).sort((a, b) => b.size - a.size);
  let chosen = null;
  const input = h("input", { type: "search", autocomplete: "off", "aria-label": "Name or id of the category", role: "combobox", "aria-expanded": "true", "aria-controls": "choices" });
  const list = h("ul", { className: "choices", id: "choices", role: "listbox" });
  const show = () => {
    const text = input.value.trim().toLowerCase();
    const hits = rest.filter((one) => one.name.toLowerCase().includes(text) || String(one.id) === text).slice(0, 30);
    const exact = rest.some((one) => one.name.toLowerCase() === text);
    const options = hits.map((one) => ({ to: one.id, create: false, name: one.name, note: `${number(one.size)} items` }));
    if (create && text && !exact) options.push({ to: input.value.trim(), create: true, name: `New category: ${input.value.trim()}`, note: "" });
    chosen = options[0] ?? null;
    list.replaceChildren(...options.map((option, place) =>
      h("li", { role: "option", "aria-selected": place === 0 ? "true" : "false" },
        h("button", { type: "button", onclick: () => { chosen = option; box.querySelector("form").requestSubmit(); } }, h("bdi", null, option.name), h("small", null, option.note)))));
  };
  input.addEventListener("input", show);
  show();
  const waiting = dialog(title, [input, list], { submit: "Choose", value: () => chosen });
  const box = document.querySelector("dialog:last-of-type");
  return waiting;
}

/** What these keys mean to a focused element comes before what they mean to its page. */
const OWN = { Enter: "a, button, summary, input", " ": "a, button, summary, input", ArrowUp: ".items", ArrowDown: ".items" };

/** Keys of a page: a letter -> [what it does, its words]; not while somebody types. */
export function keys(map) {
  const onkey = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.target.closest?.("input:not([type=checkbox]), textarea, select")) return;
    if (OWN[event.key] && event.target.closest?.(OWN[event.key])) return;
    const found = map[event.key];
    if (found) { event.preventDefault(); found[0](event); }
  };
  document.addEventListener("keydown", onkey);
  return () => document.removeEventListener("keydown", onkey);
}

export const keyHelp = (map) => h("p", { className: "keys", "aria-label": "Keys of this page" }, Object.entries(map).map(([key, [, words]]) => [h("kbd", null, key === " " ? "space" : key), ` ${words}  `]));

export const readOnly = () => Boolean(live.status?.read_only);
