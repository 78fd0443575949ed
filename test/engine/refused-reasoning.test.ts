import { afterAll, beforeAll, expect, test } from "vitest";
import { createEngine } from "../../src/engine/create.ts";
import type { Engine } from "../../src/engine/engine.ts";
import { openBench } from "../support/bench.ts";
import type { Bench } from "../support/bench.ts";
import { createProbe } from "../support/probe.ts";
import { startFakeProvider } from "../support/fake-provider.ts";
import type { FakeProvider, FakeReply } from "../support/fake-provider.ts";
import type { Kind } from "../support/fake-provider-fields.ts";
import { models } from "../support/fake-provider-client.ts";
import { engineOptions, teamOf } from "../support/teams.ts";
import { eventsOf, lastText, say, wireEnv } from "./harness.ts";

/** Reasoning that a provider signed or encrypted for one account, and refuses from another. */

let fake: FakeProvider;
beforeAll(async () => {
  fake = await startFakeProvider();
});
afterAll(() => fake.close());

const engineFor = async (kind: Kind): Promise<Engine> => {
  const probe = createProbe();
  const yaml = `
providers:
  - { name: main, kind: ${kind === "responses" ? "openai, protocol: openai-responses" : kind}, base_url: "${fake.url(kind)}", api_key: "\${KEY}", model: ${models[kind]} }
agents: [{ name: helper, effects: [], toolboxes: [probe], permissions: { preset: open } }]
`;
  const extras = { env: wireEnv(fake), toolboxes: [probe.toolbox] };
  return createEngine(engineOptions(await teamOf(yaml, extras), extras));
};

const openWith = (engine: Engine): Bench => {
  const bench = openBench({ engine });
  bench.ok("create");
  return bench;
};

const open = async (kind: Kind): Promise<Bench> => openWith(await engineFor(kind));

/** How a kind names what it signed, and refuses it. */
const dialects: readonly (readonly [Kind, RegExp, FakeReply])[] = [
  [
    "responses",
    /"encrypted_content":"/g,
    {
      status: 400,
      body: {
        error: {
          type: "invalid_request_error",
          code: "invalid_encrypted_content",
          message: "The encrypted content could not be verified.",
        },
      },
    },
  ],
  [
    "anthropic",
    /"signature":"/g,
    {
      status: 400,
      body: {
        type: "error",
        error: {
          type: "invalid_request_error",
          message: "messages.1.content.0: Invalid `signature` in `thinking` block",
        },
      },
    },
  ],
  [
    "gemini",
    /"thought_signature":"sig/g,
    {
      status: 400,
      body: [
        { error: { code: 400, status: "INVALID_ARGUMENT", message: "Thought signature is not valid." } },
      ],
    },
  ],
];

const look = { pieces: [{ reasoning: "I shall look." }, { call: "look", args: { place: "pool" } }] };
const answer = { pieces: [{ reasoning: "I know." }, { text: "A crab." }] };

/** Answers like an account that knows only so many pieces of signed reasoning, all of its own. */
const play = (signed: RegExp, refusal: FakeReply, known: { count: number }) => {
  fake.play(({ text }) => {
    const sent = text.match(signed)?.length ?? 0;
    if (sent > known.count) return refusal;
    known.count = sent + 1;
    return { speech: text.includes("Look") && !text.includes("A crab") && sent === 0 ? look : answer };
  });
};

test.each(dialects)(
  "MO-3: %s: a chat whose reasoning the provider refuses goes on without it, and says so once ★",
  async (kind, signed, refusal) => {
    const bench = await open(kind);
    const known = { count: 0 };
    play(signed, refusal, known);
    expect(await say(bench, "Look")).toMatchObject({ state: "completed" });
    known.count = 0;
    bench.crash();
    const before = fake.requests.length;
    expect(await say(bench, "And now?")).toMatchObject({ state: "completed" });
    const [refused, taken, ...more] = fake.requests.slice(before);
    expect(refused?.text).toMatch(signed);
    expect(taken?.text).not.toMatch(signed);
    expect(taken?.text.match(/"phase":/g) ?? []).toHaveLength(kind === "responses" ? 1 : 0);
    expect(more).toEqual([]);
    expect(lastText(bench, "assistant")).toBe("A crab.");
    expect(eventsOf(bench, "error").map(({ code }) => code)).toEqual(["reasoning_refused"]);
    const run = String(bench.events().findLast(({ type }) => type === "run_end")?.run);
    expect(bench.ok("context", { run, turn: 1 })).toMatchObject({ verified: true });
    bench.crash();
    await say(bench, "And then?");
    expect(fake.requests.at(-1)?.text.match(signed) ?? []).toHaveLength(kind === "gemini" ? 0 : 1);
    expect(eventsOf(bench, "error")).toHaveLength(1);
  },
);

