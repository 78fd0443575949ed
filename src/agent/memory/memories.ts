import type { Json } from "../../chat/message.ts";
import { textOf } from "../../chat/text.ts";
import { truncateText } from "../../chat/truncate.ts";
import type { MemoryOwner, MemoryRow, MemoryRules } from "../definition/memory.ts";
import type { Input } from "../state/thread.ts";
import type { Run } from "../state/run.ts";
import type { Draft, ThreadDraft } from "../transaction/draft.ts";
import { agentOf, runOf } from "../transaction/draft.ts";
import { readEntry, writeEntry } from "../transaction/entries.ts";
import type { Session } from "../state/session.ts";
import { lifetimeOf } from "../state/session.ts";
import type { Outbox, Reflection } from "../state/records.ts";
import { postpone } from "../state/ask.ts";

/** Returns the person whom the session's metadata names; null if none. */
export const subjectOf = (metadata: Session["metadata"]): string | null =>
  Object.hasOwn(metadata, "subject") ? (metadata["subject"] ?? null) : null;

/** Returns the owner of the memory: the person that `metadata.subject` names, otherwise the session. */
export const memoryOwnerOf = (
  { scope }: Pick<MemoryRules, "scope">,
  { id, metadata }: Pick<Session, "id" | "metadata">,
): MemoryOwner => {
  if (scope === "tenant") return "tenant";
  const subject = subjectOf(metadata) ?? "";
  return scope === "subject" && subject !== "" ? subjectOwner(subject) : sessionOwner(id);
};

export const subjectOwner = (subject: string): MemoryOwner => `subject:${subject}`;

export const sessionOwner = (id: string): MemoryOwner => `session:${id}`;

/** Remembers a run in the commit of its end: its inputs are kept as they come and stored with the answer. */

/** Returns whether a run is remembered; a light run that only reports another's result has no such input. */
const isRemembered = (draft: ThreadDraft, { light }: Run): boolean =>
  !light && agentOf(draft).memory?.write === true;

/** Keeps an input of a run for its end, since the chat may have shrunk by then. */
export const rememberInput = (draft: ThreadDraft, { content, origin }: Input): void => {
  const { run, child } = draft.thread;
  if (run === null || (origin !== "human" && child === null) || !isRemembered(draft, run)) return;
  const before = readEntry(draft, "inputs", run.id)?.value;
  const texts = [...(typeof before === "string" ? [before] : []), textOf(content)];
  writeEntry(draft, "inputs", run.id, truncateText(texts.join("\n"), longestInput));
};

/** Posts a row of a run; `key` distinguishes rows of the run. Returns whether the agent has a memory. */
const postMemoryRow = (
  draft: ThreadDraft,
  { key, text, tags }: { readonly key: string; readonly text: string; readonly tags: readonly string[] },
): boolean => {
  const { name, memory } = agentOf(draft);
  const { id: session, createdAt } = draft.state;
  const { id: run } = runOf(draft);
  if (memory === null) return false;
  postMemory(draft, {
    id: `${lifetimeOf(draft.state)}/${run}${key}`,
    at: draft.context.now,
    owner: memoryOwnerOf(memory, draft.state),
    session,
    createdAt,
    run,
    agent: name,
    text,
    tags: [...new Set([`session:${session}`, `agent:${name}`, ...tags])],
  });
  return true;
};

/** Remembers a run that completed its task, with its inputs and its first available answer. */
export const rememberRun = (
  draft: ThreadDraft,
  completed: boolean,
  answers: readonly (string | null)[],
): void => {
  const run = runOf(draft);
  const isKnown = agentOf(draft).missing === null;
  if (isKnown && !isRemembered(draft, run)) return;
  const input = readEntry(draft, "inputs", run.id)?.value;
  if (typeof input !== "string") return;
  writeEntry(draft, "inputs", run.id, undefined);
  const text = formatExchange(input, answers.find((answer) => answer !== null && answer !== "") ?? "");
  const handsOver = draft.thread.child?.handover != null;
  if (completed && !handsOver) postMemoryRow(draft, { key: "", text, tags: [] });
};

/** Remembers a text for a tool. Returns whether its agent has a memory. */
export const rememberText = (
  draft: ThreadDraft,
  call: string | null,
  { text, tags }: { readonly text: string; readonly tags: readonly string[] },
): Json | null => {
  const key = `/${call ?? ""}.${draft.entries.length}`;
  return postMemoryRow(draft, { key, text, tags }) ? { remembered: true } : null;
};

const longestInput = 3_000;

const longestAnswer = 4_000;

/** Formats the text as which a run is remembered. */
const formatExchange = (input: string, answer: string): string =>
  [`Asked: ${input}`, ...(answer === "" ? [] : [`Answered: ${truncateText(answer, longestAnswer)}`])].join(
    "\n",
  );

/** The outbox holds rows for the tenant's object until it has taken them, each row once by its id. */

/** Number beyond which the oldest lessons are dropped while the tenant's object does not take them. */
const mostRows = 32;

/** Most rows of one delivery. */
export const mostMemories = 32;

/** Number of failed deliveries after which memories are sent without vectors. */
export const mostEmbeddings = 5;

/** Pauses between deliveries that fail, in milliseconds. */
const firstPause = 2_000;

const longestPause = 300_000;

const outboxOf = ({ state, context }: Draft): Outbox =>
  state.outbox ?? { rows: [], tries: 0, until: context.now };

export const postReflection = (draft: Draft, row: Reflection): void => {
  const outbox = outboxOf(draft);
  draft.state.outbox = { ...outbox, rows: [...outbox.rows, row].slice(-mostRows) };
};

/** Gives a memory a row of its own until it is taken, so that none is given up. */
const postMemory = (draft: Draft, row: MemoryRow): void => {
  draft.state.outbox = outboxOf(draft);
  writeEntry(draft, "outbox", `${String(row.at).padStart(16, "0")}.${row.id}`, row as unknown as Json);
};

/**
 * Removes the lessons whose ids, and the entries whose keys, were taken; what is left is sent later, after a pause if
 * the delivery was not `whole`.
 */
export const recordDelivery = (draft: Draft, taken: ReadonlySet<string>, whole: boolean): void => {
  const outbox = outboxOf(draft);
  const rows = outbox.rows.filter(({ id }) => !taken.has(id));
  const memories = draft.context.entries.heads("outbox");
  const stored = memories.filter(({ key }) => taken.has(key));
  for (const { key } of stored) writeEntry(draft, "outbox", key, undefined);
  const { now } = draft.context;
  const left = whole
    ? { rows, tries: 0, until: now }
    : { ...postpone(outbox, now, firstPause, longestPause), rows };
  draft.state.outbox = rows.length + memories.length === stored.length ? null : left;
};
