import { afterAll, beforeAll, expect, test } from "vitest";
import { startFakeProvider } from "../support/fake-provider.ts";
import type { FakeProvider, FakeReply } from "../support/fake-provider.ts";
import { attempt, completerFor, requestOf } from "../support/fake-provider-client.ts";
import { anthropicFrames, chatFrames } from "../support/fake-provider-reply.ts";
import type { Speech } from "../support/fake-provider-reply.ts";

let fake: FakeProvider;
beforeAll(async () => {
  fake = await startFakeProvider();
});
afterAll(() => fake.close());

const dialects = ["anthropic", "openai"] as const;
type Dialect = (typeof dialects)[number];

const errorOf = (dialect: Dialect, type: string, message = "canary-body"): unknown =>
  dialect === "anthropic"
    ? { type: "error", error: { type, message } }
    : { error: { type, code: type, message } };

const framesOf = (dialect: Dialect, speech: Speech): readonly string[] =>
  dialect === "anthropic" ? anthropicFrames(speech, "m") : chatFrames(speech, "m");

/** Asks once, with short deadlines, and checks that exactly one request was made. */
const ask = async (dialect: Dialect, reply: FakeReply, timeouts: Record<string, string> = {}) => {
  fake.play(() => reply);
  const before = fake.requests.length;
  const outcome = await attempt(completerFor(fake, dialect, { timeouts }), requestOf(dialect));
  expect(fake.requests.length - before).toBe(1);
  return outcome;
};

const statuses: readonly (readonly [string, number, string, string, boolean])[] = [
  ["RE-F1", 429, "rate_limit_error", "rate_limited", true],
  ["RE-F2", 402, "billing_error", "quota_exceeded", false],
  ["RE-F2", 401, "authentication_error", "auth", false],
  ["RE-F2", 403, "permission_error", "auth", false],
  ["RE-F2", 404, "not_found_error", "model_not_found", false],
  ["RE-F3", 408, "timeout_error", "timeout", true],
  ["RE-F3", 500, "api_error", "server_error", true],
  ["RE-F3", 502, "", "server_error", true],
  ["RE-F3", 503, "", "overloaded", true],
  ["RE-F3", 504, "", "server_error", true],
  ["RE-F3", 529, "overloaded_error", "overloaded", true],
  ["RE-F4", 400, "invalid_request_error", "invalid_request", false],
  ["RE-F4", 422, "invalid_request_error", "invalid_request", false],
  ["RE-F4", 413, "request_too_large", "context_overflow", false],
];

test("MO-32 MO-10: a cut attempt is booked at most at the max_tokens that was sent, with the budget for reasoning in it", async () => {
  const model = "claude-haiku-4-5";
  const pieces = [{ reasoning: "x".repeat(40_000) }, { text: "Done." }];
  const raw = framesOf("anthropic", { pieces }).slice(0, -2).join("");
  fake.play(() => ({ raw }));
  const sent = requestOf("anthropic", { model, maxTokens: 100, reasoning: { budgetTokens: 2_000 } });
  const { failure } = await attempt(completerFor(fake, "anthropic", { model }), sent);
  expect(failure).toMatchObject({ code: "truncated_stream", usage: { output: 2_100 } });
  expect(fake.requests.at(-1)?.body).toMatchObject({ max_tokens: 2_100 });
});

test.each([
  ["what cannot be read", "data: {canary-body\n\n"],
  ["another writing of its end", "data: [DONE] \n\n"],
])("MO-15: %s behind the end of a reply undoes nothing", async (_, frame) => {
  const frames = chatFrames({ pieces: [{ text: "Whole." }], usage: null }, "m").slice(0, -1);
  const { completion } = await ask("openai", { raw: frames.join("") + frame });
  expect(completion?.parts).toEqual([{ type: "text", text: "Whole." }]);
});

