import { existsSync, readFileSync, readdirSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { checkTypes } from "../../src/cli/extensions/types.ts";
import { createTypeReport } from "../../src/cli/serve/type-report.ts";
import { team } from "../config/support.ts";
import { createShippedPlace } from "../support/shipped-place.ts";
import type { ShippedPlace } from "../support/shipped-place.ts";

/** The check of the types in a team's extensions, whatever the project's settings are, before it is deployed and behind its server. */

const project = resolve(import.meta.dirname, "../..");

let place: ShippedPlace;
beforeEach(() => {
  place = createShippedPlace();
  place.write("config/acme/team.yaml", team());
});
afterEach(() => place.remove());

/** The project's settings with more text, such as comments, at the beginning of the compiler's options. */
const settings = (more: string): string =>
  readFileSync(join(project, "tsconfig.json"), "utf8").replace(/"compilerOptions": \{/, `$& ${more}`);

test("CF-6 CF-37: what the types forbid is told whatever the settings hold: comments, paths, other lists of files", async () => {
  symlinkSync(join(project, "node_modules"), join(place.root, "node_modules"));
  place.write(
    "config/acme/extensions.ts",
    "const unused = 1;\nexport const checks: readonly string[] = 5;\n",
  );
  for (const more of ["// A comment.\n", '"paths": { "~/*": ["./config/*"] }, ', '"composite": true, ']) {
    place.write("tsconfig.json", settings(more));
    const file = "config/acme/extensions.ts";
    expect([more, await checkTypes(place.root, "acme")]).toEqual([
      more,
      [
        expect.objectContaining({
          severity: "warning",
          file,
          line: 1,
          message: expect.stringContaining("unused"),
        }),
        expect.objectContaining({ severity: "error", file, line: 2, column: 14 }),
      ],
    ]);
  }
  expect(readdirSync(join(place.root, ".limpet"))).toEqual([]);
  expect(existsSync(join(place.root, "tsconfig.tsbuildinfo"))).toBe(false);
});

test("CF-6 CF-37: settings that the compiler refuses are a mistake, and so is a compiler that does not start", async () => {
  place.write("config/acme/extensions.ts", "export const checks: never[] = [];\n");
  place.write("tsconfig.json", settings("").replace('"types": [', '$&"no-such-types", '));
  const notChecked =
    "config/acme/extensions.ts:1:1 error extension_invalid: its types could not be checked; the compiler says:";
  const missing = await place.call("validate", "acme");
  expect([missing.code, missing.lines[0]]).toEqual([1, notChecked]);
  expect(missing.lines.join("\n")).toContain("Cannot find module");
  symlinkSync(join(project, "node_modules"), join(place.root, "node_modules"));
  const refused = await place.call("deploy", "acme", "--dry-run");
  expect([refused.code, ...refused.lines.slice(0, 2)]).toEqual([
    1,
    notChecked,
    "  error TS2688: Cannot find type definition file for 'no-such-types'.",
  ]);
  place.write("tsconfig.json", settings(""));
  expect(await place.call("validate", "acme")).toEqual({ code: 0, lines: ["acme is valid"] });
});

test("CF-6 CF-37: a flag as the state of an effect or a guard is a boolean, and a state that is no JSON is told", async () => {
  symlinkSync(join(project, "node_modules"), join(place.root, "node_modules"));
  place.write("tsconfig.json", settings(""));
  const own = (initial: string) => `import * as z from "zod";
import { defineEffect } from "${project}/src/agent/definition/effect.ts";
import { defineGuard } from "${project}/src/agent/definition/guard.ts";
const params = z.strictObject({});
const calm = defineEffect({ kind: "calm", phase: "before_complete", order: "inject", params,
  state: { initial: ${initial}, reset: "run" },
  run: (_, _params, { told }) => (told ? {} : { state: { told: true } }) });
const once = defineGuard({ kind: "once", params, state: { initial: { told: false }, reset: "run" },
  before: (_call, _history, { state }) => (state.told ? { do: "allow" } : { do: "allow", state: { told: true } }) });
export const effects = [calm];
export const guards = [once];
`;
  place.write("config/acme/extensions.ts", own("{ told: false }"));
  expect(await checkTypes(place.root, "acme")).toEqual([]);
  place.write("config/acme/extensions.ts", own("{ told: new Date() as Date | boolean }"));
  expect(await checkTypes(place.root, "acme")).toEqual([expect.objectContaining({ line: 6, column: 12 })]);
});

test("CF-6 CF-37: a tool that returns what no tool returns is told what to return", async () => {
  symlinkSync(join(project, "node_modules"), join(place.root, "node_modules"));
  place.write("tsconfig.json", settings(""));
  const tool = (run: string) => `import * as z from "zod";
import { defineTool } from "${project}/src/tools/define-tool.ts";
const tide = defineTool({ name: "tide", description: "Tells.", params: z.strictObject({}),
  run: ${run} });
export const toolboxes = [{ name: "sea", description: "The sea.", tools: [tide] }];
`;
  for (const [run, found, hint] of [
    ['() => "high"', "string", undefined],
    ['async () => ({ text: "high" })', "{ text: string; }", undefined],
    ["() => {}", "void", undefined],
    [
      "async () => ({ content: 5 })",
      "{ content: number; }",
      "Type 'number' is not assignable to type 'string | readonly ContentPart[]'.",
    ],
  ] as const) {
    place.write("config/acme/extensions.ts", tool(run));
    const message = `run has to return { content: "…" }, and returns ${found}`;
    const told = await checkTypes(place.root, "acme");
    expect(told.map(({ line, column, ...rest }) => [line, column, rest.message, rest.hint])).toEqual([
      [4, 3, message, hint],
    ]);
  }
});

test("CF-30: while the types are checked behind the server, one more check waits and no others", async () => {
  place.write("config/acme/extensions.ts", "export const checks = [];\n");
  place.write("tsconfig.json", settings(""));
  place.write("node_modules/typescript/package.json", "{}");
  place.write(
    "node_modules/typescript/bin/tsc",
    `const { appendFileSync, readFileSync } = require("node:fs");
appendFileSync("checks.txt", "x");
console.log("config/acme/extensions.ts(1," + readFileSync("checks.txt").length + "): error TS1: wrong");
process.exitCode = 1;
`,
  );
  const printed: string[] = [];
  const report = createTypeReport(place.root, "acme", (line) => printed.push(line));
  const first = report();
  await setImmediate();
  await Promise.all([first, report(), report(), report()]);
  const told = (column: number): string =>
    `config/acme/extensions.ts:1:${column} error extension_invalid: wrong\nacme is served anyway; limpet deploy refuses it.`;
  expect(printed).toEqual([told(1), told(2)]);
  await report();
  expect(printed).toHaveLength(3);
});
