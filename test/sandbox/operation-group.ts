import { expect, test } from "vitest";
import type { ListPart } from "../../src/sandbox/contract.ts";
import type { Fetcher } from "../../src/sandbox/wire.ts";
import { bench, codeOf, everything, freshKey } from "./bench.ts";

const key = () => ({ key: freshKey() });

const patchOf = (...lines: readonly string[]): { patch: string } => ({
  patch: ["*** Begin Patch", ...lines, "*** End Patch"].join("\n"),
});

/** stat, list, mkdir, delete, move, copy, edit, patch, apply_patch, diff. */
export function operationGroup(connect: () => Fetcher): void {
  test("TB-28: stat and list tell type, size and name, sorted; a file has its hash", async () => {
    const { put, sandbox } = bench(connect);
    await put("b/x", "12345");
    await put("a", "1");
    await sandbox.change("mkdir", { path: "c/d" }, key());
    const listed = (await sandbox.list(".")).map(({ name, type, size }) => [name, type, size]);
    expect(listed).toEqual([
      ["a", "file", 1],
      ["b", "directory", 0],
      ["c", "directory", 0],
    ]);
    expect(await sandbox.stat("b/x")).toMatchObject({ path: "b/x", size: 5, mode: 0o644, type: "file" });
    expect(await codeOf(sandbox.list("a"))).toBe("conflict");
    expect(await codeOf(sandbox.stat("nope"))).toBe("workspace_read_not_found");
  });

  test("TB-28: a list may be of a part: the first entries, those after a name, or the last ones before one", async () => {
    const { put, sandbox } = bench(connect);
    for (const name of ["a", "b", "c", "d", "é", "🐚"]) await put(name, "");
    const names = async (part: ListPart): Promise<string> =>
      (await sandbox.list(".", part)).map(({ name }) => name).join("");
    expect(await names({ limit: 2 })).toBe("ab");
    expect(await names({ after: "b", limit: 3 })).toBe("cdé");
    expect(await names({ after: "é" })).toBe("🐚");
    expect(await names({ before: "d", limit: 2 })).toBe("bc");
    expect(await names({ before: "🐚", limit: 1 })).toBe("é");
    expect(await names({ before: "a" })).toBe("");
  });

  test("toolboxes §3: writing keeps the mode, a new file gets 0644, parents are made", async () => {
    const { put, run, sandbox } = bench(connect);
    await put("p/q/script", "echo one");
    await run("chmod 755 p/q/script");
    await put("p/q/script", "echo two");
    expect((await sandbox.stat("p/q/script")).mode & 0o777).toBe(0o755);
  });

  test("toolboxes §3: a full folder needs recursive; an empty one and a file do not", async () => {
    const { put, sandbox } = bench(connect);
    await put("d/e/f", "x");
    expect(await codeOf(sandbox.change("delete", { path: "d" }, key()))).toBe("conflict");
    const gone = await sandbox.change("delete", { path: "d", recursive: true }, key());
    expect(gone.changes).toEqual([expect.objectContaining({ path: "d/e/f", op: "delete" })]);
    expect(await codeOf(sandbox.change("delete", { path: "d" }, key()))).toBe("workspace_read_not_found");
    expect(await codeOf(sandbox.change("delete", { path: ".", recursive: true }, key()))).toBe(
      "invalid_request",
    );
    expect(await sandbox.list(".")).toEqual([]);
  });

  test("toolboxes §3: move and copy take folders, and replace only with overwrite", async () => {
    const { put, sandbox, text } = bench(connect);
    await put("a/one", "1");
    await put("a/sub/two", "2");
    await put("z", "old");
    await sandbox.change("copy", { source: "a", destination: "b" }, key());
    await sandbox.change("move", { source: "a", destination: "c/d" }, key());
    expect(Object.keys(await everything(sandbox))).toEqual([
      "b/one",
      "b/sub/two",
      "c/d/one",
      "c/d/sub/two",
      "z",
    ]);
    expect(await codeOf(sandbox.change("move", { source: "b/one", destination: "z" }, key()))).toBe("exists");
    expect(await codeOf(sandbox.change("copy", { source: "b", destination: "b/sub/in" }, key()))).toBe(
      "invalid_request",
    );
    await sandbox.change("move", { source: "b/one", destination: "z", overwrite: true }, key());
    expect(await text("z")).toBe("1");
  });

  test("TB-13: an edit needs exactly one match and says what is there instead", async () => {
    const { put, sandbox, text } = bench(connect);
    await put("f", "alpha\nbeta\ngamma\nbeta\n");
    const edit = (old_text: string, new_text = "X") =>
      sandbox.change("edit", { path: "f", old_text, new_text }, key());
    await expect(edit("beta")).rejects.toMatchObject({
      code: "not_unique",
      message: expect.stringMatching(/2 times.*lines 2, 4/),
    });
    await expect(edit("gamme\n")).rejects.toMatchObject({
      code: "no_match",
      message: expect.stringContaining("3: gamma"),
    });
    await expect(edit("completely different")).rejects.toMatchObject({
      message: expect.stringContaining("1: alpha"),
    });
    await expect(edit("a line of a long text\n".repeat(6_000))).rejects.toMatchObject({ code: "no_match" });
    expect(await text("f")).toBe("alpha\nbeta\ngamma\nbeta\n");
    const { changes } = await edit("gamma\n", "delta\n");
    expect(changes[0]?.diff).toContain("-gamma\n+delta\n");
    expect(await text("f")).toBe("alpha\nbeta\ndelta\nbeta\n");
  });

  test("TB-13: an edit keeps line ends; an empty old_text creates and refuses what exists", async () => {
    const { put, sandbox, text } = bench(connect);
    await put("dos.txt", "one\r\ntwo\r\nthree\r\n");
    await sandbox.change("edit", { path: "dos.txt", old_text: "one\ntwo\n", new_text: "1\n2\n" }, key());
    expect(await text("dos.txt")).toBe("1\r\n2\r\nthree\r\n");
    await sandbox.change("edit", { path: "dos.txt", old_text: "\nthree", new_text: "\n3" }, key());
    expect(await text("dos.txt")).toBe("1\r\n2\r\n3\r\n");
    await sandbox.change("edit", { path: "new/file", old_text: "", new_text: "fresh" }, key());
    expect(await text("new/file")).toBe("fresh");
    expect(
      await codeOf(sandbox.change("edit", { path: "new/file", old_text: "", new_text: "x" }, key())),
    ).toBe("exists");
  });

  test("toolboxes §3: a patch applies its hunks in order, all or none", async () => {
    const { put, sandbox, text } = bench(connect);
    await put("f", "a\nb\nc\n");
    const hunks = [
      { old_text: "a\n", new_text: "b\n" },
      { old_text: "b\nb\n", new_text: "x\n" },
    ];
    await sandbox.change("patch", { path: "f", hunks }, key());
    expect(await text("f")).toBe("x\nc\n");
    const failing = [{ old_text: "x", new_text: "y" }, { old_text: "nope" }];
    expect(await codeOf(sandbox.change("patch", { path: "f", hunks: failing }, key()))).toBe("no_match");
    expect(await text("f")).toBe("x\nc\n");
  });

  test("TB-14: apply_patch adds, updates, moves and deletes", async () => {
    const { put, sandbox, text } = bench(connect);
    await put(
      "upd.py",
      "class A:\n    def f(self):\n        return 1\n\nclass B:\n    def f(self):\n        return 1\n",
    );
    await put("old/name", "keep\nchange\n");
    await put("gone", "x");
    const patch = patchOf(
      "*** Add File: added/new.txt",
      "+first",
      "+second",
      "*** Update File: upd.py",
      "@@ class B:",
      "     def f(self):",
      "-        return 1",
      "+        return 2",
      "*** Update File: old/name",
      "*** Move to: new/name",
      "@@",
      " keep",
      "-change",
      "+changed",
      "*** End of File",
      "*** Delete File: gone",
    );
    const { changes, message } = await sandbox.change("apply_patch", patch, key());
    expect(changes.map(({ op, path }) => `${op} ${path}`)).toEqual([
      "create added/new.txt",
      "modify upd.py",
      "move new/name",
      "delete gone",
    ]);
    expect(message?.split("\n")).toHaveLength(4);
    expect(await text("added/new.txt")).toBe("first\nsecond\n");
    expect(await text("upd.py")).toBe(
      "class A:\n    def f(self):\n        return 1\n\nclass B:\n    def f(self):\n        return 2\n",
    );
    expect(await text("new/name")).toBe("keep\nchanged\n");
    expect(Object.keys(await everything(sandbox))).toEqual(["added/new.txt", "new/name", "upd.py"]);
  });

  test("TB-14: a patch of many long files is one answer that can be kept: further diffs are left out", async () => {
    const { put, sandbox } = bench(connect);
    const names = Array.from({ length: 40 }, (_, index) => `f${index}`);
    for (const name of names) await put(name, `${"x".repeat(60)}\n`.repeat(1000));
    const lines = names.map((name) => `*** Delete File: ${name}`);
    const patch = ["*** Begin Patch", ...lines, "*** End Patch"].join("\n");
    const outcome = await sandbox.change("apply_patch", { patch }, key());
    expect(outcome.changes.map(({ path, op }) => [path, op])).toEqual(names.map((name) => [name, "delete"]));
    expect(outcome.changes[0]?.diff).toContain("-xxx");
    expect(JSON.stringify(outcome).length).toBeLessThan(300_000);
    expect(await sandbox.list(".")).toEqual([]);
  });

  test("TB-14 AP-45: each file of a folder that is deleted is named, and diffs only while they fit into one answer", async () => {
    const { sandbox } = bench(connect);
    const names = Array.from({ length: 450 }, (_, index) => `d/f${index}`);
    const long = Array.from({ length: 6000 }, () => "+xxxxxxxx");
    const patch = patchOf(
      ...names.flatMap((name) => [`*** Add File: ${name}`, "+line"]),
      "*** Add File: d/a",
      ...long,
    );
    await sandbox.change("apply_patch", patch, key());
    const { changes } = await sandbox.change("delete", { path: "d", recursive: true }, key());
    expect(new Set(changes.map(({ path }) => path)).size).toBe(451);
    expect(new Set(changes.map(({ op }) => op))).toEqual(new Set(["delete"]));
    expect(JSON.stringify(changes).length).toBeLessThan(300_000);
    expect(await sandbox.list(".")).toEqual([]);
  });

  test("TB-14: ★ a patch whose third file fails changes no file", async () => {
    const { put, sandbox } = bench(connect);
    await put("one", "1\n");
    await put("two", "2\n");
    await put("three", "3\n");
    const before = await everything(sandbox);
    const patch = patchOf(
      "*** Update File: one",
      "@@",
      "-1",
      "+one",
      "*** Delete File: two",
      "*** Add File: four",
      "+4",
      "*** Update File: three",
      "@@",
      "-not there",
      "+x",
    );
    await expect(sandbox.change("apply_patch", patch, key())).rejects.toMatchObject({
      code: "no_match",
      message: expect.stringContaining("hunk 1 of three"),
    });
    expect(await everything(sandbox)).toEqual(before);
  });

  test("TB-14: a hunk that fits twice is not_unique; malformed patches name their line", async () => {
    const { put, sandbox } = bench(connect);
    await put("f", "x\ny\nx\ny\n");
    const twice = patchOf("*** Update File: f", "@@", " x", "-y", "+z");
    expect(await codeOf(sandbox.change("apply_patch", twice, key()))).toBe("not_unique");
    for (const patch of [
      "no patch",
      "*** Begin Patch\n*** Add File: a\n+x",
      patchOf("garbage").patch,
      patchOf("*** Add File: a", "no plus").patch,
      patchOf("*** Update File: f").patch,
      patchOf("*** Update File: f", "@@", " x").patch,
      patchOf().patch,
    ]) {
      await expect(sandbox.change("apply_patch", { patch }, key())).rejects.toMatchObject({
        code: "invalid_request",
        message: expect.stringMatching(/^patch line \d+: /),
      });
    }
    expect(await codeOf(sandbox.change("apply_patch", patchOf("*** Delete File: nope"), key()))).toBe(
      "workspace_read_not_found",
    );
    expect(await codeOf(sandbox.change("apply_patch", patchOf("*** Add File: f", "+x"), key()))).toBe(
      "exists",
    );
  });

  test("toolboxes §3: diff is unified with three lines of context", async () => {
    const { put, sandbox } = bench(connect);
    const lines = Array.from({ length: 20 }, (_, index) => `line ${index + 1}\n`);
    await put("a", lines.join(""));
    await put("b", lines.join("").replace("line 10\n", "ten\n"));
    expect(await sandbox.diff("a", "b")).toBe(
      "--- a\n+++ b\n@@ -7,7 +7,7 @@\n line 7\n line 8\n line 9\n-line 10\n+ten\n line 11\n line 12\n line 13\n",
    );
    expect(await sandbox.diff("a", "a")).toBe("files are identical");
  });
}
