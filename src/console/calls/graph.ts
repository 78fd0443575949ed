import type { StoredEvent } from "../../client/index.ts";
import type { CallEntry } from "../../client/transcript.ts";
import { escapeInLine } from "../parts/escape.ts";
import { fieldsOf, listOf, textOf } from "../parts/json.ts";

/** The tasks of a graph that an agent hands to others at once. */

interface GraphTask {
  readonly id: string;
  readonly agent: string;
  readonly message: string;
  /** What it is at while no agent works on it. */
  readonly state: string;
}

export interface Graph {
  /** How many tasks the call has; 0 of any other call. */
  readonly size: number;
  /** The names of the tasks that called agents work on, by their threads. */
  readonly names: ReadonlyMap<string, string>;
  /** The tasks that no agent was called for, as far as that is known. */
  readonly rest: readonly GraphTask[];
}

const stateOf = (done: boolean, needed: readonly string[]): string =>
  done ? "not begun" : needed.length === 0 ? "waits" : `waits for ${needed.join(", ")}`;

/** Reads the graph of a call; who works on which task stands in the events, of which old ones may be gone. */
export const readGraph = (
  { tool, input, children, state }: CallEntry,
  events: readonly StoredEvent[],
): Graph => {
  const tasks = tool === "dispatch_tasks" ? listOf(fieldsOf(input)["tasks"]).map(fieldsOf) : [];
  const names = new Map<string, string>();
  if (tasks.length > 0)
    for (const { type, thread, node } of events)
      if (type === "agent_start" && node !== undefined && children.includes(thread))
        names.set(thread, escapeInLine(node));
  const begun = new Set(names.values());
  const known = tasks.map(({ id, agent, message, depends_on: needs }) => ({
    id: escapeInLine(textOf(id) ?? ""),
    agent: escapeInLine(textOf(agent) ?? ""),
    message: escapeInLine(textOf(message) ?? ""),
    state: stateOf(
      state === "done",
      listOf(needs).flatMap((each) => textOf(each) ?? []),
    ),
  }));
  const isKnown = names.size === children.length;
  return { size: tasks.length, names, rest: isKnown ? known.filter(({ id }) => !begun.has(id)) : [] };
};
