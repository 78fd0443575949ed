import type { Json } from "../chat/message.ts";
import type { ChildEnd, ChildRecord } from "./child.ts";
import type { Draft } from "./draft.ts";
import { entryWritten } from "./entries.ts";
import { posted } from "./outbox.ts";
import { mostReflections, reflectionRow } from "./reflections.ts";
import type { Reflection } from "./reflections.ts";

/** A called agent's run that failed leaves a lesson, in the commit of its end (AG-39). */

/** Sorts as its time does; two of the same moment differ by their runs. */
const keyOf = (at: number, run: string): string => `${String(at).padStart(16, "0")}.${run}`;

/** What is too old leaves, and what is too much. */
const cleared = (draft: Draft, oldest: number): void => {
  const keys = draft.moment.entries.heads("reflections").map(({ key }) => key);
  const gone = keys.filter((key, index) => key < keyOf(oldest, "") || index <= keys.length - mostReflections);
  for (const key of gone) entryWritten(draft, "reflections", key, undefined);
};

const isFailed = ({ state, completion }: ChildEnd): boolean =>
  state === "failed" || (state === "completed" && completion?.status === "failed");

const rowOf = (draft: Draft, { agent, task }: ChildRecord, end: ChildEnd): Reflection =>
  reflectionRow({
    id: `${draft.state.id}/${end.run}`,
    at: draft.moment.now,
    agent,
    task,
    summary: end.completion?.summary ?? end.last_text,
    caveats: end.completion?.caveats ?? [end.error ?? end.reason],
    files: end.files_modified,
  });

/** Keeps what came of a task that failed, by the runtime's or by the agent's own judgement; nothing where lessons are off. */
export const lessonKept = (draft: Draft, record: ChildRecord): void => {
  const { reflections } = draft.moment.briefing;
  const { end } = record;
  if (reflections === null || end === null || !isFailed(end)) return;
  const row = rowOf(draft, record, end);
  if (reflections.scope === "tenant") return posted(draft, row);
  cleared(draft, row.at - reflections.ttlMs);
  entryWritten(draft, "reflections", keyOf(row.at, end.run), row as unknown as Json);
};
