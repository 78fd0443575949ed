import type { StoredEvent } from "../../client/index.ts";
import { saveBytes } from "../parts/save.ts";
import type { Api } from "../state/api.ts";

/** Gives a session to a person as a file. */

interface EventPage {
  readonly data: readonly StoredEvent[];
  readonly next_cursor: string | number | null;
}

const readEvents = async (api: Api, session: string): Promise<readonly StoredEvent[]> => {
  const all: StoredEvent[] = [];
  for (;;) {
    const after = all.at(-1)?.seq ?? 0;
    const { data, next_cursor: next } = await api.read<EventPage>(
      `/sessions/${session}/events?after=${after}&limit=1000`,
    );
    all.push(...data);
    if (next === null || data.length === 0) return all;
  }
};

/** Saves all events of a session as JSON, one in a line. */
export const downloadSession = async (api: Api, session: string): Promise<void> => {
  const events = await readEvents(api, session);
  const lines = events.map((event) => `${JSON.stringify(event)}\n`);
  saveBytes(new Blob(lines, { type: "application/x-ndjson" }), `${session}.jsonl`);
};
