import { escapeTags } from "../chat/render.ts";
import { textOf } from "../chat/text.ts";
import type { ChildEnd, ChildRecord } from "./child.ts";
import { itemOf } from "./child-results.ts";
import { agentOf, append, changeThread, threadOf } from "./draft.ts";
import type { Draft } from "./draft.ts";
import { inputAccepted, inputOf } from "./inputs.ts";
import type { RunRecord } from "./records.ts";
import { announcementRetried, runStarted } from "./runs.ts";
import type { Input } from "./state.ts";

/** Results that nobody waits for: a message to the caller, and if that is `main` at rest, a run that tells the person (AG-30, AG-31). */

/** A message of the runtime to a thread, joined at its next turn boundary; it starts a run of a resting `main`. */
export const messageTold = (draft: Draft, threadId: string, id: string, text: string): void => {
  const input: Input = {
    id,
    thread: threadId,
    content: [{ type: "text", text }],
    on_busy: "steer",
    sender: null,
    origin: "agent",
    status: "accepted",
    at: draft.moment.now,
    version: 1,
  };
  inputAccepted(draft, input);
  if (threadOf(draft, threadId).run === null) runStarted(draft, input);
};

/** The end of a child that nobody waits for: its id makes the message's, so it is told once. */
export const endTold = (
  draft: Draft,
  parentId: string,
  record: ChildRecord & { readonly end: ChildEnd },
): void => {
  const { first } = record.end;
  const whose = first === undefined ? "" : ` with the task that ${first} began and handed over`;
  const said = `An agent that worked in the background has ended${whose}.\n${JSON.stringify(itemOf(record))}`;
  messageTold(draft, parentId, `in_${record.id}_${record.end.run}`, escapeTags(said));
};

/** What agents told in some inputs; the chat may have shrunk since. */
const toldIn = (draft: Draft, inputs: readonly string[]): string =>
  inputs
    .map((id) => inputOf(draft, id))
    .flatMap((input) => (input?.origin === "agent" ? [textOf(input.content)] : []))
    .join("\n\n");

/** What becomes of an announcement that has not told the person when its run ended: tried again later, or left in the chat as it is. */
export const announcementFollowed = (draft: Draft, ended: RunRecord): void => {
  const threadId = ended.thread;
  const { announce } = threadOf(draft, threadId);
  if (announce === null || announce.runs.at(-1) !== ended.id) return;
  if (ended.reason === "cancelled") return changeThread(draft, threadId, { announce: null });
  const { retries, backoff } = agentOf(draft, threadId).delegation.announce;
  const taken = ended.inputs.filter((id) => !announce.inputs.includes(id));
  const told = taken.filter((id) => inputOf(draft, id)?.origin === "agent");
  const tries = told.length > 0 ? [ended.id] : announce.runs;
  const inputs = [...announce.inputs, ...(ended.reason === "rolled_back" ? told : taken)];
  // A run that a person's own takes the place of is no failed try; if that one completes, the matter is over.
  const replaced = ended.state === "cancelled";
  if (replaced || tries.length <= retries) {
    const at = draft.moment.now + backoff * 2 ** (tries.length - 1);
    const runs = replaced ? tries.slice(0, -1) : tries;
    return changeThread(draft, threadId, { announce: { runs, inputs, at } });
  }
  changeThread(draft, threadId, { announce: null });
  const text = toldIn(draft, inputs);
  if (text !== "")
    append(draft, threadId, { role: "assistant", origin: "agent", parts: [{ type: "text", text }] }, true);
};

/** A failed announcement whose time has come is tried again once the thread rests. */
export const announcementDue = (draft: Draft, threadId: string): boolean => {
  const { announce, run } = threadOf(draft, threadId);
  if (announce === null || announce.at === null || run !== null || announce.at > draft.moment.now)
    return false;
  announcementRetried(draft, threadId);
  return true;
};
