import { createInput, acceptInput, appendAgentResult } from "../inputs/inputs.ts";
import { ownEntry } from "../../chat/json.ts";
import { escapeTags } from "../../chat/render.ts";
import { cleanText, firstCharacters } from "../../chat/text.ts";
import { truncateText } from "../../chat/truncate.ts";
import { startRun, startNextRun } from "../run/runs.ts";
import type { Child, ChildRecord, EndedChild } from "../state/child.ts";
import { freshChild } from "../state/child.ts";
import type { Thread, Input } from "../state/thread.ts";
import { newThread } from "../state/thread.ts";
import { assignTask } from "../stores/tasks.ts";
import type { Draft, ThreadDraft } from "../transaction/draft.ts";
import { agentOf, runOf, selectThread } from "../transaction/draft.ts";
import { hashName } from "../../sandbox/id.ts";
import { childItemOf } from "../context/reports.ts";

/** Starts a called thread in one commit with its row, its first messages and its run; reports to its caller. */

/** Planned start of a called agent, by a call or by a task graph. */
export interface ChildStart {
  /** Its thread, which is new or goes on from an earlier call. */
  readonly id: string;
  readonly agent: string;
  /** The caller's call. */
  readonly call: string;
  readonly task: string;
  readonly context: string;
  /** The agent reads this before context and task. */
  readonly preamble?: readonly string[];
  readonly child: Pick<Child, "callerConstraints" | "root" | "awaitedBy"> &
    Partial<Pick<Child, "taskId" | "node" | "persistent" | "deadline" | "handoffs" | "before" | "warning">>;
}

const countChild = (draft: Draft, { agent, child: { root }, task }: ChildStart): string => {
  const { labels, trees } = draft.state;
  const n = (ownEntry(labels, agent) ?? 0) + 1;
  draft.state.labels = { ...labels, [agent]: n };
  draft.state.trees = { ...trees, [root]: (trees[root] ?? 0) + 1 };
  return labelOf(agent, task, n);
};

const createChildThread = (caller: ThreadDraft, start: ChildStart): Thread => {
  const { id, depth } = caller.thread;
  const parent = { thread: id, call: start.call };
  const kept = caller.state.threads[start.id];
  const label = countChild(caller, start);
  const task = firstCharacters(start.task, 200);
  const child: Child = { ...freshChild, ...start.child, label: kept?.child?.label ?? label, task };
  if (kept !== undefined) {
    kept.parent = parent;
    kept.child = child;
    return kept;
  }
  return newThread(start.id, start.agent, { parent, child, depth: depth + 1 });
};

/** Starts a called agent. */
export const startChild = (caller: ThreadDraft, start: ChildStart): void => {
  const { maxContextLength } = agentOf(caller).delegation;
  const context = truncateText(cleanText(start.context), maxContextLength);
  const task = cleanText(start.task);
  const thread = createChildThread(caller, { ...start, task });
  caller.state.threads[thread.id] = thread;
  const record: ChildRecord = {
    id: thread.id,
    agent: thread.agent,
    label: thread.child?.label ?? "",
    parent: { thread: caller.thread.id, call: start.call },
    depth: thread.depth,
    task,
    context,
    started_at: caller.context.now,
    end: null,
  };
  caller.children.push(record);
  const { taskId = null } = start.child;
  if (taskId !== null) assignTask(caller, taskId, thread.id);
  const input = createInput(caller, {
    id: `in_${thread.id}_${caller.state.nextRun}`,
    thread: thread.id,
    content: [{ type: "text", text: escapeTags(task) }],
    on_busy: "queue",
    origin: "agent",
  });
  const given =
    context.trim() === "" ? [] : [`<delegation_context>\n${escapeTags(context)}\n</delegation_context>`];
  startRun(caller, input, [...(start.preamble ?? []), ...given]);
  narrowDeadline(selectThread(caller, thread.id));
};

/** Returns when the time that a task's caller gave it is over; null if it gave none. */
export const taskDeadlineOf = (draft: Draft, seconds: number | undefined): number | null =>
  seconds === undefined ? null : draft.context.now + seconds * 1_000;

const narrowDeadline = (draft: ThreadDraft): void => {
  const at = draft.thread.child?.deadline ?? null;
  if (at === null) return;
  const run = runOf(draft);
  run.deadline = run.deadline === null ? at : Math.min(run.deadline, at);
};

/** Reads the row of a called thread as this commit leaves it; null if there never was one. */
export const findChildRecord = (draft: Draft, id: string): ChildRecord | null =>
  draft.children.findLast((record) => record.id === id) ?? draft.context.children.record(id);

/** Returns the id of a child; a start that is repeated gives the same one. */
export const childId = (parent: string, run: string, call: string, index: string): string =>
  `t_${hashName(parent, run, call, index).slice(0, 26)}`;

const longestSlug = 12;

const slugOf = (task: string): string => {
  const word = task.match(/\p{L}{3,}/u)?.[0]?.toLowerCase() ?? "task";
  return [...word].slice(0, longestSlug).join("");
};

/** Returns the label `<agent>-<slug>-<n>`, which is for people and never in a prompt. */
const labelOf = (agent: string, task: string, n: number): string => `${agent}-${slugOf(task)}-${n}`;

/** Removes ids of threads and `recall` texts, which differ each time, from a text that loop detectors compare. */
export const stripIds = (text: string): string =>
  text.replace(/\bt_[a-z2-7]{26}\b/g, "t_").replace(/(\brecall\(\\*"b)\d+/g, "$1");

/** Sends a message of the runtime to a thread, which joins its run, or starts one if `main` rests. */
export const notifyThread = (
  draft: ThreadDraft,
  id: string,
  text: string,
  more: Pick<Input, "question"> = {},
): void => {
  const content = [{ type: "text", text } as const];
  const given = { id, thread: draft.thread.id, content, on_busy: "steer", origin: "agent", ...more } as const;
  acceptInput(draft, createInput(draft, given));
  startNextRun(draft);
};

/** Leaves a message in the chat of a thread that was stopped, where it starts nothing; a run under way goes first. */
export const leaveMessage = (draft: ThreadDraft, id: string, text: string): void => {
  const { id: thread, run } = draft.thread;
  const content = [{ type: "text", text } as const];
  const input = createInput(draft, { id, thread, content, on_busy: "queue", origin: "agent" });
  acceptInput(draft, input);
  if (run === null) appendAgentResult(draft, input);
};

/**
 * Reports the end of a child without a waiting call once, since its id makes the message's. A caller that was stopped
 * with the child only finds the message in its chat.
 */
export const notifyOfChildEnd = (draft: ThreadDraft, record: EndedChild, isStopped: boolean): void => {
  const { first } = record.end;
  const whose = first === undefined ? "" : ` with the task that ${first} began and handed over`;
  const said = `An agent that worked in the background has ended${whose}.\n${JSON.stringify(childItemOf(record))}`;
  const notify = isStopped ? leaveMessage : notifyThread;
  notify(draft, `in_${record.id}_${record.end.run}`, escapeTags(said));
};
