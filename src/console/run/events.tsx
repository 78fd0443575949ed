import { useState } from "preact/hooks";
import type { Transcript } from "../../client/transcript.ts";
import { CopyButton } from "../parts/controls.tsx";
import { escapeJson } from "../parts/escape.ts";
import { formatCount } from "../parts/format.ts";
import { Icon } from "../parts/icons.tsx";
import { useSession } from "../state/app.ts";

/** The raw events, with a filter and a way to read the same in a terminal. */

/** So many of the newest events are on the page; the others are one click away. */
const page = 200;

const quote = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** The command that lists these events; the key is a variable of the shell, never a text. */
const curlOf = (session: string, types: readonly string[]): string => {
  const query = types.length === 0 ? "" : `?types=${types.join(",")}`;
  const address = `${location.origin}/v1/sessions/${session}/events${query}`;
  return `curl -H "Authorization: Bearer $LIMPET_KEY" ${quote(address)}`;
};

const timeOf = (at: number): string => new Date(at).toISOString().slice(11, 23);

export const Events = ({ transcript }: { readonly transcript: Transcript }) => {
  const { id, open } = useSession();
  const [filter, setFilter] = useState("");
  const [most, setMost] = useState(page);
  const [shown, setShown] = useState<number | null>(null);
  const events = open.getEvents();
  const wanted = filter.trim().toLowerCase();
  const found =
    wanted === "" ? events : events.filter(({ type, thread }) => type.includes(wanted) || thread === wanted);
  const types = wanted === "" ? [] : [...new Set(found.map(({ type }) => type))];
  const rows = found.slice(-most).toReversed();
  return (
    <>
      <div class="files-bar">
        <label class="search">
          <Icon name="search" />
          <input
            class="field"
            type="search"
            placeholder="Filter by type or thread"
            aria-label="Filter events"
            onInput={({ currentTarget }) => setFilter(currentTarget.value)}
          />
        </label>
        <CopyButton text={curlOf(id, types)} label="Copy as curl" words="Copy as curl" />
      </div>
      <p class="meta">
        {formatCount(found.length)} of {formatCount(transcript.seq)} events
      </p>
      <ol class="events">
        {rows.map((event) => (
          <li key={event.seq}>
            <button
              type="button"
              class="event"
              aria-expanded={shown === event.seq}
              onClick={() => setShown(shown === event.seq ? null : event.seq)}
            >
              <span class="meta">{event.seq}</span>
              <span class="mono cut">{event.type}</span>
              <span class="meta">{event.thread === "main" ? "" : event.agent.name}</span>
              <span class="meta">{timeOf(event.at)}</span>
            </button>
            {shown === event.seq && (
              <pre class="output" tabIndex={0} aria-label="Event">
                {escapeJson(event)}
              </pre>
            )}
          </li>
        ))}
      </ol>
      {found.length > most && (
        <button type="button" class="plain" onClick={() => setMost(most + page)}>
          Show {Math.min(page, found.length - most)} more
        </button>
      )}
    </>
  );
};
