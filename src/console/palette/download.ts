import { saveBytes } from "../parts/save.ts";
import type { Api } from "../state/api.ts";
import { readEvents } from "../state/events.ts";

/** Gives a session to a person as a file. */

/** Saves all events of a session as JSON, one in a line. */
export const downloadSession = async (api: Api, session: string): Promise<void> => {
  const events = await readEvents(api, session);
  const lines = events.map((event) => `${JSON.stringify(event)}\n`);
  saveBytes(new Blob(lines, { type: "application/x-ndjson" }), `${session}.jsonl`);
};
