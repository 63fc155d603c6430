// Home: what changed since the last visit, sessions over time, open questions; drop a file to predict or discover.
import { get, query } from "../lib/api.js";
import { bars, legend, lineChart } from "../lib/charts.js";
import { category, h, link, moment, number, plural } from "../lib/dom.js";
import { live } from "../lib/live.js";
import { readOnly } from "../lib/ui.js";
import { dropZone, jobCard, openJobs } from "../lib/jobs.js";

const KINDS = { same: "same?", two: "two things?", odd: "odd items", label: "label first", group: "new groups", drift: "drift", stale: "stale" };

export async function show(_, { reload }) {
  const { status } = live;
  const visited = localStorage.getItem(`visited ${live.status.name}`);
  const [home, questions, jobs] = await Promise.all([get(`/home${query({ since: visited })}`), status.learned ? get("/review?limit=3").catch(() => null) : null, openJobs()]);
  localStorage.setItem(`visited ${live.status.name}`, home.head);
  const { discovered } = status;
  const content = [
    h("h1", null, h("bdi", null, status.name)),
    !status.learned && h("p", { className: "lead" }, "Nothing has been learned yet. Run ", h("code", null, "vbcgcd learn LABELLED-DATA"), " first."),
    h("dl", { className: "tiles" },
      tile("Categories", number(status.categories), `${number(discovered)} discovered`, "/categories"),
      tile("Items", number(status.items), status.unassigned ? `${number(status.unassigned)} unassigned` : "all assigned", "/items"),
      tile("Sessions", number(home.sessions.length), home.sessions.length ? `last ${moment(home.sessions.at(-1).time)}` : "none yet", "/sessions"),
      questions && tile("Open questions", number(questions.total), questions.total ? "worth a minute" : "nothing to settle", "/review")),
    status.learned && !readOnly() && dropZone(reload),
    jobs.length > 0 && h("section", null, h("h2", null, "Under way"), jobs.map((job) => jobCard(job, reload).root)),
    questions?.questions?.length > 0 && h("section", null, h("h2", null, "Worth a minute"),
      h("ul", { className: "chips" }, Object.entries(questions.counts ?? {}).map(([kind, n]) => h("li", null, link(`/review?kind=${kind}`, KINDS[kind] ?? kind), ` ${number(n)}`))),
      h("ul", { className: "lines" }, questions.questions.map((one) => h("li", null, h("strong", null, `${one.title ?? one.kind} `), one.reason))), h("p", null, link("/review", "Review them"))),
    visited && home.since.length > 0 && h("section", null, h("h2", null, "Since your last visit"),
      h("ul", { className: "lines" }, home.since.slice(-8).reverse().map((one) => h("li", null, one.text, h("small", null, ` ${moment(one.time)}`)))),
      home.since.length > 8 && h("p", null, link("/sessions", `and ${plural(home.since.length - 8, "more change")}`))),
    home.changes.session !== null && home.changes.session > 0 && lastSession(home),
    home.sessions.length > 0 && charts(home),
    home.seedlings.length > 0 && h("section", null, h("h2", null, "Seedlings"),
      h("p", null, `${plural(home.seedlings.length, "group waits", "groups wait")} for more items: `, home.seedlings.slice(0, 8).map((one, k) => [k > 0 && ", ", `${plural(one.items, "item")} since session ${one.since}`]), ".")),
  ];
  return { content: content.filter(Boolean) };
}

const tile = (title, value, note, href) => h("div", null, h("dt", null, title), h("dd", null, link(href, value), h("small", null, note)));

function lastSession(home) {
  const novel = Object.entries(home.changes.novel);
  return h("section", null, h("h2", null, `Session ${home.changes.session}`),
    novel.length
      ? [h("p", null, `${plural(novel.length, "novel category", "novel categories")}:`), h("ul", { className: "chips" }, novel.slice(0, 40).map(([id, name]) => h("li", null, category(Number(id), name))))]
      : h("p", null, "Nothing novel was found."));
}

function charts(home) {
  const rows = home.sessions.map((one) => ({
    label: String(one.session),
    parts: one.command === "learn"
      ? [["labelled", one.rows]]
      : [["known", one.known_rows], ["novel", one.novel_rows], ["unassigned", one.unassigned ?? 0]],
  }));
  const labels = home.growth.map((one) => String(one.session));
  return h("section", null, h("h2", null, "Sessions over time"), h("div", { className: "pair" },
    h("figure", null, h("h3", null, "Items of each session"), legend([["labelled", "with labels"], ["known", "known"], ["novel", "novel"], ["unassigned", "unassigned"]]), bars(rows, { title: "Items of each session" })),
    h("figure", null, h("h3", null, "Categories"), legend([["all", "all"], ["base", "labelled"]]),
      lineChart(labels, { all: home.growth.map((one) => one.labelled + one.discovered), base: home.growth.map((one) => one.labelled) }, { title: "Categories after each session" })),
    h("figure", null, h("h3", null, "How well items fit"), legend([["all", "mean probability, %"], ["base", "fit no category known before, %"]]),
      lineChart(labels, { all: home.sessions.map((one) => Math.round(100 * (one.mean_probability ?? 1))), base: home.sessions.map((one) => Math.round(100 * (one.flagged ?? 0))) }, { title: "Mean probability and share of items that fit no known category, by session" }),
      h("p", { className: "soft" }, "A session with nothing novel has about 5 % that fit no known category; more, with few novel categories, is a sign of drift."))));
}
