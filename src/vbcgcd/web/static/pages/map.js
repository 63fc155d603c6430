// The map: items stay where they are for good. Drag to move, wheel to zoom, lasso to select.
import { get, query } from "../lib/api.js";
import { h, hue, plural } from "../lib/dom.js";
import { actions, itemList } from "../lib/items.js";
import { live } from "../lib/live.js";
import { drawLabels } from "../lib/labels.js";
import { makePainter } from "../lib/painter.js";
import { inside, makeIndex } from "../lib/space.js";
import { keyHelp, keys } from "../lib/ui.js";

/** Pixels at the top that the panel covers. */
const PANEL = 70;

export async function show(_, { reload }) {
  const [about, bytes] = await Promise.all([get("/map"), get("/map/points", { binary: true })]);
  const points = unpack(bytes);
  const main = document.getElementById("main");
  main.classList.add("full");
  const board = h("div", { className: "board", tabIndex: 0, role: "application", "aria-label": `Map of ${plural(about.points, "item")}. Arrow keys move it, plus and minus zoom; the same items are on the page Items.` });
  const canvas = h("canvas", { className: "points" });
  const overlay = h("canvas", { className: "labels" });
  const tip = h("div", { className: "tip", hidden: true, role: "status" });
  const side = h("aside", { "aria-label": "Selected items" });
  const root = h("div", { className: "map" }, board, side);
  const colour = h("select", { "aria-label": "Colour by" }, [["birth", "Session it came in"], ["category", "Category"], ["novelty", "Novelty"], ["state", "Labelled or not"]].map(([value, words]) => h("option", { value }, words)));
  const lasso = h("button", { type: "button", "aria-pressed": "false", onclick: () => setLasso(!drawing) }, "Lasso");
  const find = h("input", { type: "search", placeholder: "Find a category", "aria-label": "Find a category on the map" });
  board.append(canvas, overlay, tip, h("div", { className: "panel" }, colour, lasso, h("button", { type: "button", onclick: () => fit() }, "Whole map"), find),
    h("p", { className: "note" }, about.points ? `${plural(about.points, "item")} of a sample; nothing that was here before ever moves.` : "No positions are stored yet; they come with the first session."));

  const painter = makePainter(canvas, points);
  const index = makeIndex(points);
  const view = { x: 0, y: 0, scale: 1 };
  let drawing = false;
  let path = null;
  let selected = null;
  let frame = 0;

  const ratio = () => Math.min(2, window.devicePixelRatio || 1);
  let rest = 0;
  // A sample of the points follows every move at once; all of them are drawn when it rests.
  const request = () => {
    if (!frame) frame = requestAnimationFrame(() => { frame = 0; paint(true); });
    clearTimeout(rest);
    rest = setTimeout(() => { if (board.isConnected) paint(); }, 160);
  };
  function paint(moving = false) {
    const { width, height } = board.getBoundingClientRect();
    painter.paint(view, width, height, ratio(), moving);
    drawLabels(overlay, about.categories, view, width, height, ratio(), path, find.value.trim().toLowerCase());
  }
  function fit() {
    const { width, height } = board.getBoundingClientRect();
    const [left, top, right, bottom] = index.bounds;
    view.scale = 0.9 * Math.min(width / Math.max(1e-6, right - left), (height - PANEL) / Math.max(1e-6, bottom - top));
    view.x = (left + right) / 2;
    view.y = (top + bottom) / 2 - PANEL / 2 / view.scale;
    request();
  }
  const world = (event) => {
    const box = board.getBoundingClientRect();
    return [view.x + (event.clientX - box.left - box.width / 2) / view.scale, view.y + (event.clientY - box.top - box.height / 2) / view.scale];
  };
  function zoom(factor, at) {
    const [x, y] = at ?? [view.x, view.y];
    view.x = x - (x - view.x) / factor;
    view.y = y - (y - view.y) / factor;
    view.scale *= factor;
    request();
  }
  function setLasso(on) { drawing = on; lasso.setAttribute("aria-pressed", String(on)); lasso.classList.toggle("main", on); board.style.cursor = on ? "crosshair" : "grab"; }

  const touches = new Map();
  board.addEventListener("pointerdown", (event) => {
    if (event.target.closest(".panel")) return;
    board.setPointerCapture(event.pointerId);
    touches.set(event.pointerId, [event.clientX, event.clientY]);
    if (drawing || event.shiftKey) path = [world(event)];
  });
  board.addEventListener("pointermove", (event) => {
    const before = touches.get(event.pointerId);
    if (!before) { hover(event); return; }
    if (path) path.push(world(event));
    else if (touches.size === 1) { view.x -= (event.clientX - before[0]) / view.scale; view.y -= (event.clientY - before[1]) / view.scale; }
    else {
      const other = [...touches].find(([id]) => id !== event.pointerId)[1];
      const distance = (a) => Math.hypot(a[0] - other[0], a[1] - other[1]);
      zoom(distance([event.clientX, event.clientY]) / Math.max(1, distance(before)), world(event));
    }
    touches.set(event.pointerId, [event.clientX, event.clientY]);
    request();
  });
  const up = (event) => {
    touches.delete(event.pointerId);
    if (path && path.length > 2) choose(inside(points, path));
    path = null;
    request();
  };
  board.addEventListener("pointerup", up);
  board.addEventListener("pointercancel", up);
  board.addEventListener("wheel", (event) => { event.preventDefault(); zoom(Math.exp(-event.deltaY * 0.0015), world(event)); }, { passive: false });

  let hovering = 0;
  function hover(event) {
    const place = index.nearest(world(event), 8 / view.scale);
    if (place < 0) { tip.hidden = true; hovering = 0; return; }
    const key = `${points.commit[place]}-${points.row[place]}`;
    const box = board.getBoundingClientRect();
    tip.style.left = `${Math.min(event.clientX - box.left + 14, box.width - 330)}px`;
    tip.style.top = `${event.clientY - box.top + 14}px`;
    if (hovering === key) return;
    hovering = key;
    setTimeout(async () => {
      if (hovering !== key) return;
      const answer = await get(`/items${query({ key })}`).catch(() => null);
      const item = answer?.items[0];
      if (!item || hovering !== key) return;
      tip.replaceChildren(item.jpeg ? h("img", { className: "thumb", src: `data:image/jpeg;base64,${item.jpeg}`, alt: "" }) : h("span", { dir: "auto" }, item.text || item.reference), h("br"), h("strong", null, item.name || "unassigned"));
      tip.hidden = false;
    }, 90);
  }

  function choose(places) {
    selected = places;
    painter.select(places);
    root.classList.toggle("open", places.length > 0);
    side.replaceChildren();
    if (places.length) {
      const chosen = places.map((place) => `${points.commit[place]}-${points.row[place]}`);
      const done = async () => { choose([]); await reload(); };
      const load = async (offset, limit) => ({ ...(await get(`/items${query({ key: chosen.slice(offset, offset + limit) })}`)), total: chosen.length });
      side.append(h("h2", null, plural(places.length, "item")), h("div", { className: "selection" }, actions(chosen, done, about.head), h("button", { type: "button", className: "plain", onclick: () => choose([]) }, "Clear")),
        itemList(load, { pictures: live.status.kind === "image", changed: done }).root);
    }
    requestAnimationFrame(() => { resize(); });
  }

  const key = h("ul", { className: "legend key" });
  const births = [...new Set(about.categories.map((one) => one.birth))].sort((a, b) => a - b);
  const legends = {
    birth: births.slice(-8).map((birth) => [hue(birth), birth === 0 ? "labelled at first" : `session ${birth}`]),
    category: [["b0", "each category has its own colour for good; unassigned items are grey"]],
    novelty: [["b0", "like a known category"], ["b2", "novel"]],
    state: [["b0", "found by a session"], ["b1", "labelled"], ["b2", "moved"], ["b3", "confirmed"], ["b4", "rejected"]],
  };
  board.append(key);
  const recolour = () => {
    painter.colour(colour.value, about);
    key.replaceChildren(...legends[colour.value].map(([name, words]) => h("li", null, h("i", { className: name }), words)));
    request();
  };
  colour.addEventListener("change", recolour);
  find.addEventListener("input", () => {
    const text = find.value.trim().toLowerCase();
    const hit = text && about.categories.find((one) => one.name.toLowerCase().includes(text));
    if (hit) { view.x = hit.x; view.y = -hit.y; }
    request();
  });
  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", recolour);
  const map = {
    ArrowLeft: [() => { view.x -= 60 / view.scale; request(); }, "move"], ArrowRight: [() => { view.x += 60 / view.scale; request(); }, ""], ArrowUp: [() => { view.y -= 60 / view.scale; request(); }, ""], ArrowDown: [() => { view.y += 60 / view.scale; request(); }, ""],
    "+": [() => zoom(1.3), "zoom in"], "-": [() => zoom(1 / 1.3), "zoom out"], 0: [() => fit(), "whole map"], l: [() => setLasso(!drawing), "lasso"], Escape: [() => { path = null; choose([]); }, "clear"],
  };
  const closeKeys = keys(map);
  const resize = () => request();
  const watcher = new ResizeObserver(resize);
  watcher.observe(board);
  recolour();
  requestAnimationFrame(() => fit());
  window.vbcgcdMap = { view, select: choose, points, painter, fit, paint }; // for tests
  return { content: [root, h("div", { className: "away" }, keyHelp(map))], close: () => { closeKeys(); watcher.disconnect(); dark.removeEventListener("change", recolour); painter.close(); main.classList.remove("full"); delete window.vbcgcdMap; } };
}

/** The columns of the server's answer; y grows upwards there and downwards on a screen. */
function unpack(bytes) {
  const n = bytes.byteLength / 29; // not from the other answer, which may be of an earlier state
  let start = 0;
  const take = (Kind, count) => { const part = new Kind(bytes, start, count); start += count * Kind.BYTES_PER_ELEMENT; return part; };
  const position = take(Float32Array, 2 * n).map((value, place) => (place % 2 ? -value : value));
  return { n, position, category: take(Int32Array, n), session: take(Int32Array, n), commit: take(Int32Array, n), row: take(Int32Array, n), novelty: take(Float32Array, n), state: take(Uint8Array, n) };
}
