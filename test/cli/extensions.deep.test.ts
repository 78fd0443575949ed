import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { team } from "../config/support.ts";

/** Mistakes in a team's extensions.ts, as `limpet validate` of plain Node reports them. */

const project = resolve(import.meta.dirname, "../..");
const root = mkdtempSync(join(tmpdir(), "limpet-extensions-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const from = (file: string): string => JSON.stringify(join(project, file));
const imports = [
  `import * as z from ${from("node_modules/zod/index.js")};`,
  `import { defineTool } from ${from("src/tools/define-tool.ts")};`,
  `import { defineEffect } from ${from("src/agent/definition/effect.ts")};`,
];

/** A team that uses one of everything that extensions can add. */
const using = team({
  provider: "  - { name: own, kind: lagoon, model: m, context_window: 64000 }",
  agent: [
    "    effects: [{ kind: remind, params: { every: 3 } }]",
    "    guards: { few_calls: { most: 3 } }",
    "    fallbacks: [own]",
    "    middleware: [{ kind: output_guardrail, params: { check: polite } }]",
    "    delegation: { may_call: [scout] }",
  ].join("\n"),
}).replace("[filesystem]", "[{ name: tides, tools: [tide_table] }]");

/** What `limpet validate` prints for a team with these lines of extensions behind the imports, which take three. */
const validate = (
  lines: readonly string[],
  {
    yaml = using,
    files = {},
  }: { readonly yaml?: string; readonly files?: Readonly<Record<string, string>> } = {},
): readonly string[] => {
  const folder = join(root, "config/acme");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "team.yaml"), yaml);
  writeFileSync(join(folder, "extensions.ts"), [...imports, ...lines, ""].join("\n"));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  const program = [
    'import { enableCompileCache } from "node:module";',
    "enableCompileCache();",
    `const { run } = await import(${from("src/cli/run.ts")});`,
    `await run(["validate", "acme"], { root: ${JSON.stringify(root)}, print: (line) => console.log(line) });`,
  ].join("\n");
  const given = ["--input-type=module", "-e", program];
  const { stdout } = spawnSync(process.execPath, given, { encoding: "utf8" });
  for (const name of Object.keys(files)) rmSync(join(folder, name));
  return stdout.trim().split("\n");
};

test("CF-28 CF-37: what extensions print while they are loaded is not among the lines of JSON", () => {
  const folder = join(root, "config/loud");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "team.yaml"), team({ agent: "    modle: m" }));
  writeFileSync(join(folder, "extensions.ts"), 'console.log("Here I am.");\nexport const effects = [];\n');
  const program = [
    `const { run } = await import(${from("src/cli/run.ts")});`,
    `const { runProcess } = await import(${from("src/cli/process.ts")});`,
    `await runProcess(run, ${JSON.stringify(root)});`,
  ].join("\n");
  const given = ["--input-type=module", "-e", program, "limpet", "validate", "loud", "--json"];
  const { stdout, stderr, status } = spawnSync(process.execPath, given, { encoding: "utf8" });
  const lines = stdout.trim().split("\n");
  expect(lines.map((line) => (JSON.parse(line) as { code: string }).code)).toEqual(["unknown_key"]);
  expect([status, stderr]).toEqual([1, "Here I am.\n"]);
});

const tool = (more = ""): string =>
  `defineTool({ name: "tide_table", description: "Tides.", params: z.strictObject({}), ${more}run: () => ({ content: "low" }) })`;
const box = (made: string): string =>
  `export const toolboxes = [{ name: "tides", description: "", tools: [${made}] }];`;
const notLoaded = (place: string, why: string): string =>
  `config/acme/extensions.ts:${place} error extension_invalid: the file could not be loaded: ${why}`;

