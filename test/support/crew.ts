import { openBench } from "./bench.ts";
import type { Bench } from "./bench.ts";
import { settle } from "./power-cut.ts";
import { createProbe } from "./probe.ts";
import type { Probe } from "./probe.ts";
import { indent, replies } from "./scripts.ts";
import { engineOf } from "./teams.ts";
import type { Message, ToolResultPart } from "../../src/chat/message.ts";
import type { ChildItem } from "../../src/agent/state/child.ts";
import type { DataOf, EventType, StoredEvent } from "../../src/agent/state/events.ts";
import type { Tables } from "../../src/engine/access/database.ts";
import type { Bindings } from "../../src/engine/secrets/secrets.ts";
import type { Middleware } from "../../src/agent/definition/guard.ts";
import type { Tool } from "../../src/tools/define-tool.ts";

/** Teams of several agents from YAML, each with a script of its own: the n-th call of a thread gets its agent's n-th reply. */

export interface Member {
  readonly name: string;
  /** `replies: [...]` or `scenes: [...]` as YAML. */
  readonly script: string;
  /** More YAML of the agent. */
  readonly yaml?: string;
}

export interface CrewOptions {
  readonly team?: string;
  readonly create?: object;
  readonly instant?: boolean;
  readonly tools?: readonly Tool[];
  /** Bindings of the deployment. */
  readonly env?: Bindings;
  /** The tables of the tenant. */
  readonly tables?: Tables;
  /** Middleware of the team's extensions. */
  readonly middleware?: readonly Middleware[];
}

export interface Crew {
  readonly bench: Bench;
  readonly probe: Probe;
}

/** A member that gives these replies. */
export const member = (name: string, each: readonly string[], yaml = ""): Member => ({
  name,
  script: replies(...each),
  yaml,
});

export const lead = (each: readonly string[], yaml = ""): Member => member("lead", each, yaml);
export const coder = (each: readonly string[], yaml = ""): Member => member("coder", each, yaml);
export const writer = (each: readonly string[], yaml = ""): Member => member("writer", each, yaml);

const providerOf = ({ name, script }: Member): string => `
  - name: p_${name}
    kind: scripted
    model: play
    context_window: 128000
    script:
      script: 1
      pace: { chunk: 400, delay_ms: 0 }
${indent(script, 6)}`;

/** What every member has unless its YAML says otherwise. */
const standard: Readonly<Record<string, string>> = {
  toolboxes: "[probe]",
  permissions: "{ preset: open }",
  guards: "{ tool_loops: false }",
  effects: "[]",
  delegation: "{}",
};

const agentOf = ({ name, yaml = "" }: Member): string => {
  const own = (key: string): boolean => new RegExp(`^${key}:`, "m").test(yaml);
  const added = Object.entries(standard).filter(([key]) => !own(key));
  const lines = [
    `description: The ${name}.`,
    `provider: p_${name}`,
    ...added.map((pair) => pair.join(": ")),
    yaml,
  ];
  return `\n  - name: ${name}\n${indent(lines.join("\n"), 4)}`;
};

/** YAML of a team whose first member is the entry agent. */
export const crewYaml = (members: readonly Member[], team = ""): string =>
  `providers:${members.map(providerOf).join("")}\nagents:${members.map(agentOf).join("")}\n${team}`;

/** Opens sessions of such a team, which is built once; its probes count the calls of all of them. */
export const crewOf = async (
  members: readonly Member[],
  { team = "", create = {}, instant = true, tools = [], middleware = [], env, tables }: CrewOptions = {},
): Promise<() => Crew> => {
  const probe = createProbe(instant);
  const toolbox = { ...probe.toolbox, tools: [...probe.toolbox.tools, ...tools] };
  const engine = await engineOf(crewYaml(members, team), {
    toolboxes: [toolbox],
    middleware,
    ...(env === undefined ? {} : { env }),
  });
  return () => {
    const bench = openBench({
      engine,
      ...(env === undefined ? {} : { env }),
      ...(tables === undefined ? {} : { tables }),
    });
    bench.ok("create", create);
    return { bench, probe };
  };
};

