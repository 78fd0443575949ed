import { expect, test } from "vitest";
import { errorCodes, severityOf, warningCodes } from "../../src/config/document/diagnostics.ts";
import { fixtures } from "./fixtures.ts";
import { complaints, compile } from "./support.ts";

for (const [index, fixture] of fixtures.entries()) {
  const { code, bad, says, good, badOptions, goodOptions } = fixture;

  test(`CF-30: ${code} names file, line, column and the way out (${index})`, async () => {
    const found = await complaints(bad, badOptions ?? {});
    expect(found.map((line) => line.replace("config/acme/", ""))).toEqual(says);
    expect(found.some((line) => line.includes(` ${severityOf(code)} ${code}`))).toBe(true);
  });

  test(`CF-30: the right neighbour of ${code} is accepted (${index})`, async () => {
    expect(await complaints(good, goodOptions ?? {})).toEqual([]);
    expect((await compile(good, goodOptions ?? {})).team).not.toBeNull();
  });
}

test("CF-30: every code has a failing fixture", () => {
  const tried = new Set<string>(fixtures.map(({ code }) => code));
  expect([...errorCodes, ...warningCodes].filter((code) => !tried.has(code))).toEqual([]);
});

test("CF-30: errors keep a team from being built, warnings do not", async () => {
  for (const { code, bad, badOptions } of fixtures) {
    const { team, diagnostics } = await compile(bad, badOptions ?? {});
    const errors = diagnostics.filter(({ severity }) => severity === "error");
    expect([code, team === null]).toEqual([code, errors.length > 0]);
  }
});
