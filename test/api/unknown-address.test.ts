import { expect, test } from "vitest";
import { anId, problemOf, setUp } from "./harness.ts";

/** What an address without a route answers (AP-10). */

const S = `/v1/sessions/${anId()}`;

const session = "/v1/sessions/{session}";

const hints: readonly (readonly [string, string, string | null])[] = [
  ["GET", "/v1", null],
  ["GET", "/v1/nothing", null],
  ["GET", "/v1/sesions", "GET /v1/sessions"],
  ["POST", "/v1/sesions", "POST /v1/sessions"],
  ["GET", "/v1/sessions/", "GET /v1/sessions"],
  ["GET", "/v1//sessions", "GET /v1/sessions"],
  ["GET", `${S}/mesages`, `GET ${session}/messages`],
  ["POST", `${S}/mesages`, `POST ${session}/messages`],
  ["GET", `${S}/cancl`, `POST ${session}/cancel`],
  ["GET", `${S}/workspac/a/b.txt`, `GET ${session}/workspace/{path}`],
  ["POST", `/v1/session/${anId()}/asks/ask_1`, `POST ${session}/asks/{ask}`],
  ["GET", `${S}/runs/run_1/turn/2/context`, `GET ${session}/runs/{run}/turns/{turn}/context`],
  ["GET", `${S}/context`, `GET ${session}/runs/{run}/turns/{turn}/context`],
  ["GET", `/${"a".repeat(3_000)}`, null],
  // Names of other APIs, and of nothing.
  ["GET", "/nope", null],
  ["GET", "/v1/nodes", `GET ${session}/notes`],
  ["GET", "/v1/keep", null],
  ["POST", "/v1/chat/completions", null],
  ["GET", "/.well-known/agent-card.json", null],
  ["GET", `${S}/foo`, null],
  ["GET", `${S}/history`, null],
  ["GET", `${S}/archive`, null],
  // What stands below a session, without the session.
  ["GET", "/v1/events", `GET ${session}/events`],
  ["GET", "/v1/files", `GET ${session}/files`],
  ["GET", "/v1/runs", `GET ${session}/runs`],
  ["GET", "/v1/runs/run_1", `GET ${session}/runs/{run}`],
  ["GET", "/v1/threads", `GET ${session}/threads`],
  ["POST", "/v1/messages", `POST ${session}/messages`],
  // Only the version is missing.
  ["GET", "/sessions", "GET /v1/sessions"],
  ["GET", "/usage", "GET /v1/usage"],
  ["GET", `/sessions/${anId()}/runs`, `GET ${session}/runs`],
  // Nothing is deleted by a hint.
  ["GET", "/v1/grant/g_1", null],
  ["POST", "/v1/memory/ann/x", null],
  ["DELETE", "/v1/grant/g_1", "DELETE /v1/grants/{grant}"],
];

test.each(hints)(
  "AP-10: %s %s has no route and names the nearest, without a key",
  async (method, path, nearest) => {
    const { call } = setUp();
    const response = await call(method, path, method === "POST" ? {} : undefined, { Authorization: "" });
    expect(response.status).toBe(404);
    const problem = await problemOf(response);
    expect(problem).toMatchObject({ code: "not_found", meta: { nearest } });
    expect(problem["detail"]).toContain(nearest ?? "GET /llms.txt and GET /v1/openapi.json");
  },
);

test("AP-10: an address that cannot be decoded is 404", async () => {
  expect((await setUp().call("GET", "/v1/sessions/%E0%A4%A")).status).toBe(404);
});

test("AP-10: a known address with another method is 405 and says which it takes", async () => {
  const { call } = setUp();
  for (const [method, path, allowed] of [
    ["PUT", S, ["GET", "PATCH", "DELETE", "POST"]],
    ["POST", "/v1/capabilities", ["GET"]],
    ["DELETE", "/v1/sessions", ["POST", "GET"]],
    ["POST", `${S}/workspace/a/b.txt`, ["GET", "PUT", "DELETE"]],
    ["GET", `/sessions/${anId()}/respond`, ["POST"]],
    ["GET", `${S}/cancel`, ["POST"]],
  ] as const) {
    const body = method === "POST" || method === "PUT" ? {} : undefined;
    const response = await call(method, path, body, { Authorization: "" });
    expect(response.status, `${method} ${path}`).toBe(405);
    const reading: readonly string[] = allowed.some((each) => each === "GET") ? ["HEAD"] : [];
    expect(new Set(response.headers.get("Allow")?.split(", "))).toEqual(new Set([...allowed, ...reading]));
    expect(await problemOf(response)).toMatchObject({ code: "method_not_allowed" });
  }
});

test("AP-10: a feature of a later release is 501, not unknown", async () => {
  const { call } = setUp();
  for (const path of ["/v1/webhooks", "/v1/schedules/a", `${S}/export`, "/compat/openai/v1/models", "/mcp"]) {
    const response = await call("GET", path);
    expect(response.status, path).toBe(501);
    expect(await problemOf(response)).toMatchObject({ code: "not_available" });
  }
  const exported = await problemOf(await call("GET", `${S}/export`));
  expect(exported["detail"]).toContain("/events has every event, and so has limpet export");
});
