import { afterAll, beforeAll, expect, test } from "vitest";
import type { Bench } from "../support/bench.ts";
import { startFakeProvider } from "../support/fake-provider.ts";
import type { FakeProvider } from "../support/fake-provider.ts";
import { benchOf, say, wireEnv } from "../engine/harness.ts";

/** Providers' frames for those who debug, from `debug.raw` in YAML (MO-40). */

let fake: FakeProvider;
beforeAll(async () => {
  fake = await startFakeProvider();
});
afterAll(() => fake.close());

const secret = 'canary"of the\\key';

const open = (
  kind: "anthropic" | "openai",
  top = "debug: { raw: events }",
  model = kind === "openai" ? "gpt-4.1" : "claude-sonnet-5-5",
): Promise<Bench> =>
  benchOf(
    `
providers:
  - name: main
    kind: ${kind}
    base_url: ${fake.url(kind)}
    api_key: \${KEY}
    headers: { X-One: "\${HEADER}" }
    rate_limit: { max_retries: 0 }
    model: ${model}
agents:
  - { name: helper, effects: [] }
${top}
`,
    { env: wireEnv(fake, { KEY: "canary-of-the-key", HEADER: secret }) },
    {},
  );

const tables = ["threads", "turns", "messages", "events", "items", "runs", "blobs"];

/** Every byte that the session stored. */
const stored = (bench: Bench): string =>
  JSON.stringify(tables.map((table) => bench.rows(table))) + JSON.stringify(bench.events());

test.each(["anthropic", "openai"] as const)(
  "★ MO-40: %s: each frame is shown as it came, with its place, and none is stored",
  async (kind) => {
    fake.play(() => ({ speech: { pieces: [{ text: "The tide comes in." }] } }));
    const bench = await open(kind);
    await say(bench);
    const places = bench.frames.map((frame) => ({ ...frame, data: "" }));
    const model = kind === "openai" ? "gpt-4.1" : "claude-sonnet-5-5";
    expect(places[0]).toEqual({
      type: "llm_provider_raw",
      thread: "main",
      run: "run_1",
      turn: 1,
      purpose: "turn",
      attempt: 1,
      provider: "main",
      model,
      data: "",
    });
    expect(new Set(places.map((place) => JSON.stringify(place))).size).toBe(1);
    const types = bench.frames.flatMap(({ data }) => /"(?:type|object)":"([a-z_.]+)"/.exec(data)?.[1] ?? []);
    expect(types).toContain(kind === "openai" ? "chat.completion.chunk" : "content_block_delta");
    expect(stored(bench)).not.toContain(kind === "openai" ? "chat.completion.chunk" : "content_block_delta");
    expect(bench.types()).not.toContain("llm_provider_raw");
  },
);

test.each(["anthropic", "openai"] as const)(
  "★ MO-40: %s: a secret is taken out of frames, also one that comes in pieces",
  async (kind) => {
    const text = `It is ${secret}, and canary-of-the-key. Indeed.`;
    fake.play(() => ({ speech: { pieces: [{ text }], chunk: 3 } }));
    const bench = await open(kind);
    await say(bench);
    const all = bench.frames.map(({ data }) => data);
    const said = all
      .flatMap((data) => [...data.matchAll(/"(?:text|content)":("(?:[^"\\]|\\.)*")/g)])
      .map(([, json = '""']) => String(JSON.parse(json)))
      .join("");
    expect(said).toBe("It is [secret:HEADER], and [secret:KEY]. Indeed.");
    expect(all.length).toBeGreaterThan(10);
  },
);

test("★ MO-40: a secret is taken out of frames whose pieces of several items are mixed", async () => {
  const event = (type: string, fields: object) => `data: ${JSON.stringify({ type, ...fields })}\n\n`;
  const pieces = ["It is canary-of", "-the-key. Indeed."];
  const item = { type: "message", role: "assistant", content: [] };
  const raw = [
    ...[0, 1].map((output_index) => event("response.output_item.added", { output_index, item })),
    ...pieces.flatMap((delta) =>
      [0, 1].map((output_index) => event("response.output_text.delta", { output_index, delta })),
    ),
    event("response.completed", { response: { status: "completed" } }),
  ].join("");
  fake.play(() => ({ raw }));
  const bench = await open("openai", "debug: { raw: events }", "gpt-6.1-sol\n    protocol: openai-responses");
  expect(await say(bench)).toMatchObject({ state: "completed" });
  const said = [0, 1].map((index) =>
    bench.frames
      .map(({ data }) => JSON.parse(data) as { output_index?: number; delta?: string })
      .flatMap(({ output_index, delta }) => (output_index === index ? [delta] : []))
      .join(""),
  );
  expect(said).toEqual(["It is [secret:KEY]. Indeed.", "It is [secret:KEY]. Indeed."]);
});

test("MO-40: what a provider says when it refuses a request is shown, without secrets, and not stored", async () => {
  const message = `Your organization must be verified, canary-of-the-key. ${"x".repeat(100_000)}`;
  fake.play(() => ({ status: 400, body: { error: { type: "invalid_request_error", message } } }));
  const bench = await open("openai");
  expect(await say(bench)).toMatchObject({ state: "failed", reason: "provider_error" });
  expect(bench.frames).toHaveLength(1);
  expect(bench.frames[0]).toMatchObject({ type: "llm_provider_raw", attempt: 1, provider: "main" });
  expect(bench.frames[0]?.data).toContain("Your organization must be verified, [secret:KEY].");
  expect(Buffer.byteLength(JSON.stringify(bench.frames[0]))).toBeLessThanOrEqual(65_536);
  expect(stored(bench)).not.toContain("verified");
});

test("MO-40: a frame has at most 64 KiB and says that it was cut", async () => {
  const text = '"é\n'.repeat(40_000);
  fake.play(() => ({ speech: { pieces: [{ text }], chunk: 1_000_000 } }));
  const bench = await open("anthropic");
  await say(bench);
  const sizes = bench.frames.map((frame) => Buffer.byteLength(JSON.stringify(frame)));
  expect(Math.max(...sizes)).toBeLessThanOrEqual(65_536);
  expect(Math.max(...sizes)).toBeGreaterThan(60_000);
  expect(bench.frames.filter(({ truncated }) => truncated === true)).toHaveLength(1);
});

test("MO-40: without debug.raw no frame is shown", async () => {
  fake.play(() => ({ speech: { pieces: [{ text: "Hi." }] } }));
  for (const top of ["", "debug: { raw: off }"]) {
    const bench = await open("anthropic", top);
    await say(bench);
    expect(bench.frames).toEqual([]);
  }
});