test("MO-36: the model that answered is known although the first chunk, about the prompt, names none", async () => {
  const first = `data: ${JSON.stringify({ model: "", choices: [], prompt_filter_results: [] })}\n\n`;
  const frames = chatFrames({ pieces: [{ text: "Yes." }] }, "gpt-5.6-sol");
  fake.play(() => ({ raw: first + frames.join("") }));
  const model = "my-deployment";
  const { completion } = await attempt(
    completerFor(fake, "openai", { model }),
    requestOf("openai", { model }),
  );
  expect(completion).toMatchObject({ model: "gpt-5.6-sol", cost: expect.any(Number) as number });
});

test("MO-36: a gateway's own name for the model costs what the model that was asked costs, also if its answer is cut", async () => {
  const model = "claude-opus-5-5";
  const answered = "anthropic.claude-opus-5-5-v1:0";
  const frames = anthropicFrames({ pieces: [{ text: "Yes." }] }, answered);
  const send = (raw: string) => {
    fake.play(() => ({ raw }));
    return attempt(completerFor(fake, "anthropic", { model }), requestOf("anthropic", { model }));
  };
  const { completion } = await send(frames.join(""));
  expect(completion?.model).toBe(answered);
  expect(completion?.cost).toBeGreaterThan(0);
  const { failure } = await send(frames.slice(0, -2).join(""));
  expect(failure).toMatchObject({ billed: true, cost: expect.any(Number) as number });
});

