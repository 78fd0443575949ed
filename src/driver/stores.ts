import type { Agent } from "../agent/definition/agent.ts";
import type { SharedNotes } from "../agent/definition/memory.ts";
import { memoryOwnerOf } from "../agent/memory/recall.ts";
import { findTask, taskView } from "../agent/state/board.ts";
import type { MemoryHit, StoreChange, Stores } from "../tools/stores.ts";
import { storeChange } from "../tools/stores.ts";
import type { Host } from "./host.ts";
import type { LazyAbort } from "./work.ts";

/** Creates the shared stores as a tool sees them. */
export const createStores = (host: Host, agent: Agent, signal: () => AbortSignal): Stores => {
  const { entries, storeRules } = host;
  const shared = host.notes(agent.name);
  const note = (name: string): string | null => {
    const value = entries.entry("notes", name)?.value;
    return typeof value === "string" ? value : null;
  };
  return {
    state: {
      get: (key) => entries.entry("state", key),
      keys: () => entries.heads("state").map(({ key }) => key),
    },
    tasks: {
      get: (id) => {
        const { tasks } = host.read();
        const task = findTask(tasks, id);
        return task && structuredClone(taskView(tasks, task, storeRules.onDependencyFailure));
      },
      list: () => {
        const { tasks } = host.read();
        return Object.values(tasks).map((task) =>
          structuredClone(taskView(tasks, task, storeRules.onDependencyFailure)),
        );
      },
    },
    notes: {
      read: async (name) => (shared === null ? note(name) : shared.read(name)),
      list: async () =>
        shared?.list() ?? entries.heads("notes").map(({ key, head }) => ({ name: key, first_line: head })),
    },
    memory: { search: (query, options) => searchMemory(host, agent, signal(), query, options) },
  };
};

/** Finds what an agent remembers that fits a query; searches by words alone if vectors cannot be made. */
const searchMemory = async (
  host: Host,
  { name, memory }: Agent,
  signal: AbortSignal,
  ...[query, { limit, threshold }]: Parameters<Stores["memory"]["search"]>
): Promise<readonly MemoryHit[] | null> => {
  if (memory === null) return null;
  const text = host.redactor.text(query);
  const [vector = null] = await (host.embedder(name)?.embed([text], signal) ?? Promise.resolve([])).catch(
    () => [],
  );
  const session = host.read();
  const seen = { session: session.id, runs: [], told: [] };
  const found = await host.memory.recall(memoryOwnerOf(memory, session), {
    text,
    vector,
    limit,
    threshold,
    seen,
    beyond: 0,
  });
  return found.map(({ at, agent, text: said, tags, score }) => ({ at, agent, text: said, tags, score }));
};

/** Writes changed notes to the shared store before the outcome is stored. Returns why one was refused. */
export const writeSharedNotes = async (
  notes: SharedNotes,
  changes: readonly StoreChange[],
  key: string,
  ending: LazyAbort,
): Promise<string | null> => {
  for (const [at, given] of changes.entries()) {
    if (ending.asked()) return null;
    const change = storeChange.safeParse(given).data;
    if (change?.store !== "notes") continue;
    const problem = await notes.write({ name: change.name, content: change.content }, `${key}/${at}`);
    if (problem !== null) return problem;
  }
  return null;
};
