import type { DataOf, EventType, ReportedMessage, StoredEvent } from "../../../src/agent/state/events.ts";
import type { ToolResultPart } from "../../../src/chat/message.ts";
import type { Middleware } from "../../../src/agent/definition/guard.ts";
import type { OutputCheck } from "../../../src/engine/middleware.ts";
import type { Tool } from "../../../src/tools/define-tool.ts";
import type { Bench } from "../../support/bench.ts";
import { openBench } from "../../support/bench.ts";
import type { TestEffects } from "../../support/effects.ts";
import { withEffects } from "../../support/effects.ts";
import type { Probe } from "../../support/probe.ts";
import { createProbe } from "../../support/probe.ts";
import { scripted } from "../../support/scripts.ts";
import { engineOf } from "../../support/teams.ts";

/** A scripted session from YAML, and short ways to say what came of it. */

export interface Play {
  readonly bench: Bench;
  readonly probe: Probe;
}

export interface PlayOptions {
  /** YAML of the agent, beside what `scripted` gives it. */
  readonly agent?: string;
  /** YAML of the team. */
  readonly team?: string;
  /** Calls of probes end by themselves; default true. */
  readonly instant?: boolean;
  /** More tools in the `probe` toolbox. */
  readonly tools?: readonly Tool[];
  /** Tools that exist in a toolbox which the agent does not have. */
  readonly others?: readonly Tool[];
  readonly create?: object;
  /** Idempotency key of the create. */
  readonly key?: string;
  /** The whole YAML instead of `scripted`. */
  readonly yaml?: string;
  readonly id?: string;
  /** Effects of the test's own instead of the agent's. */
  readonly effects?: TestEffects;
  /** Checks of the team's extensions. */
  readonly checks?: readonly OutputCheck[];
  /** Middleware of the team's extensions. */
  readonly middleware?: readonly Middleware[];
}

export const play = async (replies: string, options: PlayOptions = {}): Promise<Play> => {
  const { agent = "", team = "", instant = true, tools = [], others = [], create = {}, id } = options;
  const probe = createProbe(instant);
  const toolbox = { ...probe.toolbox, tools: [...probe.toolbox.tools, ...tools] };
  const yaml = options.yaml ?? scripted(replies, agent, team);
  const engine = await engineOf(yaml, {
    toolboxes: [toolbox, { name: "others", description: "Others.", tools: others }],
    checks: options.checks ?? [],
    middleware: options.middleware ?? [],
  });
  const bench = openBench({
    engine: options.effects === undefined ? engine : withEffects(engine, options.effects),
    ...(id === undefined ? {} : { id }),
  });
  bench.ok("create", create, options.key);
  return { bench, probe };
};

/** Plays one input to the end. */
export const run = async (replies: string, options: PlayOptions = {}): Promise<Play> => {
  const played = await play(replies, options);
  played.bench.send("Go");
  await played.bench.idle();
  return played;
};

export const dataOf = <T extends EventType>(bench: Bench, type: T): readonly DataOf<T>[] =>
  bench.events().flatMap((event) => (event.type === type ? [event.data as unknown as DataOf<T>] : []));

/** `state:reason` of every run that ended, in order. */
export const ends = (bench: Bench): readonly string[] =>
  dataOf(bench, "run_end").map(({ state, reason }) => `${state}:${reason}`);

export const lastResult = (bench: Bench): DataOf<"run_end">["result"] => {
  const end = dataOf(bench, "run_end").at(-1);
  if (end === undefined) throw new Error("no run has ended");
  return end.result;
};

export const textsOf = ({ parts }: Pick<ReportedMessage, "parts">): string =>
  parts
    .flatMap((part) =>
      part.type === "text" ? [part.text] : part.type === "tool_result" ? [resultText(part)] : [],
    )
    .join("");

export const resultText = ({ content = [] }: Partial<Pick<ToolResultPart, "content">>): string =>
  content.map((each) => (each.type === "text" ? each.text : `[${each.type}]`)).join("");

/** `status: text` of every result in the chat, in order. */
export const results = (bench: Bench): readonly string[] =>
  bench
    .chat()
    .flatMap(({ parts }) =>
      parts.flatMap((part) => (part.type === "tool_result" ? [`${part.status}: ${resultText(part)}`] : [])),
    );

export const roles = (bench: Bench): readonly string[] => bench.chat().map(({ role }) => role);

/** Ids of the open asks, oldest first. */
export const openAsks = (bench: Bench): readonly string[] => Object.keys(bench.state().asks);

export const onlyAsk = (bench: Bench): string => {
  const [ask, ...more] = openAsks(bench);
  if (ask === undefined || more.length > 0) throw new Error(`${more.length + 1} asks are open, not one`);
  return ask;
};

/** The problem code of a command that must be refused; nothing may be stored by it. */
export const refused = (
  bench: Bench,
  op: Parameters<Bench["perform"]>[0],
  params: object,
  key?: string,
): string => {
  const before = bench.state();
  const reply = bench.perform(op, params, key);
  if (reply.ok) throw new Error(`${op} was not refused`);
  if (bench.state() !== before) throw new Error(`${op} was refused but stored something`);
  return reply.problem.code;
};

/** Types of the events after `seq`. */
export const typesAfter = (bench: Bench, seq: number): readonly string[] =>
  bench
    .events()
    .filter((event: StoredEvent) => event.seq > seq)
    .map(({ type }) => type);

export const headOf = (bench: Bench): number => bench.state().head;
