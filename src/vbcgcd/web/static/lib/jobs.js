// Files that are dropped here: sent, worked on by a process of their own, shown as a preview, accepted or not.
import { get, post, put, remove } from "./api.js";
import { category, decimal, h, number, plural } from "./dom.js";
import { listen, live } from "./live.js";
import { attempt, toast } from "./ui.js";

/** A place to drop files, or to choose them. */
export function dropZone(reload) {
  const place = h("div", { className: "jobs" });
  const input = h("input", { type: "file", multiple: live.status.kind === "image", id: "file", className: "away" });
  const task = h("select", { "aria-label": "What to do with the file" }, h("option", { value: "preview" }, "Discover what is novel"), h("option", { value: "predict" }, "Predict categories only"));
  const zone = h("div", { className: "drop" },
    h("p", null, h("label", { className: "button", htmlFor: "file" }, "Choose a file"), " or drop it here: ", live.status.kind === "image" ? "pictures" : "a table (CSV, JSONL, Parquet, .npy, .npz)", ". ", task),
    h("p", { className: "soft" }, "A session is a preview until you accept it. An accepted file is kept with the workspace, so that its items can be shown."));
  const take = async (files) => {
    if (!files.length) return;
    const job = await attempt(() => send([...files], task.value));
    if (job) place.prepend(jobCard(job, reload).root);
  };
  input.addEventListener("change", () => { take(input.files); input.value = ""; });
  for (const kind of ["dragover", "dragenter"]) zone.addEventListener(kind, (event) => { event.preventDefault(); zone.classList.add("over"); });
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => { event.preventDefault(); zone.classList.remove("over"); take(event.dataTransfer.files); });
  return h("section", { "aria-label": "Send a file" }, input, zone, place);
}

async function send(files, task) {
  const { upload } = await post("/uploads");
  const title = files.length === 1 ? files[0].name : plural(files.length, "file");
  try {
    for (const file of files) await put(`/uploads/${upload}?name=${encodeURIComponent(file.name)}`, file);
    return await post("/jobs", { upload, task, title, seen: live.status.head });
  } catch (error) {
    await remove(`/uploads/${upload}`).catch(() => null);
    throw error;
  }
}

/** Jobs that still run, and previews that wait for an answer. */
export async function openJobs() {
  const { jobs } = await get("/jobs").catch(() => ({ jobs: [] }));
  const open = jobs.filter((job) => ["waiting", "running"].includes(job.status) || (job.task === "preview" && job.status === "done" && !job.accepted && job.head === live.status.head));
  return Promise.all(open.map((job) => get(`/jobs/${job.id}`)));
}

/** A card that follows a job. */
export function jobCard(job, reload) {
  const root = h("article", { className: "card job", "aria-live": "polite" });
  const draw = () => root.replaceChildren(...render(job, { cancel, accept, dismiss }).filter(Boolean));
  const cancel = () => attempt(() => post(`/jobs/${job.id}/cancel`), "Cancelled.");
  const dismiss = async () => { await attempt(() => post(`/jobs/${job.id}/dismiss`)); stop(); root.remove(); };
  const accept = async () => {
    const session = await attempt(() => post(`/jobs/${job.id}/accept`));
    if (session) { job = session; draw(); }
  };
  const stop = listen(async (event) => {
    if (!root.isConnected && job.status !== "waiting") { if (root.dataset.seen) stop(); return; }
    root.dataset.seen = "yes";
    if (event.type === "back") event = { type: "job", job: await get(`/jobs/${job.id}`).catch(() => job) }; // what was missed meanwhile
    if (event.type !== "job" || event.job.id !== job.id) return;
    job = event.job.status === "done" ? await get(`/jobs/${job.id}`) : { ...job, ...event.job };
    if (job.task === "discover" && job.status === "done") { stop(); toast(`Session ${job.result.record.session} is part of the workspace now.`); await reload(); return; }
    draw();
  });
  draw();
  return { root, stop };
}

function render(job, { cancel, accept, dismiss }) {
  const words = { preview: "Preview of a session", discover: "Session", predict: "Predictions" }[job.task];
  const head = h("h3", null, words, " · ", h("bdi", null, job.title));
  if (job.status === "waiting") return [head, h("p", null, "Waits for its turn. "), button("Cancel", cancel)];
  if (job.status === "running") {
    const share = job.total ? job.done / job.total : null;
    return [head, h("p", null, job.step ? `${job.step}${job.total ? ` ${number(job.done)} of ${number(job.total)}` : ""}…` : "starting…"),
      h("progress", share === null ? { "aria-label": "Progress" } : { max: 1, value: share, "aria-label": "Progress" }), button("Cancel", cancel)];
  }
  if (job.status === "cancelled") return [head, h("p", null, "Cancelled; nothing was changed.")];
  if (job.status === "failed") return [head, h("p", { className: "error" }, job.error)];
  return job.task === "predict" ? [head, ...predictions(job.result)] : [head, ...preview(job, accept, dismiss)];
}

const button = (words, onclick, className = "") => h("button", { type: "button", onclick, className }, words);

function preview(job, accept, dismiss) {
  const { record, samples } = job.result;
  const novel = Object.entries(record.novel);
  return [
    h("p", null, `${plural(record.rows, "item")}: ${number(record.known_rows)} in known categories, ${number(record.novel_rows)} in ${plural(novel.length, "novel category", "novel categories")}`,
      record.unassigned ? `, ${number(record.unassigned)} unassigned` : "", "."),
    (record.warnings ?? []).map((text) => h("p", { className: "warning" }, text)),
    novel.length > 0 && h("table", { className: "rows" }, h("thead", null, h("tr", null, h("th", null, "Novel category"), h("th", { className: "n" }, "Items"), h("th", null, "Typical items"))),
      h("tbody", null, novel.map(([id, name]) => h("tr", null, h("td", null, h("bdi", null, name)), h("td", { className: "n" }, number(record.counts[id] ?? 0)),
        h("td", null, (samples[id] ?? []).slice(0, 3).map((item) => item.jpeg ? h("img", { className: "thumb", src: `data:image/jpeg;base64,${item.jpeg}`, alt: item.reference }) : h("span", { className: "quote", dir: "auto" }, item.text || item.reference))))))),
    !job.accepted && h("p", { className: "buttons" }, button("Accept this session", accept, "main"), button("Discard", dismiss)),
  ];
}

function predictions(result) {
  return [
    h("p", null, plural(result.total, "item"), result.n_failures ? `, ${number(result.n_failures)} could not be read` : "", result.total > result.rows.length ? `; the first ${number(result.rows.length)} are shown` : "", "."),
    h("div", { className: "scroll" }, h("table", { className: "rows" }, h("thead", null, h("tr", null, ["Item", "Category", "Probability", "Novelty", "Second choice"].map((text) => h("th", null, text)))),
      h("tbody", null, result.rows.slice(0, 500).map((row) => h("tr", null, h("td", null, row.reference), h("td", null, category(row.category, row.name)), h("td", { className: "n" }, decimal(row.probability)), h("td", { className: "n" }, decimal(row.novelty)), h("td", null, row.second_name, h("small", null, ` ${decimal(row.second_probability)}`)))))))
    ];
}