for (const dialect of dialects) {
  test.each(statuses)(
    `MO-1 MO-25 %s: ${dialect} status %i is one request and a typed error`,
    async (...row) => {
      const [, status, type, code, retryable] = row;
      const { failure } = await ask(dialect, { status, body: errorOf(dialect, type) });
      expect(failure).toMatchObject({ code, retryable, status, requestId: expect.stringMatching(/^req_/) });
      expect(failure?.message).not.toContain("canary-body");
      expect(failure?.billed).toBeUndefined();
    },
  );

  test(`MO-26 RE-F1: ${dialect} tells the wait that the server asks for and does not wait itself`, async () => {
    const headers = { "retry-after": "3600" };
    const { failure } = await ask(dialect, {
      status: 429,
      headers,
      body: errorOf(dialect, "rate_limit_error"),
    });
    expect(failure).toMatchObject({ code: "rate_limited", retryAfterMs: 3_600_000 });
  });

  test(`MO-19 RE-F4: ${dialect} follows no redirect, and no header leaves`, async () => {
    const trap = await startFakeProvider();
    const location = `http://127.0.0.1:${trap.port}/v1/messages`;
    const { failure } = await ask(dialect, { status: 307, headers: { location }, body: "" });
    expect(failure).toMatchObject({ code: "invalid_request", status: 307, retryable: false });
    expect(trap.requests.length).toBe(0);
    await trap.close();
  });

  test(`MO-25 RE-F3: ${dialect} without a server is network, retryable`, async () => {
    const gone = await startFakeProvider();
    await gone.close();
    const { failure } = await attempt(completerFor(gone, dialect), requestOf(dialect));
    expect(failure).toMatchObject({ code: "network", retryable: true });
    expect(failure?.message).toContain(` at 127.0.0.1:${gone.port} failed.`);
  });

  test(`MO-19 RE-F5: ${dialect} that ends cleanly in the middle of text is truncated ★`, async () => {
    const speech = { pieces: [{ text: "A long answer that is cut off somewhere in its middle." }] };
    const length = Buffer.byteLength(framesOf(dialect, speech).slice(0, -2).join(""));
    const { failure, deltas } = await ask(dialect, { speech, endAt: length - 180 });
    expect(failure).toMatchObject({ code: "truncated_stream", retryable: true, billed: true });
    expect(deltas.length).toBeGreaterThan(0);
  });

  test(`MO-19 RE-F5: ${dialect} that ends cleanly in call JSON gives no call ★`, async () => {
    const speech = { pieces: [{ call: "fs_write", args: { path: "a.md", content: "x".repeat(200) } }] };
    const frames = framesOf(dialect, speech);
    const length = Buffer.byteLength(frames.slice(0, 8).join(""));
    const { failure, completion } = await ask(dialect, { speech, endAt: length });
    expect(failure).toMatchObject({ code: "truncated_stream" });
    expect(completion).toBeUndefined();
  });

  test(`MO-19 RE-F5: ${dialect} whose connection is reset is network`, async () => {
    const speech = { pieces: [{ text: "word ".repeat(40) }], chunk: 5 };
    const { failure } = await ask(dialect, { speech, cutAt: 900 });
    expect(failure).toMatchObject({ code: "network", retryable: true });
  });

  test(`MO-19 RE-F6: ${dialect} error after text is as its HTTP status`, async () => {
    const begin = framesOf(dialect, { pieces: [{ text: "Half an " }] }).slice(
      0,
      dialect === "anthropic" ? 4 : 2,
    );
    const frame =
      dialect === "anthropic"
        ? 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"canary-body"}}\n\n'
        : 'data: {"error":{"type":"server_error","code":503,"message":"canary-body"}}\n\n';
    const { failure, deltas } = await ask(dialect, { raw: begin.join("") + frame });
    expect(failure).toMatchObject({ code: "overloaded", retryable: true, billed: true });
    expect(failure?.message).not.toContain("canary-body");
    expect(deltas.map(({ data }) => data).join("")).toBe("Half an ");
  });

  test.each([
    ["HTML", { status: 200, headers: { "content-type": "text/html" }, body: "<html>canary-body</html>" }],
    ["nothing", { status: 200, headers: { "content-type": "text/event-stream" }, body: "" }],
    ["another type", { status: 200, headers: { "content-type": "application/octet-stream" }, body: "abc" }],
    ["JSON that is no error", { status: 200, body: { ok: true } }],
  ])(`MO-19 RE-F7: ${dialect} 200 with %s is an error, retried at most twice`, async (_, reply) => {
    const { failure } = await ask(dialect, reply);
    expect(["protocol_error", "truncated_stream"]).toContain(failure?.code);
    expect(failure?.retryable).toBe(true);
    expect(failure?.message).not.toContain("canary-body");
  });

  test(`MO-19 RE-F7: ${dialect} 200 with a JSON error is classified by it`, async () => {
    const { failure } = await ask(dialect, { status: 200, body: errorOf(dialect, "rate_limit_error") });
    expect(failure?.code).toBe("rate_limited");
  });

  test.each([
    ["is not JSON", "data: {canary-body\n\n"],
    ["is no object", "data: 7\n\n"],
  ])(`MO-24 RE-F7: ${dialect} frame that %s is a protocol error`, async (_, frame) => {
    const begin = framesOf(dialect, { pieces: [{ text: "Half." }] }).slice(0, 2);
    const { failure } = await ask(dialect, { raw: begin.join("") + frame });
    expect(failure?.code).toBe("protocol_error");
    expect(failure?.message).not.toContain("canary-body");
  });

  test.each([
    [
      "50 000 levels deep are a protocol error, not the network's",
      50_000,
      { failure: { code: "protocol_error" } },
    ],
    [
      "500 levels deep stay their text",
      500,
      { completion: { parts: [expect.objectContaining({ args: `${"[".repeat(500)}${"]".repeat(500)}` })] } },
    ],
  ])(`MO-24 MO-21: ${dialect} arguments that come as a value %s`, async (_, levels, outcome) => {
    const args = `${"[".repeat(levels)}${"]".repeat(levels)}`;
    const frames = framesOf(dialect, { pieces: [{ call: "look", rawArgs: "" }] });
    const raw = frames
      .join("")
      .replace('"input":{}', () => `"input":${args}`)
      .replace('"arguments":""', () => `"arguments":${args}`);
    expect(raw).toContain(args);
    expect(await ask(dialect, { raw })).toMatchObject(outcome);
  });

  test(`MO-24 RE-F8: ${dialect} ignores unknown events, fields and stop reasons`, async () => {
    const frames = framesOf(dialect, { pieces: [{ text: "Whole." }], finish: "some_new_reason" });
    const odd =
      dialect === "anthropic"
        ? 'event: new_thing\ndata: {"type":"new_thing","x":1}\n\n'
        : 'data: {"object":"new.thing","x":[1]}\n\nevent: odd\ndata: {"choices":[]}\n\n';
    const { completion } = await ask(dialect, {
      raw: frames.slice(0, 2).join("") + odd + frames.slice(2).join(""),
    });
    expect(completion).toMatchObject({ finish: "stop", parts: [{ type: "text", text: "Whole." }] });
  });

  test(`MO-22 RE-F10: ${dialect} calls under length are invalid, parsable or not ★`, async () => {
    const cut = { call: "fs_write", rawArgs: '{"path":"a' };
    const whole = { call: "fs_write", rawArgs: '{"path":"a"}' };
    const { completion } = await ask(dialect, { speech: { pieces: [whole, cut], finish: "length" } });
    expect(completion?.finish).toBe("length");
    expect(completion?.parts).toMatchObject([
      { type: "tool_call", args: '{"path":"a"}', invalid: "truncated" },
      { type: "tool_call", args: '{"path":"a', invalid: "truncated" },
    ]);
  });

  test(`MO-21 RE-F9: ${dialect} arguments stay text, cut JSON is never {} ★`, async () => {
    const { completion } = await ask(dialect, {
      speech: { pieces: [{ call: "rm", rawArgs: '{"path":"/' }] },
    });
    expect(completion?.parts).toMatchObject([{ type: "tool_call", name: "rm", args: '{"path":"/' }]);
  });

  test(`MO-21 RE-F9: ${dialect} call 65 is too_many`, async () => {
    const pieces = Array.from({ length: 66 }, (_, n) => ({ call: "t", args: { n } }));
    const { completion } = await ask(dialect, { speech: { pieces } });
    const marks = completion?.parts.map((part) => (part.type === "tool_call" ? part.invalid : "?"));
    expect(marks?.slice(0, 64).every((mark) => mark === undefined)).toBe(true);
    expect(marks?.slice(64)).toEqual(["too_many", "too_many"]);
  });

  test(`MO-23 RE-F11: ${dialect} reply of nothing is empty`, async () => {
    const { completion } = await ask(dialect, { speech: { pieces: [] } });
    expect(completion).toMatchObject({ empty: true, finish: "stop" });
  });

  test(`MO-20 RE-F12: ${dialect} that sends no headers times out by connect`, async () => {
    const { failure } = await ask(dialect, { wait: 90 }, { connect: "30ms" });
    expect(failure).toMatchObject({ code: "timeout", retryable: true });
    expect(failure?.message).toMatch(/^timeout connect/);
  });

  test(`MO-20 RE-F12: ${dialect} that falls silent times out by idle`, async () => {
    const { failure } = await ask(dialect, { stallAt: 400 }, { idle: "40ms" });
    expect(failure?.message).toMatch(/^timeout idle/);
  });

  test(`MO-20 RE-F12: ${dialect} that only pings times out by content_idle ★`, async () => {
    const raw = framesOf(dialect, { pieces: [{ text: "Half." }] })
      .slice(0, 3)
      .join("");
    const reply = { raw, stallAt: raw.length, pingEvery: 5 };
    const { failure } = await ask(dialect, reply, { idle: "5s", content_idle: "60ms" });
    expect(failure?.message).toMatch(/^timeout content_idle/);
  });

  test(`MO-20 RE-F12: ${dialect} that drips without end times out by total`, async () => {
    const speech = { pieces: [{ text: "word ".repeat(500) }], chunk: 5 };
    const { failure } = await ask(dialect, { speech, delay: 4 }, { total: "80ms" });
    expect(failure?.message).toMatch(/^timeout total/);
  });

  test(`MO-20 RE-F13: ${dialect} line of 60 MB is refused early`, async () => {
    const line = `data: ${"x".repeat(60 * 1024 * 1024)}`;
    const { failure } = await ask(dialect, { raw: line, split: 1024 * 1024 });
    expect(failure).toMatchObject({ code: "protocol_error" });
    expect(failure?.message).toMatch(/the line is longer/);
    expect(failure, "what came was written, and so paid for").toMatchObject({ billed: true });
  });

  test(`MO-32 RE-F14: ${dialect} without usage, or with an absurd one, is estimated`, async () => {
    const pieces = [{ text: "An answer of some words." }];
    const none = await ask(dialect, {
      raw: framesOf(dialect, { pieces, usage: null })
        .join("")
        .replace(/"usage":\{[^}]*\}/g, '"usage":null'),
    });
    expect(none.completion).toMatchObject({ estimated: true });
    const absurd = { input_tokens: 9e12, prompt_tokens: 9e12 };
    const wrong = await ask(dialect, { speech: { pieces, usage: absurd } });
    expect(wrong.completion).toMatchObject({ estimated: true });
    expect(wrong.completion?.usage.input).toBeLessThan(1000);
  });

  test(`MO-1: ${dialect} aborted in mid-stream rejects without another delta and closes the socket`, async () => {
    fake.play(() => ({ speech: { pieces: [{ text: "word ".repeat(2000) }], chunk: 5 }, delay: 2 }));
    const controller = new AbortController();
    const completer = completerFor(fake, dialect);
    let after = 0;
    const running = completer.complete(requestOf(dialect), {
      signal: controller.signal,
      onDelta: () => {
        if (controller.signal.aborted) after += 1;
        else controller.abort();
      },
    });
    await expect(running).rejects.toMatchObject({ failure: { code: "cancelled" } });
    await expect.poll(() => fake.requests.at(-1)?.closed()).toBe(true);
    expect(after).toBe(0);
  });

  test(`MO-1: ${dialect} aborted before it starts makes no request`, async () => {
    const before = fake.requests.length;
    const { failure } = await attempt(completerFor(fake, dialect), requestOf(dialect), AbortSignal.abort());
    expect(failure?.code).toBe("cancelled");
    expect(fake.requests.length).toBe(before);
  });
}