test("MO-3 MO-27: a fallback that refuses its reasoning takes nothing from the reasoning of the first target", async () => {
  const [responses, anthropic] = dialects;
  const [first, signed] = responses as (typeof dialects)[number];
  const [second, , refusal] = anthropic as (typeof dialects)[number];
  const yaml = `
providers:
  - { name: main, kind: openai, protocol: openai-responses, base_url: "${fake.url(first)}", api_key: "\${KEY}", model: ${models[first]}, rate_limit: { max_retries: 0 }, fallbacks: [spare] }
  - { name: spare, kind: anthropic, base_url: "${fake.url(second)}", api_key: "\${KEY}", model: ${models[second]} }
agents: [{ name: helper, effects: [] }]
`;
  const bench = openWith(createEngine(engineOptions(await teamOf(yaml), { env: wireEnv(fake) })));
  fake.play(() => ({ speech: answer }));
  await say(bench, "Look");
  fake.play(({ kind, text }) => {
    if (kind === first) return { status: 400, body: { error: { code: "model_not_found" } } };
    return text.includes('"signature":"') ? refusal : { speech: answer };
  });
  await say(bench, "And now?");
  expect(await say(bench, "And then?")).toMatchObject({ state: "completed" });
  expect(eventsOf(bench, "error").filter(({ code }) => code === "reasoning_refused")).toHaveLength(1);
  fake.play(() => ({ speech: answer }));
  await say(bench, "And at last?");
  expect(fake.requests.at(-1)).toMatchObject({ kind: first });
  expect(fake.requests.at(-1)?.text.match(signed) ?? []).toHaveLength(1);
});

test("SE-45 MO-3: a fork leaves out what its source was refused", async () => {
  const [[kind, signed, refusal] = ["responses", / /g, {}]] = dialects;
  const engine = await engineFor(kind as Kind);
  const source = openWith(engine);
  const known = { count: 0 };
  play(signed, refusal, known);
  await say(source, "Look");
  known.count = 0;
  await say(source, "And now?");
  const fork = openBench({ engine, id: "s_bbbbbbbbbbbbbbbbbbbbbbbbbb", source });
  fork.ok("fork", { source: source.id, at: source.state().head });
  expect(await say(fork, "And there?")).toMatchObject({ state: "completed" });
  expect(eventsOf(fork, "error")).toEqual([]);
});

test("MO-25: a chat that holds phases but no reasoning is not asked again without them", async () => {
  const [[kind, , refusal] = ["responses", / /, {}]] = dialects;
  const bench = await open(kind as Kind);
  fake.play(() => ({ speech: { pieces: [{ text: "A crab." }] } }));
  expect(await say(bench, "Look")).toMatchObject({ state: "completed" });
  fake.play(() => refusal);
  const before = fake.requests.length;
  expect(await say(bench, "And now?")).toMatchObject({ state: "failed", reason: "provider_error" });
  expect(fake.requests.length - before).toBe(1);
});

test("MO-25: a provider that refuses reasoning though none is sent fails the run, and nothing turns in a circle", async () => {
  const [[kind, , refusal] = ["responses", / /, {}]] = dialects;
  const bench = await open(kind as Kind);
  fake.play(() => refusal);
  const before = fake.requests.length;
  expect(await say(bench, "Look")).toMatchObject({ state: "failed", reason: "provider_error" });
  expect(fake.requests.length - before).toBeLessThanOrEqual(2);
});
