import { expect, test } from "vitest";
import { anId, problemOf, setUp } from "./harness.ts";

/** What the router refuses by itself, before a session is asked. */

const S = `/v1/sessions/${anId()}`;

test("AP-25: a WebSocket of another version of the protocol is refused, with those that are spoken", async () => {
  const { call } = setUp();
  const headers = { Upgrade: "websocket", "Sec-WebSocket-Protocol": "limpet.v2" };
  const response = await call("GET", `${S}/ws`, undefined, headers);
  expect(response.status).toBe(426);
  expect(await problemOf(response)).toMatchObject({
    code: "version_unsupported",
    meta: { supported: ["limpet.v1"] },
  });
});

test("AP-2: a body of another type is refused with the one to send", async () => {
  const { call } = setUp();
  const response = await call("POST", `${S}/messages`, "Hello", { "Content-Type": "text/plain" });
  expect(response.status).toBe(415);
  expect((await problemOf(response))["detail"]).toContain("application/json");
});

test("AP-9: a route that would ignore If-Match refuses it before the session is asked", async () => {
  const { call, session } = setUp();
  const { calls } = await session(anId());
  for (const [path, body] of [
    ["/messages", { content: "Go" }],
    ["", { content: "Go" }],
    ["/respond", { question_id: "ask_1", response: "yes" }],
    ["/compact", {}],
  ] as const)
    expect(await problemOf(await call("POST", S + path, body, { "If-Match": '"41"' })), path).toMatchObject({
      code: "invalid_request",
      detail: expect.stringContaining("does not accept If-Match"),
    });
  expect(calls).toEqual([]);
});
