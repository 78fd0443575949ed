import { expect, test } from "vitest";
import { anId, problemOf, setUp } from "./harness.ts";

/** What an address without a route answers (AP-10). */

const S = `/v1/sessions/${anId()}`;

test("AP-10: an address without a route is 404 and names the nearest one, without a key", async () => {
  const { call } = setUp();
  for (const [path, nearest] of [
    ["/v1", null],
    ["/v1/nothing", null],
    ["/v1/sesions", "GET /v1/sessions"],
    ["/v1/sessions/", "GET /v1/sessions"],
    ["/v1//sessions", "GET /v1/sessions"],
    [`/v1/sessions/${anId()}/mesages`, "POST /v1/sessions/:session/messages"],
    [`/v1/sessions/${anId()}/workspac/a/b.txt`, "GET /v1/sessions/:session/workspace/:path"],
    [`/v1/session/${anId()}/asks/ask_1`, "POST /v1/sessions/:session/asks/:ask"],
    [
      `/v1/sessions/${anId()}/runs/run_1/turn/2/context`,
      "GET /v1/sessions/:session/runs/:run/turns/:turn/context",
    ],
    [`/${"a".repeat(3_000)}`, null],
  ] as const) {
    const response = await call("GET", path, undefined, { Authorization: "" });
    expect(response.status, path).toBe(404);
    expect(await problemOf(response), path).toMatchObject({ code: "not_found", meta: { nearest } });
  }
  expect((await call("GET", "/v1/sessions/%E0%A4%A")).status).toBe(404);
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
    expect(new Set(response.headers.get("Allow")?.split(", "))).toEqual(new Set(allowed));
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
});
