import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import * as z from "zod";
import { defineTool } from "../../src/tools/define-tool.ts";
import type { Bench } from "../support/bench.ts";
import type { ItemDelta } from "../../src/model/completer.ts";
import { requestOf } from "../support/fake-provider-client.ts";
import { startFakeProvider } from "../support/fake-provider.ts";
import type { FakeProvider } from "../support/fake-provider.ts";
import { engineOf } from "../support/teams.ts";
import { benchOf, lastEvent, lastText, say, wireEnv } from "./harness.ts";

const tables = [
  "threads",
  "turns",
  "messages",
  "outcomes",
  "inputs",
  "asks",
  "events",
  "items",
  "runs",
  "usage",
  "blobs",
  "idempotency",
];

const canaries = {
  KEY: "canary-of-the-key",
  HEADER: 'canary"of\\the/header',
  QUERY: "canary of=the query",
  STORED: "canary-in-the-store",
};
const encodings: readonly ((text: string) => string)[] = [
  (text) => text,
  encodeURIComponent,
  (text) => JSON.stringify(text).slice(1, -1),
  (text) => Buffer.from(text).toString("base64").replace(/=+$/, ""),
];
const forms = Object.values(canaries).flatMap((value) => encodings.map((encode) => encode(value)));
const echo = forms.join(" and ");

let fake: FakeProvider;
beforeAll(async () => {
  fake = await startFakeProvider();
});
afterAll(() => fake.close());
beforeEach(() => fake.play(() => ({ speech: { pieces: [{ text: "Fine." }] } })));

const team = (kind: "anthropic" | "openai"): string => `
providers:
  - name: main
    kind: ${kind}
    base_url: ${fake.url(kind)}
    api_key: \${KEY}
    headers: { X-One: "pre \${HEADER}", X-Two: "\${STORED}", X-Three: "\${QUERY}" }
    rate_limit: { max_retries: 0 }
    model: ${kind === "openai" ? "gpt-6.1-sol" : "claude-sonnet-5-5"}

agents:
  - name: helper
    effects: []
    toolboxes: [echoes]
    permissions: { preset: open }
`;

const echoes = {
  name: "echoes",
  description: "Gives back what it should not know.",
  tools: [
    defineTool({
      name: "leak",
      description: "Leaks.",
      params: z.strictObject({ how: z.string().describe("How.") }),
      safety: "read",
      run: ({ how }, context) => {
        context.memo.set({ kept: echo });
        for (const piece of `live ${echo} end`.match(/.{1,5}/gs) ?? []) context.show(piece);
        if (how === "throw") throw new Error(`cannot ${echo}`);
        if (how === "ask")
          return {
            parked: {
              on: "ask" as const,
              question: { text: echo, options: [echo], multi_select: false, strict: false },
            },
          };
        return {
          content: `got ${echo}`,
          details: { [echo]: [echo] },
          statusText: echo,
          changes: [{ path: "a", op: "create" as const, diff: echo }],
        };
      },
    }),
  ],
};

const env = (): Record<string, unknown> =>
  wireEnv(fake, {
    ...canaries,
    LIMPET_ADMIN_KEY: "canary-of-the-admin-key",
    STORED: { get: async () => canaries.STORED },
  });

const open = (kind: "anthropic" | "openai"): Promise<Bench> =>
  benchOf(team(kind), { env: env(), toolboxes: [echoes] }, {});

/** Every byte that the session stored, showed or answered. */
const everything = (bench: Bench): string =>
  JSON.stringify([
    tables.map((table) => bench.rows(table)),
    bench.published,
    bench.deltas,
    bench.ok("snapshot"),
    bench.ok("messages", { retired: true }),
    bench.state(),
    bench.requests.map(({ messages, system }) => [messages, system]),
  ]);

const leaked = (bench: Bench): readonly string[] => {
  const text = everything(bench);
  return [...forms, "canary-of-the-admin-key"].filter(
    (form) => text.includes(form) || text.includes(JSON.stringify(form).slice(1, -1)),
  );
};

test.each(["anthropic", "openai"] as const)(
  "★ RE-15: %s echoes every secret, split over deltas: no byte of it is stored, shown or sent back",
  async (kind) => {
    const bench = await open(kind);
    await say(bench);
    let spoken = 0;
    fake.play(() =>
      (spoken += 1) === 1
        ? {
            speech: {
              chunk: 3,
              pieces: [
                ...(kind === "anthropic" ? [{ reasoning: `thinking of ${echo}` }] : []),
                { text: `said ${echo} end` },
                { call: "leak", args: { how: echo } },
              ],
            },
          }
        : { speech: { pieces: [{ text: "Done." }] } },
    );
    expect(await say(bench)).toMatchObject({ state: "completed" });
    expect(lastText(bench, "tool")).toContain("got [secret:KEY] and [secret:KEY]");
    expect(leaked(bench)).toEqual([]);
  },
);

test("RE-15: streamed pieces are told only as far as they cannot begin a secret, and their offsets are those of what was told", async () => {
  const engine = await engineOf(team("openai"), { env: env(), toolboxes: [echoes] });
  const [target] = engine.agent("helper", { model: null, tools: null, clientTools: [] } as never).targets;
  fake.play(() => ({ speech: { chunk: 2, pieces: [{ text: `said ${echo} end` }] } }));
  const deltas: ItemDelta[] = [];
  const reply = await target?.completer.complete(requestOf("openai", { model: "gpt-6.1-sol" }), {
    signal: new AbortController().signal,
    onDelta: (some) => void deltas.push(...some),
  });
  let told = "";
  for (const { off, data } of deltas) {
    expect(off).toBe(told.length);
    told += data;
  }
  const [part] = reply?.parts ?? [];
  const whole = part?.type === "text" ? part.text : "";
  expect(whole).toMatch(/^said \[secret:KEY\] and .* end$/);
  expect(whole.startsWith(told)).toBe(true);
  expect(told.length).toBeGreaterThan(whole.length - 30);
});

