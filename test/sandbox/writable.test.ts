import * as fc from "fast-check";
import { expect, test } from "vitest";
import { mayWrite, narrowPaths } from "../../src/sandbox/writable.ts";

test("AG-13: of two lists of globs only what lies in the other is left", () => {
  const cases: readonly (readonly [readonly string[], readonly string[], readonly string[]])[] = [
    [["src/**"], ["src/a/**", "docs/**"], ["src/a/**"]],
    [["src/**"], ["**"], ["src/**"]],
    [["src/*.ts"], ["src/a.ts", "src/a.js"], ["src/a.ts"]],
    [["**/*.md"], ["docs/readme.md"], ["docs/readme.md"]],
    [["src/**"], ["src/**"], ["src/**"]],
    [["./src/**"], ["src/b/"], ["src/b/"]],
    [["a/*"], ["a/**"], ["a/*"]],
    [[], ["src/**"], []],
    [["src/**"], [], []],
    [["docs/**"], ["src/**"], []],
  ];
  for (const [own, given, left] of cases)
    expect(narrowPaths(own, given), JSON.stringify([own, given])).toEqual(left);
});

test("AG-13: what two lists leave never allows a path that one of them forbids", () => {
  const segment = fc.constantFrom("a", "b", "*", "a*", "c.ts", "[!a]*", "\\a");
  const glob = fc
    .array(fc.oneof({ weight: 4, arbitrary: segment }, { weight: 1, arbitrary: fc.constant("**") }), {
      minLength: 1,
      maxLength: 4,
    })
    .map((parts) => parts.filter((part, index) => part !== "**" || parts.indexOf("**") === index).join("/"));
  const path = fc.array(fc.constantFrom("a", "b", "ab", "c.ts"), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(
      fc.array(glob, { maxLength: 3 }),
      fc.array(glob, { maxLength: 3 }),
      path,
      (own, given, parts) => {
        const file = parts.join("/");
        if (mayWrite(narrowPaths(own, given), file))
          expect(mayWrite(own, file) && mayWrite(given, file), file).toBe(true);
      },
    ),
    { numRuns: 2_000 },
  );
});
