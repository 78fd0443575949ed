import { escapeTags } from "../../chat/render.ts";
import { childItemOf } from "../context/reports.ts";
import { acceptInput } from "../inputs/inputs.ts";
import type { ChildEnd, ChildRecord } from "../state/child.ts";
import type { Input } from "../state/input.ts";
import type { Draft } from "../transaction/draft.ts";
import { threadOf } from "../transaction/draft.ts";
import { retryAnnouncement, startRun } from "./runs.ts";

/** Results that nobody waits for become a message to the caller and, if `main` rests, a run that tells the person. */

/** The runtime's message joins a thread at its next turn boundary; it starts a run of a resting `main`. */
export const notifyThread = (
  draft: Draft,
  threadId: string,
  id: string,
  text: string,
  more: Pick<Input, "question"> = {},
): void => {
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
    ...more,
  };
  acceptInput(draft, input);
  if (threadOf(draft, threadId).run === null) startRun(draft, input);
};

/** The end of a child that nobody waits for is sent once, since its id makes the message's. */
export const notifyOfChildEnd = (
  draft: Draft,
  parentId: string,
  record: ChildRecord & { readonly end: ChildEnd },
): void => {
  const { first } = record.end;
  const whose = first === undefined ? "" : ` with the task that ${first} began and handed over`;
  const said = `An agent that worked in the background has ended${whose}.\n${JSON.stringify(childItemOf(record))}`;
  notifyThread(draft, parentId, `in_${record.id}_${record.end.run}`, escapeTags(said));
};

/** A failed announcement whose time has come is tried again once the thread rests. */
export const retryDueAnnouncement = (draft: Draft, threadId: string): boolean => {
  const { announce, run } = threadOf(draft, threadId);
  if (announce === null || announce.at === null || run !== null || announce.at > draft.moment.now)
    return false;
  retryAnnouncement(draft, threadId);
  return true;
};
