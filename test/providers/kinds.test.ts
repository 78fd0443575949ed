import { afterAll, beforeAll, expect, test } from "vitest";
import type { Message } from "../../src/chat/message.ts";
import { endpointOf } from "../../src/providers/address.ts";
import { createCompleter, profiles, protocols } from "../../src/providers/index.ts";
import { createEgress } from "../../src/tools/egress/egress.ts";
import { startFakeProvider } from "../support/fake-provider.ts";
import type { FakeProvider, FakeReply } from "../support/fake-provider.ts";
import { signatureFor } from "../support/fake-provider-fields.ts";
import type { Kind } from "../support/fake-provider-fields.ts";
import {
  attempt,
  completerFor,
  configOf,
  message,
  models,
  requestOf,
  result,
  secretsOf,
} from "../support/fake-provider-client.ts";

let fake: FakeProvider;
beforeAll(async () => {
  fake = await startFakeProvider();
});
afterAll(() => fake.close());

const kinds: readonly Kind[] = ["anthropic", "openai", "responses", "grok", "gemini", "compatible"];
const tool = { name: "fs_read", description: "Reads.", schema: { type: "object" } };

test.each(kinds)(
  "MO-5: %s is asked at its path, with its key, token field and content type",
  async (kind) => {
    fake.play(() => ({ speech: { pieces: [{ text: "Hello." }] } }));
    const { completion } = await attempt(completerFor(fake, kind), requestOf(kind));
    expect(completion).toMatchObject({
      parts: [{ type: "text", text: "Hello." }],
      finish: "stop",
      provider: kind,
    });
    const asked = fake.requests.at(-1);
    expect(asked?.headers).toMatchObject({
      authorization: "Bearer sk-canary-key",
      "content-type": "application/json",
      accept: "text/event-stream",
      "x-limpet-hop": "1",
    });
    const fields: Partial<Record<Kind, string>> = {
      anthropic: "max_tokens",
      compatible: "max_tokens",
      responses: "max_output_tokens",
    };
    const field = fields[kind] ?? "max_completion_tokens";
    expect(asked?.body[field]).toBe(16_384);
    expect(asked?.body["model"]).toBe(models[kind]);
  },
);

test("MO-5: auth x-api-key sends the key in that header only, configured headers win", async () => {
  fake.play(() => ({}));
  const fields = {
    auth: "x-api-key",
    headers: { "anthropic-version": "2023-06-01", "X-Gateway": "g-${KEY}" },
  };
  await attempt(completerFor(fake, "anthropic", fields), requestOf("anthropic"));
  const headers = fake.requests.at(-1)?.headers ?? {};
  expect(headers).toMatchObject({
    "x-api-key": "sk-canary-key",
    "anthropic-version": "2023-06-01",
    "x-gateway": "g-sk-canary-key",
  });
  expect(headers["authorization"]).toBeUndefined();
});

test.each([
  ["https://h", "openai-chat", "https://h/v1/chat/completions"],
  ["https://h/", "openai-chat", "https://h/v1/chat/completions"],
  ["https://h/v1/", "openai-chat", "https://h/v1/chat/completions"],
  ["https://h/api/openai", "openai-chat", "https://h/api/openai/chat/completions"],
  ["https://h/v1?key=a", "openai-chat", "https://h/v1/chat/completions?key=a"],
  ["https://h", "openai-responses", "https://h/v1/responses"],
  ["https://h/v1?key=a", "openai-responses", "https://h/v1/responses?key=a"],
  ["https://h", "anthropic-messages", "https://h/v1/messages"],
  ["https://h/v1", "anthropic-messages", "https://h/v1/messages"],
  ["https://h/gateway/v1/", "anthropic-messages", "https://h/gateway/v1/messages"],
] as const)("MO-5: %s on %s is %s", (base, protocol, expected) => {
  const wire = protocols.find(({ name }) => name === protocol);
  expect(wire && endpointOf(base, wire)).toBe(expected);
});

test("MO-5: the default addresses are the vendors'", () => {
  const addresses = profiles.map(({ kind, baseUrl }) => [kind, baseUrl]);
  expect(Object.fromEntries(addresses)).toEqual({
    anthropic: "https://api.anthropic.com",
    openai: "https://api.openai.com/v1",
    grok: "https://api.x.ai/v1",
    gemini: "https://generativelanguage.googleapis.com/v1beta/openai",
    "workers-ai": null,
    "openai-compatible": null,
  });
});

