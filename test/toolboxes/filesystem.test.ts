import { expect, test } from "vitest";
import { everything } from "../sandbox/bench.ts";
import { toolboxes } from "../../src/toolboxes/index.ts";
import { toolBench } from "./bench.ts";

const patchOf = (path: string): string =>
  `*** Begin Patch\n*** Update File: ${path}\n@@\n-a\n+b\n*** End Patch`;

test("toolboxes §3: each file tool with a path missing, outside, not writable or a folder is an error and changes nothing", async () => {
  const { text, sandbox } = toolBench();
  await text("fs_write", { path: "src/a", content: "a\n" });
  await text("fs_write", { path: "lib/b", content: "a\n" });
  const before = await everything(sandbox);
  const reads = ["fs_read", "fs_read_lines", "fs_stat", "fs_list"].map(
    (name) => [name, (path: string) => ({ path })] as const,
  );
  const edits = [
    ["fs_edit", (path: string) => ({ path, old_text: "a", new_text: "b" })],
    ["fs_patch", (path: string) => ({ path, hunks: [{ old_text: "a", new_text: "b" }] })],
    ["apply_patch", (path: string) => ({ patch: patchOf(path) })],
    ["fs_move", (path: string) => ({ source: path, destination: "src/new" })],
    ["fs_copy", (path: string) => ({ source: path, destination: "lib/new" })],
    ["fs_delete", (path: string) => ({ path })],
  ] as const;
  const context = { writablePaths: ["src/**"] };
  for (const [name, args] of [
    ...reads,
    ...edits,
    ["fs_diff", (path: string) => ({ file_a: path, file_b: "src/a" })] as const,
  ]) {
    expect([name, await text(name, args("missing"), context)]).toEqual([
      name,
      expect.stringMatching(/^ERROR not_found: /),
    ]);
    expect([name, await text(name, args("../up"), context)]).toEqual([
      name,
      expect.stringMatching(/^ERROR not_permitted: .*workspace/),
    ]);
    expect([name, await text(name, args("/etc/passwd"), context)]).toEqual([
      name,
      expect.stringMatching(/^ERROR not_permitted: /),
    ]);
  }
  for (const [name, args] of [...edits, ["fs_write", (path: string) => ({ path, content: "x" })] as const]) {
    expect([name, await text(name, args("lib/b"), context)]).toEqual([
      name,
      expect.stringMatching(/^ERROR not_permitted: .*writable/),
    ]);
  }
  expect(await text("fs_mkdir", { path: "lib/new" }, context)).toMatch(/^ERROR not_permitted: /);
  for (const [name, args] of [
    ["fs_read", { path: "src" }],
    ["fs_read_lines", { path: "src" }],
    ["fs_write", { path: "src", content: "x" }],
    ["fs_edit", { path: "src", old_text: "a" }],
    ["fs_patch", { path: "src", hunks: [{ old_text: "a" }] }],
    ["apply_patch", { patch: patchOf("src") }],
    ["fs_delete", { path: "src" }],
    ["fs_diff", { file_a: "src", file_b: "src/a" }],
    ["fs_list", { path: "src/a" }],
    ["fs_mkdir", { path: "src/a" }],
    ["fs_write", { path: "src/a/below", content: "x" }],
  ] as const) {
    expect([name, await text(name, args)]).toEqual([
      name,
      expect.stringMatching(/^ERROR (conflict|exists|not_found): /),
    ]);
  }
  expect(await everything(sandbox)).toEqual(before);
});

const pngHeader = (width: number, height: number): Uint8Array => {
  const bytes = Buffer.alloc(40);
  bytes.write("\x89PNG\r\n\x1a\n", 0, "latin1");
  bytes.write("IHDR", 12, "latin1");
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  return Uint8Array.from(bytes);
};
const webp = Uint8Array.from(
  Buffer.concat([Buffer.from("RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0", "latin1"), Buffer.alloc(12)]),
);

test.each([
  ["a.png", pngHeader(8_000, 20), "image/png"],
  ["a.webp", webp, "image/webp"],
])("toolboxes §3: fs_read gives %s as an image part with its bytes kept", async (path, bytes, media_type) => {
  const { call, sandbox } = toolBench();
  await sandbox.write(path, bytes, { key: "image" });
  const kept: Uint8Array[] = [];
  const keep = (some: Uint8Array): string => `m${kept.push(some)}`;
  const note = `${path} is a binary file: ${media_type}, ${bytes.length} bytes.`;
  expect(await call("fs_read", { path }, { keep })).toEqual({
    content: [
      { type: "text", text: note },
      { type: "image", media_type, blob: "m1", name: path },
    ],
  });
  expect(kept).toEqual([bytes]);
});

