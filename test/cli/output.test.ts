import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { createOutputFilter, explainSettingsFault, ownTrace } from "../../src/cli/serve/output.ts";
import type { OutputNews } from "../../src/cli/serve/output.ts";
import { root } from "../support/dev-server.ts";

/** What of wrangler's output a person who ran `npm start` gets to read (AP-70). */

const shown = (text: string, onReload: OutputNews["onReload"] = () => undefined): readonly string[] => {
  const filter = createOutputFilter({ onReload });
  return text.split("\n").flatMap((line) => filter(line) ?? []);
};

const log = (fields: object): string =>
  `[undefined] ${JSON.stringify({ at: "2026-11-23T18:19:08.490Z", level: "info", ...fields })}`;

test("AP-70: a reload is noticed and not shown", () => {
  const reloads: unknown[] = [];
  const lines = ["⎔ Reloading local server...", "\u001B[2m⎔ Local server updated and ready\u001B[22m"];
  expect(shown(lines.join("\n"), (rebuilt) => reloads.push(rebuilt))).toEqual([]);
  expect(reloads).toEqual([null]);
});

test("AP-70: what wrangler says of itself is not shown", () => {
  expect(
    shown(`
 ⛅️ wrangler 4.156.2 (update available 4.164.0)
───────────────────────────────────────────────
[custom build] Running: npm run -s limpet -- build default
[custom build] built default into .limpet/default/
[custom build]
Using secrets defined in process.env
\u001B[33m▲ \u001B[43;33m[\u001B[43;30mWARNING\u001B[43;33m]\u001B[0m \u001B[1mMissing required secrets: LIMPET_ADMIN_KEY. Add them to .dev.vars.\u001B[0m

\u001B[33m▲ [WARNING] Processing src/sandbox/worker/wrangler.toml configuration:\u001B[0m

    - No environment found in configuration with name "acme".

limpet has access to the following bindings:
Binding                                         Resource                  Mode
env.SANDBOX (limpet-sandbox)                    Worker                    local [not connected]

Service bindings, Durable Object bindings, and Tail consumers connect to other processes.
[custom build] built the shell into .limpet/shell.js and its git into .limpet/git.js
⎔ Starting local server...
[wrangler:warn] Unable to fetch the \`Request.cf\` object! Falling back to a default placeholder...
Error: getaddrinfo ENOTFOUND workers.cloudflare.com
    at GetAddrInfoReqWrap.onlookupall [as oncomplete] (node:dns:123:26)
[wrangler:info] Ready on http://localhost:8787
[wrangler:info] GET /healthz 200 OK (9ms)`),
  ).toEqual([]);
});

test("AP-70: of the Worker's log it shows what went wrong, once, and texts that a team's code writes", () => {
  const lines = [
    log({ msg: "request", method: "GET", route: "GET /healthz", status: 200, code: null }),
    "[wrangler:info] GET /healthz 200 OK (9ms)",
    log({ msg: "request", method: "POST", route: "POST /v1/sessions", status: 400, code: "invalid_json" }),
    "[wrangler:info] POST /v1/sessions 400 Bad Request (9ms)",
    log({ msg: "run_failed", level: "warn" }),
    log({ msg: "error", level: "error", session: "s_a", run: "run_1", turn: 100, code: "max_iterations" }),
    log({
      msg: "error",
      level: "error",
      session: "s_a",
      code: "storage_error",
      message: "The disk is full.",
    }),
    log({
      msg: "step",
      level: "warn",
      session: "s_a",
      step: "run_1.2.1",
      code: "auth",
      model: "claude/opus",
    }),
    "[limpet-acme] tide",
    "  { hour: 1 }",
    "[wrangler:info] GET /healthz 200 OK (9ms)",
    "✘ [ERROR] Uncaught Error: no harbour",
    "",
    "    at pilot (extensions.ts:4:97)",
    "▲ [WARNING] careful",
    "⎔ Reloading local server...",
    '[limpet] {"at": broken',
  ];
  expect(shown(lines.join("\n"))).toEqual([
    "400 POST /v1/sessions invalid_json",
    '{"at":"2026-11-23T18:19:08.490Z","level":"warn","msg":"run_failed"}',
    "run_1 of s_a: max_iterations",
    "s_a: storage_error: The disk is full.",
    "run_1.2.1 of s_a: claude/opus failed (auth)",
    "tide",
    "  { hour: 1 }",
    "Uncaught Error: no harbour",
    "    at pilot (extensions.ts:4:97)",
    "careful",
    '{"at": broken',
  ]);
});

