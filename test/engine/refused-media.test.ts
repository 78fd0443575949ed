import { afterAll, beforeAll, expect, test } from "vitest";
import type { Bench } from "../support/bench.ts";
import { openBench } from "../support/bench.ts";
import { startFakeProvider } from "../support/fake-provider.ts";
import type { FakeProvider, FakeReply } from "../support/fake-provider.ts";
import type { Kind } from "../support/fake-provider-fields.ts";
import { models } from "../support/fake-provider-client.ts";
import { engineOptions, teamOf } from "../support/teams.ts";
import { createEngine } from "../../src/engine/create.ts";
import type { Engine } from "../../src/engine/engine.ts";
import { eventsOf, lastText, say, wireEnv } from "./harness.ts";

/** Images and documents that a provider refuses. */

let fake: FakeProvider;
beforeAll(async () => {
  fake = await startFakeProvider();
});
afterAll(() => fake.close());

const engineFor = async (kind: Kind): Promise<Engine> => {
  const yaml = `
providers:
  - { name: main, kind: ${kind === "responses" ? "openai, protocol: openai-responses" : kind}, base_url: "${fake.url(kind)}", api_key: "\${KEY}", model: ${models[kind]} }
agents: [{ name: helper, effects: [] }]
`;
  return createEngine(engineOptions(await teamOf(yaml), { env: wireEnv(fake) }));
};

const openWith = (engine: Engine): Bench => {
  const bench = openBench({ engine });
  bench.ok("create");
  return bench;
};

const photo = (name: string) => [
  { type: "text", text: `What is on ${name}?` },
  { type: "image", media_type: "image/png", url: `https://example.com/${name}.png` },
];

const look = async (bench: Bench, name: string): Promise<unknown> => {
  bench.ok("send", { content: photo(name) });
  await bench.idle();
  return eventsOf(bench, "run_end").at(-1);
};

/** How a kind refuses an image. */
const dialects: readonly (readonly [Kind, FakeReply])[] = [
  [
    "anthropic",
    {
      status: 400,
      body: {
        type: "error",
        error: {
          type: "invalid_request_error",
          message: "messages.0.content.1.image.source.url: The address could not be read.",
        },
      },
    },
  ],
  [
    "responses",
    {
      status: 400,
      body: {
        error: {
          type: "invalid_request_error",
          code: "invalid_image_url",
          message: "Timeout while downloading https://example.com/old.png.",
          param: "url",
        },
      },
    },
  ],
  [
    "gemini",
    {
      status: 400,
      body: [{ error: { code: 400, status: "INVALID_ARGUMENT", message: "Unable to process input image." } }],
    },
  ],
];

const answer: FakeReply = { speech: { pieces: [{ text: "A crab." }] } };

/** Refuses what names an address, as a server does from which the file is gone. */
const refuseNamed = (refusal: FakeReply, ...names: readonly string[]): void =>
  fake.play(({ text }) => (names.some((name) => text.includes(`${name}.png`)) ? refusal : answer));

test.each(dialects)(
  "MO-4 MO-25: %s: a chat with an image that the provider refuses goes on without it, and says so once ★",
  async (kind, refusal) => {
    const bench = openWith(await engineFor(kind));
    refuseNamed(refusal);
    expect(await look(bench, "old")).toMatchObject({ state: "completed" });
    expect(fake.requests.at(-1)?.text).toContain("old.png");
    refuseNamed(refusal, "old");
    bench.crash();
    const before = fake.requests.length;
    expect(await say(bench, "And now?")).toMatchObject({ state: "completed" });
    const [refused, taken, ...more] = fake.requests.slice(before);
    expect(refused?.text).toContain("old.png");
    expect(taken?.text).not.toContain("old.png");
    expect(taken?.text).toContain("[image omitted: the provider refused");
    expect(more).toEqual([]);
    expect(lastText(bench, "assistant")).toBe("A crab.");
    expect(eventsOf(bench, "error").map(({ code }) => code)).toEqual(["media_refused"]);
    const run = String(bench.events().findLast(({ type }) => type === "run_end")?.run);
    expect(bench.ok("context", { run, turn: 1 })).toMatchObject({ verified: true });
    bench.crash();
    const after = fake.requests.length;
    await say(bench, "And then?");
    expect(fake.requests.length - after).toBe(1);
    expect(bench.chat().flatMap(({ parts }) => parts.filter(({ type }) => type === "image"))).toHaveLength(1);
  },
);

test("MO-25: the newest image is left out as well if it is refused, and a later one is shown again", async () => {
  const [[kind, refusal] = ["anthropic", answer]] = dialects;
  const bench = openWith(await engineFor(kind as Kind));
  refuseNamed(refusal, "old", "bad");
  expect(await look(bench, "old")).toMatchObject({ state: "completed" });
  expect(await look(bench, "bad")).toMatchObject({ state: "completed" });
  expect(await look(bench, "good")).toMatchObject({ state: "completed" });
  expect(fake.requests.at(-1)?.text).toContain("good.png");
  expect(fake.requests.at(-1)?.text).not.toMatch(/(old|bad)\.png/);
  expect(eventsOf(bench, "error").map(({ code }) => code)).toEqual(["media_refused", "media_refused"]);
});

test("MO-25: a provider that refuses images even when none is sent fails the run, and is not asked a third time", async () => {
  const [[kind, refusal] = ["anthropic", answer]] = dialects;
  const bench = openWith(await engineFor(kind as Kind));
  fake.play(() => refusal);
  const before = fake.requests.length;
  expect(await look(bench, "old")).toMatchObject({ state: "failed", reason: "provider_error" });
  expect(await say(bench, "And now?")).toMatchObject({ state: "failed", reason: "provider_error" });
  expect(fake.requests.length - before).toBe(3);
});

test("SE-45 MO-25: a fork leaves out the image that its source was refused", async () => {
  const [[kind, refusal] = ["anthropic", answer]] = dialects;
  const engine = await engineFor(kind as Kind);
  const source = openWith(engine);
  refuseNamed(refusal, "old");
  await look(source, "old");
  const fork = openBench({ engine, id: "s_bbbbbbbbbbbbbbbbbbbbbbbbbb", source });
  fork.ok("fork", { source: source.id, at: source.state().head });
  expect(await say(fork, "And there?")).toMatchObject({ state: "completed" });
  expect(eventsOf(fork, "error")).toEqual([]);
});
