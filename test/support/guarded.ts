import { createSandbox } from "../../src/sandbox/client.ts";
import { eventsOf } from "../engine/harness.ts";
import { everything } from "../sandbox/bench.ts";
import { createLocalWorkspace } from "../sandbox/local.ts";
import { openBench } from "./bench.ts";
import { engineOf } from "./teams.ts";
import type { TeamExtras } from "./teams.ts";

/** A workspace with guarded files, and calls of an agent that permission rules bind. */

export type Args = Readonly<Record<string, unknown>>;

/** What must not come out of `private/`. */
export const secret = "swordfish";

const files = {
  "private/key": `${secret}\n`,
  "private/deep/note": `${secret} again\n`,
  "open/a.md": "plain\n",
  "open/b.md": "other\n",
};

interface Guarded {
  readonly permissions: string;
  /** Further keys of the agent, as YAML of a flow map. */
  readonly agent?: string;
  readonly extras?: TeamExtras;
}

export const guardedTeam = (call: string, args: Args, { permissions, agent = "" }: Guarded): string => `
providers:
  - name: script
    kind: scripted
    model: play
    script: { script: 1, replies: [{ reply: [{ call: ${call}, args: ${JSON.stringify(args)} }] }, { reply: [{ text: done }] }] }
agents:
  - { name: tester, toolboxes: [filesystem, search, exec${agent.includes("lab") ? ", lab" : ""}], effects: []${agent.replace("lab", "")}, permissions: ${permissions} }
`;

/** Makes one call: how it ended, what it said, what the files then are. */
export const callGuarded = async (call: string, args: Args, guarded: Guarded) => {
  const { fetch } = createLocalWorkspace();
  const sandbox = createSandbox({ fetch }, "any");
  for (const [path, text] of Object.entries(files)) await sandbox.write(path, text, { key: path });
  const before = JSON.stringify(await everything(sandbox));
  const engine = await engineOf(guardedTeam(call, args, guarded), {
    env: { SANDBOX: { fetch } },
    ...guarded.extras,
  });
  const bench = openBench({ engine });
  bench.ok("create");
  bench.send("Go");
  await bench.idle();
  const end = eventsOf(bench, "tool_call_end")[0];
  const ask = Object.values(bench.state().asks).find(({ status }) => status === "open");
  const now = await everything(sandbox);
  return {
    bench,
    ask,
    outcome: end?.["outcome"],
    output: typeof end?.["output"] === "string" ? end["output"] : "",
    changed: JSON.stringify(now) !== before,
    files: now,
  };
};

const patch = (...lines: string[]): Args => ({
  patch: [
    "*** Begin Patch",
    ...lines.flatMap((line) => (line.startsWith("-") ? ["@@", line] : [line])),
    "*** End Patch",
  ].join("\n"),
});

/** A call that brings something out of `private/` where no rule guards it. */
type Reach = readonly [tool: string, args: Args];

export const reads: readonly Reach[] = [
  ["fs_read", { path: "private/key" }],
  ["fs_read", { path: "/workspace/open/../private/key" }],
  ["fs_read_lines", { path: "private/key" }],
  ["fs_stat", { path: "private/key" }],
  ["fs_list", { path: "private" }],
  ["fs_diff", { file_a: "open/a.md", file_b: "private/key" }],
  ["fs_edit", { path: "private/key", old_text: "is not there", new_text: "" }],
  ["fs_patch", { path: "private/key", hunks: [{ old_text: "is not there" }] }],
  ["apply_patch", patch("*** Update File: private/key", "*** Move to: open/k")],
  ["fs_copy", { source: "private/key", destination: "open/k" }],
  ["fs_copy", { source: "private", destination: "open/p" }],
  ["fs_move", { source: "private/key", destination: "open/k" }],
  ["fs_move", { source: "private", destination: "open/p" }],
  ["search_content", { pattern: "swordfish" }],
  ["search_content", { pattern: "swordfish", directory: "private" }],
  ["search_content", { pattern: "swordfish", directory: "private/key" }],
  ["search_content", { pattern: "swordfish", directory: "private/deep" }],
  ["search_files", { pattern: "**" }],
];

/** Calls that take away or replace what is in `private/`. */
export const deletes: readonly Reach[] = [
  ["fs_delete", { path: "private/key" }],
  ["fs_delete", { path: "private", recursive: true }],
  ["fs_move", { source: "private/key", destination: "open/k" }],
  ["fs_move", { source: "private", destination: "open/p" }],
  ["fs_move", { source: "open/a.md", destination: "private/key", overwrite: true }],
  ["fs_copy", { source: "open/a.md", destination: "private/key", overwrite: true }],
  ["fs_copy", { source: "open", destination: "private", overwrite: true }],
  ["apply_patch", patch("*** Delete File: private/key")],
  ["apply_patch", patch("*** Update File: private/key", "*** Move to: open/k", `-${secret}`, "+x")],
];

/** Calls that write to `private/`, those that take away included. */
export const writes: readonly Reach[] = [
  ["fs_write", { path: "private/new", content: "x" }],
  ["fs_write", { path: "./private//key", content: "x" }],
  ["fs_edit", { path: "private/new", old_text: "", new_text: "x" }],
  ["fs_edit", { path: "private/key", old_text: secret, new_text: "x" }],
  ["fs_patch", { path: "private/key", hunks: [{ old_text: secret }] }],
  ["apply_patch", patch("*** Add File: private/new", "+x")],
  ["apply_patch", patch("*** Update File: private/key", `-${secret}`, "+x")],
  ["apply_patch", patch("*** Update File: open/a.md", "*** Move to: private/a", "-plain", "+x")],
  ["fs_mkdir", { path: "private/sub" }],
  ["fs_move", { source: "open/a.md", destination: "private/a" }],
  ["fs_copy", { source: "open", destination: "private/open" }],
  ...deletes,
];