describe("CF-6: a file that cannot be loaded is one finding, at its place", () => {
  test("what it throws", () => {
    expect(
      validate(["const high = (): number => {", "  throw new Error('no tides today');", "};", "high();"]),
    ).toEqual([notLoaded("5:9", "no tides today")]);
  });

  test("a syntax error", () => {
    expect(validate(["export const effects = [;"])).toEqual([notLoaded("4:25", "Expression expected")]);
  });

  test("an import that gives nothing, and a file that is not there", () => {
    expect(
      validate(['import { nothing } from "./more.ts";'], { files: { "more.ts": "export {};" } })[0],
    ).toMatch(
      /^config\/acme\/extensions\.ts:4:10 error extension_invalid: .* does not provide an export named 'nothing'/,
    );
    expect(validate(['import { nothing } from "./none.ts";'])[0]).toMatch(
      /^config\/acme\/extensions\.ts:4:25 error extension_invalid: .*Cannot find module/,
    );
  });

  test("a mistake in a file that it imports is named with that file's place", () => {
    const found = validate(['import "./more.ts";'], {
      files: { "more.ts": "export const a = 1;\nconst b = ;\n" },
    });
    expect(found.filter((line) => line.includes(" error "))).toEqual([
      notLoaded("4:8", "Expression expected (config/acme/more.ts:2:11)"),
    ]);
  });

  test("what a file in a subfolder throws, and what a Worker does not have yet while it starts", () => {
    expect(
      validate(['import "./tides/low.ts";'], { files: { "tides/low.ts": "\nthrow new Error('ebb');\n" } }),
    ).toEqual([notLoaded("4:8", "ebb (config/acme/tides/low.ts:2:7)")]);
    for (const call of ["setTimeout(() => 5, 1)", "crypto.randomUUID()", "fetch('https://sea.example')"])
      expect(validate([`export const checks = [${call}];`])).toEqual([
        expect.stringMatching(
          /^config\/acme\/extensions\.ts:4:\d+ error extension_invalid: .* a Worker has no \w+ while its modules are loaded/,
        ) as string,
      ]);
  });

  test("what never comes to an end, and what ends the process", () => {
    expect(validate(["await new Promise(() => {});"])).toEqual([
      notLoaded("1:1", "it awaits a promise that never settles; await it in a function"),
    ]);
    expect(validate(["while (true) {}"])).toEqual([
      notLoaded("1:1", "it is not done after 10 s; move slow work into a function"),
    ]);
    expect(validate(["process.exit(0);"])).toEqual([notLoaded("1:1", "it ends the process that loads it")]);
    expect(validate(["void Promise.reject(new Error('no tides'));"])).toEqual([
      notLoaded("4:21", "no tides"),
    ]);
  });

  test("a module of Node that a Worker does not have, where it is imported; others stay allowed", () => {
    expect(validate(['import { readFileSync } from "node:fs";', 'readFileSync("/etc/hostname");'])).toEqual([
      notLoaded("4:30", "a Worker has no node:fs"),
    ]);
    expect(validate(["", "const { exec } = await import('child_process');"])).toEqual([
      notLoaded("5:31", "a Worker has no child_process"),
    ]);
    expect(
      validate(['import "./more.ts";'], { files: { "more.ts": '\nimport "node:fs/promises";\n' } }),
    ).toEqual([notLoaded("4:8", "a Worker has no node:fs/promises (config/acme/more.ts:2:8)")]);
    const allowed = ["async_hooks", "buffer", "crypto", "events", "path", "stream", "url", "util", "zlib"];
    const more = allowed.flatMap((name) => [`import "node:${name}";`, `import "${name}";`]);
    expect(validate([...more, 'import type { Stats } from "node:fs";']).join("\n")).not.toContain("loaded");
  });

  test("★ a safety that there is not, at the tool that says it", () => {
    expect(validate([box(tool('safety: "reed", '))])).toEqual([
      notLoaded(
        `4:${box("").indexOf("]") + 1}`,
        'tool tide_table: there is no safety "reed"; write read, idempotent, reattach or unsafe',
      ),
    ]);
    expect(validate([box(tool('workspace: "wite", '))])[0]).toContain(
      'tool tide_table: there is no workspace use "wite"; write none, read or write',
    );
  });
});

