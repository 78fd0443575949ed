import { afterAll, beforeAll, expect, test } from "vitest";
import { createProbe } from "../support/probe.ts";
import { sealFor } from "../support/fake-provider-fields.ts";
import { startFakeProvider } from "../support/fake-provider.ts";
import type { FakeProvider } from "../support/fake-provider.ts";
import { benchOf, eventsOf, lastText, say, wireEnv } from "./harness.ts";

/** Models that OpenAI lets use tools over its Responses API only, from the team file to the wire. */

let fake: FakeProvider;
beforeAll(async () => {
  fake = await startFakeProvider();
});
afterAll(() => fake.close());

const yaml = (provider: string): string => `
providers: [{ name: main, api_key: "\${KEY}", ${provider} }]
agents: [{ name: helper, effects: [], toolboxes: [probe], permissions: { preset: open } }]
`;

const vendors: ReadonlySet<string> = new Set(["api.openai.com", "eu.api.openai.com", "api.x.ai"]);

/** The network, in which the fake stands at the vendors' addresses. */
const fetchFromFake: typeof fetch = (input, init) => {
  const url = new URL(input instanceof Request ? input.url : input);
  return fetch(vendors.has(url.hostname) ? new URL(url.pathname, fake.url("openai")) : url, init);
};

const open = (provider: string) => {
  const probe = createProbe();
  const extras = { env: wireEnv(fake), toolboxes: [probe.toolbox], fetch: fetchFromFake };
  return benchOf(yaml(provider), extras, {});
};

/** Plays these replies, one for each request, and tells what was asked. */
const play = (...replies: readonly (readonly object[])[]) => {
  const left = [...replies];
  const begin = fake.requests.length;
  fake.play(() => ({ speech: { pieces: (left.shift() ?? [{ text: "Done." }]) as never } }));
  return () => fake.requests.slice(begin);
};

const look = [
  { reasoning: "I shall look." },
  { text: "Let me look." },
  { call: "look", args: { place: "pool" } },
];

test("MO-5 MO-17: a model that takes tools over the Responses API only is asked over it, with nothing to set", async () => {
  const bench = await open("kind: openai, model: gpt-6.1-sol");
  const asked = play(look, [{ reasoning: "Seen." }, { text: "There is a crab." }]);
  expect(await say(bench)).toMatchObject({ state: "completed" });
  expect(asked().map(({ path }) => path)).toEqual(["/v1/responses", "/v1/responses"]);
  expect(lastText(bench, "assistant")).toBe("There is a crab.");
  expect(eventsOf(bench, "error")).toEqual([]);
  const [thought] = bench.chat().flatMap(({ parts }) => parts.filter(({ type }) => type === "reasoning"));
  expect(thought).toMatchObject({ text: "I shall look.", model: "main/gpt-6.1-sol" });
});

test("MO-3: its encrypted reasoning and the phases of its texts go back byte for byte, after a restart too ★", async () => {
  const bench = await open("kind: openai, model: gpt-6.1-sol");
  play(look, [{ reasoning: "Seen." }, { text: "There is a crab." }]);
  await say(bench);
  bench.crash();
  const asked = play([{ text: "Two." }]);
  expect(await say(bench, "How many?")).toMatchObject({ state: "completed" });
  const input = (asked()[0]?.body["input"] ?? []) as readonly Record<string, unknown>[];
  const reasoning = input.filter(({ type }) => type === "reasoning");
  expect(reasoning.map((item) => Object.keys(item))).toEqual(
    Array.from({ length: 2 }, () => ["type", "summary", "encrypted_content"]),
  );
  const seals = reasoning.map(({ encrypted_content: sent }) => String(sent));
  expect(seals).toEqual(seals.map((sent) => sealFor(sent.split(":")[0] ?? "")));
  expect(
    input.filter(({ phase }) => phase !== undefined).map(({ phase, content }) => [phase, content]),
  ).toEqual([
    ["commentary", "Let me look."],
    ["final_answer", "There is a crab."],
  ]);
});

const expectPath = async (provider: string, path: string): Promise<void> => {
  const bench = await open(provider);
  const asked = play([{ call: "look", args: { place: "pool" } }], [{ text: "Done." }]);
  expect(await say(bench)).toMatchObject({ state: "completed" });
  expect(asked().map((request) => request.path)).toEqual([path, path]);
};

test.each([
  ["kind: openai, model: gpt-6.1-sol, protocol: openai-chat", "/v1/chat/completions"],
  ["kind: openai, model: gpt-4o", "/v1/chat/completions"],
  ["kind: openai, model: my-deployment", "/v1/chat/completions"],
  ["kind: openai, model: gpt-4o, protocol: openai-responses", "/v1/responses"],
  ['kind: openai, model: gpt-6.1-sol, base_url: "https://eu.api.openai.com/v1"', "/v1/responses"],
  ["kind: grok, model: grok-4.7", "/v1/responses"],
  ["kind: grok, model: grok-4.7, protocol: openai-chat", "/v1/chat/completions"],
])("MO-5 MO-17: {%s} is asked at the vendor's %s", async (provider, path) => {
  await expectPath(provider, path);
});

test.each([
  ["kind: openai, model: gpt-6.1-sol", "/v1/chat/completions"],
  ["kind: grok, model: grok-4.7", "/v1/chat/completions"],
  ["kind: openai, model: gpt-6.1-sol, protocol: openai-responses", "/v1/responses"],
  ["kind: openai-compatible, model: local, protocol: openai-responses", "/v1/responses"],
])("MO-5: {%s} at another address is asked at %s", async (provider, path) => {
  await expectPath(`${provider}, base_url: "${fake.url("openai")}"`, path);
});

test.each([
  ["reasoning: { effort: high }", { effort: "high" }],
  ["reasoning: { effort: high, summary: auto }", { effort: "high", summary: "auto" }],
])(
  "MO-17: with {%s} a summary of reasoning is asked for only if the team asks",
  async (written, reasoning) => {
    const bench = await open(`kind: openai, model: gpt-5.4, ${written}`);
    const asked = play([{ text: "Done." }]);
    expect(await say(bench)).toMatchObject({ state: "completed" });
    expect(asked()[0]?.body["reasoning"]).toEqual(reasoning);
  },
);

test("MO-3 MO-17: the reasoning of a Grok that takes no effort goes back to it, and its effort is said to be dropped", async () => {
  const bench = await open("kind: grok, model: grok-4.20, reasoning: { effort: high }");
  const asked = play(look, [{ text: "A crab." }]);
  expect(await say(bench)).toMatchObject({ state: "completed" });
  const [first, second] = asked().map(({ body }) => body);
  expect(first).toMatchObject({ include: ["reasoning.encrypted_content"] });
  expect(first).not.toHaveProperty("reasoning");
  expect(second?.["input"]).toContainEqual(expect.objectContaining({ type: "reasoning" }));
  expect(eventsOf(bench, "error")).toMatchObject([{ code: "param_dropped" }]);
});

test("MO-35: reasoning that goes back, which a server need not count, is not taken for a cut input", async () => {
  const bench = await open("kind: openai, model: gpt-5.4");
  play([{ reasoning: "Hm. ".repeat(5_000) }, { text: "A crab." }], [{ text: "Two." }]);
  await say(bench);
  expect(await say(bench, "How many?")).toMatchObject({ state: "completed" });
  expect(eventsOf(bench, "error")).toEqual([]);
});
