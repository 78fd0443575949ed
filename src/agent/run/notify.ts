import { escapeTags } from "../../chat/render.ts";
import { childItemOf } from "../context/reports.ts";
import { acceptInput, createInput } from "../inputs/inputs.ts";
import type { ChildEnd, ChildRecord } from "../state/child.ts";
import type { Input } from "../state/thread.ts";
import type { Draft } from "../transaction/draft.ts";
import { startNextRun } from "./runs.ts";

/** Makes results without a waiting call a message to the caller, which starts a run if `main` rests. */

/** Sends a message of the runtime to a thread, which joins its run, or starts one if `main` rests. */
export const notifyThread = (
  draft: Draft,
  threadId: string,
  id: string,
  text: string,
  more: Pick<Input, "question"> = {},
): void => {
  const content = [{ type: "text", text } as const];
  const given = { id, thread: threadId, content, on_busy: "steer", origin: "agent", ...more } as const;
  acceptInput(draft, createInput(draft, given));
  startNextRun(draft, threadId);
};

/** Reports the end of a child without a waiting call once, since its id makes the message's. */
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
