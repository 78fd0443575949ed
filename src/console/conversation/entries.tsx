import type { CallEntry, TranscriptEntry, TranscriptThread } from "../../client/transcript.ts";
import { Call } from "./call.tsx";
import { Message } from "./message.tsx";
import { Note } from "./note.tsx";

/** The entries of a thread, in their order. */

const isEdit = (entry: TranscriptEntry): entry is CallEntry =>
  entry.kind === "call" && entry.outcome === "ok" && entry.changes.some(({ diff }) => diff !== undefined);

/** Called threads are shown like their callers. */
const showEntries = (thread: TranscriptThread, level: number) => <Entries thread={thread} level={level} />;

export const Entries = ({
  thread,
  level = 0,
}: {
  readonly thread: TranscriptThread;
  readonly level?: number;
}) => {
  const { entries, agent, id } = thread;
  const newest = entries.findLast(isEdit)?.id;
  return (
    <>
      {entries.map((entry) => {
        if (entry.kind === "message") return <Message key={entry.id} entry={entry} thread={id} />;
        if (entry.kind === "note") return <Note key={entry.id} entry={entry} thread={id} agent={agent} />;
        return (
          <Call
            key={entry.id}
            call={entry}
            agent={agent}
            level={level}
            show={showEntries}
            newest={entry.id === newest}
          />
        );
      })}
    </>
  );
};
