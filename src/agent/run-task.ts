import type { Message } from "../chat/message.ts";
import { changeRun, threadOf } from "./draft.ts";
import type { Draft } from "./draft.ts";
import type { Run, Thread } from "./state.ts";

/** The input or task that a run is about, which summaries quote (EF-22). */

const isInput = ({ role, origin, summary }: Message): boolean =>
  role === "user" && (origin === "human" || origin === "agent") && summary === undefined;

/** Around it stand what its agent was told before, what is remembered, and what joined the run since. */
const isTaskOf = ({ id, task }: Run, message: Message): boolean =>
  task === undefined ? message.run === id && isInput(message) : message.id === task;

/** The input that began a run; the newest of all for a run that only compacts (EF-27). */
export const taskOf = ({ chat, firstInput }: Thread, run: Run): Message | null =>
  (run.inputs.length === 0 ? chat.findLast(isInput) : chat.find((message) => isTaskOf(run, message))) ??
  (firstInput !== null && isTaskOf(run, firstInput) ? firstInput : null);

/** A run begins with the newest message of its thread. */
export const taskNoted = (draft: Draft, threadId: string): void => {
  const task = threadOf(draft, threadId).chat.at(-1)?.id;
  if (task !== undefined) changeRun(draft, threadId, { task });
};
