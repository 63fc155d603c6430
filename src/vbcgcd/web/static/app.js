// The frame of every page: navigation, undo and redo, news; and which page an address means.
import { get, mine, post, visitor } from "./lib/api.js";
import { h, link, number } from "./lib/dom.js";
import { connect, listen, live, refresh } from "./lib/live.js";
import { attempt, ask, readOnly, toast } from "./lib/ui.js";

const PAGES = [
  [/^\/$/, "home", "Home", "/"],
  [/^\/review$/, "review", "Review", "/review"],
  [/^\/categories$/, "categories", "Categories", "/categories"],
  [/^\/categories\/(\d+)$/, "category"],
  [/^\/map$/, "map", "Map", "/map"],
  [/^\/items$/, "items", "Items", "/items"],
  [/^\/items\/(\d+-\d+)$/, "item"],
  [/^\/sessions$/, "sessions", "Sessions", "/sessions"],
  [/^\/predict$/, "predict", "Predict", "/predict"],
  [/^\/settings$/, "settings", "Settings", "/settings"],
  [/^\/api$/, "reference"],
];
const main = document.getElementById("main");
let leave = () => {};
let turn = 0;

function bar() {
  const { status } = live;
  const here = location.pathname;
  const undo = status?.undo;
  const redo = status?.redo;
  document.getElementById("bar").replaceChildren(
    h("a", { className: "brand", href: "/" }, h("img", { src: "/static/icon.svg", alt: "" }), h("bdi", null, status?.name ?? "vbcgcd")),
    h("nav", { "aria-label": "Pages" }, PAGES.filter(([, , words]) => words).map(([, , words, href]) =>
      h("a", { href, "aria-current": (href === "/" ? here === "/" : here.startsWith(href)) ? "page" : null }, words))),
    h("span", { className: "tools" },
      !live.connected && h("span", { className: "lost", role: "alert" }, "connection lost"),
      readOnly() ? h("span", { className: "badge" }, "read-only") : [
        h("button", { type: "button", id: "undo", disabled: !undo, title: undo ? `Undo ${undo.command} (Z)` : "Nothing to undo", onclick: () => step("undo") }, "Undo"),
        h("button", { type: "button", id: "redo", disabled: !redo, title: redo ? `Redo ${redo.command} (Y)` : "Nothing to redo", onclick: () => step("redo") }, "Redo"),
        h("button", { type: "button", className: "plain", title: "Your name stands beside what you change", onclick: name }, visitor() || "Who are you?"),
      ]));
}

async function step(which) {
  const command = live.status[which]?.command;
  const answer = await attempt(() => post(`/${which}`, { seen: live.status.head }), which === "undo" ? `Undid: ${command}.` : `Redid: ${command}.`);
  if (answer) await refreshPage();
}

async function name() {
  const given = await ask("Your name", "It stands beside everything you change here", visitor(), { required: false });
  if (given !== null) { visitor(given); bar(); }
}

async function refreshPage() {
  await refresh();
  await show();
}

export async function go(href) {
  history.pushState(null, "", href);
  await show();
  main.focus({ preventScroll: true });
  window.scrollTo(0, 0);
}

async function show() {
  const mine = (turn += 1);
  address = location.pathname + location.search;
  const found = PAGES.find(([pattern]) => pattern.test(location.pathname));
  leave();
  leave = () => {};
  bar();
  if (!found) { main.replaceChildren(h("h1", null, "There is no such page")); return; }
  const [pattern, file, words] = found;
  const argument = location.pathname.match(pattern)[1];
  document.title = `${words ?? file} · ${live.status?.name ?? "vbcgcd"}`;
  try {
    const page = await import(`./pages/${file}.js`);
    const { content, close } = await page.show(argument, { go, reload: refreshPage });
    if (mine !== turn) { close?.(); return; }
    main.replaceChildren(...[content].flat());
    leave = close ?? (() => {});
  } catch (error) {
    if (mine === turn) main.replaceChildren(h("h1", null, "This did not work"), h("p", { className: "error" }, error.message), h("p", null, link("/", "Home")));
    if (!error.status) console.error(error);
  }
}

document.addEventListener("click", (event) => {
  const anchor = event.target.closest?.("a[href]");
  if (!anchor || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || anchor.target || anchor.hasAttribute("download")) return;
  const url = new URL(anchor.href, location.href);
  if (url.origin !== location.origin || url.pathname.startsWith("/static") || url.pathname.endsWith(".html") || url.pathname.startsWith("/api/") || anchor.getAttribute("href").startsWith("#")) return;
  event.preventDefault();
  go(url.pathname + url.search);
});
let address = location.pathname + location.search;
window.addEventListener("popstate", () => {
  const now = location.pathname + location.search; // the skip link changes only what follows the #
  if (now !== address) show();
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || readOnly() || document.querySelector("dialog[open]") || event.target.closest?.("input:not([type=checkbox]), textarea, select")) return;
  if (event.key === "Z" && live.status.undo) step("undo");
  if (event.key === "Y" && live.status.redo) step("redo");
});

let seen = null;
listen(async (event) => {
  bar();
  if (event.type !== "changed") return;
  if (seen !== null && event.head > seen) {
    const { commands } = await get("/sessions");
    const news = commands.filter((one) => one.commit > seen && !mine.has(one.commit));
    if (news.length) toast(news.length === 1 ? `Just now: ${news[0].text}.` : `Just now: ${number(news.length)} changes, the last one: ${news[0].text}.`, { action: { text: "Show", run: refreshPage } });
  }
  seen = event.head;
});

try {
  await refresh();
  seen = live.status.head;
  connect();
  await show();
} catch (error) {
  main.replaceChildren(h("h1", null, "This workspace cannot be shown"), h("p", { className: "error" }, error.message));
}