test("a filtered call keeps its deadlines by the caller's timers", async () => {
  const engine = await engineOf(team("openai"), { env: env(), toolboxes: [echoes] });
  const [target] = engine.agent("helper", { model: null, tools: null, clientTools: [] } as never).targets;
  fake.play(() => ({ speech: { pieces: [{ text: "Done." }] } }));
  const after = vi.fn(() => ({ cancel: () => undefined }));
  await target?.completer.complete(requestOf("openai", { model: "gpt-6.1-sol" }), {
    signal: new AbortController().signal,
    timers: { now: Date.now, after },
  });
  expect(after).toHaveBeenCalled();
});

test("RE-15: a tool that throws, shows or asks with a secret gives none of it away", async () => {
  const bench = await open("openai");
  const calls = ["throw", "ask"];
  fake.play(() => {
    const how = calls.shift();
    return {
      speech: { pieces: how === undefined ? [{ text: "Done." }] : [{ call: "leak", args: { how } }] },
    };
  });
  bench.send("Go");
  await bench.idle();
  expect(lastText(bench, "tool")).toMatch(/^failed: cannot \[secret:KEY\] and /);
  const [ask] = Object.values(bench.state().asks);
  expect(ask?.question?.text).toContain("[secret:HEADER]");
  expect(leaked(bench)).toEqual([]);
  bench.ok("answer", { ask: ask?.id, decision: "answer", text: `it is ${echo}` });
  await bench.idle();
  expect(lastEvent(bench, "run_end")).toMatchObject({ state: "completed" });
  expect(lastText(bench, "tool")).toContain("it is [secret:KEY]");
  expect(leaked(bench)).toEqual([]);
});

test("RE-15: what a caller sends is filtered before anything is done with it, and a repeat is still a repeat", async () => {
  const bench = await open("openai");
  await say(bench);
  const first = bench.ok("send", { content: `my ${echo}`, sender: canaries.KEY }, "key-1");
  await bench.idle();
  bench.ok("patch", { title: canaries.KEY, metadata: { a: canaries.HEADER } });
  expect(bench.ok("send", { content: `my ${echo}`, sender: canaries.KEY }, "key-1")).toEqual(first);
  expect(lastText(bench, "user")).toContain("my [secret:KEY] and");
  expect(leaked(bench)).toEqual([]);
});

test("RE-15: the first admin key and a key that stands in the file are known; names of models and places are no secrets", async () => {
  const yaml = `
providers:
  - { name: main, kind: openai, api_key: a-literal-key-value, allow_literal_secrets: true, model: "\${MODEL}", base_url: "\${PLACE}" }
agents: [{ name: helper, effects: [] }]
`;
  const { redactor } = await engineOf(yaml, {
    env: {
      MODEL: "gpt-6.1-sol",
      PLACE: "https://api.example.com/v1",
      LIMPET_ADMIN_KEY: "canary-of-the-admin-key",
    },
  });
  const text = "gpt-6.1-sol at https://api.example.com/v1";
  expect(redactor.text(text)).toBe(text);
  expect(redactor.text("canary-of-the-admin-key a-literal-key-value")).toBe(
    "[secret:LIMPET_ADMIN_KEY] [secret:main.api_key]",
  );
});

test("RE-15: every text binding of 8 characters is known, whether the team file names it or not", async () => {
  const yaml = `
providers:
  - { name: main, kind: openai, api_key: "\${KEY}", model: "\${MODEL}", headers: { X-Model: "\${BOTH}" } }
agents: [{ name: helper, effects: [], model: "\${BOTH}" }]
`;
  const { redactor } = await engineOf(yaml, {
    env: {
      KEY: canaries.KEY,
      MODEL: "gpt-6.1-sol",
      BOTH: "gpt-6.1-moon",
      STRAY: "canary-of-a-stray",
      LIMPET_OTHER: "canary-of-the-runtime",
      EIGHT: "8-chars!",
      SEVEN: "7-chars",
      OBJECT: { text: "canary-in-an-object", get: async () => "canary-in-an-object" },
      LIMPET_PRIVATE_EGRESS: "127.0.0.1:8801",
    },
  });
  expect(redactor.text("canary-of-a-stray, canary-of-the-runtime, 8-chars!, gpt-6.1-moon")).toBe(
    "[secret:STRAY], [secret:LIMPET_OTHER], [secret:EIGHT], [secret:BOTH]",
  );
  const open = "7-chars canary-in-an-object gpt-6.1-sol http://127.0.0.1:8801/v1";
  expect(redactor.text(open), "what is short, is no text, or names a model or a place").toBe(open);
});

test("★ RE-15: a binding that nothing refers to stands in nothing that a session stores or shows", async () => {
  const stray = "canary-of-a-stray";
  const bench = await benchOf(team("openai"), { env: { ...env(), STRAY: stray }, toolboxes: [echoes] }, {});
  fake.play(() => ({ speech: { pieces: [{ text: `It is ${stray}.` }] } }));
  bench.send(`Say ${stray}`);
  await bench.idle();
  expect(lastText(bench, "assistant")).toBe("It is [secret:STRAY].");
  expect(everything(bench)).not.toContain(stray);
});