test.each([
  [
    "whose header cannot be read",
    Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0, 1]),
    "Its header cannot be read",
  ],
  ["of more pixels than models take", pngHeader(8_001, 20), "It is more than 8000 pixels wide or high"],
  [
    "of more bytes than models take",
    Buffer.concat([pngHeader(2, 2), Buffer.alloc(3_932_160)]),
    "It is larger than 3932160 bytes",
  ],
])(
  "MO-8: fs_read does not show an image %s, since every later request would be refused",
  async (_, bytes, why) => {
    const { text, sandbox } = toolBench();
    await sandbox.write("p.png", Uint8Array.from(bytes), { key: "image" });
    const note = `p.png is a binary file: image/png, ${bytes.length} bytes.`;
    expect(await text("fs_read", { path: "p.png" })).toBe(`${note} ${why}, so it cannot be shown.`);
  },
);

test("toolboxes §3: fs_read gives text whole, of binaries type and size, and refuses more than 10 MiB", async () => {
  const { text, sandbox } = toolBench();
  await text("fs_write", { path: "a", content: "é\r\n日本\n" });
  expect(await text("fs_read", { path: "/workspace/./a" })).toBe("é\r\n日本\n");
  await text("fs_write", { path: "empty", content: "" });
  expect(await text("fs_read", { path: "empty" })).toBe("");
  await sandbox.write("p.png", Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0, 1]), { key: "png" });
  expect(await text("fs_read", { path: "p.png" }, { sees: { images: false, documents: false } })).toBe(
    "p.png is a binary file: image/png, 6 bytes.",
  );
  await sandbox.write("big", new Uint8Array(10 * 1024 * 1024 + 1).fill(65), { key: "big" });
  expect(await text("fs_read", { path: "big" })).toMatch(/^ERROR too_large: /);
});

test("toolboxes §3: fs_read_lines numbers its lines; 0 is 1; negative and past the end are errors", async () => {
  const { text } = toolBench();
  await text("fs_write", {
    path: "f",
    content: Array.from({ length: 250 }, (_, index) => `l${index + 1}`).join("\n"),
  });
  expect((await text("fs_read_lines", { path: "f" })).split("\n").slice(0, 2)).toEqual([
    "[Lines 1-100 of 250]",
    "1\tl1",
  ]);
  expect(await text("fs_read_lines", { path: "f", offset: 249, limit: 10 })).toBe(
    "[Lines 249-250 of 250]\n249\tl249\n250\tl250",
  );
  expect(await text("fs_read_lines", { path: "f", offset: 0, limit: 1 })).toBe("[Lines 1-1 of 250]\n1\tl1");
  expect(await text("fs_read_lines", { path: "f", offset: -1 })).toMatch(/^ERROR invalid_arguments: offset/);
  expect(await text("fs_read_lines", { path: "f", offset: 251 })).toBe(
    "ERROR invalid_arguments: offset: f has 250 lines",
  );
  expect(await text("fs_read_lines", { path: "f", limit: 2001 })).toMatch(/^ERROR invalid_arguments: limit/);
  await text("fs_write", { path: "empty", content: "" });
  expect(await text("fs_read_lines", { path: "empty" })).toBe("[Lines 0-0 of 0]");
});

test("toolboxes §3: the list of a folder with many entries says how many of them it shows", async () => {
  const { text } = toolBench();
  await text("exec_shell", { script: "mkdir d; touch d/{1..2000}" });
  expect(JSON.parse(await text("fs_list", { path: "d" }))).toHaveLength(2_000);
  await text("exec_shell", { script: "touch d/2001" });
  const listed = await text("fs_list", { path: "d" });
  expect(listed).toMatch(/\n\[These are the first 2000 entries\.\]$/);
  expect(JSON.parse(listed.split("\n")[0] ?? "")).toHaveLength(2_000);
});

