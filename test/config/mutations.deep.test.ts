import * as fc from "fast-check";
import { readFileSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { compileTeam } from "../../src/config/build/compile.ts";
import { shippedTeams } from "../support/shipped.ts";
import { team } from "./support.ts";
import { sizeOf } from "../support/random-size.ts";

/** Valid team files, changed at random: whatever they become, the compiler answers with diagnostics or a team. */

const root = resolve(import.meta.dirname, "../..");

const shipped = shippedTeams.flatMap((name) => {
  const folder = join(root, "config", name);
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".yaml"))
    .map((path) => ({ path: path.replace(/^.*\//, ""), text: readFileSync(join(folder, path), "utf8") }));
});

const rich = team({
  provider: "    fallbacks: [{ provider: main, model: other }]\n    headers: { X-Team: ${TEAM} }",
  agent: [
    "    skills: none",
    "    permissions: { preset: ask, rules: [{ tool: exec_run, match: 'git *', action: allow }] }",
    "    options: { max_iterations: 5, tool_output_limits: { fs_read: 100 }, writable_paths: ['src/**'] }",
    "    guards: { budget: { max_tokens: 1000, max_duration: 10m } }",
    "    middleware: [{ kind: timeout, params: { duration: 5m, count: wall } }]",
  ].join("\n"),
  top: "x-a: &a { timeout: 1h }\nlimits: { asks: { <<: *a, on_timeout: { answer: go on } } }\nsandbox: { limits: { disk: 1GiB } }",
});

const alphabet = [
  "[",
  "]",
  "{",
  "}",
  ":",
  "- ",
  "\n",
  "  ",
  "&a ",
  "*a",
  "!!x ",
  '"',
  "'",
  "|",
  ">",
  "#",
  "~",
  "1e9",
];
const mutation = fc.record({
  at: fc.nat(10_000),
  remove: fc.nat(12),
  insert: fc.oneof(
    fc.constantFrom(
      ...alphabet,
      "__proto__",
      "null",
      "yes",
      "\t",
      "\0",
      "💥",
      "%YAML",
      "---\n",
      "<<: *a",
      "${X}",
    ),
    fc.string({ maxLength: 8, unit: "grapheme" }),
  ),
});

test("CF-9 RE-9: 5 000 mutations of valid files give diagnostics or a team, never an exception", async () => {
  const originals = [rich, ...shipped.map(({ text }) => text)];
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...originals),
      fc.array(mutation, { minLength: 1, maxLength: 4 }),
      async (original, mutations) => {
        let text = original;
        for (const { at, remove, insert } of mutations) {
          const place = at % (text.length + 1);
          text = text.slice(0, place) + insert + text.slice(place + remove);
        }
        const files = new Map([
          ["team.yaml", text],
          ["scripts/guide.yaml", text],
        ]);
        const { team: compiled, diagnostics } = compileTeam(files, { name: "acme" });
        const errors = diagnostics.filter(({ severity }) => severity === "error");
        expect(compiled === null).toBe(errors.length > 0);
        expect(diagnostics.every(({ line, column }) => line >= 1 && column >= 1)).toBe(true);
      },
    ),
    sizeOf(5_000, 20_261_121),
  );
});
