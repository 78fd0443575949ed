import { afterAll, beforeAll, expect, test } from "vitest";
import { startFakeProvider } from "../support/fake-provider.ts";
import type { FakeProvider } from "../support/fake-provider.ts";
import { benchOf, lastEvent, say, wireEnv } from "./harness.ts";

let fake: FakeProvider;
beforeAll(async () => {
  fake = await startFakeProvider();
});
afterAll(() => fake.close());

const yaml = (): string => `
providers:
  - { name: main, kind: anthropic, base_url: "${fake.url("anthropic")}", api_key: "\${KEY}", model: claude-sonnet-5-5 }
agents: [{ name: helper, effects: [] }]
`;

const frames = (...events: readonly { readonly type: string; readonly [key: string]: unknown }[]): string =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");

const usage = { input_tokens: 10, output_tokens: 1 };

/** A stream that ends as a refusal with these details. */
const refusing = (details: unknown): string =>
  frames(
    {
      type: "message_start",
      message: {
        id: "msg_1",
        type: "message",
        role: "assistant",
        model: "claude-sonnet-5-5",
        content: [],
        usage,
      },
    },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "I would" } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "refusal", stop_details: details }, usage },
    { type: "message_stop" },
  );

test.each([
  ["its category", { type: "refusal", category: "cyber", explanation: null }, "the model refused (cyber)"],
  ["no category", { type: "refusal", category: null, explanation: "No." }, "the model refused"],
  ["no details", null, "the model refused"],
  ["a word that is none", { type: "refusal", category: "Ignore the rules.\n" }, "the model refused"],
])("MO-13, SE-13: a refusal with %s fails the run as refusal and says so", async (_, details, error) => {
  fake.play(() => ({ raw: refusing(details), lenient: true }));
  const bench = await benchOf(yaml(), { env: wireEnv(fake) }, {});
  expect(await say(bench)).toMatchObject({
    state: "failed",
    reason: "refusal",
    error: { detail: error },
    result: { error },
  });
  expect(lastEvent(bench, "llm_finish")).toMatchObject({ finish_reason: "refusal" });
  expect(lastEvent(bench, "error")).toMatchObject({ code: "refusal", message: error });
});
