import * as z from "zod";
import type { Part } from "../../src/chat/message.ts";
import type { Problem } from "../../src/session/problems.ts";
import type { OperationName } from "../../src/session/operations.ts";
import type { FakeProvider } from "../support/fake-provider.ts";
import { openBench } from "../support/bench.ts";
import type { Bench } from "../support/bench.ts";
import type { Tables } from "../../src/engine/access/database.ts";
import { createEngine } from "../../src/engine/create.ts";
import { defineTool } from "../../src/tools/define-tool.ts";
import type { Toolbox } from "../../src/tools/define-tool.ts";
import { engineOptions, teamOf } from "../support/teams.ts";
import type { EngineExtras } from "../support/teams.ts";

/** A toolbox that only the build sees, so that scripts may call names that no agent has. */
const stubs = (names: readonly string[]): Toolbox => ({
  name: "stubs",
  description: "Names.",
  tools: names.map((name) =>
    defineTool({ name, description: "A name.", params: z.strictObject({}), run: () => ({ content: "" }) }),
  ),
});

interface BenchExtras extends EngineExtras {
  /** Tool names that scripts may call though no toolbox has them. */
  readonly names?: readonly string[];
  /** The tables of the tenant, for sessions that share them. */
  readonly tables?: Tables;
}

/** A session on the bench from YAML; without `create` parameters it is not created yet. */
export const benchOf = async (yaml: string, extras: BenchExtras = {}, create?: object): Promise<Bench> => {
  const compiled = [...(extras.toolboxes ?? []), stubs(extras.names ?? [])];
  const team = await teamOf(yaml, { ...extras, toolboxes: compiled });
  const { tables } = extras;
  const bench = openBench({
    engine: createEngine(engineOptions(team, extras)),
    ...(tables === undefined ? {} : { tables }),
    ...(extras.env === undefined ? {} : { env: extras.env }),
  });
  if (create !== undefined) bench.ok("create", create);
  return bench;
};

/** Says something and waits for the run's end; gives its `run_end`. */
export const say = async (bench: Bench, text = "Hi", more: object = {}): Promise<Record<string, unknown>> => {
  bench.send(text, more);
  await bench.idle();
  return lastEvent(bench, "run_end");
};

/** Data of the newest event of a type. */
export const lastEvent = (bench: Bench, type: string): Record<string, unknown> =>
  (bench.events().findLast((event) => event.type === type)?.data ?? {}) as Record<string, unknown>;

export const eventsOf = (bench: Bench, type: string): readonly Record<string, unknown>[] =>
  bench
    .events()
    .filter((event) => event.type === type)
    .map(({ data }) => data as unknown as Record<string, unknown>);

/** The problem of an operation that must be refused. */
export const refused = (bench: Bench, op: OperationName, params: object = {}): Problem => {
  const reply = bench.perform(op, params);
  if (reply.ok) throw new Error(`${op} was not refused`);
  return reply.problem;
};

/** Text of the newest message of a role. */
export const lastText = (bench: Bench, role: "assistant" | "tool" | "user"): string => {
  const parts = bench.chat().findLast((message) => message.role === role)?.parts ?? [];
  return parts
    .flatMap((part): readonly Part[] => (part.type === "tool_result" ? part.content : [part]))
    .map((part) => (part.type === "text" ? part.text : ""))
    .join("");
};

/** Lets a team reach a fake provider on loopback. */
export const wireEnv = ({ port }: FakeProvider, more: Record<string, unknown> = {}) => ({
  LIMPET_PRIVATE_EGRESS: `127.0.0.1:${port}`,
  KEY: "sk-one",
  ...more,
});