describe("CF-6: a wrong definition is one finding, at its place", () => {
  const found = (lines: readonly string[]): readonly string[] =>
    validate(lines).map((line) => line.replace("config/acme/extensions.ts:", ""));

  test("in a list, by way of a constant, and below a call", () => {
    expect(found([box(`{ name: "tide_table" }`)])).toEqual([
      `4:${box("").indexOf("]") + 1} error extension_invalid toolboxes[0].tools[0]: this is not a tool; create it with defineTool`,
    ]);
    expect(
      found([
        "const remind = defineEffect({",
        '  kind: "remind", phase: "before_complete", order: "inject",',
        "  params: z.object({}),",
        "  run: () => ({}),",
        "});",
        "export const effects = [remind];",
      ]),
    ).toEqual([
      "6:11 error extension_invalid effects[0].params: the effect remind: params must be a z.strictObject",
    ]);
    expect(
      found(["export const middleware = [{ kind: 'sign', params: z.strictObject({}), finish: 5 }];"]),
    ).toEqual([
      "4:28 error extension_invalid middleware[0]: this is not middleware; create it with defineMiddleware",
    ]);
  });

  test("a key that nobody knows is told with the one that was meant", () => {
    const misspelt = tool().replace("params:", "param:");
    const [told = ""] = validate([box(misspelt)]);
    expect(told).toContain('tool tide_table: unknown key "param"; did you mean "params"?');
    const [, line, column] = /:(\d+):(\d+) error/.exec(told) ?? [];
    const lines = readFileSync(join(root, "config/acme/extensions.ts"), "utf8").split("\n");
    expect(lines[Number(line) - 1]?.slice(Number(column) - 1)).toMatch(/^param:/);
    expect(
      found([
        'export const effects = [defineEffect({ kind: "remind", phase: "before_complete", order: "inject",',
        "  param: z.strictObject({}), run: () => ({}) })];",
      ]),
    ).toEqual([
      '5:3 error extension_invalid effects[0]: the effect remind: unknown key "param"; did you mean "params"?',
    ]);
    expect(found(['export const toolboxes = [{ name: "tides", tool: [] }];'])).toEqual([
      '4:44 error extension_invalid toolboxes[0]: a toolbox: unknown key "tool"; did you mean "tools"?',
    ]);
  });

  test("an export that is no list, or is not known", () => {
    expect(found(["const checks = 5;", "export { checks };"])[0]).toMatch(
      /^4:16 error extension_invalid checks: /,
    );
    expect(found(["export const toolbox = [];"])[0]).toMatch(/^4:24 error extension_invalid toolbox: /);
  });

  test("an agent, whatever agents the team file has", () => {
    const agents = 'export const agents = [{ name: "scout" }, { name: "pilot", toolboxes: ["serch"] }];';
    const [line] = validate([agents], { yaml: team() });
    expect(line).toMatch(
      new RegExp(
        `^config/acme/extensions\\.ts:4:${agents.indexOf('"serch"') + 1} error unknown_toolbox agents\\[2\\]`,
      ),
    );
  });

  test("what has no place of its own stands at its export; what the team file says wrongly besides is reported", () => {
    const yaml = using.replace("    delegation:", "    delegatoin:");
    const lines = validate(["export const effects = [5].map((each) => each);"], { yaml });
    expect(lines.filter((line) => !line.startsWith("  "))).toEqual([
      "config/acme/extensions.ts:4:24 error extension_invalid effects[0]: this is not an effect; create it with defineEffect",
      expect.stringMatching(/^config\/acme\/team\.yaml:\d+:5 error unknown_key /) as string,
    ]);
  });
});

test("AG-37 CF-1: middleware of the file is known to the team file, and its parameters are checked there", () => {
  const definition = [
    `import { defineMiddleware } from ${from("src/agent/definition/guard.ts")};`,
    "export const middleware = [defineMiddleware({",
    '  kind: "sign", params: z.strictObject({ name: z.string() }),',
    "  finish: (run, { text }, { name }) => ({ text: text + name + run.depth }),",
    "})];",
  ];
  const yaml = (params: string): string =>
    team({ agent: `    middleware: [{ kind: sign, params: ${params} }]` });
  expect(
    validate(definition, { yaml: yaml("{ name: A }") }).filter((line) => line.includes(" error ")),
  ).toEqual([]);
  expect(validate(definition, { yaml: yaml("{ name: 5 }") })[0]).toMatch(
    /^config\/acme\/team\.yaml:9:48 error wrong_type agents\[0\]\.middleware\[0\]\.params\.name/,
  );
});

test("CF-6: extensions without a mistake leave every unknown name to the team file", () => {
  expect(validate([box(tool())]).join("\n")).toContain("unknown_effect");
});
