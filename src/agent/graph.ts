import { firstCharacters } from "../chat/text.ts";
import { characters } from "../schema.ts";
import { own } from "./own.ts";

/** A graph of tasks for other agents (AG-34 to AG-36): what may start next, what a task is told, what is reported. */

export interface GraphTask {
  readonly id: string;
  readonly agent: string;
  readonly message: string;
  readonly context: string;
  readonly depends_on: readonly string[];
  /** Its failure cancels whatever depends on it. */
  readonly blocking: boolean;
  readonly timeout_seconds?: number | undefined;
  /** `{{id.output}}` in message and context stands for that task's output. */
  readonly interpolate: boolean;
}

export type GraphState = "pending" | "running" | "success" | "failed" | "cancelled" | "timeout";
export type GraphStates = Readonly<Record<string, GraphState>>;

/** What to do now; `done` = nothing is running or will start. */
export interface GraphStep {
  readonly start: readonly string[];
  readonly cancel: readonly string[];
  readonly done: boolean;
}

/** What a settled task came to. */
export interface GraphOutcome {
  readonly state: GraphState;
  /** Who did it in the end, if anybody began it. */
  readonly agent?: string;
  /** Output of a success, else the reason. */
  readonly text: string;
  readonly ms: number;
}

const mostInterpolated = 4_000;
const mostReported = 2_000;
const reference = /\{\{\s*([\w-]{1,64})\.output\s*\}\}/g;

/** Tasks that a task waits for, directly or not, itself only in a cycle. */
export const ancestorsOf = (
  tasks: readonly Pick<GraphTask, "id" | "depends_on">[],
  id: string,
): ReadonlySet<string> => {
  const known = new Map(tasks.map((task) => [task.id, task.depends_on]));
  const found = new Set<string>();
  const open = [...(known.get(id) ?? [])];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (found.has(next)) continue;
    found.add(next);
    open.push(...(known.get(next) ?? []));
  }
  return found;
};

const isOpen = (state: GraphState): boolean => state === "pending" || state === "running";

/**
 * The scheduler (AG-34). A task starts when its dependencies have settled; one that depends, directly or not, on a
 * blocking task that did not succeed is cancelled, and no other. `slots` is how many more may run.
 */
export const scheduled = (tasks: readonly GraphTask[], states: GraphStates, slots: number): GraphStep => {
  const stateOf = (id: string): GraphState => own(states, id) ?? "pending";
  const broken = new Set(
    tasks
      .filter(({ id, blocking }) => blocking && !isOpen(stateOf(id)) && stateOf(id) !== "success")
      .map(({ id }) => id),
  );
  const pending = tasks.filter(({ id }) => stateOf(id) === "pending");
  const doomed = pending.filter(({ id }) => !ancestorsOf(tasks, id).isDisjointFrom(broken));
  const ready = pending.filter(
    (task) => !doomed.includes(task) && task.depends_on.every((id) => !isOpen(stateOf(id))),
  );
  const running = tasks.some(({ id }) => stateOf(id) === "running");
  return {
    start: ready.slice(0, Math.max(0, slots)).map(({ id }) => id),
    cancel: doomed.map(({ id }) => id),
    done: !running && pending.length === doomed.length,
  };
};

/** Ids that a text refers to by `{{id.output}}`, each once. */
export const referencesIn = (text: string): readonly string[] => [
  ...new Set([...text.matchAll(reference)].map(([, id]) => id ?? "")),
];

/** A text with its references filled in; what is put in is not looked at again (AG-35). */
export const interpolated = (text: string, outcomeOf: (id: string) => GraphOutcome | null): string =>
  text.replaceAll(reference, (written, id: string) => {
    const outcome = outcomeOf(id);
    if (outcome === null) return written;
    return outcome.state === "success"
      ? shortened(outcome.text, mostInterpolated)
      : `[task ${id} failed: ${shortened(outcome.text, mostInterpolated)}]`;
  });

/** A text of at most `most` characters; one that was cut says how much of it is shown. */
export const shortened = (text: string, most: number): string => {
  const total = characters(text);
  if (total <= most) return text;
  const marker = (shown: number): string => `… [${shown} of ${total} characters shown]`;
  const shown = most - characters(marker(most));
  return `${firstCharacters(text, shown)}${marker(shown)}`;
};

const settledStates: readonly GraphState[] = ["success", "failed", "timeout", "cancelled"];

/** What the dispatching agent is told at the end: counts, then each task as it was given (AG-36). */
export const reportOf = (
  tasks: readonly GraphTask[],
  outcomes: Readonly<Record<string, GraphOutcome>>,
): { readonly text: string; readonly isError: boolean } => {
  const stateOf = (id: string): GraphState => own(outcomes, id)?.state ?? "cancelled";
  const counts = settledStates.flatMap((state) => {
    const count = tasks.filter(({ id }) => stateOf(id) === state).length;
    return count === 0 ? [] : [`${count} ${state}`];
  });
  const parts = tasks.map(({ id, agent }) => {
    const { agent: by = agent, ms = 0, text = "" } = own(outcomes, id) ?? {};
    return `## ${id} (${by}) ${stateOf(id)} ${(ms / 1_000).toFixed(1)}s\n${shortened(text, mostReported)}`;
  });
  const isError = tasks.some(({ id, blocking }) => blocking && ["failed", "timeout"].includes(stateOf(id)));
  return { text: [`${tasks.length} tasks: ${counts.join(", ")}`, ...parts].join("\n\n"), isError };
};
