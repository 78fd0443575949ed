import type { Json } from "../../chat/message.ts";
import { textOf } from "../../chat/text.ts";
import { headAndTail } from "../../chat/truncate.ts";
import type { MemoryRow } from "../definition/memory.ts";
import type { Input } from "../state/input.ts";
import type { Run } from "../state/run.ts";
import type { Draft } from "../transaction/draft.ts";
import { agentOf, runOf, threadOf } from "../transaction/draft.ts";
import { entryOf, entryWritten } from "../transaction/entries.ts";
import { memoryPosted } from "./outbox.ts";
import { ownerOf } from "./recall.ts";

/** What is remembered of a run: its inputs are kept as they come, and leave with the answer in the commit of its end. */

/** Whether an agent's run is one to be remembered; one that only tells of another's result has no input that is heard. */
const isRemembered = (draft: Draft, threadId: string, { light }: Run): boolean =>
  !light && agentOf(draft, threadId).memory?.write === true;

/** An input of a run is kept for its end, since the chat may have shrunk by then. */
export const inputHeard = (draft: Draft, { thread: threadId, content, origin }: Input): void => {
  const { run, child } = threadOf(draft, threadId);
  if (run === null || (origin !== "human" && child === null) || !isRemembered(draft, threadId, run)) return;
  const before = entryOf(draft, "inputs", run.id)?.value;
  const texts = [...(typeof before === "string" ? [before] : []), textOf(content)];
  entryWritten(draft, "inputs", run.id, rememberedInput(texts.join("\n")));
};

/** A row of a run as it is handed over; `key` tells rows of the run apart. */
const rowOf = (
  draft: Draft,
  threadId: string,
  { key, text, tags }: { readonly key: string; readonly text: string; readonly tags: readonly string[] },
): MemoryRow | null => {
  const { name, memory } = agentOf(draft, threadId);
  const { id: session } = draft.state;
  const { id: run } = runOf(draft, threadId);
  if (memory === null) return null;
  return {
    id: `${session}/${run}${key}`,
    at: draft.moment.now,
    owner: ownerOf(memory, draft.state),
    session,
    run,
    agent: name,
    text,
    tags: [...new Set([`session:${session}`, `agent:${name}`, ...tags])],
  };
};

const remembered = (draft: Draft, threadId: string, given: Parameters<typeof rowOf>[2]): boolean => {
  const row = rowOf(draft, threadId, given);
  if (row !== null) memoryPosted(draft, row);
  return row !== null;
};

/** A run ends: if it completed its task, its inputs and its answer, the first that there is, are remembered. */
export const runRemembered = (
  draft: Draft,
  threadId: string,
  completed: boolean,
  answers: readonly (string | null)[],
): void => {
  const run = runOf(draft, threadId);
  if (!isRemembered(draft, threadId, run)) return;
  const input = entryOf(draft, "inputs", run.id)?.value;
  if (typeof input !== "string") return;
  entryWritten(draft, "inputs", run.id, undefined);
  const text = exchange(input, answers.find((answer) => answer !== null && answer !== "") ?? "");
  const handsOver = threadOf(draft, threadId).child?.handover != null;
  if (completed && !handsOver) remembered(draft, threadId, { key: "", text, tags: [] });
};

/** A tool remembers a text. Answers whether its agent has a memory. */
export const textRemembered = (
  draft: Draft,
  { thread, call }: { readonly thread: string; readonly call: string | null },
  { text, tags }: { readonly text: string; readonly tags: readonly string[] },
): Json | null => {
  const key = `/${call ?? ""}.${draft.entries.length}`;
  return remembered(draft, thread, { key, text, tags }) ? { remembered: true } : null;
};

const longestInput = 3_000;

const longestAnswer = 4_000;

/** An input as it is kept until its run has ended. */
const rememberedInput = (text: string): string => headAndTail(text, longestInput);

/** What is remembered of a run. */
const exchange = (input: string, answer: string): string =>
  [`Asked: ${input}`, ...(answer === "" ? [] : [`Answered: ${headAndTail(answer, longestAnswer)}`])].join(
    "\n",
  );
