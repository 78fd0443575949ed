import { expect, test } from "vitest";
import { openBench } from "../support/bench.ts";
import type { Bench } from "../support/bench.ts";
import { engineOf } from "../support/teams.ts";
import { createLocalWorkspace } from "../sandbox/local.ts";
import { createSandbox } from "../../src/sandbox/client.ts";
import { everything } from "../sandbox/bench.ts";
import { eventsOf } from "./harness.ts";

type Args = Readonly<Record<string, unknown>>;

/** A person's agent with file tools, bound by these rules; it makes one call. */
const yaml = (call: string, args: Args, permissions: string): string => `
providers:
  - name: script
    kind: scripted
    model: play
    script: { script: 1, replies: [{ reply: [{ call: ${call}, args: ${JSON.stringify(args)} }] }, { reply: [{ text: done }] }] }
agents:
  - { name: tester, toolboxes: [filesystem, search], effects: [], options: { cache_tool_results: true }, permissions: ${permissions} }
`;

const files = {
  "a/infra/main.tf": "keep",
  "a/notes.md": "n",
  "infra/main.tf": "keep",
  "lib/x": "keep",
  y: "y",
};

const opened = async (links: string) => {
  const { fetch } = createLocalWorkspace();
  const SANDBOX = { fetch };
  const sandbox = createSandbox({ fetch }, "any");
  for (const [path, text] of Object.entries(files)) await sandbox.write(path, text, { key: path });
  const request = { argv: ["sh", "-c", links], execId: "links" };
  for await (const _ of sandbox.exec(request, new AbortController().signal));
  return { SANDBOX, sandbox };
};

/** What a call comes to: how it ended, what it said, and what of the files is left. */
const called = async (call: string, args: Args, permissions: string, links = "true") => {
  const { SANDBOX, sandbox } = await opened(links);
  const bench: Bench = openBench({
    engine: await engineOf(yaml(call, args, permissions), { env: { SANDBOX } }),
  });
  bench.ok("create");
  bench.send("Go");
  await bench.idle();
  const end = eventsOf(bench, "tool_call_end")[0];
  const ask = Object.values(bench.state().asks)[0];
  const left = async () => Object.keys(await everything(sandbox)).toSorted();
  return { bench, ask, outcome: end?.["outcome"], output: String(end?.["output"]), left };
};

const rule = (action: string, match: string, preset = "open"): string =>
  `{ preset: ${preset}, rules: [{ tool: "*", match: "${match}", action: ${action} }] }`;

const onTree: readonly (readonly [string, Args])[] = [
  ["fs_delete", { path: "infra", recursive: true }],
  ["fs_move", { source: "infra", destination: "b" }],
  ["fs_copy", { source: "infra", destination: "b" }],
  ["fs_move", { source: "lib", destination: "infra", overwrite: true }],
  ["fs_copy", { source: "lib", destination: "infra", overwrite: true }],
  ["fs_move", { source: "lib", destination: "./infra/" }],
];

test("TB-7: a deny on what lies in a folder denies what would act on the whole folder", async () => {
  for (const [tool, args] of onTree) {
    const { outcome, output, left } = await called(tool, args, rule("deny", "infra/**"));
    expect([tool, args, outcome]).toEqual([tool, args, "denied"]);
    expect(output).toBe("denied: a rule forbids this call (rule deny * infra/**)");
    expect(await left()).toEqual(Object.keys(files).toSorted());
  }
});

test("TB-7: so it does on every folder above, whatever the pattern's last segments are", async () => {
  for (const match of ["a/infra/**", "a/infra/*", "a/infra/main.tf", "a/infra", "a/infra/*.tf"]) {
    for (const [tool, args] of [
      ["fs_delete", { path: "a", recursive: true }],
      ["fs_move", { source: "a", destination: "b" }],
      ["fs_copy", { source: "lib", destination: "a", overwrite: true }],
    ] as const) {
      const { outcome, left } = await called(tool, args, rule("deny", match));
      expect([match, tool, outcome]).toEqual([match, tool, "denied"]);
      expect(await left()).toEqual(Object.keys(files).toSorted());
    }
  }
});

