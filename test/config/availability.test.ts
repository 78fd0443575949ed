import { expect, test } from "vitest";
import { unavailableParts } from "../../src/config/availability.ts";
import { compile, team } from "./support.ts";

/** A use of each part that this release cannot run yet, by the path that its list names. */
const uses: Readonly<Record<string, readonly string[]>> = {
  "webhooks.*": [team({ top: "webhooks: [{ name: a, url: 'https://a.example', events: [run_end] }]" })],
  "schedules.*": [team({ top: "schedules: [{ name: a, cron: '0 8 * * 1', input: Hi }]" })],
  "browser.endpoint": [team({ top: "browser: { endpoint: 'wss://a.example' }" })],
  "sandbox.idle": [team({ top: "sandbox: { idle: 1m }" })],
  "sandbox.egress": [team({ top: "sandbox: { egress: [a.example] }" })],
  "sandbox.allow_open_egress": [team({ top: "sandbox: { allow_open_egress: true }" })],
  "sandbox.credentials": [
    team({ top: "sandbox: { credentials: [{ host: a.example, headers: { Authorization: '${TOKEN}' } }] }" }),
  ],
  "retention.event_days": [team({ top: "retention: { event_days: 3 }" })],
  "observability.content": [team({ top: "observability: { content: redacted }" })],
  "observability.metrics": [team({ top: "observability: { metrics: true }" })],
};

test("CF-30: every part of the list has a use in this test, and every use a part in the list", () => {
  expect(Object.keys(uses).toSorted()).toEqual(
    [...new Set(unavailableParts.map(({ path }) => path))].toSorted(),
  );
});

for (const [path, yamls] of Object.entries(uses)) {
  test(`CF-30: ${path} is one precise not_available`, async () => {
    for (const yaml of yamls) {
      const { team: compiled, diagnostics } = await compile(yaml);
      const found = diagnostics.filter(({ code }) => code === "not_available");
      expect([yaml, found.length]).toEqual([yaml, 1]);
      expect(compiled).toBeNull();
      expect(found[0]?.message).toMatch(/^this release cannot /);
      expect(found[0]?.hint).toMatch(/^(remove|use|add) /);
      expect(found[0]?.line).toBeGreaterThan(1);
      const keys = path.split(".").filter((part) => part !== "*");
      expect(keys.every((key) => found[0]?.path.includes(key))).toBe(true);
    }
  });
}

test("CF-30: what only a default implies, and what says that a part is off, is no use", async () => {
  const off = team({
    agent: [
      "    effects: []",
      "    delegation: {}",
      "    capabilities: []",
      "    async: false",
      "    max_concurrency: 0",
      "    middleware: [{ kind: timeout, params: { duration: 5m, count: wall } }]",
      "    guards: { tool_loops: { enabled: false } }",
      "    options: { max_handoffs: 0, max_delegation_depth: 0, localize: false }",
    ].join("\n"),
    top: "mcp_servers: []\nwebhooks: []\nschedules: []\ngit: {}\ncontext: { external: false }\nretention: { session_days: off }\nobservability: { log_level: debug, content: none, metrics: false }",
  });
  for (const yaml of [off, team()]) {
    const { diagnostics } = await compile(yaml);
    expect(diagnostics).toEqual([]);
  }
});

test("CF-30: two uses of one part are two diagnostics", async () => {
  const one = (name: string): string => `{ name: ${name}, url: 'https://a.example', events: [run_end] }`;
  const { diagnostics } = await compile(team({ top: `webhooks: [${one("a")}, ${one("b")}]` }));
  expect(diagnostics.map(({ path }) => path)).toEqual(["webhooks[0]", "webhooks[1]"]);
});
