// Requests to the workspace. Every answer says from which commit it was made; decisions say it back.

export class Refused extends Error {
  constructor(status, values) {
    super(values.error ?? `The server answered with ${status}.`);
    this.status = status;
    this.values = values;
  }
}

/** Commits that this page itself has made. */
export const mine = new Set();
/** The last commit that the visitor knows of who saw `head`: what this page itself did since is no news. */
export const known = (head) => (mine.has(head + 1) ? known(head + 1) : head);

async function ask(method, path, body, options = {}) {
  const headers = { "X-Visitor": encodeURIComponent(visitor()), ...options.headers };
  if (body !== undefined && !options.raw) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(`/api/v1${path}`, { method, headers, body: body === undefined ? undefined : options.raw ? body : JSON.stringify(body), signal: options.signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, { error: "The server cannot be reached; is 'vbcgcd serve' still running?" });
  }
  if (options.binary && answer.ok) return answer.arrayBuffer();
  const values = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(answer.status, values);
  for (const commit of values.commits ?? []) mine.add(commit);
  return values;
}

export const get = (path, options) => ask("GET", path, undefined, options);
export const post = (path, body = {}, options) => ask("POST", path, body, options);
export const put = (path, body) => ask("PUT", path, body, { raw: true });
export const remove = (path) => ask("DELETE", path);
export const query = (values) => {
  const all = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    for (const part of Array.isArray(value) ? value : [value]) if (part !== undefined && part !== null && part !== "") all.append(name, part);
  }
  return all.size ? `?${all}` : "";
};

/** The name that the visitor gave: it stands beside what they decide. */
export function visitor(name) {
  if (name !== undefined) localStorage.setItem("visitor", name);
  return localStorage.getItem("visitor") ?? "";
}