/** A session of such a team on the bench. */
export const crew = async (members: readonly Member[], options: CrewOptions = {}): Promise<Crew> =>
  (await crewOf(members, options))();

/** Plays one input to the end. */
export const mission = async (members: readonly Member[], options: CrewOptions = {}): Promise<Crew> => {
  const made = await crew(members, options);
  made.bench.send("Go");
  await made.bench.idle();
  return made;
};

/** Lets replies go until a number of model calls is held back. */
export const passTurns = async ({ bench }: Pick<Crew, "bench">, turns: number): Promise<void> => {
  bench.hold = true;
  await bench.steps();
  for (let turn = 0; turn < turns; turn++) {
    bench.release();
    bench.hold = true;
    await bench.steps();
  }
};

/** Lets everything that still runs or is due come to its end. */
export const toRest = async ({ bench, probe }: Crew): Promise<void> => {
  probe.instant = true;
  for (const call of probe.calls) call.finish();
  await settle(bench);
};

/** Arguments of one task. */
export const task = (agent: string, more: object = {}): object => ({
  agent,
  task: `Do the ${agent}'s work`,
  context: "",
  ...more,
});

export const delegate = (agent: string, more: object = {}): readonly [string, object] => [
  "delegate_to_agent",
  task(agent, more),
];
export const spawn = (tasks: readonly object[], more: object = {}): readonly [string, object] => [
  "spawn_agents",
  { tasks, ...more },
];

export const eventsAs = <T extends EventType>(
  { bench }: Pick<Crew, "bench">,
  type: T,
): readonly (StoredEvent & { readonly data: DataOf<T> })[] =>
  bench.events().filter((event) => event.type === type) as never;

/** Messages of a thread, also of one that has ended. */
export const chatOf = ({ bench }: Pick<Crew, "bench">, thread: string): readonly Message[] => {
  const { data } = bench.ok("messages", { thread, limit: 200 }) as unknown as { data: readonly Message[] };
  return data;
};

const resultsIn = (chat: readonly Message[]): readonly ToolResultPart[] =>
  chat.flatMap(({ parts }) => parts.filter((part): part is ToolResultPart => part.type === "tool_result"));

const textOfResult = ({ content }: ToolResultPart): string =>
  content.map((part) => (part.type === "text" ? part.text : "")).join("");

/** `status: text` of every result in a thread's chat, in order. */
export const resultsOf = (made: Pick<Crew, "bench">, thread = "main"): readonly string[] =>
  resultsIn(chatOf(made, thread)).map((part) => `${part.status}: ${textOfResult(part)}`);

/** The items of the newest result in `main` that is a list or an item. */
export const itemsOf = (made: Pick<Crew, "bench">, thread = "main"): readonly ChildItem[] => {
  const last = resultsIn(chatOf(made, thread)).at(-1);
  const value: unknown = JSON.parse(last === undefined ? "[]" : textOfResult(last));
  return (Array.isArray(value) ? value : [value]) as readonly ChildItem[];
};

/** Ids of the called threads, in the order of their start. */
export const childIds = (made: Pick<Crew, "bench">): readonly string[] => [
  ...new Set(
    eventsAs(made, "agent_start")
      .map(({ thread }) => thread)
      .filter((thread) => thread !== "main"),
  ),
];

/** `agent state:reason` of every run that ended, in order. */
export const endings = (made: Pick<Crew, "bench">): readonly string[] =>
  eventsAs(made, "run_end").map(({ agent, data }) => `${agent.name} ${data.state}:${data.reason}`);

/** `state:reason` of every run of the lead that ended, in order. */
export const leadEnds = (made: Crew): readonly string[] =>
  endings(made).flatMap((end) => (end.startsWith("lead ") ? [end.slice(5)] : []));

/** Texts of background agents' results that stand in the chat of `main` as they came. */
export const rawIn = (made: Crew): readonly string[] =>
  chatOf(made, "main").flatMap(({ role, parts }) => {
    const text = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
    const raw = role === "assistant" && text.startsWith("An agent that worked in the background has ended");
    return raw ? [text] : [];
  });
