import * as z from "zod";
import type { Effect } from "../../src/agent/definition/effect.ts";
import type { Bench } from "../support/bench.ts";
import type { FakeProvider } from "../support/fake-provider.ts";
import type { Speech } from "../support/fake-provider-reply.ts";
import { indent } from "../support/scripts.ts";
import { defineTool } from "../../src/tools/define-tool.ts";
import type { Toolbox } from "../../src/tools/define-tool.ts";
import { benchOf, wireEnv } from "../engine/harness.ts";
import type { EngineExtras } from "../support/teams.ts";

/** Runs of an agent whose effects stand in YAML, up to the bytes that reach a provider. */

export type Turn = Speech["pieces"];

/** A call of a turn. */
export const use = (call: string, args: object = {}): Turn[number] => ({ call, args });
export const done: Turn = [{ text: "Done." }];

const named = z.strictObject({
  name: z.string().default("").describe("Name."),
  line: z.number().default(0).describe("Line."),
});

/** `long` says much, `fail` fails, `redden` is a command whose tests fail, `edit` changes a file, `danger` is there to be hidden. */
const kit: Toolbox = {
  name: "kit",
  description: "Tools of a test.",
  tools: [
    defineTool({
      name: "long",
      description: "Says much.",
      params: named,
      safety: "read",
      run: ({ name }) => ({ content: `${name} ${"word ".repeat(200)}end` }),
    }),
    defineTool({
      name: "fail",
      description: "Fails.",
      params: named,
      safety: "read",
      run: ({ name }) => ({ content: `failed: no ${name}`, isError: true }),
    }),
    defineTool({
      name: "redden",
      description: "Runs tests that fail.",
      params: named,
      safety: "read",
      run: ({ name }) => ({ content: `${name} ${"word ".repeat(200)}end`, isError: true, exitCode: 1 }),
    }),
    defineTool({
      name: "edit",
      description: "Changes a file.",
      params: named,
      safety: "idempotent",
      run: ({ name }) => ({ content: "ok", changes: [{ path: name, op: "modify" }] }),
    }),
    defineTool({
      name: "danger",
      description: "Is there to be hidden.",
      params: named,
      safety: "read",
      run: () => ({ content: "it ran" }),
    }),
  ],
};

export interface WireOptions extends Omit<EngineExtras, "effects"> {
  /** YAML of the agent's `effects`; null: the key is left out. */
  readonly effects: string | null;
  /** What the model says, turn by turn; the last again for whatever comes after. */
  readonly turns: readonly Turn[];
  /** Effects of the team's extensions. */
  readonly own?: readonly Effect[];
  /** Tokens of the model's context window. */
  readonly window?: number;
  readonly boxes?: string;
  /** Further YAML of the agent. */
  readonly agent?: string;
  /** YAML of the provider's limit of output and reasoning. */
  readonly output?: string;
}

const teamYaml = (
  fake: FakeProvider,
  { effects, window = 100_000, boxes = "kit", agent = "", output = "max_tokens: 1024" }: WireOptions,
) => `
providers:
  - name: main
    kind: anthropic
    base_url: ${fake.url("anthropic")}
    api_key: \${KEY}
    model: claude-sonnet-5-5
    context_window: ${window}
${indent(output, 4)}
agents:
  - name: helper
    toolboxes: [${boxes}]
    permissions: { preset: open }
    guards: { tool_loops: false, context_window: { minimum: 0, warning: 0 } }
${effects === null ? "" : `    effects:\n${indent(effects, 6)}`}
${agent === "" ? "" : indent(agent, 4)}
`;

interface Block {
  readonly type: string;
  readonly text?: string;
  readonly name?: string;
  readonly input?: unknown;
  readonly content?: string | readonly Block[];
}

const lineOf = (role: string, { type, text = "", name = "", input, content = "" }: Block): string => {
  if (type === "tool_use") return `call: ${name} ${JSON.stringify(input)}`;
  if (type !== "tool_result") return `${role}: ${text}`;
  return `result: ${typeof content === "string" ? content : content.map((block) => block.text ?? "").join("")}`;
};

/** The messages of a request as it arrived, a line for each of their blocks. */
const linesOf = (body: Readonly<Record<string, unknown>>): readonly string[] =>
  (body["messages"] as readonly { role: string; content: string | readonly Block[] }[]).flatMap(
    ({ role, content }) =>
      typeof content === "string" ? [`${role}: ${content}`] : content.map((block) => lineOf(role, block)),
  );

export interface Wired {
  readonly bench: Bench;
  /** What arrived, request by request. */
  readonly requests: () => readonly (readonly string[])[];
  /** Names of the tools that the newest request declared. */
  readonly tools: () => readonly string[];
}

/** A created session; nothing was said to it yet. */
export const wired = async (fake: FakeProvider, options: WireOptions): Promise<Wired> => {
  const { turns, toolboxes = [], env, own = [], files = {} } = options;
  let asked = 0;
  // A summary is asked for without tools.
  fake.play(({ body }) => ({
    speech: {
      pieces: "tools" in body ? (turns[asked++] ?? turns.at(-1) ?? done) : [{ text: "## Goal\nGo." }],
    },
  }));
  const before = fake.requests.length;
  const arrived = () => fake.requests.slice(before);
  const bench = await benchOf(
    teamYaml(fake, options),
    { files, effects: own, env: wireEnv(fake, env), toolboxes: [kit, ...toolboxes] },
    {},
  );
  return {
    bench,
    requests: () => arrived().map(({ body }) => linesOf(body)),
    tools: () =>
      ((arrived().at(-1)?.body["tools"] ?? []) as readonly { name: string }[]).map(({ name }) => name),
  };
};

/** Plays one input to the end. */
export const ranOn = async (fake: FakeProvider, options: WireOptions): Promise<Wired> => {
  const run = await wired(fake, options);
  run.bench.send("Go");
  await run.bench.idle();
  return run;
};
