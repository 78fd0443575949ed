import type { StoredEvent } from "../../client/index.ts";
import type { Api } from "./api.ts";

/** Reads events of a session that its transcript does not hold. */

interface EventPage {
  readonly data: readonly StoredEvent[];
  readonly next_after: number;
  readonly head_seq: number;
}

/** Reads all events of a session, or those of one type. */
export const readEvents = async (
  api: Api,
  session: string,
  filter: { readonly types?: StoredEvent["type"] } = {},
): Promise<readonly StoredEvent[]> => {
  const all: StoredEvent[] = [];
  for (let after = 0, head = 1; after < head;) {
    const query = new URLSearchParams({ ...filter, after: `${after}`, limit: "1000" });
    const page = await api.read<EventPage>(`/sessions/${session}/events?${query}`);
    all.push(...page.data);
    after = page.next_after;
    head = page.head_seq;
  }
  return all;
};
