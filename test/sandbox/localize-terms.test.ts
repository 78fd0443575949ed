import { expect, test } from "vitest";
import { localizeTermsOf } from "../../src/sandbox/localize-terms.ts";

/** What a text names (SE-38). */

const paths: readonly (readonly [string, readonly string[]])[] = [
  ["Fix src/a.ts, then docs/b.md.", ["src/a.ts", "a.ts", "docs/b.md", "b.md"]],
  ["see (src/a.ts:12:5): it fails", ["src/a.ts", "a.ts"]],
  ["in src\\win\\Main.cs and C:\\repo\\x.py", ["src/win/Main.cs", "Main.cs", "repo/x.py", "x.py"]],
  ["./run.sh ../up/go.mod /etc/app.conf", ["run.sh", "up/go.mod", "go.mod", "etc/app.conf", "app.conf"]],
  ["https://a.example/x/y.ts, www.b.example/z.html and ftp://c/d.txt", []],
  ["v1.2.3 3.50 2.0.0-rc.1 10.1.2+build.x v1.2", []],
  ["e.g. i.e. Node.js me@a.example.com", []],
  ["a.extension9 is none, a.extensio is one", ["a.extensio"]],
  ["A sentence ends.Another begins", ["ends.Another"]],
  ["Makefile and .env and .gitignore", []],
  [".github/workflows/ci.yml", [".github/workflows/ci.yml", "ci.yml"]],
  ["docs/日本.txt", ["docs/日本.txt", "日本.txt"]],
  ["Src/A.ts src/a.ts", ["Src/A.ts", "A.ts"]],
];

for (const [text, found] of paths)
  test(`SE-38: paths in ${JSON.stringify(text)}`, () => {
    expect(localizeTermsOf(text)?.paths ?? []).toEqual(found);
  });

const identifiers: readonly (readonly [string, readonly string[]])[] = [
  ["parseConfig, HTTPServer and max_retries", ["parseConfig", "HTTPServer", "max_retries"]],
  ["Please Fix the Parser, it uses JSON", []],
  ["JavaScript, GitHub and PostgreSQL speak APIs and URLs", []],
  ["call getX(getX) or GETX", ["getX"]],
  ["an underscore_ or _one or ___ is none, a_1 is one", ["a_1"]],
  ["see https://a.example/getThing", []],
];

for (const [text, found] of identifiers)
  test(`SE-38: identifiers in ${JSON.stringify(text)}`, () => {
    expect(localizeTermsOf(text)?.identifiers ?? []).toEqual(found);
  });

const phrases: readonly (readonly [string, readonly string[]])[] = [
  ["It says \"no such file\" and 'not found'", ["no such file", "not found"]],
  ["with `three ticks` and “curly ones”", ["three ticks", "curly ones"]],
  ["don't read the user's words as they're here", []],
  ['"ab" is too short, "  a  " too', []],
  [`"${"x".repeat(81)}" is too long`, []],
  ["TypeError: x is not a function.", ["x is not a function"]],
  ["panic: nil map\nfatal - disk full\nit failed : why not", ["nil map", "disk full", "why not"]],
  ["error-prone code, and an error: ab", []],
  [`Error: ${"é".repeat(200)}`, ["é".repeat(120)]],
];

for (const [text, found] of phrases)
  test(`SE-38: phrases in ${JSON.stringify(text.slice(0, 60))}`, () => {
    expect(localizeTermsOf(text)?.phrases ?? []).toEqual(found);
  });

test("SE-38: a text without terms has none, and no text takes long or has more than its share", () => {
  expect(localizeTermsOf("Hello, how are you?")).toBeNull();
  const many = Array.from({ length: 500 }, (_, n) => `name_${n} f${n}.ts "quote ${n}"`).join(" ");
  const { identifiers = [], phrases = [], paths = [] } = localizeTermsOf(many) ?? {};
  expect([identifiers.length, phrases.length, paths.length]).toEqual([200, 32, 100]);
  const started = performance.now();
  for (const text of ["error", "a-", '"', "a.", "\\", "/", "aB", "'a ", "error ", "x_", "www.", "::1"])
    localizeTermsOf(text.repeat(100_000));
  expect(performance.now() - started).toBeLessThan(4_000);
});
