import { Anthropic } from "@anthropic-ai/sdk";
import { OpenAI } from "openai";
import { expect, test } from "vitest";
import { anthropicMessages } from "../../src/protocols/anthropic/messages.ts";
import { openAiChat } from "../../src/protocols/openai/chat.ts";
import { openAiResponses } from "../../src/protocols/openai-responses/responses.ts";
import type { Protocol } from "../../src/protocols/protocol.ts";

interface Sent {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly signal: AbortSignal | null | undefined;
}

/** A `fetch` that keeps what it was given and answers like a server. */
const recorder = (answer: () => Response | Promise<Response>) => {
  const sent: Sent[] = [];
  const fetch = async (input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> => {
    const url = input instanceof Request ? input.url : String(input);
    const headers = Object.fromEntries(new Headers(init.headers));
    sent.push({ url, headers, body: init.body, signal: init.signal });
    return answer();
  };
  return { sent, fetch };
};

const stream = (): Response => new Response("", { headers: { "content-type": "text/event-stream" } });
const protocols: readonly (readonly [string, Protocol])[] = [
  ["anthropic-messages", anthropicMessages],
  ["openai-chat", openAiChat],
  ["openai-responses", openAiResponses],
];

test.each(protocols)(
  "MO-6: %s sends the same headers to every address, and each post has its own body",
  async (_, protocol) => {
    const { sent, fetch } = recorder(stream);
    const { signal } = new AbortController();
    for (const body of ['{"n":1}', '{"n":2}'])
      await protocol.post("https://one.example/v1/x?key=a", fetch, body, signal);
    await protocol.post("https://two.example/v1/x", fetch, '{"n":3}', signal);
    expect(sent.map(({ url }) => url)).toEqual([
      "https://one.example/v1/x?key=a",
      "https://one.example/v1/x?key=a",
      "https://two.example/v1/x",
    ]);
    expect(sent.map(({ body }) => body)).toEqual(['{"n":1}', '{"n":2}', '{"n":3}']);
    expect(sent[1]?.headers).toEqual(sent[0]?.headers);
    expect(sent[0]?.headers).toMatchObject({
      "content-type": "application/json",
      accept: "text/event-stream",
    });
  },
);

test.each(protocols)("MO-20: %s sends with our signal itself, anew for each post", async (_, protocol) => {
  const { sent, fetch } = recorder(stream);
  const [first, second] = [new AbortController(), new AbortController()];
  await protocol.post("https://one.example/v1/x", fetch, "{}", first.signal);
  await protocol.post("https://one.example/v1/x", fetch, "{}", second.signal);
  expect(sent[0]?.signal).toBe(first.signal);
  expect(sent[1]?.signal).toBe(second.signal);
});

test.each(protocols)(
  "MO-1: %s does not repeat a post, and hands on whatever comes of it",
  async (_, protocol) => {
    const failing = recorder(() => Response.json({ error: { message: "no" } }, { status: 529 }));
    const { signal } = new AbortController();
    const post = protocol.post("https://one.example/v1/x", failing.fetch, "{}", signal);
    await expect(post).resolves.toMatchObject({ status: 529 });
    expect(failing.sent).toHaveLength(1);
    const broken = recorder(() => Promise.reject(new TypeError("network")));
    const lost = protocol.post("https://one.example/v1/x", broken.fetch, "{}", signal);
    await expect(lost).rejects.toThrow("network");
    expect(broken.sent).toHaveLength(1);
  },
);

test.each(protocols)(
  "MO-6: %s sends what the SDK itself would, but for the key and telemetry",
  async (name, protocol) => {
    const own = recorder(stream);
    const { signal } = new AbortController();
    await protocol.post("https://one.example/v1/x", own.fetch, "{}", signal);
    const theirs = recorder(() => Response.json({}));
    const common = { baseURL: "https://unset.invalid", maxRetries: 0, timeout: 840_000, fetch: theirs.fetch };
    const client = name.startsWith("openai-")
      ? new OpenAI({ ...common, apiKey: "unset", organization: null, project: null })
      : new Anthropic({ ...common, authToken: "unset", apiKey: null });
    const headers = { "content-type": "application/json", accept: "text/event-stream" };
    await client.post("https://one.example/v1/x", { body: "{}", headers });
    const [mine, sdk] = [own.sent[0]?.headers, theirs.sent[0]?.headers];
    const told = Object.entries(sdk ?? {}).filter(
      ([header]) => header !== "authorization" && !header.startsWith("x-stainless-"),
    );
    expect(told.length).toBeLessThan(Object.keys(sdk ?? {}).length - 1);
    expect(mine).toEqual(Object.fromEntries(told));
    expect(Object.keys(mine ?? {})).toContain("user-agent");
  },
);
