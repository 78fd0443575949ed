import * as z from "zod";
import type { Tool } from "../../../src/tools/define-tool.ts";
import { defineTool } from "../../../src/tools/define-tool.ts";
import type { StoreChange, Task } from "../../../src/tools/stores.ts";
import type { Bench } from "../../support/bench.ts";
import { scripted } from "../../support/scripts.ts";
import type { Play, PlayOptions } from "../loop/play.ts";
import { play } from "../loop/play.ts";

/** Sessions whose agent has the shared stores, from YAML. */

export interface StoreOptions extends PlayOptions {
  readonly toolboxes?: string;
}

export const storeYaml = (replies: string, team = "", toolboxes = "[probe, state, tasks, notes]"): string =>
  scripted(replies, "", team).replace("toolboxes: [probe]", `toolboxes: ${toolboxes}`);

/** A call as a script has it. */
export const call = (name: string, args: object = {}): string =>
  `{ call: ${name}, args: ${JSON.stringify(args)} }`;

/** A script with one reply for each entry, then a last word. */
export const script = (...replies: readonly string[]): string =>
  `replies: [${[...replies, "{ text: Done. }"].map((reply) => `{ reply: [${reply}] }`).join(", ")}]`;

export const storePlay = (
  replies: string,
  { team = "", toolboxes, ...options }: StoreOptions = {},
): Promise<Play> => play(replies, { ...options, yaml: storeYaml(replies, team, toolboxes) });

/** Plays one input to the end. */
export const storeRun = async (replies: string, options: StoreOptions = {}): Promise<Play> => {
  const played = await storePlay(replies, options);
  played.bench.send("Go");
  await played.bench.idle();
  return played;
};

/** A team's own tool that makes the n-th of some lists of changes. */
export const changing = (steps: readonly (readonly StoreChange[])[], content = ""): Tool =>
  defineTool({
    name: "change",
    description: "Changes the stores.",
    params: z.strictObject({ n: z.int().describe("Which.") }),
    safety: "idempotent",
    workspace: "none",
    run: ({ n }) => ({ content, stores: steps[n] ?? [] }),
  });

export const setting = (key: string, value: string): StoreChange => ({
  store: "state",
  op: "set",
  key,
  value,
});

/** `store key value` of every stored value and note. */
export const entriesOf = (bench: Bench): readonly string[] =>
  bench.rows("entries").map(({ store, key, json }) => `${String(store)} ${String(key)} ${String(json)}`);

/** What GET of a store shows. */
export const listOf = (bench: Bench, op: "state" | "tasks" | "notes"): readonly unknown[] =>
  bench.ok(op)["data"] as unknown as readonly unknown[];

export const tasksOf = (bench: Bench): readonly Task[] => listOf(bench, "tasks") as readonly Task[];
