import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { startFakeProvider } from "../support/fake-provider.ts";
import type { FakeProvider, FakeReply } from "../support/fake-provider.ts";
import { attempt, completerFor, message, requestOf, secretsOf } from "../support/fake-provider-client.ts";

let fake: FakeProvider;
beforeAll(async () => {
  fake = await startFakeProvider();
});
afterAll(() => fake.close());

const canary = {
  key: "canary-key-1",
  header: "canary-header-2",
  query: "canary-query-3",
  prompt: "canary-prompt-4",
  body: "canary-body-5",
};
const echo = `${canary.body} ${canary.key} ${canary.header} ${canary.query} ${canary.prompt}`;
const error = {
  type: "error",
  error: { type: "invalid_request_error", code: echo, message: echo, param: echo },
};
const stream = { "content-type": "text/event-stream" };

const replies: readonly (readonly [string, FakeReply])[] = [
  ...[302, 400, 401, 404, 413, 422, 429, 500, 529].map(
    (status) => [`status ${status}`, { status, body: error }] as const,
  ),
  ["an HTML error", { status: 502, body: `<html>${echo}</html>` }],
  ["a text error", { status: 400, headers: { "content-type": "text/plain" }, body: echo }],
  ["HTML with 200", { status: 200, body: `<html>${echo}</html>` }],
  ["a JSON error with 200", { status: 200, body: error }],
  ["another content type", { status: 200, headers: { "content-type": `text/${canary.body}` }, body: echo }],
  ["a frame that is not JSON", { status: 200, headers: stream, body: `data: {"${echo}\n\n` }],
  ["a frame of another shape", { status: 200, headers: stream, body: `data: ["${echo}"]\n\n` }],
  ["an error in the stream", { raw: `data: ${JSON.stringify(error)}\n\n` }],
  ["a stream that is cut", { raw: `data: {"${echo}`, cutAt: 10 }],
  ["a redirect", { status: 307, headers: { location: `http://x.example/?${canary.query}` }, body: "" }],
];

for (const kind of ["anthropic", "openai"] as const) {
  test.each(replies)(
    `MO-41: ${kind} %s leaves no canary in the failure, and the SDK says nothing ★`,
    async (_, reply) => {
      const spies = (["log", "info", "warn", "error", "debug"] as const).map((name) =>
        vi.spyOn(console, name).mockImplementation(() => undefined),
      );
      fake.play(() => ({ ...reply, lenient: true }));
      const secret = secretsOf({ KEY: canary.key, HEADER: canary.header, QUERY: canary.query });
      const fields = { headers: { "x-custom": "${HEADER}" }, base_url: `${fake.url(kind)}?token=\${QUERY}` };
      const messages = [message("user", canary.prompt)];
      const { failure } = await attempt(
        completerFor(fake, kind, fields, { secret }),
        requestOf(kind, { messages, system: canary.prompt }),
      );
      const said = spies.flatMap((spy) => spy.mock.calls);
      for (const spy of spies) spy.mockRestore();
      expect(failure).toBeDefined();
      const text = JSON.stringify(failure);
      expect(Object.values(canary).filter((value) => text.includes(value))).toEqual([]);
      expect(failure?.message.length).toBeLessThanOrEqual(300);
      expect(said).toEqual([]);
      const asked = fake.requests.at(-1);
      expect(asked?.headers["x-custom"]).toBe(canary.header);
      expect(asked?.text).not.toContain(canary.key);
    },
  );
}
