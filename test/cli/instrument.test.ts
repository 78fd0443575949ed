import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseAst } from "vite";
import { expect, test } from "vitest";
import { instrumentShell } from "../../src/cli/build/instrument.ts";
import { cpuOf } from "../support/cpu.ts";

test("TB-15: the build fails where the shell's code has not the shape that the meter is written for", () => {
  expect(() => instrumentShell("for (;;) break;")).toThrow("has no regex engine");
  const engine = "const start = () => { class A { constructor() {} doExecuteNFA() {} } return A; };";
  expect(() => instrumentShell(`${engine} for (;;) break;`)).toThrow(
    "does not have the expected shape: 1, 0, 0, 0",
  );
});

test("what is inserted into the shell is found in a few times the time that it takes to parse its code", async () => {
  const code = readFileSync(fileURLToPath(import.meta.resolve("just-bash/browser")), "utf8");
  const parsing = await cpuOf(() => parseAst(code));
  expect(await cpuOf(() => instrumentShell(code))).toBeLessThan(20 * parsing);
});
