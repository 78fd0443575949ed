import * as z from "zod";
import { defineTool } from "../../src/tools/define-tool.ts";
import type {
  Safety,
  Tool,
  Toolbox,
  ToolContext,
  ToolOutput,
  WorkspaceUse,
} from "../../src/tools/define-tool.ts";

/** Tools that tell a test what ran, when, and under which key; a call ends when the test says so. */

export interface ProbeCall {
  readonly tool: string;
  readonly name: string;
  readonly key: string;
  readonly attempt: number;
  readonly context: ToolContext;
  readonly finish: (output?: string | ToolOutput) => void;
  readonly fail: (message: string) => void;
}

export interface Probe {
  readonly toolbox: Toolbox;
  readonly calls: readonly ProbeCall[];
  /** Calls end by themselves at once. */
  instant: boolean;
  readonly names: () => readonly string[];
}

export const createProbe = (instant = true): Probe => {
  const calls: ProbeCall[] = [];
  const probe = { instant };
  const tool = (name: string, safety: Safety, workspace: WorkspaceUse, more: Partial<Tool> = {}): Tool => ({
    ...defineTool({
      name,
      description: `A probe that is ${safety}.`,
      params: z.strictObject({
        name: z.string().default("").describe("Name."),
        fail: z.boolean().default(false).describe("Throws."),
      }),
      safety,
      workspace,
      run: (args, context) => {
        const given = Promise.withResolvers<ToolOutput>();
        const finish = (output: string | ToolOutput = `${name}(${args.name}) done`): void =>
          given.resolve(typeof output === "string" ? { content: output } : output);
        const fail = (message: string): void => given.reject(new Error(message));
        calls.push({
          tool: name,
          name: args.name,
          key: context.key,
          attempt: context.attempt,
          context,
          finish,
          fail,
        });
        if (args.fail) fail("the probe was told to fail");
        else if (probe.instant) finish();
        return given.promise;
      },
    }),
    ...more,
  });
  const tools = [
    tool("look", "read", "read", { cache: true }),
    tool("put", "idempotent", "write"),
    tool("fire", "unsafe", "none"),
    tool("submit", "idempotent", "none", { terminal: true }),
  ];
  return {
    toolbox: { name: "probe", description: "Probes.", tools },
    calls,
    get instant() {
      return probe.instant;
    },
    set instant(value) {
      probe.instant = value;
    },
    names: () => calls.map(({ tool: which, name }) => `${which}(${name})`),
  };
};

/** A tool `big` that says one text. */
export const createBigTool = (content: string): Tool =>
  defineTool({
    name: "big",
    description: "Says much.",
    params: z.strictObject({}),
    safety: "read",
    run: () => ({ content }),
  });