test("MO-15: a finish reason without [DONE] is complete, [DONE] without one is truncated", async () => {
  const frames = chatFrames({ pieces: [{ text: "Whole." }] }, "m");
  const without = await ask("openai", { raw: frames.slice(0, -1).join("") });
  expect(without.completion?.parts).toMatchObject([{ text: "Whole." }]);
  const only = [...frames.slice(0, 2), "data: [DONE]\n\n"];
  const { failure } = await ask("openai", { raw: only.join("") });
  expect(failure?.code).toBe("truncated_stream");
});

test("MO-19: anthropic counts only with message_stop", async () => {
  const frames = anthropicFrames({ pieces: [{ text: "Whole." }] }, "m");
  const { failure } = await ask("anthropic", { raw: frames.slice(0, -1).join("") });
  expect(failure?.code).toBe("truncated_stream");
});

test("MO-16: Gemini's error array is read, also inside a stream", async () => {
  const error = [{ error: { code: 429, message: "canary-body", status: "RESOURCE_EXHAUSTED" } }];
  fake.play(() => ({ status: 429, body: error }));
  const first = await attempt(completerFor(fake, "gemini"), requestOf("gemini"));
  expect(first.failure).toMatchObject({ code: "rate_limited", status: 429 });
  fake.play(() => ({ raw: `data: ${JSON.stringify(error)}\n\n` }));
  const second = await attempt(completerFor(fake, "gemini"), requestOf("gemini"));
  expect(second.failure).toMatchObject({ code: "rate_limited" });
});
