import { expect, test } from "vitest";
import { instrument } from "../../src/cli/instrument.ts";

test("TB-15: the build fails where the shell's code has not the shape that the meter is written for", () => {
  expect(() => instrument("for (;;) break;", "./meter.ts")).toThrow("has no regex engine");
  const engine = "const start = () => { class A { constructor() {} doExecuteNFA() {} } return A; };";
  expect(() => instrument(`${engine} for (;;) break;`, "./meter.ts")).toThrow(
    "not the expected shape: 1, 0, 0, 0",
  );
});
