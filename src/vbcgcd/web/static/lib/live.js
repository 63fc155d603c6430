// What every page shares: the state of the workspace, and news from the server.
import { get } from "./api.js";

export const live = { status: null, connected: true };
const listeners = new Set();

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

export function connect() {
  const stream = new EventSource("/api/v1/events");
  stream.onopen = async () => {
    const lost = !live.connected;
    live.connected = true;
    if (!lost) return;
    await refresh();
    tell({ type: "changed", head: live.status.head });
  };
  stream.onerror = () => {
    live.connected = false;
    tell({ type: "lost" });
  };
  stream.onmessage = async (message) => {
    const event = JSON.parse(message.data);
    if (event.type === "changed" && event.head !== live.status?.head) {
      await refresh();
      tell(event);
    } else if (event.type === "job") tell(event);
  };
}