test("AP-70: of what a tool or an effect threw its message is shown, and the first place in the team's own code", () => {
  const threw = log({ msg: "tool_threw", level: "warn", tool: "tide_at", message: "no tide at this hour" });
  const hook = log({ msg: "hook_threw", level: "warn", hook: "tide_note", message: "no table" });
  const frames = [
    "    at parse (file:///p/node_modules/zod/index.js:3:4)",
    "    at refuseToRun (file:///p/config/acme/tides/tide.ts:2:23)",
    "    at Object.run (file:///p/config/acme/extensions.ts:11:29)",
    "    at Promise.try (<anonymous>)",
  ];
  expect(
    shown([threw, ...frames, hook, frames[0], "[limpet-acme] mine", ...frames.slice(1, 2)].join("\n")),
  ).toEqual([
    "tide_at threw: no tide at this hour",
    "  at config/acme/tides/tide.ts:2:23",
    "tide_note threw: no table",
    "mine",
    "    at refuseToRun (file:///p/config/acme/tides/tide.ts:2:23)",
  ]);
});

test("AP-70: an MCP server that cannot be used is one sentence with its reason", () => {
  const server = { msg: "mcp_server", level: "warn", step: "tides" };
  const failed = log({ ...server, code: "failed", message: "HTTP 502" });
  const changed = log({ ...server, code: "quarantined" });
  expect(shown([failed, changed].join("\n"))).toEqual([
    "The MCP server tides cannot be used: HTTP 502",
    "The MCP server tides offers tools that nobody approved: its session's events say why",
  ]);
});

test("AP-70: that a host is not found is one sentence, and not the runtime's own words", () => {
  const failure = [
    "\u001B[31m✘ \u001B[41;31m[\u001B[41;97mERROR\u001B[41;31m]\u001B[0m \u001B[1me = rust/worker/ffi.rs:110: failed: failed to lookup address information: Name or service not known\u001B[0m",
    "",
    "  stack: /node_modules/workerd@383c3f9; sentryErrorContext = jsgInternalError; wdErrId = km2d6",
    "",
  ];
  expect(shown([...failure, "[limpet] mine", ...failure].join("\n"))).toEqual([
    "A host was not found by its name (DNS): is the name right, and is this machine online?",
    "mine",
  ]);
});

test("AP-70: a missing entry point is told in one sentence, whichever way wrangler puts it", () => {
  for (const words of [
    "Missing entry-point to Worker script or to assets directory",
    "Cannot set run_worker_first without a Worker script.",
    "Cannot use assets with a binding in an assets-only Worker.",
  ]) {
    const lines = [`✘ [ERROR] ${words}`, "", "  Please remove it.", ""];
    expect(shown(lines.join("\n"))).toEqual([]);
    expect(explainSettingsFault(lines)).toBe(
      "wrangler.toml names no entry point: main is missing from it, or from the team's environment.",
    );
  }
});

test("AP-70: an option that there is not is told with the nearest and the known ones, not by a list of all", () => {
  const lines = [
    "wrangler dev [script]",
    "  --env  …",
    "\u001B[31m✘ [ERROR] Unknown argument: prot\u001B[0m",
    "",
  ];
  expect(shown(lines.join("\n"))).toEqual([]);
  expect(explainSettingsFault(lines)).toBe(
    "There is no option --prot; did you mean --port?\nKnown are --env, --port, --ip, --persist-to, and what npx wrangler dev --help lists.",
  );
  expect(explainSettingsFault(["✘ [ERROR] Unknown arguments: log-levl, logLevl"])).toMatch(
    /^There is no option --log-levl\nKnown are --env,/,
  );
});

test.each<readonly [string, Readonly<Record<string, string>>, readonly string[], string]>([
  ["whose value npm hands on", { npm_config_port: "true" }, ["-c", "wrangler.toml", "8955"], "--port 8955"],
  ["whose value npm keeps, too", { npm_config_persist_to: "state" }, ["-c", "a"], "--persist-to state"],
  ["one of two", { npm_config_env: "true", npm_config_port: "9000" }, ["acme"], "--env … --port 9000"],
])("AP-70: an option before npm's -- is told with the way to write it: %s", (_, env, args, words) => {
  const { stdout, status } = spawnSync(process.execPath, ["src/cli/serve/start.ts", ...args], {
    cwd: root,
    env: { ...process.env, ...env },
    encoding: "utf8",
  });
  expect([status, stdout]).toEqual([
    1,
    `npm keeps options that come before a -- for itself: write npm start -- ${words}\n`,
  ]);
});

test("AP-70: a change that changes nothing of the team is no news, unless something was wrong", () => {
  const same = "[custom build] acme has not changed since its last build";
  const wrong = "[custom build] config/acme/team.yaml:6:1 error unknown_key x: unknown key";
  expect(shown([same, same, wrong, same, same].join("\n"))).toEqual([
    "config/acme/team.yaml:6:1 error unknown_key x: unknown key",
    "acme is valid and served as before",
  ]);
});

