import { Fragment } from "preact";
import type { CallEntry, TranscriptEntry, TranscriptThread } from "../../client/transcript.ts";
import { formatClock } from "../parts/format.ts";
import { Call } from "./call.tsx";
import { Message } from "./message.tsx";
import { Note } from "./note.tsx";

/** The entries of a thread, in their order. */

const isEdit = (entry: TranscriptEntry): entry is CallEntry =>
  entry.kind === "call" && entry.outcome === "ok" && entry.changes.some(({ diff }) => diff !== undefined);

/** Called threads are shown like their callers. */
const showEntries = (thread: TranscriptThread, level: number) => <Entries thread={thread} level={level} />;

/** After so long a silence the time is said. */
const silence = 5 * 60_000;

const Time = ({ at }: { readonly at: number }) => (
  <p class="entry mark">
    <span>{formatClock(at)}</span>
  </p>
);

interface EntriesProps {
  readonly thread: TranscriptThread;
  readonly level?: number;
}

export const Entries = ({ thread, level = 0 }: EntriesProps) => {
  const { entries, agent, id } = thread;
  const newest = entries.findLast(isEdit)?.id;
  return (
    <>
      {entries.map((entry, at) => (
        <Fragment key={entry.id}>
          {entry.at - (entries[at - 1]?.at ?? entry.at) > silence && <Time at={entry.at} />}
          {entry.kind === "message" && <Message entry={entry} thread={id} />}
          {entry.kind === "note" && <Note entry={entry} thread={id} agent={agent} />}
          {entry.kind === "call" && (
            <Call call={entry} agent={agent} level={level} show={showEntries} newest={entry.id === newest} />
          )}
        </Fragment>
      ))}
    </>
  );
};
