import { expect, test } from "vitest";
import { instrumentShell } from "../../src/cli/build/instrument.ts";

test("TB-15: the build fails where the shell's code has not the shape that the meter is written for", () => {
  expect(() => instrumentShell("for (;;) break;")).toThrow("has no regex engine");
  const engine = "const start = () => { class A { constructor() {} doExecuteNFA() {} } return A; };";
  expect(() => instrumentShell(`${engine} for (;;) break;`)).toThrow(
    "does not have the expected shape: 1, 0, 0, 0",
  );
});
