import { saveBytes } from "../parts/save.ts";
import type { App } from "../state/app.ts";
import { readEvents } from "../state/events.ts";

/** Copies of a session: another session, and a file. */

/** No title is longer. */
const longestTitle = 256;

/** Begins a session with the conversation of another as it is now, and shows it. */
export const forkSession = async (
  { api, go, sessions }: Pick<App, "api" | "go" | "sessions">,
  session: string,
): Promise<void> => {
  const source = await api.read<{ readonly head_seq: number; readonly title: string | null }>(
    `/sessions/${session}`,
  );
  const title = `Fork of ${source.title}`;
  const isNamed = source.title !== null && title.length <= longestTitle;
  const body = { at: source.head_seq, ...(isNamed && { title }) };
  const { id } = await api.read<{ readonly id: string }>(`/sessions/${session}/fork`, {
    method: "POST",
    body,
  });
  go({ session: id, context: null });
  sessions.refresh();
};

/** Saves all events of a session as JSON, one in a line. */
export const exportSession = async ({ api }: Pick<App, "api">, session: string): Promise<void> => {
  const events = await readEvents(api, session);
  const lines = events.map((event) => `${JSON.stringify(event)}\n`);
  saveBytes(new Blob(lines, { type: "application/x-ndjson" }), `${session}.jsonl`);
};
