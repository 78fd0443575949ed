import { expect, test } from "vitest";
import { eventsOf, say } from "../engine/harness.ts";
import { openBench } from "../support/bench.ts";
import { resultsOf } from "../support/crew.ts";
import { replies, said, scripted } from "../support/scripts.ts";
import { engineOf } from "../support/teams.ts";
import { workspaceWith } from "../support/workspace.ts";
import { toolBench } from "./bench.ts";

/** What counts from an agent's `working_dir`: paths, searches, commands, `writable_paths`; rules do not (CF-14, TB-7). */

const files = { "app/src/a.ts": "one\n", "app/b.ts": "two\n", "src/c.ts": "three\n" };

const asked = async (
  calls: readonly (readonly [string, object])[],
  agent = "",
  options = "",
): Promise<{ readonly results: readonly string[]; readonly changes: readonly unknown[] }> => {
  const workspace = await workspaceWith(files);
  const yaml = scripted(
    replies(...calls.map((call) => said(call)), said("Done.")),
    `options: { working_dir: app${options} }\n${agent}`,
  )
    .replace("toolboxes: [probe]", "toolboxes: [filesystem, search, exec]")
    .replace(
      "permissions: { preset: open }",
      agent.includes("permissions:") ? "" : "permissions: { preset: open }",
    );
  const bench = openBench({ engine: await engineOf(yaml, { env: workspace.env }) });
  bench.ok("create");
  await say(bench);
  const changes = eventsOf(bench, "file_change").map((change) => (change as { path: string }).path);
  return { results: resultsOf({ bench }), changes };
};

test("★ CF-14: every file tool, search and command counts from working_dir, /workspace from the root", async () => {
  const patch =
    "*** Begin Patch\n*** Add File: p.ts\n+new\n*** Update File: b.ts\n@@\n-two\n+TWO\n*** End Patch";
  const { results, changes } = await asked([
    ["fs_read", { path: "src/a.ts" }],
    ["fs_read", { path: "/workspace/src/c.ts" }],
    ["fs_read", { path: "../src/c.ts" }],
    ["fs_list", {}],
    ["search_content", { pattern: "one|three" }],
    ["search_files", { pattern: "src/*.ts" }],
    ["search_files", { pattern: "*.ts", directory: "/workspace/src" }],
    ["exec_shell", { script: "pwd; cat src/a.ts" }],
    ["apply_patch", { patch }],
    ["fs_write", { path: "n/w.ts", content: "w" }],
    ["fs_edit", { path: "src/a.ts", old_text: "one", new_text: "ONE" }],
    ["fs_copy", { source: "b.ts", destination: "n/b.ts" }],
    ["fs_move", { source: "n/w.ts", destination: "n/v.ts" }],
    ["fs_mkdir", { path: "empty" }],
    ["fs_delete", { path: "/workspace/src/c.ts" }],
    ["fs_read", { path: "../../etc/passwd" }],
  ]);
  expect(results.slice(0, 3)).toEqual(["ok: one\n", "ok: three\n", "ok: three\n"]);
  expect(results[3]).toContain('"name":"b.ts"');
  expect(results[4]).toContain('"path":"src/a.ts"');
  expect(results[4]).not.toContain("c.ts");
  expect(results[5]).toBe('ok: ["src/a.ts"]');
  expect(results[6]).toBe('ok: ["/workspace/src/c.ts"]');
  expect(results[7]).toContain("/workspace/app\none");
  expect(results.slice(8, 15).map((text) => text.split(":")[0])).toEqual(Array(7).fill("ok"));
  expect(results[15]).toContain("not_permitted");
  expect(changes).toEqual([
    "app/p.ts",
    "app/b.ts",
    "app/n/w.ts",
    "app/src/a.ts",
    "app/n/b.ts",
    "app/n/v.ts",
    "src/c.ts",
  ]);
});