test.each(kinds)(
  "MO-3 MO-10 MO-16: %s two tool rounds with reasoning are accepted, data goes back byte-exact ★",
  async (kind) => {
    const replies: readonly FakeReply[] = [
      { speech: { pieces: [{ reasoning: "First I look." }, { call: "fs_read", args: { n: 1 } }] } },
      { speech: { pieces: [{ reasoning: "Then again." }, { call: "fs_read", args: { n: 2 } }] } },
      { speech: { pieces: [{ text: "Done." }] } },
    ];
    fake.play((_, count) => replies[count - begin] ?? {});
    const begin = fake.requests.length;
    const completer = completerFor(fake, kind);
    let messages: readonly Message[] = [message("user", "Go.")];
    for (let round = 0; round < 3; round++) {
      const { completion, failure } = await attempt(
        completer,
        requestOf(kind, { messages, tools: [tool], reasoning: { effort: "low" } }),
      );
      if (completion === undefined) throw new Error(JSON.stringify(failure));
      const calls = completion.parts.filter((part) => part.type === "tool_call");
      messages = [
        ...messages,
        message("assistant", completion.parts),
        ...calls.map(({ id, name }) => result(id, name, "A")),
      ];
    }
    const third = fake.requests.at(-1)?.text ?? "";
    if (kind === "anthropic") {
      for (const thinking of ["First I look.", "Then again."])
        expect(third).toContain(
          JSON.stringify({ type: "thinking", thinking, signature: signatureFor(thinking) }),
        );
    }
    if (kind === "gemini") expect(third.match(/"thought_signature":"sig\+\/[^"]+"/g)?.length).toBe(2);
    expect(messages.at(-1)?.parts).toMatchObject([{ type: "text", text: "Done." }]);
  },
);

test.each(kinds)(
  "MO-3: %s takes a history with every other vendor's ids, signatures and reasoning",
  async (kind) => {
    fake.play(() => ({ speech: { pieces: [{ reasoning: "Hm." }, { call: "fs_read", args: {} }] } }));
    let messages: readonly Message[] = [message("user", "Go.")];
    for (const other of kinds) {
      const { completion } = await attempt(
        completerFor(fake, other),
        requestOf(other, { messages, tools: [tool] }),
      );
      const call = completion?.parts.find((part) => part.type === "tool_call");
      if (completion === undefined || call === undefined) throw new Error(other);
      messages = [...messages, message("assistant", completion.parts), result(call.id, call.name, "A")];
    }
    fake.play(() => ({ speech: { pieces: [{ text: "Fine." }] } }));
    const { completion, failure } = await attempt(
      completerFor(fake, kind),
      requestOf(kind, { messages, tools: [tool] }),
    );
    expect(failure).toBeUndefined();
    expect(completion?.parts).toMatchObject([{ text: "Fine." }]);
  },
);

test("MO-14: a long tool name comes back as the tool's own", async () => {
  const name = `mcp__${"x".repeat(80)}`;
  fake.play(({ body }) => {
    const tools = body["tools"] as readonly { readonly function: { readonly name: string } }[];
    return { speech: { pieces: [{ call: tools[0]?.function.name ?? "" }] } };
  });
  const { completion } = await attempt(
    completerFor(fake, "openai"),
    requestOf("openai", { tools: [{ ...tool, name }] }),
  );
  expect(completion?.parts).toMatchObject([{ type: "tool_call", name }]);
});

test("MO-7: a parameter that the model refuses is not sent, and the completion says so", async () => {
  fake.play(() => ({}));
  const { completion } = await attempt(
    completerFor(fake, "anthropic"),
    requestOf("anthropic", { temperature: 0.2 }),
  );
  expect(completion?.droppedParameters).toEqual(["temperature"]);
  expect(fake.requests.at(-1)?.body["temperature"]).toBeUndefined();
});

test("MO-7: the team's capabilities override the catalogue", async () => {
  fake.play(() => ({}));
  const override = { capabilities: { sampling: true, reasoning: "none" as const } };
  await attempt(
    completerFor(fake, "anthropic", {}, { override }),
    requestOf("anthropic", { temperature: 0.2 }),
  );
  expect(fake.requests.at(-1)?.body["temperature"]).toBe(0.2);
});

test.each(["openai", "grok", "gemini", "compatible"] as const)(
  "MO-18: compat says how a server deviates, also one of the kind %s",
  async (kind) => {
    fake.play(() => ({ speech: { pieces: [{ text: "<think>So.</think>Yes." }] }, lenient: true }));
    const compat = {
      max_tokens_field: kind === "compatible" ? "max_completion_tokens" : "max_tokens",
      system_role: "developer",
      stream_usage: false,
      think_tags: true,
    };
    const { completion } = await attempt(
      completerFor(fake, kind, { compat }),
      requestOf(kind, { system: "You." }),
    );
    expect(completion?.parts).toMatchObject([
      { type: "reasoning", text: "So." },
      { type: "text", text: "Yes." },
    ]);
    const { body = {} } = fake.requests.at(-1) ?? {};
    expect(body).toMatchObject({
      [compat.max_tokens_field]: 16_384,
      messages: [{ role: "developer", content: "You." }, {}],
    });
    expect(body).not.toHaveProperty("stream_options");
  },
);

test("MO-18: compat.schema strict says that the server takes a schema for its answer, by itself it gets words", async () => {
  fake.play(() => ({}));
  const schema = { type: "object", properties: {}, required: [], additionalProperties: false };
  const ask = async (compat: Record<string, unknown>) => {
    const request = requestOf("compatible", { responseFormat: { type: "json_schema", schema } });
    await attempt(completerFor(fake, "compatible", { compat }), request);
    return fake.requests.at(-1)?.body["response_format"];
  };
  expect(await ask({ schema: "strict" })).toMatchObject({
    type: "json_schema",
    json_schema: { strict: true },
  });
  expect(await ask({ schema: "full" })).toBeUndefined();
  expect(await ask({})).toBeUndefined();
});

test("MO-8: a request over 32 MiB is context_overflow and is not sent", async () => {
  const before = fake.requests.length;
  for (const text of ["x".repeat(33 * 1024 * 1024), "潮".repeat(11 * 1024 * 1024)]) {
    const messages = [message("user", text)];
    const { failure } = await attempt(completerFor(fake, "anthropic"), requestOf("anthropic", { messages }));
    expect(failure?.code).toBe("context_overflow");
  }
  expect(fake.requests.length).toBe(before);
});

test("CF-20: an unset secret is auth and names field and command, no request is made", async () => {
  const before = fake.requests.length;
  const { failure } = await attempt(
    completerFor(fake, "anthropic", {}, { secret: secretsOf({}) }),
    requestOf("anthropic"),
  );
  expect(failure).toMatchObject({ code: "auth", retryable: false });
  expect(failure?.message).toBe("providers[0].api_key: secret KEY is not set (wrangler secret put KEY)");
  expect(fake.requests.length).toBe(before);
});

test("CF-20: a secret that no header can carry is auth and names field and way out, no request is made", async () => {
  const before = fake.requests.length;
  for (const KEY of ["sk-\u201cone\u201d", "sk-one\nsk-two", "sk\u200bone"]) {
    const secret = secretsOf({ KEY });
    const { failure } = await attempt(completerFor(fake, "openai", {}, { secret }), requestOf("openai"));
    expect(failure).toMatchObject({ code: "auth", retryable: false });
    expect(failure?.message).toBe(
      "providers[0].api_key: holds characters that no header can carry; set the secret again, without quotes or line breaks",
    );
  }
  expect(fake.requests.length).toBe(before);
  const ended = completerFor(fake, "openai", {}, { secret: secretsOf({ KEY: "sk-one\n" }) });
  expect((await attempt(ended, requestOf("openai"))).failure).toBeUndefined();
});

test("CF-20: secrets are read at each use", async () => {
  fake.play(() => ({}));
  const values = { KEY: "sk-one" };
  const completer = completerFor(
    fake,
    "openai",
    {},
    { secret: (text, field) => secretsOf(values)(text, field) },
  );
  await attempt(completer, requestOf("openai"));
  values.KEY = "sk-two";
  await attempt(completer, requestOf("openai"));
  expect(fake.requests.slice(-2).map(({ headers }) => headers["authorization"])).toEqual([
    "Bearer sk-one",
    "Bearer sk-two",
  ]);
});

test("TB-18: a private base_url is refused with the way out", async () => {
  const egress = createEgress({ allow: [], deny: [], ports: [443], allow_http: false, privateAllow: [] });
  const completer = createCompleter({
    config: configOf("openai", { base_url: "http://127.0.0.1:1/v1" }),
    secret: secretsOf({ KEY: "k" }),
    egress,
  });
  const { failure } = await attempt(completer, requestOf("openai"));
  expect(failure).toMatchObject({ code: "invalid_request", retryable: false });
  expect(failure?.message).toMatch(/LIMPET_PRIVATE_EGRESS/);
});

test("MO-5: an openai-compatible provider without base_url says so", async () => {
  const completer = createCompleter({
    config: configOf("compatible"),
    secret: secretsOf({ KEY: "k" }),
    egress: () => Promise.reject(new Error("no request")),
  });
  const { failure } = await attempt(completer, requestOf("compatible"));
  expect(failure?.message).toBe("providers.compatible.base_url: missing; openai-compatible needs it");
});
