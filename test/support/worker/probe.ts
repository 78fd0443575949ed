import * as z from "zod";
import type { Safety, Tool, Toolbox, WorkspaceUse } from "../../../src/tools/define-tool.ts";
import { defineTool } from "../../../src/tools/define-tool.ts";

/** Tools whose executions are counted in the isolate's memory, which outlives an aborted object. */

export interface Execution {
  readonly session: string;
  readonly tool: string;
  readonly name: string;
  readonly key: string;
  readonly attempt: number;
  ended: boolean;
}

const executions: Execution[] = [];

const held = new Set<string>();

/** What ran in a session, in order. */
export const executionsOf = (session: string): readonly Execution[] =>
  executions.filter((each) => each.session === session);

/** Lets every `hold` of a session end. */
export const letGo = (session: string): void => {
  held.add(session);
};

const untilLetGo = async (session: string, signal: AbortSignal): Promise<void> => {
  while (!held.has(session) && !signal.aborted) await scheduler.wait(2);
};

const params = z.strictObject({
  name: z.string().default("").describe("Name."),
  ms: z.number().default(0).describe("Milliseconds that it takes."),
  size: z.number().default(0).describe("Characters of the output."),
});

const probe = (name: string, safety: Safety, workspace: WorkspaceUse): Tool =>
  defineTool({
    name,
    description: `A probe that is ${safety}.`,
    params,
    safety,
    workspace,
    run: async (args, { session, key, attempt, signal }) => {
      const execution = { session, tool: name, name: args.name, key, attempt, ended: false };
      executions.push(execution);
      if (args.ms > 0) await scheduler.wait(args.ms);
      if (name === "hold") await untilLetGo(session, signal);
      execution.ended = true;
      return { content: args.size > 0 ? "#".repeat(args.size) : `${name}(${args.name}) done` };
    },
  });

export const probeToolbox: Toolbox = {
  name: "probe",
  description: "Probes.",
  tools: [
    probe("look", "read", "read"),
    probe("put", "idempotent", "none"),
    probe("fire", "unsafe", "none"),
    probe("hold", "idempotent", "none"),
    probe("print", "read", "none"),
  ],
};
