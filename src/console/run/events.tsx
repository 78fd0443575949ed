import { useState } from "preact/hooks";
import type { StoredEvent } from "../../client/index.ts";
import type { Transcript } from "../../client/transcript.ts";
import { CopyButton } from "../parts/controls.tsx";
import { escapeInLine, escapeJson } from "../parts/escape.ts";
import { formatCount } from "../parts/format.ts";
import { Icon } from "../parts/icons.tsx";
import { useApp, useSession } from "../state/app.ts";
import { writeCurl } from "./curl.ts";
import { searchEvents } from "./event-search.ts";
import { describeEvent } from "./event-brief.ts";

/** The raw events, with a filter and a way to read the same in a terminal. */

/** So many of the newest events are on the page; the others are one click away. */
const page = 200;

/** So many events are read from the server at once. */
const readAtOnce = 1_000;

const timeOf = (at: number): string => new Date(at).toISOString().slice(11, 23);

/** The events that the page holds, and before them those that were read on demand. */
const useEvents = () => {
  const { api, report } = useApp();
  const { id, open } = useSession();
  const [older, setOlder] = useState<readonly StoredEvent[]>([]);
  const held = open.getEvents();
  const last = older.at(-1)?.seq ?? 0;
  const first = held[0]?.seq ?? last + 1;
  // What the page dropped after these were read lies between: then they are read again.
  const events = older.length === 0 || first > last + 1 ? held : [...older, ...held.slice(last + 1 - first)];
  const begin = events[0]?.seq ?? 1;
  const read = async (): Promise<void> => {
    const after = Math.max(0, begin - 1 - readAtOnce);
    const address = `/sessions/${id}/events?after=${after}&before=${begin}&limit=${readAtOnce}`;
    const { data } = await api.read<{ readonly data: readonly StoredEvent[] }>(address);
    setOlder([...data, ...events]);
  };
  return { events, hidden: begin - 1, read: () => report(read()) };
};

const EventRow = ({ event }: { readonly event: StoredEvent }) => {
  const [open, setOpen] = useState(false);
  return (
    <li>
      <button type="button" class="event" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span class="meta">{event.seq}</span>
        <span class="cut">
          <span class="mono">{event.type}</span>{" "}
          <span class="quiet-text">{escapeInLine(describeEvent(event))}</span>
        </span>
        <span class="meta">{event.thread === "main" ? "" : event.agent.name}</span>
        <span class="meta">{timeOf(event.at)}</span>
      </button>
      {open && (
        <pre class="output" tabIndex={0} aria-label="Event">
          {escapeJson(event)}
        </pre>
      )}
    </li>
  );
};

export const Events = ({ transcript }: { readonly transcript: Transcript }) => {
  const { id } = useSession();
  const { key } = useApp();
  const [filter, setFilter] = useState("");
  const [most, setMost] = useState(page);
  const { events, hidden, read } = useEvents();
  const { found, queries } = searchEvents(events, filter);
  const rows = found.slice(-most).toReversed();
  return (
    <>
      <div class="files-bar">
        <label class="search">
          <Icon name="search" />
          <input
            class="field"
            type="search"
            placeholder="Filter by type or agent"
            aria-label="Filter events"
            onInput={({ currentTarget }) => setFilter(currentTarget.value)}
          />
        </label>
        {queries.length > 0 && (
          <CopyButton
            text={writeCurl(`${location.origin}/v1/sessions/${id}/events`, queries, key.get() !== "")}
            label="Copy as curl"
            words="Copy as curl"
          />
        )}
      </div>
      <p class="meta">
        {formatCount(found.length)} of {formatCount(transcript.seq)} events
        {hidden > 0 && `. The page keeps the newest; ${formatCount(hidden)} older ones are on the server.`}
      </p>
      <ol class="events">
        {rows.map((event) => (
          <EventRow key={event.seq} event={event} />
        ))}
      </ol>
      {found.length > most && (
        <button type="button" class="plain" onClick={() => setMost(most + page)}>
          Show {Math.min(page, found.length - most)} more
        </button>
      )}
      {found.length <= most && hidden > 0 && (
        <button type="button" class="plain" onClick={read}>
          Read {formatCount(Math.min(readAtOnce, hidden))} older ones
        </button>
      )}
    </>
  );
};