test("TB-7: an ask on what lies in a folder asks before the folder is acted on, and its approval holds for all of it", async () => {
  for (const [tool, args] of onTree) {
    const { bench, ask, left } = await called(tool, args, rule("ask", "infra/**"));
    expect([tool, args, ask?.kind]).toEqual([tool, args, "approval"]);
    expect(await left()).toEqual(Object.keys(files).toSorted());
    bench.ok("answer", { ask: ask?.id, decision: "approve" });
    await bench.idle();
    const text = eventsOf(bench, "tool_call_end")[0]?.["output"];
    expect([tool, args, text]).toEqual([tool, args, expect.not.stringMatching(/not_permitted|denied/)]);
  }
});

test("TB-7: a deny on some files of any folder lets a folder without them go, and no folder with one", async () => {
  const deny = rule("deny", "**/*.tf");
  const gone = await called("fs_delete", { path: "lib", recursive: true }, deny);
  expect([gone.outcome, gone.output]).toEqual(["ok", "Deleted lib."]);
  expect((await called("fs_move", { source: "y", destination: "z" }, deny)).outcome).toBe("ok");
  for (const [tool, args] of onTree.slice(0, 5)) {
    const { output, left } = await called(tool, args, deny);
    expect([tool, args, output]).toEqual([
      tool,
      args,
      "not_permitted: a permission rule applies to infra/main.tf, which this call would also act on; leave it out, or name it in a separate call",
    ]);
    expect(await left()).toEqual(Object.keys(files).toSorted());
  }
});

test("TB-7: a search leaves out the files that a rule closes to it, wherever it begins", async () => {
  for (const action of ["deny", "ask"]) {
    const found = await called("search_content", { pattern: "keep" }, rule(action, "infra/**"));
    expect(found.output).toContain("lib/x");
    expect(found.output).toContain("a/infra/main.tf");
    expect(found.output).not.toContain('"infra/main.tf"');
    const names = await called("search_files", { pattern: "**" }, rule(action, "**/*.tf"));
    const [list = "", note] = names.output.split("\n");
    const paths = JSON.parse(list) as readonly string[];
    expect(note).toBe("[Left out, since permission rules close it to this call: **/*.tf]");
    expect(paths.toSorted()).toEqual(["a/notes.md", "lib/x", "y"]);
  }
});

const throughLink: readonly (readonly [string, Args])[] = [
  ["fs_read", { path: "src/link/main.tf" }],
  ["fs_stat", { path: "src/link/main.tf" }],
  ["fs_list", { path: "src/link" }],
  ["fs_diff", { file_a: "y", file_b: "src/link/main.tf" }],
  ["search_content", { pattern: "keep", directory: "src/link" }],
  ["fs_write", { path: "src/link/main.tf", content: "evil" }],
  ["fs_write", { path: "src/file", content: "evil" }],
  ["fs_edit", { path: "src/link/main.tf", old_text: "keep", new_text: "evil" }],
  ["fs_mkdir", { path: "src/link/new" }],
  ["fs_delete", { path: "src/link/main.tf" }],
  ["fs_move", { source: "src/link/main.tf", destination: "z" }],
  ["fs_move", { source: "y", destination: "src/link/y" }],
  ["apply_patch", { patch: "*** Begin Patch\n*** Delete File: src/link/main.tf\n*** End Patch" }],
];

test("TB-7: no link in an open folder leads around a rule on another", async () => {
  const links = "mkdir src; ln -s ../infra src/link; ln -s ../infra/main.tf src/file";
  for (const permissions of [
    rule("deny", "infra/**"),
    rule("ask", "infra/**"),
    rule("allow", "src/**", "locked"),
    `{ preset: open, rules: [{ tool: "*", match: "infra/**", action: deny, expires: "2999-01-01" }] }`,
  ]) {
    for (const [tool, args] of throughLink) {
      const { outcome, output, left } = await called(tool, args, permissions, links);
      if (permissions.includes("locked") && tool === "fs_move") continue;
      expect([permissions, tool, outcome, output]).toEqual([
        permissions,
        tool,
        "error",
        expect.stringMatching(/^not_permitted: .* goes through the link src\/(link|file) to /),
      ]);
      expect(await left()).toContain("infra/main.tf");
    }
  }
});

test("TB-7: where no rule looks at paths, links are followed as ever", async () => {
  const links = "mkdir src; ln -s ../infra src/link";
  const plain = "{ preset: open, rules: [{ tool: fs_delete, match: 'x/**', action: deny }] }";
  const { outcome, output } = await called("fs_read", { path: "src/link/main.tf" }, plain, links);
  expect([outcome, output]).toEqual(["ok", "keep"]);
});
