import { expect, test, vi } from "vitest";
import { createProbe } from "./support/probe.ts";
import { teamOf } from "./support/teams.ts";

vi.mock("cloudflare:workers", () => ({
  DurableObject: Object,
}));
const { createLimpet } = await import("../src/index.ts");

const yaml = `
providers: [{ name: p, kind: openai, api_key: "\${KEY}", model: "\${MODEL}" }]
agents: [{ name: helper, toolboxes: [probe], effects: [] }]`;
const env = { LIMPET_DEV: "1", KEY: "sk-canary", MODEL: "gpt-4o" };
const gates = { getByName: () => ({ health: () => Promise.resolve([]) }) };
const context = { waitUntil: () => undefined, exports: { ProviderGate: gates } } as never;

const open = async (variables: object = env, text = yaml) => {
  const { toolbox } = createProbe();
  const limpet = createLimpet(await teamOf(text, { toolboxes: [toolbox] }), { toolboxes: [toolbox] });
  return {
    limpet,
    get: async (path: string) => {
      const request = new Request(`http://127.0.0.1:8787${path}`, {
        headers: { host: "127.0.0.1:8787", "CF-Connecting-IP": "127.0.0.1" },
      });
      const response = await limpet.router.fetch(request, variables as never, context);
      return { status: response.status, body: await response.json<Record<string, unknown>>() };
    },
  };
};

test("CF-2: a compiled team becomes a router and the classes that its Worker exports, and nothing else", async () => {
  const { limpet } = await open();
  expect(Object.keys(limpet).toSorted()).toEqual([
    "ProviderGate",
    "SessionObject",
    "TeamObject",
    "TenantObject",
    "router",
  ]);
  expect(limpet.SessionObject.name).toBe("SessionObject");
});

test("CF-26, TB-37: the API lists an agent's effective tools, those of the extensions too", async () => {
  const { get } = await open();
  const { body } = await get("/v1/agents/helper");
  const tools = body["tools"] as { name: string; toolbox: string; safety: string }[];
  expect(tools.find(({ name }) => name === "fire")).toMatchObject({ toolbox: "probe", safety: "unsafe" });
  expect(tools.map(({ name }) => name)).toContain("ask_user");
});

test("CF-22 CF-26: an agent is listed with the window that its turns have, its own where nothing else says one", async () => {
  const own = `
providers: [{ name: p, kind: openai-compatible, base_url: "https://a.example/v1", model: m }]
agents: [{ name: helper, options: { context_window: 64000 } }, { name: other }]`;
  const { get } = await open(env, own);
  const windowOf = async (agent: string): Promise<unknown> =>
    (await get(`/v1/agents/${agent}`)).body["context_window"];
  expect([await windowOf("helper"), await windowOf("other")]).toEqual([64_000, 128_000]);
});

test("CF-19: models are listed as they are called, with their window, and no secret is shown", async () => {
  const { get } = await open();
  const { body } = await get("/v1/models");
  expect(JSON.stringify(body)).toMatch(/"provider":"p","model":"gpt-4o","\w+":128000/);
  expect(JSON.stringify(body)).not.toContain("canary");
});

test("CF-20: readiness lists names that are not set", async () => {
  const { get } = await open({ LIMPET_DEV: "1", MODEL: "gpt-4o" });
  const { status, body } = await get("/readyz");
  expect(status).toBe(503);
  expect(JSON.stringify(body)).toContain("KEY");
  expect((await (await open()).get("/readyz")).status).toBe(200);
});
