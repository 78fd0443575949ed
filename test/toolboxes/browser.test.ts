import { expect, test, vi } from "vitest";
import { createOutputFilter } from "../../src/cli/serve/output.ts";
import { reportUnserved } from "../../src/engine/engines.ts";
import type { Bench } from "../support/bench.ts";
import { scripted } from "../support/scripts.ts";
import { engineOf } from "../support/teams.ts";
import { benchOf, eventsOf, lastText, say } from "../engine/harness.ts";

/** The browser toolbox where no browser is needed to see it; with a real one: `e2e/browser.deep.test.ts`. */

const calling = (...calls: readonly string[]): string =>
  scripted(
    `replies: [${[...calls.map((call) => `{ reply: [{ call: ${call} }] }`), "{ reply: [{ text: done }] }"].join(", ")}]`,
  ).replace("toolboxes: [probe]\n    permissions: { preset: open }", "toolboxes: [browser]");

const open = "\npermissions: { preset: open }\n";
const navigating = calling("browser_navigate, args: { url: 'https://a.example/' }") + open;

/** Browsers of the platform that answer by a script, each request named by its method and path. */
const browsers = (...answers: readonly Response[]) => {
  const seen: string[] = [];
  const left = [...answers];
  const fetch = async (request: Request): Promise<Response> => {
    seen.push(`${request.method} ${new URL(request.url).pathname}`);
    return left.shift() ?? new Response("gone", { status: 404 });
  };
  return { seen, env: { BROWSER: { fetch } } };
};

const refuse = (after: string): Response =>
  new Response("too many", { status: 429, headers: { "Retry-After": after } });

const seconds = async (bench: Bench, count: number): Promise<void> => {
  for (let second = 0; second < count; second += 1) await bench.tick(1_000);
};

test("TB-20 TB-5: without a BROWSER binding the tools are declared and answer unavailable, and the run goes on", async () => {
  const bench = await benchOf(navigating, {}, {});
  expect(await say(bench)).toMatchObject({ state: "completed" });
  expect(lastText(bench, "tool")).toMatch(/^unavailable: .*BROWSER binding.*wrangler\.toml/);
});

test("TB-5: a deployment names at its start the toolboxes that its bindings cannot serve", async () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  for (const env of [{}, browsers().env]) reportUnserved(await engineOf(navigating, { env }));
  const written = warn.mock.calls.map(([line]) => String(line));
  warn.mockRestore();
  expect(written.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    {
      level: "warn",
      msg: "toolbox_unavailable",
      toolbox: "browser",
      reason: expect.stringContaining("BROWSER"),
    },
  ]);
  const show = createOutputFilter({ onReload: () => undefined });
  expect(written.map((line) => show(`[limpet-acme] ${line}`))).toEqual([
    expect.stringMatching(/^\w+ cannot use browser: this deployment has no BROWSER binding; add browser = /),
  ]);
});

test("TB-20: while the platform has no browser the call waits as it is told, and no longer than its deadline", async () => {
  const { seen, env } = browsers(refuse("5"), refuse("3600"));
  const bench = await benchOf(navigating, { env }, {});
  bench.send("Look");
  await seconds(bench, 3);
  expect(seen).toHaveLength(1);
  await seconds(bench, 4);
  expect(seen).toEqual(["POST /v1/devtools/browser", "POST /v1/devtools/browser"]);
  expect(lastText(bench, "tool")).toBe("unavailable: all browsers are in use; try again in 3600 s");
});

test("TB-20: a browser's id is stored before its first use, and it is closed with the run that lost it", async () => {
  const { seen, env } = browsers(Response.json({ sessionId: "b1" }));
  const bench = await benchOf(navigating, { env }, {});
  expect(await say(bench)).toMatchObject({ state: "completed" });
  await bench.idle();
  expect(lastText(bench, "tool")).toBe("unavailable: the browser did not answer; try again");
  expect(seen).toEqual([
    "POST /v1/devtools/browser",
    "GET /v1/devtools/browser/b1",
    "DELETE /v1/devtools/browser/b1",
  ]);
  expect(bench.state().page).toBeNull();
});

test("TB-20: without a search page a search says which key names one, and asks nobody", async () => {
  const { seen, env } = browsers();
  const bench = await benchOf(calling("browser_search, args: { query: limpets }"), { env }, {});
  await say(bench);
  expect(lastText(bench, "tool")).toMatch(/^unavailable: .*browser\.search_url/);
  expect(eventsOf(bench, "ask_opened")).toEqual([]);
  expect(seen).toEqual([]);
});

const presets = ["sandboxed", "ask", "open", "locked"] as const;
const listed = "https://a.example/in";
const other = "https://b.example/in";

test.each(presets)(
  "TB-6 TB-20: under %s a call of the browser is judged by the host that it is about",
  async (preset) => {
    const yaml = `${calling("browser_extract, args: {}")}\npermissions: { preset: ${preset} }\negress: { allow: [a.example] }\n`;
    const engine = await engineOf(yaml, { env: browsers().env });
    const agent = engine.agent(engine.team.entry_agent, {
      tools: null,
      clientTools: [],
      model: null,
    } as never);
    const verdict = (name: string, args: object, page: string | null): string =>
      agent.judge({ name, args: JSON.stringify(args) }, [], { depth: 0, untrusted: false, page }).verdict;
    const table = {
      sandboxed: ["allow", "ask"],
      ask: ["ask", "ask"],
      open: ["allow", "allow"],
      locked: ["deny", "deny"],
    };
    const [known, unknown] = table[preset];
    const onPage: readonly (readonly [string, object])[] = [
      ["browser_click", { selector: "a" }],
      ["browser_type", { selector: "a", text: "b" }],
      ["browser_extract", {}],
      ["browser_screenshot", {}],
    ];
    for (const [name, args] of onPage)
      expect([
        name,
        verdict(name, args, listed),
        verdict(name, args, other),
        verdict(name, args, null),
      ]).toEqual([name, known, unknown, known]);
    expect([
      verdict("browser_navigate", { url: listed }, other),
      verdict("browser_navigate", { url: other }, listed),
    ]).toEqual([known, unknown]);
    expect(verdict("browser_search", { query: "a" }, other)).toBe(known);
  },
);

test("TB-7 TB-10 TB-20: rules on egress bind what the browser does with a page, and a search", async () => {
  const rules =
    "rules: [{ act: egress, match: 'https://a.example/**', action: deny }, { act: egress, action: ask }]";
  const yaml = `${calling("browser_extract, args: {}")}\npermissions: { preset: open, ${rules} }\n`;
  const engine = await engineOf(yaml, { env: browsers().env });
  const agent = engine.agent(engine.team.entry_agent, { tools: null, clientTools: [], model: null } as never);
  const verdict = (name: string, args: object, page: string | null): string =>
    agent.judge({ name, args: JSON.stringify(args) }, [], { depth: 0, untrusted: false, page }).verdict;
  expect(verdict("browser_click", { selector: "a" }, listed)).toBe("deny");
  expect(verdict("browser_click", { selector: "a" }, other)).toBe("ask");
  expect(verdict("browser_search", { query: "a" }, listed)).toBe("ask");
});
