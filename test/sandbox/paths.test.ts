import { expect, test } from "vitest";
import { cpuOf } from "../support/cpu.ts";
import { escapeGlob, matchesGlob } from "../../src/sandbox/glob.ts";
import { workspacePath } from "../../src/sandbox/paths.ts";
import { base32, sha256Hex } from "../../src/sandbox/sha256.ts";
import { isProtected, mayWrite, writablePathProblem } from "../../src/sandbox/writable.ts";

test("TB-30: paths are normalised beneath the workspace; every way out is refused", () => {
  const given = ["a/b", "./a//b/", "/workspace/a/./b", "a/x/../b", "/workspace", ".", "", "/workspace/"];
  expect(given.map(workspacePath)).toEqual(["a/b", "a/b", "a/b", "a/b", ".", ".", ".", "."]);
  for (const path of [
    "..",
    "a/../..",
    "/",
    "/etc",
    "/workspacex",
    "/workspace/..",
    "a\0",
    "a\ud800",
    "x".repeat(4097),
  ]) {
    expect(() => workspacePath(path)).toThrow(/workspace/);
  }
});

test("SE-22: * stays in a segment, ** crosses them, sets and escapes work, time stays bounded", async () => {
  const yes = [
    ["src/**", "src/a/b"],
    ["**/x.ts", "x.ts"],
    ["**/x.ts", "a/b/x.ts"],
    ["a/**/b", "a/b"],
    ["a/**/b", "a/x/y/b"],
    ["*.ts", "a.ts"],
    ["[a-c]?", "bz"],
    ["[!a]", "b"],
    ["日*", "日本"],
    ["*", ""],
    ["\\*", "*"],
    ["😀?", "😀x"],
  ] as const;
  const no = [
    ["src/**", "src"],
    ["**/x.ts", "a/bx.ts"],
    ["*.ts", "d/a.ts"],
    ["[!a]", "a"],
    ["a/**/b", "a/xb"],
    ["?", "/"],
    ["[!a]", "/"],
    ["\\*", "x"],
    ["a", "ab"],
    ["b", "ab"],
    ["[a", "a"],
  ] as const;
  expect(yes.filter(([pattern, text]) => !matchesGlob(pattern, text))).toEqual([]);
  expect(no.filter(([pattern, text]) => matchesGlob(pattern, text))).toEqual([]);
  expect(matchesGlob(escapeGlob("a*[b]?\\"), "a*[b]?\\")).toBe(true);
  const took = await cpuOf(() => expect(matchesGlob(`${"*a".repeat(60)}b`, "a".repeat(4000))).toBe(false));
  expect(took).toBeLessThan(2000);
});

test("SE-22: the grammar of writable_paths", () => {
  const valid = ["src/*.ts", "**", "src/**", "**/test.ts", "src/**/test.ts", "a", "./a", "a/"];
  expect(valid.filter((entry) => writablePathProblem(entry) !== null)).toEqual([]);
  const invalid = [
    "/abs",
    "~/x",
    "../x",
    "a/../b",
    "{a,b}",
    "a/**/b/**",
    "a**",
    "**b",
    "x/**y/z",
    "",
    "  ",
    "a\0",
  ];
  expect(invalid.filter((entry) => writablePathProblem(entry) === null)).toEqual([]);
});

test("TB-31: absent is unbounded, an empty or wholly invalid list allows nothing", () => {
  expect(mayWrite(undefined, "any/thing")).toBe(true);
  expect([mayWrite([], "a"), mayWrite(["/abs/**", "a**"], "a")]).toEqual([false, false]);
  expect([
    mayWrite(["/abs", "src/**"], "src/x"),
    mayWrite(["./src/*"], "src/x"),
    mayWrite(["src/"], "src"),
  ]).toEqual([true, true, true]);
});

test("TB-30: git hooks, git configuration and .skills are protected, neighbours are not", () => {
  const closed = [
    ".git",
    ".git/hooks/x",
    ".git/config",
    "sub/.git/config",
    ".git/modules/m/hooks/y",
    ".git/worktrees/w/config.worktree",
    ".skills",
    ".skills/a/b",
  ];
  const open = [".gitignore", ".github/hooks", ".git/objects/aa", "src/config", "hooks/x", "a/.skills/x"];
  expect(closed.filter((path) => !isProtected(path))).toEqual([]);
  expect(open.filter(isProtected)).toEqual([]);
});

test("hashes are SHA-256 and base32 is RFC 4648", async () => {
  for (const length of [0, 1, 55, 56, 63, 64, 65, 119, 120, 5000]) {
    const bytes = new Uint8Array(length).map((_, index) => index * 7);
    const expected = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    expect(sha256Hex(bytes)).toBe(
      Array.from(expected, (byte) => byte.toString(16).padStart(2, "0")).join(""),
    );
  }
  expect(
    ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map((text) => base32(new TextEncoder().encode(text))),
  ).toEqual(["", "my", "mzxq", "mzxw6", "mzxw6yq", "mzxw6ytb", "mzxw6ytboi"]);
});
