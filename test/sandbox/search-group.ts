import { expect, test } from "vitest";
import type { Fetcher } from "../../src/sandbox/wire.ts";
import { bench, codeOf } from "./bench.ts";

/** search/content and search/files. */
export function searchGroup(connect: () => Fetcher): void {
  test("TB-15: ★ search finds text in a non-ASCII file, with whole characters", async () => {
    const { put, sandbox } = bench(connect);
    await put("docs/日本.txt", `${"é".repeat(9000)}\nGrüße, 世界!\n`);
    const hits = await sandbox.searchContent({ pattern: "世.!" });
    expect(hits).toEqual({
      matches: [{ path: "docs/日本.txt", line: 2, content: "Grüße, 世界!" }],
      total: 1,
      truncated: false,
    });
    expect((await sandbox.searchContent({ pattern: "GRÜSSE|grüße", ignore_case: true })).total).toBe(1);
  });

  test("TB-15: ignore files count, .git and node_modules and binaries are skipped, long lines cut", async () => {
    const { put, sandbox } = bench(connect);
    const paths = [
      "src/a.ts",
      "node_modules/m/a.ts",
      ".git/objects/a.ts",
      "build/a.ts",
      "src/gen/a.ts",
      "src/keep.log",
      "src/b.log",
      "sub/only/a.ts",
    ];
    for (const path of paths) await put(path, "needle\n");
    await put(".gitignore", "build/\n*.log\n!keep.log\n");
    await put("src/.gitignore", "/gen\n");
    await put("sub/.ignore", "only\n");
    await put("bin", Uint8Array.from([...new TextEncoder().encode("needle"), 0, 1]));
    await put("long.txt", `${"x".repeat(2000)}needle\n`);
    const found = (await sandbox.searchContent({ pattern: "needle" })).matches;
    expect(found.map(({ path }) => path).sort()).toEqual(["long.txt", "src/a.ts", "src/keep.log"]);
    expect(found.find(({ path }) => path === "long.txt")?.content.length).toBe(501);
    const inside = await sandbox.searchContent({ pattern: "needle", directory: "src/gen" });
    expect(inside.total).toBe(1);
  });

  test("TB-15: context, literal, glob and bounds", async () => {
    const { put, sandbox } = bench(connect);
    await put("a.txt", "1\n2\na.c\n4\n5\n");
    await put("b.md", "abc\n".repeat(50));
    const literal = await sandbox.searchContent({ pattern: "a.c", literal: true, context_lines: 1 });
    expect(literal.matches).toEqual([{ path: "a.txt", line: 3, content: "a.c", context: ["2", "a.c", "4"] }]);
    const bounded = await sandbox.searchContent({ pattern: "a.c", max_results: 10 });
    expect([bounded.matches.length, bounded.total, bounded.truncated]).toEqual([10, 51, true]);
    expect((await sandbox.searchContent({ pattern: "a.c", glob: "*.txt" })).total).toBe(1);
    for (const glob of ["*.{txt,md}", "{a,x}.*", "*.{md,{txt,js}}"]) {
      const { total } = await sandbox.searchContent({ pattern: "a.c", glob });
      expect([glob, total]).toEqual([glob, glob === "{a,x}.*" ? 1 : 51]);
    }
    expect(await sandbox.searchFiles({ pattern: "*.{txt,md}" })).toHaveLength(2);
    expect(await codeOf(sandbox.searchContent({ pattern: "(" }))).toBe("invalid_request");
    expect(await codeOf(sandbox.searchContent({ pattern: "x", directory: "nope" }))).toBe(
      "workspace_read_not_found",
    );
    expect(await codeOf(sandbox.searchContent({ pattern: "x", directory: "../up" }))).toBe("path_outside");
  });

  test("TB-15: a glob holds below a folder that a link leads to, and for a single file", async () => {
    const { put, run, sandbox } = bench(connect);
    await put("releases/v1/a.ts", "needle");
    await run("ln -s releases/v1 the-current-one");
    const directory = "the-current-one";
    expect(await sandbox.searchFiles({ pattern: "*.ts", directory })).toEqual(["releases/v1/a.ts"]);
    for (const where of [directory, "releases/v1/a.ts"]) {
      const query = { pattern: "needle", directory: where };
      expect([where, (await sandbox.searchContent({ ...query, glob: "*.ts" })).total]).toEqual([where, 1]);
      expect([where, (await sandbox.searchContent({ ...query, glob: "*.js" })).total]).toEqual([where, 0]);
    }
  });

  test("TB-15: a catastrophic pattern is linear", async () => {
    const { put, sandbox } = bench(connect);
    await put("evil.txt", `${"a".repeat(20_000)}!\n`);
    const started = Date.now();
    expect((await sandbox.searchContent({ pattern: "(a+)+$" })).total).toBe(0);
    expect((await sandbox.searchContent({ pattern: "(a|a)*b" })).total).toBe(0);
    expect(Date.now() - started).toBeLessThan(4000);
  });

  test("TB-15: a pattern that compiles to more than 500 instructions is refused with the way out", async () => {
    const { put, sandbox } = bench(connect);
    await put("l.txt", "a".repeat(100_000));
    for (const pattern of ["((a{1,30}){1,30})x", "(a{0,30}){0,30}b", "(\\pL{1000})".repeat(90)]) {
      const refused = sandbox.searchContent({ pattern });
      await expect(refused).rejects.toMatchObject({ code: "invalid_request" });
      await expect(refused).rejects.toThrow(
        /pattern compiles to .* instructions.*smaller repetition.*literal/,
      );
    }
    expect((await sandbox.searchContent({ pattern: "(a{1,15}){1,15}" })).total).toBe(1);
    expect((await sandbox.searchContent({ pattern: "\\{1000\\}" })).total).toBe(0);
  });

  test("TB-15: a line is matched in its first 16 KiB, and in less by a long pattern", async () => {
    const { put, sandbox } = bench(connect);
    const line = (before: number): string => `${"-".repeat(before)}needle\n`;
    await put("l.txt", `${line(16 * 1024 - 6)}${line(16 * 1024 - 5)}`);
    for (const literal of [true, false])
      expect(await sandbox.searchContent({ pattern: "needle", literal })).toMatchObject({
        matches: [{ line: 1 }],
        truncated: true,
      });
    await put("l.txt", line(16 * 1024));
    expect(await sandbox.searchContent({ pattern: "-" })).toMatchObject({ total: 1, truncated: false });
    await put("l.txt", `${line(2000)}${line(3000)}`);
    const found = await sandbox.searchContent({ pattern: "needle|a{400}" });
    expect(found.matches).toMatchObject([{ line: 1 }]);
  });

  test("TB-15: no more matches are built than asked for, with all of their context", async () => {
    const { put, sandbox } = bench(connect);
    await put("l.txt", "a\n".repeat(300_000));
    const query = { pattern: "a", literal: true, context_lines: 2, max_results: 2 };
    expect(await sandbox.searchContent(query)).toEqual({
      matches: [
        { path: "l.txt", line: 1, content: "a", context: ["a", "a", "a"] },
        { path: "l.txt", line: 2, content: "a", context: ["a", "a", "a", "a"] },
      ],
      total: 300_000,
      truncated: true,
    });
    await put("l.txt", "\n\r\n3\r\nb\n5\r");
    const last = await sandbox.searchContent({ pattern: "b", context_lines: 20 });
    expect(last.matches).toEqual([
      { path: "l.txt", line: 4, content: "b", context: ["", "", "3", "b", "5\r"] },
    ]);
    await put("l.txt", `${"x".repeat(500)}\n`.repeat(1000));
    const wide = await sandbox.searchContent({ pattern: "x", context_lines: 20, max_results: 1000 });
    expect([wide.total, wide.truncated]).toEqual([1000, true]);
    expect(JSON.stringify(wide).length).toBeLessThan(5 * 1024 * 1024);
  });

  test("TB-15: a search that left out a file for its size says that it is not whole", async () => {
    const { put, sandbox } = bench(connect);
    await put("small.txt", "needle\n");
    await put("large.log", "needle\n".repeat(1_300_000));
    const search = async (glob: string): Promise<readonly [number, boolean]> => {
      const { total, truncated } = await sandbox.searchContent({ pattern: "needle", glob });
      return [total, truncated];
    };
    expect(await search("*")).toEqual([1, true]);
    expect(await search("*.txt")).toEqual([1, false]);
  });

  test("TB-28, SE-38: a name or path that fits exactly comes before a part of one, and that before words", async () => {
    const { put, sandbox } = bench(connect);
    await put("src/parse/config.ts", "one\ntwo\nexport const parseConfig = 1;\nfour\nfive\nsix\n");
    await put("src/config.ts", "nothing here\n");
    await put("src/config.ts.md", "parseconfig\n");
    await put("a.md", "it said: no such file\nPARSECONFIG\n");
    const found = await sandbox.localize({
      paths: ["src/parse/config.ts", "config.ts"],
      identifiers: ["parseConfig"],
      phrases: ["No such file"],
    });
    expect(found).toEqual([
      {
        path: "src/parse/config.ts",
        score: 103,
        snippet: { line: 1, lines: ["one", "two", "export const parseConfig = 1;", "four", "five"] },
      },
      { path: "src/config.ts", score: 50 },
      { path: "src/config.ts.md", score: 23, snippet: { line: 1, lines: ["parseconfig"] } },
      { path: "a.md", score: 8, snippet: { line: 1, lines: ["it said: no such file", "PARSECONFIG"] } },
    ]);
  });

  test("★ TB-28, SE-38: keys, secrets, dependencies, builds, binaries, dot files and ignored files are never looked at", async () => {
    const { put, sandbox } = bench(connect);
    const closed = [
      ".env",
      ".env.local",
      "prod.env",
      "id_rsa",
      "deploy/server.pem",
      "credentials.json",
      "node_modules/m/needleWord.ts",
      "vendor/needleWord.go",
      "dist/needleWord.js",
      ".git/needleWord",
      ".hidden/needleWord.ts",
      "logo.png",
      "gen/needleWord.ts",
      "large.txt",
    ];
    for (const path of closed)
      await put(path, `needleWord ${path === "large.txt" ? "x".repeat(300_000) : ""}`);
    await put("blob", Uint8Array.from([...new TextEncoder().encode("needleWord"), 0]));
    await put(".gitignore", "gen/\n");
    for (const path of [".github/workflows/ci.yml", ".editorconfig", "credentials.ts"])
      await put(path, "needleWord");
    const found = await sandbox.localize({
      paths: [".env", "id_rsa"],
      identifiers: ["needleWord"],
      phrases: [],
    });
    expect(found.map(({ path }) => path)).toEqual([
      ".editorconfig",
      ".github/workflows/ci.yml",
      "credentials.ts",
    ]);
  });

  test("TB-28, SE-38: of files whose paths fit nothing, only the first 200 are read; ten are found, ties by path", async () => {
    const { put, sandbox } = bench(connect);
    for (let n = 100; n <= 330; n++) await put(`f${n}.txt`, "the needleWord");
    const query = { paths: ["f330.txt", "none.txt"], identifiers: ["needleWord"], phrases: [] };
    const found = await sandbox.localize(query);
    expect(found.map(({ path, score }) => [path, score])).toEqual([
      ["f330.txt", 53],
      ...[100, 101, 102, 103, 104, 105, 106, 107, 108].map((n) => [`f${n}.txt`, 3]),
    ]);
    await put("f100.txt", "nothing");
    await put("f315.txt", "a unique_word");
    expect(await sandbox.localize({ ...query, paths: [], identifiers: ["unique_word"] })).toEqual([]);
  });

  test("TB-28, SE-38: a folder bounds the search and its paths; closed paths are left out", async () => {
    const { put, sandbox } = bench(connect);
    await put("repo/src/a.ts", "needleWord");
    await put("repo/secret/b.ts", "needleWord");
    await put("c.ts", "needleWord");
    const query = { paths: [], identifiers: ["needleWord"], phrases: [], directory: "repo" };
    const paths = async (view = sandbox): Promise<readonly string[]> =>
      (await view.localize(query)).map(({ path }) => path);
    expect(await paths()).toEqual(["secret/b.ts", "src/a.ts"]);
    expect(await paths(sandbox.closing(["repo/secret/**"]))).toEqual(["src/a.ts"]);
    expect(await codeOf(sandbox.localize({ ...query, directory: "none" }))).toBe("workspace_read_not_found");
    expect(await codeOf(sandbox.localize({ ...query, directory: "c.ts" }))).toBe("conflict");
  });

  test("TB-15: ★ ** works in names, newest files come first", async () => {
    const { put, run, sandbox } = bench(connect);
    await put("src/a.ts", "1");
    await put("src/deep/er/b.ts", "2");
    await put("c.ts", "3");
    await put("src/d.js", "4");
    await run("touch -d 2030-01-03 src/deep/er/b.ts; touch -d 2030-01-02 src/a.ts; touch -d 2030-01-01 c.ts");
    expect(await sandbox.searchFiles({ pattern: "**/*.ts" })).toEqual([
      "src/deep/er/b.ts",
      "src/a.ts",
      "c.ts",
    ]);
    expect(await sandbox.searchFiles({ pattern: "*.ts" })).toEqual(["src/deep/er/b.ts", "src/a.ts", "c.ts"]);
    expect(await sandbox.searchFiles({ pattern: "src/**/*.ts" })).toEqual(["src/deep/er/b.ts", "src/a.ts"]);
    expect(await sandbox.searchFiles({ pattern: "src/*.ts" })).toEqual(["src/a.ts"]);
    expect(await sandbox.searchFiles({ pattern: "*.ts", directory: "src/deep" })).toEqual([
      "src/deep/er/b.ts",
    ]);
    expect(await sandbox.searchFiles({ pattern: "*", max_results: 1 })).toHaveLength(1);
    expect(await sandbox.searchFiles({ pattern: "nothing" })).toEqual([]);
  });
}
