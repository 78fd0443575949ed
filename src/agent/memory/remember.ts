import type { Json } from "../../chat/message.ts";
import { textOf } from "../../chat/text.ts";
import { truncateText } from "../../chat/truncate.ts";
import type { MemoryRow } from "../definition/memory.ts";
import type { Input } from "../state/thread.ts";
import type { Run } from "../state/run.ts";
import { lifetimeOf } from "../state/session.ts";
import type { Draft } from "../transaction/draft.ts";
import { agentOf, runOf, threadOf } from "../transaction/draft.ts";
import { readEntry, writeEntry } from "../transaction/entries.ts";
import { postMemory } from "./outbox.ts";
import { memoryOwnerOf } from "./recall.ts";

/** Remembers a run in the commit of its end: its inputs are kept as they come and stored with the answer. */

/** Returns whether a run is remembered; a light run that only reports another's result has no such input. */
const isRemembered = (draft: Draft, threadId: string, { light }: Run): boolean =>
  !light && agentOf(draft, threadId).memory?.write === true;

/** Keeps an input of a run for its end, since the chat may have shrunk by then. */
export const rememberInput = (draft: Draft, { thread: threadId, content, origin }: Input): void => {
  const { run, child } = threadOf(draft, threadId);
  if (run === null || (origin !== "human" && child === null) || !isRemembered(draft, threadId, run)) return;
  const before = readEntry(draft, "inputs", run.id)?.value;
  const texts = [...(typeof before === "string" ? [before] : []), textOf(content)];
  writeEntry(draft, "inputs", run.id, truncateText(texts.join("\n"), longestInput));
};

/** Makes a row of a run for delivery; `key` distinguishes rows of the run. */
const createMemoryRow = (
  draft: Draft,
  threadId: string,
  { key, text, tags }: { readonly key: string; readonly text: string; readonly tags: readonly string[] },
): MemoryRow | null => {
  const { name, memory } = agentOf(draft, threadId);
  const { id: session, createdAt } = draft.state;
  const { id: run } = runOf(draft, threadId);
  if (memory === null) return null;
  return {
    id: `${lifetimeOf(draft.state)}/${run}${key}`,
    at: draft.context.now,
    owner: memoryOwnerOf(memory, draft.state),
    session,
    createdAt,
    run,
    agent: name,
    text,
    tags: [...new Set([`session:${session}`, `agent:${name}`, ...tags])],
  };
};

const postMemoryRow = (
  draft: Draft,
  threadId: string,
  given: Parameters<typeof createMemoryRow>[2],
): boolean => {
  const row = createMemoryRow(draft, threadId, given);
  if (row !== null) postMemory(draft, row);
  return row !== null;
};

/** Remembers a run that completed its task, with its inputs and its first available answer. */
export const rememberRun = (
  draft: Draft,
  threadId: string,
  completed: boolean,
  answers: readonly (string | null)[],
): void => {
  const run = runOf(draft, threadId);
  const isKnown = agentOf(draft, threadId).missing === null;
  if (isKnown && !isRemembered(draft, threadId, run)) return;
  const input = readEntry(draft, "inputs", run.id)?.value;
  if (typeof input !== "string") return;
  writeEntry(draft, "inputs", run.id, undefined);
  const text = formatExchange(input, answers.find((answer) => answer !== null && answer !== "") ?? "");
  const handsOver = threadOf(draft, threadId).child?.handover != null;
  if (completed && !handsOver) postMemoryRow(draft, threadId, { key: "", text, tags: [] });
};

/** Remembers a text for a tool. Returns whether its agent has a memory. */
export const rememberText = (
  draft: Draft,
  { thread, call }: { readonly thread: string; readonly call: string | null },
  { text, tags }: { readonly text: string; readonly tags: readonly string[] },
): Json | null => {
  const key = `/${call ?? ""}.${draft.entries.length}`;
  return postMemoryRow(draft, thread, { key, text, tags }) ? { remembered: true } : null;
};

const longestInput = 3_000;

const longestAnswer = 4_000;

/** Formats the text as which a run is remembered. */
const formatExchange = (input: string, answer: string): string =>
  [`Asked: ${input}`, ...(answer === "" ? [] : [`Answered: ${truncateText(answer, longestAnswer)}`])].join(
    "\n",
  );