test("CF-14: what tools say of a path names it as the agent has to", async () => {
  const patch =
    "*** Begin Patch\n*** Add File: p.ts\n+new\n*** Update File: b.ts\n@@\n-two\n+TWO\n*** End Patch";
  const { results } = await asked([
    ["apply_patch", { patch }],
    ["fs_read", { path: "nope.txt" }],
    ["fs_edit", { path: "b.ts", old_text: "three", new_text: "x" }],
    ["fs_list", { path: "nope" }],
    ["fs_read", { path: "/workspace/nope.txt" }],
    ["fs_read", { path: "./nope.txt" }],
    ["fs_read", { path: "src/../nope.txt" }],
    ["fs_diff", { file_a: "b.ts", file_b: "nope.txt" }],
    ["search_content", { pattern: "x", directory: "nope" }],
    ["search_files", { pattern: "x", directory: "nope" }],
    ["fs_read", { path: "../../x" }],
  ]);
  expect(results[0]).toMatch(/^ok: [^]*\bA p\.ts\nM b\.ts/);
  for (const [at, name] of [
    [1, "nope.txt"],
    [2, "b.ts"],
    [3, "nope"],
    [5, "nope.txt"],
    [6, "nope.txt"],
    [7, "nope.txt"],
    [8, "nope"],
    [9, "nope"],
  ] as const)
    expect(results[at]).toMatch(new RegExp(`^error: [^/]*\\b${name}`));
  expect(results[4]).toContain("/workspace/nope.txt");
  expect(results.join("\n")).not.toContain("app/");
});

test("★ TB-7: rules see paths from the workspace's root, however the call writes them", async () => {
  const rules =
    'permissions: { preset: open, rules: [{ act: write, match: "app/src/**", action: deny }, { act: read, match: "src/**", action: deny }] }';
  const { results } = await asked(
    [
      ["fs_write", { path: "src/x.ts", content: "x" }],
      ["fs_write", { path: "./n/../src/x.ts", content: "x" }],
      ["fs_write", { path: "/workspace/app/src/x.ts", content: "x" }],
      ["fs_write", { path: "../app/src/x.ts", content: "x" }],
      ["apply_patch", { patch: "*** Begin Patch\n*** Add File: src/x.ts\n+x\n*** End Patch" }],
      ["fs_move", { source: "b.ts", destination: "src/b.ts" }],
      ["fs_read", { path: "../src/c.ts" }],
      ["fs_read", { path: "src/a.ts" }],
      ["search_content", { pattern: "one|three", directory: "/workspace" }],
    ],
    rules,
  );
  expect(results.slice(0, 7).map((text) => text.split(":")[0])).toEqual(Array(7).fill("denied"));
  expect(results[7]).toBe("ok: one\n");
  expect(results[8]).toContain('"path":"src/a.ts"');
  expect(results[8]).toContain("Left out");
  expect(results[8]).not.toContain("c.ts");
});

test("★ TB-7 TB-14: a patch changes the very files that rules judged, whatever spaces their paths have", async () => {
  const rules =
    'permissions: { preset: open, rules: [{ act: write, match: "app/b.ts", action: deny }, { act: write, match: "src/**", action: deny }] }';
  const patchOf = (...lines: readonly string[]): string =>
    ["*** Begin Patch", ...lines, "*** End Patch"].join("\n");
  const { results, changes } = await asked(
    [
      ["apply_patch", { patch: patchOf("*** Update File: b.ts /.", "@@", "-two", "+TWO") }],
      ["apply_patch", { patch: patchOf("*** Add File: /workspace/ src/x.ts", "+x") }],
      ["apply_patch", { patch: patchOf("*** Add File: ./n.ts ", "+n") }],
      ["fs_read", { path: "b.ts" }],
      ["fs_list", { path: "/workspace/src" }],
    ],
    rules,
  );
  expect(results[0]).toMatch(/^error: not_found/);
  expect(changes).toEqual([" src/x.ts", "app/n.ts"]);
  expect(results[3]).toBe("ok: two\n");
  expect(results[4]).not.toContain("x.ts");
});

test("★ SE-22 CF-14: writable_paths count from working_dir, for files and commands", async () => {
  const { results } = await asked(
    [
      ["fs_write", { path: "src/x.ts", content: "x" }],
      ["fs_write", { path: "/workspace/src/x.ts", content: "x" }],
      ["fs_write", { path: "b.ts", content: "x" }],
      ["exec_shell", { script: "echo x > src/y.ts" }],
      ["exec_shell", { script: "echo x > ../src/y.ts" }],
    ],
    "",
    ', writable_paths: ["src/**"]',
  );
  expect(results.map((text) => text.split(":")[0])).toEqual(["ok", "error", "error", "ok", "error"]);
});

test("CF-14: the sandbox of a call tells and compares files as working_dir sees them", async () => {
  const { text } = toolBench();
  expect(await text("fs_write", { path: "x", content: "1" }, { workingDir: "a/b" })).toContain("Wrote");
  expect(await text("fs_stat", { path: "x" }, { workingDir: "a/b" })).toContain('"name":"x"');
  expect(await text("fs_diff", { file_a: "x", file_b: "/workspace/a/b/x" }, { workingDir: "a/b" })).toBe(
    "files are identical",
  );
});
