// Elements from plain values. Text is always text: nothing that a user or a file says becomes markup.

/**
 * @param {string} tag
 * @param {Record<string, any> | null} [props] attributes; on* are listeners, data-* and aria-* as they are
 * @param {...any} children strings, numbers, nodes, arrays of them; null and false are left out
 * @returns {HTMLElement}
 */
export function h(tag, props, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && !name.includes("-") && !["list", "form", "width", "height"].includes(name)) element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

/** An element of SVG. */
export function s(tag, props, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value !== null && value !== undefined && value !== false) element.setAttribute(name, String(value));
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/** A link to another page of the workspace. */
export const link = (href, ...children) => h("a", { href }, ...children);

/** A link to a category, or words for none. */
export const category = (id, name) =>
  id === null || id === undefined || id < 0 ? h("span", { className: "soft" }, "unassigned") : link(`/categories/${id}`, h("bdi", null, name));

export const number = (value) => Number(value).toLocaleString("en");
export const percent = (value) => (value === null || value === undefined ? "–" : `${Math.round(100 * value)} %`);
export const decimal = (value, digits = 2) => (value === null || value === undefined ? "–" : Number(value).toFixed(digits));
export const plural = (n, one, many = `${one}s`) => `${number(n)} ${n === 1 ? one : many}`;
export const moment = (iso) => (iso ? new Date(iso).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" }) : "");
/** Last part of a path. */
export const baseName = (path) => String(path).split(/[\\/]/).pop() || String(path);
/** One of the colours that a session has for good. */
export const hue = (session) => (session === 0 ? "b0" : `b${1 + ((session - 1) % 6)}`);