test("toolboxes §3: lists are [], sorted; stat tells mode, time and hash", async () => {
  const { text } = toolBench();
  expect(await text("fs_list")).toBe("[]");
  await text("fs_write", { path: "b", content: "1" });
  await text("fs_mkdir", { path: "a" });
  expect(JSON.parse(await text("fs_list", { path: "." }))).toEqual([
    { name: "a", type: "directory", size: 0 },
    { name: "b", type: "file", size: 1 },
  ]);
  expect(JSON.parse(await text("fs_stat", { path: "b" }))).toEqual({
    name: "b",
    size: 1,
    mode: "0644",
    mod_time: expect.stringMatching(/^\d{4}-.*Z$/),
    is_dir: false,
    sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  expect(JSON.parse(await text("fs_stat", { path: "a" }))).toMatchObject({ is_dir: true });
});

test("TB-12: a change tells its file and diff; a rerun with the call's key answers without doing it twice", async () => {
  const { call, text } = toolBench();
  await text("fs_write", { path: "f", content: "x" });
  const edit = { path: "f", old_text: "x", new_text: "xx" };
  const first = await call("fs_edit", edit, { key: "run/edit" });
  expect(first).toMatchObject({
    content: "Edited f.",
    changes: [{ path: "f", op: "modify", diff: expect.stringContaining("+xx") }],
  });
  expect(await call("fs_edit", edit, { key: "run/edit", attempt: 2 })).toEqual(first);
  expect(await text("fs_read", { path: "f" })).toBe("xx");
});

test("TB-12: an answer that got lost on the way is fetched again: the change happens once", async () => {
  let lost = 0;
  const { text } = toolBench((fetcher) => ({
    fetch: async (request) => {
      const response = await fetcher.fetch(request);
      if (!request.url.endsWith("/fs/edit") || lost > 0) return response;
      lost += 1;
      throw new Error("reset");
    },
  }));
  await text("fs_write", { path: "f", content: "x" });
  expect(await text("fs_edit", { path: "f", old_text: "x", new_text: "xx" })).toBe("Edited f.");
  expect(await text("fs_read", { path: "f" })).toBe("xx");
});

test("TB-12: ★ a file that another thread changed after this one read it: conflict, naming who", async () => {
  const { text } = toolBench();
  await text("fs_write", { path: "f", content: "1" });
  await text("fs_write", { path: "f", content: "2" }, { thread: "helper" });
  expect(await text("fs_write", { path: "f", content: "3" })).toMatch(/^ERROR conflict: .*thread helper/);
  expect(await text("fs_read", { path: "f" })).toBe("2");
  expect(await text("fs_write", { path: "f", content: "3" })).toBe("Wrote 1 bytes to f.");
});

test("toolboxes §3: fs_copy leaves out links that lead away, and names them", async () => {
  const { text } = toolBench();
  await text("exec_shell", { script: "mkdir d; echo x > d/f; ln -s /etc d/away; ln -s f d/near" });
  expect(await text("fs_copy", { source: "d", destination: "e" })).toBe(
    "Copied d to e.\nOmitted, since they lead out of the workspace: d/away",
  );
  expect(JSON.parse(await text("fs_list", { path: "e" }))).toHaveLength(2);
});

test("search: results are JSON for the model; nothing found is an empty list", async () => {
  const { text } = toolBench();
  await text("fs_write", { path: "src/ü.ts", content: "const größe = 1;\n" });
  expect(JSON.parse(await text("search_content", { pattern: "größe" }))).toEqual({
    matches: [{ path: "src/ü.ts", line: 1, content: "const größe = 1;" }],
    total: 1,
    truncated: false,
  });
  expect(await text("search_files", { pattern: "**/*.ts" })).toBe('["src/ü.ts"]');
  expect(await text("search_files", { pattern: "*.none" })).toBe("[]");
  await text("fs_write", { path: "src/later.ts", content: "" });
  expect(await text("search_files", { pattern: "*.ts", max_results: 2 })).not.toContain("More");
  expect(await text("search_files", { pattern: "*.ts", max_results: 1 })).toMatch(
    /^\["src\/[^,]+"\]\n\[More files match; these are the newest\.\]$/,
  );
  expect(await text("search_content", { pattern: "(" })).toMatch(/^ERROR invalid_arguments: .*literal: true/);
});

test("TB-7: every file of a patch is a subject, whatever line breaks its path contains", async () => {
  const tool = toolboxes.flatMap(({ tools }) => tools).find(({ name }) => name === "apply_patch");
  for (const separator of ["\r", "\u2028", "\u2029"]) {
    const path = `safe${separator}/../infra/x`;
    const patch = `*** Begin Patch\r\n*** Add File: ${path}\r\n+a\r\n*** End Patch`;
    const { text, sandbox } = toolBench();
    expect(await text("apply_patch", { patch })).not.toMatch(/^ERROR/);
    expect(Object.keys(await everything(sandbox))).toContain("infra/x");
    expect(tool?.subject({ patch })).toEqual(["infra/x"]);
  }
});

test("a file never replaces a folder, and a glob may count from /workspace", async () => {
  const { text } = toolBench();
  for (const path of ["src/x.ts", "src/y.ts", "util.ts"]) await text("fs_write", { path, content: path });
  for (const tool of ["fs_move", "fs_copy"])
    for (const overwrite of [false, true])
      expect(await text(tool, { source: "util.ts", destination: "src/", overwrite })).toMatch(
        /^ERROR conflict: src is a folder; to put it in there, add its name to/,
      );
  expect(JSON.parse(await text("search_files", { pattern: "/workspace/src/*.ts" }))).toHaveLength(2);
  expect(
    JSON.parse(await text("search_content", { pattern: "x", glob: "/workspace/src/*.ts" })),
  ).toMatchObject({
    total: 1,
  });
});

test("TB-30: a path with half a character is refused by each file tool", async () => {
  const { text } = toolBench();
  const path = "a\ud83d";
  for (const [name, args] of [
    ["fs_read", { path }],
    ["fs_write", { path, content: "x" }],
    ["fs_mkdir", { path }],
  ] as const)
    expect(await text(name, args)).toMatch(/^ERROR not_permitted: .* holds half a character; /);
});
