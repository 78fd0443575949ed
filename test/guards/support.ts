import * as z from "zod";
import { acceptInput } from "../../src/agent/inputs/inputs.ts";
import { startNextRun } from "../../src/agent/run/runs.ts";
import type { Input } from "../../src/agent/state/thread.ts";
import { defineTool } from "../../src/tools/define-tool.ts";
import type { Tool, ToolDefinition } from "../../src/tools/define-tool.ts";
import type { Bench } from "../support/bench.ts";
import { dataOf, results } from "../agent/loop/play.ts";
import { selectThread } from "../../src/agent/transaction/draft.ts";

/** Scripts and tools for tests of guards. */

/** A reply of calls, as YAML: `name` or `name {args}`. */
export const calls = (...each: readonly string[]): string => {
  const parts = each.map((call) => {
    const [, name = "", args = "{}"] = /^(\S+)\s*(\{.*\})?$/.exec(call) ?? [];
    return `{ call: ${name}, args: ${args} }`;
  });
  return `{ reply: [${parts.join(", ")}] }`;
};

/** A script: these replies, one after the other. */
export const script = (...replies: readonly string[]): string => `replies: [${replies.join(", ")}]`;

export const times = (count: number, ...replies: readonly string[]): readonly string[] =>
  Array.from({ length: count }, () => replies).flat();

const params = z.strictObject({
  a: z.unknown().optional().describe("Anything."),
  b: z.unknown().optional().describe("Anything."),
});

/** A tool that says the texts in turn, the last one for ever; `ran` counts its calls. */
export const saying = (
  name: string,
  texts: readonly string[] | ((count: number) => string),
  more: Partial<ToolDefinition<typeof params>> = {},
): { readonly tool: Tool; readonly ran: () => number } => {
  let count = 0;
  const textOf =
    typeof texts === "function" ? texts : (at: number) => texts[Math.min(at, texts.length) - 1] ?? "";
  const tool = defineTool({
    name,
    description: "Of a test.",
    params,
    safety: "read",
    workspace: "none",
    run: () => {
      count += 1;
      return { content: textOf(count) };
    },
    ...more,
  });
  return { tool, ran: () => count };
};

export const same = (name = "same", more: Partial<ToolDefinition<typeof params>> = {}) =>
  saying(name, ["always this"], more);
export const changing = (name = "changing", more: Partial<ToolDefinition<typeof params>> = {}) =>
  saying(name, (count) => `outcome ${count}`, more);

/** An input of an agent, on an idle thread: it begins a run, but is no new intent (EF-31). */
export const fromAgent = (bench: Bench, text = "Go on"): void =>
  bench.change((draft) => {
    const input: Input = {
      id: `in_${draft.state.nextInput}`,
      thread: "main",
      content: [{ type: "text", text }],
      on_busy: "queue",
      sender: "helper",
      origin: "agent",
      status: "accepted",
      at: draft.context.now,
      version: 1,
    };
    draft.state.nextInput += 1;
    acceptInput(draft, input);
    startNextRun(selectThread(draft, "main"));
  });

/** `detector level count` of every loop that was found, in order. */
export const loops = (bench: Bench): readonly string[] =>
  dataOf(bench, "loop_detected").map(({ detector, level, count }) => `${detector} ${level} ${count}`);

/** Places of the results that carry a warning, from 1. */
export const noted = (bench: Bench): readonly number[] =>
  results(bench).flatMap((text, at) => (text.includes("[tool_loops: ") ? [at + 1] : []));

/** Places of the results that were denied, from 1. */
export const denied = (bench: Bench): readonly number[] =>
  results(bench).flatMap((text, at) => (text.startsWith("denied: ") ? [at + 1] : []));
