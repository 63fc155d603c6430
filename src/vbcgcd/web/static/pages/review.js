// Review: one question at a time with its evidence side by side. Answers wait in a list until they are applied.
import { get, known, post, query } from "../lib/api.js";
import { category, h, link, number, percent, plural } from "../lib/dom.js";
import { lines } from "../lib/items.js";
import { chooseCategory, keyHelp, keys, readOnly, toast } from "../lib/ui.js";

const KINDS = { same: "Same?", two: "Two things?", odd: "Odd items", label: "Label first", group: "New group", drift: "Drift", stale: "Stale" };
/** Answers that are not applied yet, kept while the visitor looks at other pages. */
const staged = [];

export async function show(_, { reload }) {
  const kind = new URLSearchParams(location.search).get("kind") ?? "";
  let list = await get(`/review${query({ kind })}`);
  const skipped = new Set();
  let asked = null;
  let left = new Set();
  const place = h("div", { className: "question", "aria-live": "polite" });
  const side = h("aside", { "aria-label": "Answers" });

  const touched = () => new Set(staged.flatMap((one) => one.question.categories));
  const open = () => list.questions.filter((one) => !skipped.has(one.id) && !staged.some((other) => other.question.id === one.id) && !one.categories.some((id) => touched().has(id)));

  async function next() {
    const rest = open();
    asked = null;
    left = new Set();
    if (rest.length) {
      try { asked = await get(`/review/${rest[0].id}`); } catch (error) { skipped.add(rest[0].id); toast(error.message, { error: true }); return next(); }
    }
    draw();
    return undefined;
  }

  function draw() {
    const waiting = list.questions.length - open().length - skipped.size;
    place.replaceChildren(...(asked ? question() : [h("h2", null, staged.length ? "Apply your answers to go on" : list.total ? "No more questions for now" : "Nothing to settle"), h("p", { className: "soft" }, list.dismissed ? `${plural(list.dismissed, "question")} dismissed earlier.` : "")]));
    side.replaceChildren(...[
      h("h2", null, "Answers"),
      staged.length ? h("ol", { className: "log" }, staged.map((one) => h("li", null, h("strong", null, one.words), " ", one.question.title, " ", h("button", { type: "button", className: "small", onclick: () => { staged.splice(staged.indexOf(one), 1); next(); } }, "take back"))))
        : h("p", { className: "soft" }, "None yet. They wait here, and nothing is changed until you apply them."),
      staged.length > 0 && h("p", { className: "buttons" }, h("button", { type: "button", className: "main", onclick: apply }, `Apply ${plural(staged.length, "answer")}`), h("button", { type: "button", className: "plain", onclick: () => { staged.length = 0; next(); } }, "Forget them")),
      h("h2", null, "Questions"),
      h("ul", { className: "lines" }, h("li", null, link("/review", `All ${number(Object.values(list.counts).reduce((a, b) => a + b, 0))}`)), Object.entries(list.counts).map(([name, count]) => h("li", null, link(`/review?kind=${name}`, KINDS[name] ?? name), ` ${number(count)}`))),
      waiting > 0 && staged.length > 0 && h("p", { className: "soft" }, "Questions about the same categories wait until your answers are applied."),
    ].filter(Boolean));
  }

  function question() {
    const pick = (item, k) => h("label", null, h("input", { type: "checkbox", checked: !left.has(k + 1), onclick: (event) => { event.target.checked ? left.delete(k + 1) : left.add(k + 1); } }), " ", item.jpeg ? h("img", { className: "thumb", src: `data:image/jpeg;base64,${item.jpeg}`, alt: item.reference }) : h("span", { dir: "auto" }, item.text || item.reference), h("small", null, item.category === null ? "" : ` now in ${item.name}`));
    return [
      h("p", null, h("span", { className: "badge" }, KINDS[asked.kind] ?? asked.kind), h("small", null, ` ${percent(asked.probability)} likely, +${plural(Math.round(asked.gain), "item")}`)),
      h("h2", { id: "asked" }, asked.title),
      h("p", { className: "lead" }, asked.reason),
      asked.items.length > 0 && h("ul", { className: "lines" }, asked.items.map((item, k) => h("li", null, asked.items.length > 1 ? pick(item, k) : lines([item])))),
      asked.sides.length > 0 && h("div", { className: "sides" }, asked.sides.map((one) => h("div", null, h("h3", null, category(one.category, one.name), h("small", null, ` ${plural(one.size, "item")}, session ${one.birth}`)), h("h4", null, "Typical"), lines(one.typical), one.doubtful.length > 0 && [h("h4", null, "Doubtful"), lines(one.doubtful)]))),
      !readOnly() && h("p", { className: "buttons" },
        !asked.needs_category && h("button", { type: "button", className: "main", onclick: yes }, "Yes ", h("kbd", null, "y")),
        h("button", { type: "button", onclick: no }, "No ", h("kbd", null, "n")),
        asked.items.length > 0 && h("button", { type: "button", onclick: to }, "To another category ", h("kbd", null, "t")),
        h("button", { type: "button", onclick: skip }, "Skip ", h("kbd", null, "s"))),
    ].filter(Boolean);
  }

  const stage = (words, answer) => { staged.push({ question: asked, words, ...answer }); next(); };
  const yes = () => asked && !asked.needs_category && !readOnly() && stage("Yes:", { path: "accept", body: { without: [...left] } });
  const no = () => asked && !readOnly() && stage("No:", { path: "dismiss", body: {} });
  const skip = () => { if (asked) { skipped.add(asked.id); next(); } };
  const to = async () => {
    if (!asked?.items.length || readOnly()) return;
    const choice = await chooseCategory("Where do these items belong?");
    if (choice) stage(`To ${choice.create ? choice.to : choice.name}:`, { path: "accept", body: { to: choice.to, create: choice.create, without: [...left] } });
  };
  const back = () => { if (staged.length) { staged.pop(); next(); } };

  async function apply() {
    let done = 0;
    const refused = [];
    while (staged.length) {
      const one = staged.shift();
      try { await post(`/review/${one.question.id}/${one.path}`, { ...one.body, seen: known(one.question.head) }); done += 1; } catch (error) {
        refused.push(error.message);
        if (!error.status) { staged.unshift(one); break; } // the server is away; answers wait for it
      }
    }
    if (done) toast(`Applied ${plural(done, "answer")}.`);
    for (const reason of refused) toast(reason, { error: true });
    if (done || !staged.length) await reload();
  }

  const map = { y: [yes, "yes"], n: [no, "no, do not ask again"], t: [to, "to another category"], s: [skip, "skip"], u: [back, "take back the last answer"], a: [() => staged.length && apply(), "apply all"] };
  const close = keys(map);
  await next();
  return { content: [h("h1", null, "Review"), h("div", { className: "pair wide" }, place, side), keyHelp(map)], close };
}
