// What every page shares: the state of the workspace, and news from the server.
import { get } from "./api.js";

export const live = { status: null, connected: true };
const listeners = new Set();
/** Milliseconds until a closed stream of news is opened again. */
const AGAIN = 3000;

/** Call back whenever the workspace changes or a job moves; returns a way to stop. */
export function listen(callback) {
  listeners.add(callback);
  return () => listeners.delete(callback);
}

const tell = (event) => [...listeners].forEach((callback) => callback(event));

export async function refresh() {
  live.status = await get("/status");
  tell({ type: "status" });
  return live.status;
}

/** Whether the state could be read; a server that is gone is told of by the lost connection. */
const renewed = () => refresh().catch(() => null);

export function connect() {
  const stream = new EventSource("/api/v1/events");
  stream.onopen = async () => {
    const lost = !live.connected;
    live.connected = true;
    if (!lost || !(await renewed())) return;
    tell({ type: "changed", head: live.status.head });
    tell({ type: "back" });
  };
  stream.onerror = () => {
    live.connected = false;
    tell({ type: "lost" });
    if (stream.readyState === EventSource.CLOSED) setTimeout(connect, AGAIN); // it gives up after an answer that is no stream
  };
  stream.onmessage = async (message) => {
    const event = JSON.parse(message.data);
    if (event.type === "changed" && event.head !== live.status?.head) {
      if (await renewed()) tell(event);
    } else if (event.type === "job") tell(event);
  };
}
