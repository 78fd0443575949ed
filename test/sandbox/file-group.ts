import { expect, test } from "vitest";
import { sha256Hex } from "../../src/sandbox/sha256.ts";
import type { Preconditions } from "../../src/sandbox/contract.ts";
import { createWorkspaceFiles } from "../../src/sandbox/workspace-files.ts";
import type { Fetcher } from "../../src/sandbox/wire.ts";
import { bench, codeOf, everything, freshKey } from "./bench.ts";

/** Whole files: bytes, ranges, If-Match, keys, conflicts, limits. */
export function fileGroup(connect: () => Fetcher): void {
  test("TB-28: bytes come back as they went in; ranges give their part", async () => {
    const { put, sandbox, raw } = bench(connect);
    const bytes = crypto.getRandomValues(new Uint8Array(60_000));
    await put("deep/in/file.bin", bytes);
    expect(await sandbox.read("/workspace/deep/in/file.bin")).toEqual(bytes);
    expect(await sandbox.read("deep/in/file.bin", { offset: 100, length: 50 })).toEqual(
      bytes.slice(100, 150),
    );
    const part = await raw("GET", "/file/workspace/deep/in/file.bin", { headers: { Range: "bytes=-10" } });
    expect([part.status, part.headers.get("Content-Range")]).toEqual([206, "bytes 59990-59999/60000"]);
    expect(await codeOf(sandbox.read("deep/in/file.bin", { offset: 60_000, length: 1 }))).toBe("range");
    expect(await codeOf(sandbox.read("deep/in/missing"))).toBe("workspace_read_not_found");
  });

  test("TB-33: 32 MiB can be written and read; one byte more is refused whole", async () => {
    const { sandbox } = bench(connect);
    const bytes = new Uint8Array(32 * 1024 * 1024);
    for (let index = 0; index < bytes.length; index += 65_536) bytes.set([index >> 16, 7, 9], index);
    await sandbox.write("big.bin", bytes, { key: freshKey() });
    const tail = await sandbox.read("big.bin", { offset: bytes.length - 70_000, length: 70_000 });
    expect(sha256Hex(tail)).toBe(sha256Hex(bytes.subarray(bytes.length - 70_000)));
    expect((await sandbox.stat("big.bin")).size).toBe(bytes.length);
    const more = sandbox.write("big.bin", new Uint8Array(bytes.length + 1), { key: freshKey() });
    expect(await codeOf(more)).toBe("payload_too_large");
    expect((await sandbox.stat("big.bin")).size).toBe(bytes.length);
  });

  test("TB-28: If-Match writes only over the content it names", async () => {
    const { put, sandbox, text } = bench(connect);
    await put("a", "one");
    const { sha256 = "" } = await sandbox.stat("a");
    expect(sha256).toBe(sha256Hex("one"));
    await sandbox.write("a", "two", { key: freshKey(), ifMatch: sha256 });
    expect(await codeOf(sandbox.write("a", "three", { key: freshKey(), ifMatch: sha256 }))).toBe(
      "precondition",
    );
    expect(await text("a")).toBe("two");
  });

  test("AP-45 TB-28: If-Match and If-None-Match hold for whole files and for what is deleted, `*` for any", async () => {
    const { fetcher, id, put, sandbox, text } = bench(connect);
    const files = createWorkspaceFiles(fetcher, id);
    const bytes = (content: string) => ({ content: new Blob([content]).stream(), size: content.length });
    const write = (path: string, content: string, more: Preconditions = {}) =>
      codeOf(files.put(path, bytes(content), { key: freshKey(), ...more }));
    const remove = (path: string, more: Preconditions = {}) =>
      codeOf(files.remove(path, { key: freshKey(), recursive: false, ...more }));
    expect(await write("a", "1", { ifMatch: "*" })).toBe("precondition");
    expect(await write("a", "1", { ifNoneMatch: "*" })).toBe("none");
    expect(await write("a", "2", { ifNoneMatch: "*" })).toBe("precondition");
    expect(await write("a", "2", { ifMatch: `"x", "${sha256Hex("1")}"` })).toBe("none");
    expect(await write("a", "3", { ifNoneMatch: `"${sha256Hex("2")}"` })).toBe("precondition");
    expect(await text("a")).toBe("2");
    expect(await remove("a", { ifMatch: `"${sha256Hex("1")}"` })).toBe("precondition");
    expect(await remove("a", { ifMatch: `"${sha256Hex("2")}"` })).toBe("none");
    await put("dir/f", "x");
    expect(await remove("dir")).toBe("conflict");
    expect(await remove("dir", { ifNoneMatch: "*" })).toBe("precondition");
    const cut = files.put("b", { ...bytes("abc"), size: 4 }, { key: freshKey() });
    expect(await codeOf(cut)).toBe("invalid_request");
    const whole = files.put("b", bytes("abc"), { key: freshKey() });
    expect((await whole).file).toEqual({ size: 3, sha256: sha256Hex("abc") });
    expect((await files.open("b")).headers.get("ETag")).toBe(`"${sha256Hex("abc")}"`);
    expect((await sandbox.list(".")).map(({ name }) => name)).toEqual(["b", "dir"]);
  });

  test("AP-45 RE-I1: an ended key says what it did, and does nothing after that if it did nothing before", async () => {
    const { sandbox, text } = bench(connect);
    const [did, late] = [freshKey(), freshKey()];
    const outcome = await sandbox.write("a", "1", { key: did });
    expect(await sandbox.settle(did)).toEqual(outcome);
    expect(await sandbox.write("a", "1", { key: did })).toEqual(outcome);
    expect(await sandbox.settle(late)).toBeNull();
    expect(await codeOf(sandbox.write("a", "2", { key: late }))).toBe("capacity_exceeded");
    expect(await codeOf(sandbox.change("delete", { path: "a" }, { key: late }))).toBe("capacity_exceeded");
    expect(await sandbox.settle(late)).toBeNull();
    expect(await text("a")).toBe("1");
  });

  test("TB-12: a key works once; the repetition gets the same answer; another request with it is refused", async () => {
    const { put, sandbox, text } = bench(connect);
    await put("a", "x");
    const key = freshKey();
    const edit = { path: "a", old_text: "x", new_text: "xx" };
    const first = await sandbox.change("edit", edit, { key });
    expect(await sandbox.change("edit", edit, { key })).toEqual(first);
    expect(await text("a")).toBe("xx");
    expect(await codeOf(sandbox.change("edit", { ...edit, new_text: "y" }, { key }))).toBe("key_reused");
    const written = await sandbox.write("b", "1", { key: "once" });
    expect(await sandbox.write("b", "1", { key: "once" })).toEqual(written);
    expect(await codeOf(sandbox.write("b", "2", { key: "once" }))).toBe("key_reused");
  });

  test("TB-12: 20 parallel writes to one path leave one of the 20", async () => {
    const { sandbox, text } = bench(connect);
    const contents = Array.from({ length: 20 }, (_, index) => `${index}`.repeat(1000));
    await Promise.all(contents.map((content) => sandbox.write("race", content, { key: freshKey() })));
    expect(contents).toContain(await text("race"));
  });

  test("TB-12: a change by another thread or a command since the last look is a conflict that names who", async () => {
    const { sandbox, run, text } = bench(connect);
    const one = sandbox.as("one");
    const two = sandbox.as("two");
    await one.write("a", "1\n", { key: freshKey() });
    await two.write("a", "2\n", { key: freshKey() });
    const blind = one.write("a", "3\n", { key: freshKey() });
    await expect(blind).rejects.toMatchObject({
      code: "conflict",
      message: expect.stringContaining("thread two"),
    });
    await one.read("a");
    await one.write("a", "3\n", { key: freshKey() });
    await run("echo more >> a");
    const over = one.change("edit", { path: "a", old_text: "3", new_text: "4" }, { key: freshKey() });
    await expect(over).rejects.toMatchObject({
      code: "conflict",
      message: expect.stringContaining("command"),
    });
    expect(await text("a")).toBe("3\nmore\n");
  });

  test("TB-12: what another changed unseen is neither copied over, moved over, moved nor deleted, alone or in a folder", async () => {
    const { sandbox, text } = bench(connect);
    const one = sandbox.as("one");
    const two = sandbox.as("two");
    await one.write("mine", "m", { key: freshKey() });
    await one.write("dir/f", "1", { key: freshKey() });
    await two.write("dir/f", "theirs", { key: freshKey() });
    await one.write("own/f", "o", { key: freshKey() });
    const onto = { source: "mine", destination: "dir/f", overwrite: true };
    const attempts = [
      () => one.change("copy", onto, { key: freshKey() }),
      () => one.change("move", onto, { key: freshKey() }),
      () => one.change("copy", { source: "own", destination: "dir", overwrite: true }, { key: freshKey() }),
      () => one.change("move", { source: "dir", destination: "away" }, { key: freshKey() }),
      () => one.change("delete", { path: "dir/f" }, { key: freshKey() }),
      () => one.change("delete", { path: "dir", recursive: true }, { key: freshKey() }),
    ];
    for (const attempt of attempts)
      await expect(attempt()).rejects.toMatchObject({
        code: "conflict",
        message: expect.stringMatching(/^dir\/f was changed by thread two/),
      });
    expect(await text("dir/f")).toBe("theirs");
    await one.read("dir/f");
    await one.change("copy", onto, { key: freshKey() });
    await one.write("dir/f", "own copies are known", { key: freshKey() });
    await one.change("move", onto, { key: freshKey() });
    await one.write("dir/f", "own moves are known", { key: freshKey() });
    expect(await codeOf(two.change("delete", { path: "dir/f" }, { key: freshKey() }))).toBe("conflict");
    await one.change("move", { source: "dir", destination: "away" }, { key: freshKey() });
    await one.write("away/f", "below a folder, too", { key: freshKey() });
    await one.change("delete", { path: "away", recursive: true }, { key: freshKey() });
  });

  test("TB-12: what a copy or move replaces is told with its diff, and so is each file of a folder", async () => {
    const { sandbox, put } = bench(connect);
    await put("a/x", "1\n");
    await put("a/y", "2\n");
    await put("b/x", "old\n");
    await put("b/z", "3\n");
    const change = async (op: "copy" | "move" | "delete", args: object) =>
      (await sandbox.change(op, args as never, { key: freshKey() })).changes;
    const onto = { source: "a", destination: "b", overwrite: true };
    expect(await change("copy", onto)).toEqual([
      { path: "b/x", op: "modify", diff: expect.stringContaining("-old\n+1\n") },
      { path: "b/y", op: "create", diff: expect.stringContaining("+2\n") },
      { path: "b/z", op: "delete", diff: expect.stringContaining("-3\n") },
    ]);
    expect(await change("move", { source: "a/y", destination: "b/x", overwrite: true })).toEqual([
      { path: "b/x", op: "delete", diff: expect.stringContaining("-1\n") },
      { path: "b/x", op: "move", from: "a/y" },
    ]);
    expect(await change("delete", { path: "b", recursive: true })).toEqual([
      { path: "b/x", op: "delete", diff: expect.stringContaining("-2\n") },
      { path: "b/y", op: "delete", diff: expect.stringContaining("-2\n") },
    ]);
  });

  test("AP-45 RE-P14: a body that arrives after the sandbox was removed writes nothing into the next one of its id", async () => {
    const { fetcher, id, put, sandbox } = bench(connect);
    const files = createWorkspaceFiles(fetcher, id);
    await put("a", "1");
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    const late = codeOf(files.put("late", { content: readable, size: 2 }, { key: freshKey() }));
    await writer.write(new Uint8Array([65]));
    await sandbox.destroy();
    await writer.write(new Uint8Array([66]));
    await writer.close();
    expect(await late).toBe("conflict");
    expect(await everything(sandbox)).toEqual({});
  });

  test("★ AP-45 RE-P14 TB-28: a change that was begun for a sandbox which was removed since is refused by the next one of its id", async () => {
    const { fetcher, id, put, sandbox } = bench(connect);
    const files = createWorkspaceFiles(fetcher, id);
    await put("a", "1");
    const instance = await sandbox.instance();
    await files.put("b", { content: new Uint8Array([65]), size: 1 }, { key: freshKey(), instance });
    await sandbox.destroy();
    await put("c", "1");
    const change = { key: freshKey(), instance };
    expect(await codeOf(files.put("b", { content: new Uint8Array([65]), size: 1 }, change))).toBe(
      "capacity_exceeded",
    );
    expect(await codeOf(files.unpack(".", new Blob([new Uint8Array(1024)]).stream(), change))).toBe(
      "capacity_exceeded",
    );
    expect(await codeOf(files.remove("c", { ...change, recursive: false }))).toBe("capacity_exceeded");
    expect(Object.keys(await everything(sandbox))).toEqual(["c"]);
  });

  test("TB-33: over the disk's limit a write fails whole, in commands too", async () => {
    const { raw, sandbox, run } = bench(connect);
    await raw("PUT", "", { body: JSON.stringify({ limits: { disk: 1000, file: 800 } }) });
    await sandbox.write("a", "x".repeat(700), { key: freshKey() });
    expect(await codeOf(sandbox.write("b", "x".repeat(400), { key: freshKey() }))).toBe("limit");
    expect(await codeOf(sandbox.write("a", "x".repeat(801), { key: freshKey() }))).toBe("payload_too_large");
    expect((await run("cp a c")).code).not.toBe(0);
    expect((await run("ln -s $(printf '%05000d' 0) c")).code).not.toBe(0);
    await sandbox.change("delete", { path: "a" }, { key: freshKey() });
    await sandbox.write("b", "x".repeat(400), { key: freshKey() });
    expect(Object.keys(await everything(sandbox))).toEqual(["b"]);
  });
}