test("AP-70: diagnostics are shown as they are, and that a change is built once it is served", () => {
  const built = "[custom build] built acme into .limpet/acme/";
  const served = "⎔ Local server updated and ready";
  const reloads: unknown[] = [];
  expect(
    shown(
      [
        built,
        "[custom build] config/acme/team.yaml:6:1 error unknown_key x: unknown key",
        "[custom build]   did you mean y?",
        "[custom build] acme has errors; its last good build is still served",
        built,
        "[limpet-acme] the old build still answers",
        served,
        served,
      ].join("\n"),
      (rebuilt) => reloads.push(rebuilt),
    ),
  ).toEqual([
    "config/acme/team.yaml:6:1 error unknown_key x: unknown key",
    "  did you mean y?",
    "acme has errors; its last good build is still served",
    "the old build still answers",
  ]);
  expect(reloads).toEqual(["acme", null]);
});

test("AP-70: a warning that the build before gave, too, is no news; one that comes again is", () => {
  const build = (...lines: readonly string[]) => lines.map((line) => `[custom build] ${line}`);
  const near = ["team.yaml:5:15 warning private_address base_url: 127.0.0.1:1 is not public", "  add it"];
  const far = ["team.yaml:9:1 warning unpriced_model model: the price is not known", "  set it"];
  const wrong = ["team.yaml:7:1 error unknown_key x: unknown key", "  did you mean y?"];
  const end = "built acme into .limpet/acme/";
  const kept = "acme has errors; its last good build is still served";
  expect(
    shown(
      [
        ...build(...near, end),
        ...build(...near, ...far, end),
        ...build(...near, ...wrong, kept),
        ...build(...near, ...wrong, kept),
        ...build(...near, ...far, end),
      ].join("\n"),
    ),
  ).toEqual([...near, ...far, ...wrong, kept, ...wrong, kept, ...far]);
});

test("AP-70: a build that a mistake follows before it is served is not told as served", () => {
  const reloads: unknown[] = [];
  const build = (...lines: readonly string[]) => lines.map((line) => `[custom build] ${line}`);
  const lines = [
    ...build("built acme into .limpet/acme/", "built acme into .limpet/acme/"),
    ...build("acme has errors; its last good build is still served"),
    "⎔ Local server updated and ready",
  ];
  expect(shown(lines.join("\n"), (rebuilt) => reloads.push(rebuilt))).toEqual([
    "acme has errors; its last good build is still served",
  ]);
  expect(reloads).toEqual([null]);
});

test("AP-70: of a build that fails nothing is shown but what it says, and what that means", () => {
  expect(
    shown(`The file config/acme/sedAbC changed, restarting build...
[custom build] Running: npm run -s limpet -- build acme
[custom build] SyntaxError: Expected ident
[custom build]     at main.ts:1
[custom build]
\u001B[31m✘ \u001B[41;31m[\u001B[41;97mERROR\u001B[41;31m]\u001B[0m \u001B[1mk [Error]: Process exited with non-zero status (13)\u001B[0m

      at runCommand (/wrangler-dist/cli.js:192428:26) {
    result: I {
      _process: ChildProcess {
  - A line of the object.
  }

✘ [ERROR] Running custom build \`npm run -s limpet -- build acme\` failed. There are likely more logs from your build command above.

The file config/acme/team.yaml changed, restarting build...
⎔ Reloading local server...`),
  ).toEqual([
    "SyntaxError: Expected ident",
    "    at main.ts:1",
    "The build itself failed: the server answers again after the next change that builds.",
  ]);
});

test("AP-70: a request is told by what it asked for: of an unknown address, or of one that does not take it", () => {
  const refused = (method: string, status: number, code: string): string =>
    log({ msg: "request", method, route: null, status, code });
  expect(
    shown(
      [
        refused("GET", 404, "not_found"),
        refused("PUT", 405, "method_not_allowed"),
        refused("GET", 403, "forbidden"),
        refused("OPTIONS", 403, "origin_not_allowed"),
      ].join("\n"),
    ),
  ).toEqual([
    "404 GET of an unknown address not_found",
    "405 PUT of an address that does not accept it method_not_allowed",
    "403 GET forbidden",
    "403 OPTIONS origin_not_allowed; src/api/guide.md shows how the page's server passes /v1 on",
  ]);
});

test("AP-70: what the start itself asks the server is not shown", () => {
  const [, own] = ownTrace.traceparent.split("-");
  const line = { msg: "request", method: "GET", route: "GET /readyz", status: 503, code: null };
  expect(shown(log({ ...line, trace_id: own }))).toEqual([]);
  expect(shown(log({ ...line, trace_id: "f".repeat(32) }))).toEqual(["503 GET /readyz"]);
});
