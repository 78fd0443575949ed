import * as z from "zod";
import { expect, test } from "vitest";
import { defineTool } from "../../src/tools/define-tool.ts";
import type { ToolDefinition } from "../../src/tools/define-tool.ts";
import { toolboxes } from "../../src/toolboxes/index.ts";
import { eventsOf } from "./harness.ts";
import { engineOf } from "../support/teams.ts";
import { callGuarded, deletes, reads, secret, writes } from "../support/guarded.ts";
import type { Args } from "../support/guarded.ts";

/** Rules on acts bind every tool that does the act (TB-7). */

const rule = (action: string, act: string, match?: string, preset = "open"): string =>
  `{ preset: ${preset}, rules: [{ act: ${act}, ${match === undefined ? "" : `match: "${match}", `}action: ${action} }] }`;

const open = "{ preset: open }";

type Result = Awaited<ReturnType<typeof callGuarded>>;

/** Whether something of the guarded files came out: into the result, or into a file elsewhere. */
const leaks = ({ output, files }: Result): boolean => {
  const guarded = ["private/key", "private/deep/note"].map((path) => files[path]);
  const copied = Object.entries(files).some(
    ([path, hash]) => !path.startsWith("private/") && guarded.includes(hash),
  );
  const named = /private\/(key|deep)|"key"|[0-9a-f]{64}/.test(output);
  return output.includes(secret) || named || copied || files["private/key"] === undefined;
};

/** Tools that answer with what is left, instead of being denied or asking. */
const leavesOut = (tool: string, args: Args): boolean =>
  ["search_content", "search_files", "fs_list"].includes(tool) && !JSON.stringify(args).includes("private/");

test("TB-7: every tool that reads is in the list of calls, and reads what no rule guards", async () => {
  // Git needs a repository; what rules close to it is proved in test/toolboxes/git.test.ts.
  const boxes = toolboxes.filter(({ name }) => name !== "git");
  const does = (act: "read" | "write" | "delete"): string[] =>
    boxes.flatMap(({ tools }) => tools.filter(({ does = [] }) => does.includes(act)).map(({ name }) => name));
  for (const [act, calls] of [
    ["read", reads],
    ["write", writes],
    ["delete", deletes],
  ] as const)
    expect([act, [...new Set(calls.map(([tool]) => tool))].toSorted()]).toEqual([
      act,
      [...new Set([...does(act), ...(act === "write" ? does("delete") : [])])].toSorted(),
    ]);
  for (const [tool, args] of reads)
    expect([tool, args, leaks(await callGuarded(tool, args, { permissions: open }))]).toEqual([
      tool,
      args,
      true,
    ]);
  for (const [tool, args] of [...writes, ...deletes]) {
    const { outcome, output } = await callGuarded(tool, args, { permissions: open });
    expect([tool, args, outcome, output]).toEqual([tool, args, "ok", expect.any(String)]);
  }
});

test("TB-7 ★: a deny on reading holds for each tool that reads, whatever it is called", async () => {
  for (const [tool, args] of reads) {
    const result = await callGuarded(tool, args, { permissions: rule("deny", "read", "private/**") });
    expect([tool, args, leaks(result)]).toEqual([tool, args, false]);
    const expected = leavesOut(tool, args) ? "ok" : "denied";
    expect([tool, args, result.outcome, result.changed]).toEqual([tool, args, expected, false]);
  }
});

test("TB-7 ★: an ask on reading asks before each of them, and nothing came out before", async () => {
  for (const [tool, args] of reads) {
    const result = await callGuarded(tool, args, { permissions: rule("ask", "read", "private/**") });
    expect([tool, args, leaks(result)]).toEqual([tool, args, false]);
    const expected = leavesOut(tool, args) ? undefined : "approval";
    expect([tool, args, result.ask?.kind]).toEqual([tool, args, expected]);
    expect(result.ask?.approval?.rule).toBe(
      expected === undefined ? undefined : "rule ask act read private/**",
    );
  }
});

test("TB-7 ★: a deny and an ask on writing hold for each tool that writes, moves or deletes", async () => {
  for (const [tool, args] of [...writes, ...deletes]) {
    const denied = await callGuarded(tool, args, { permissions: rule("deny", "write", "private/**") });
    expect([tool, args, denied.outcome, denied.changed]).toEqual([tool, args, "denied", false]);
    const asked = await callGuarded(tool, args, { permissions: rule("ask", "write", "private/**") });
    expect([tool, args, asked.ask?.kind, asked.changed]).toEqual([tool, args, "approval", false]);
  }
});

test("TB-7: a rule on deleting holds for what takes away or replaces, and lets writing be", async () => {
  for (const [tool, args] of deletes) {
    const { outcome, changed } = await callGuarded(tool, args, {
      permissions: rule("deny", "delete", "private/**"),
    });
    expect([tool, args, outcome, changed]).toEqual([tool, args, "denied", false]);
  }
  for (const [tool, args] of writes.filter((call) => !deletes.includes(call))) {
    const { outcome } = await callGuarded(tool, args, { permissions: rule("deny", "delete", "private/**") });
    expect([tool, args, outcome]).toEqual([tool, args, "ok"]);
  }
});

test("TB-7: a rule on one act leaves the others: what may not be written is read and copied from", async () => {
  const unwritable = rule("deny", "write", "private/**");
  for (const [tool, args] of reads) {
    const result = await callGuarded(tool, args, { permissions: unwritable });
    const writesThere = ["fs_edit", "fs_patch", "apply_patch", "fs_move"].includes(tool);
    expect([tool, args, leaks(result)]).toEqual([tool, args, !writesThere]);
  }
  const unreadable = rule("deny", "read", "private/**");
  const write = await callGuarded(
    "fs_write",
    { path: "private/new", content: "x" },
    { permissions: unreadable },
  );
  expect(write.outcome).toBe("ok");
});

test("TB-7: a list or search of a folder leaves out what may not be read, and says so where a rule looks", async () => {
  const look = async (tool: string, args: Args, permissions: string) =>
    (await callGuarded(tool, args, { permissions })).output.split("\n");
  const note = (what: string): string => `[Left out, since permission rules close it to this call: ${what}]`;
  for (const action of ["deny", "ask"]) {
    const inside = rule(action, "read", "private/*");
    expect(await look("search_content", { pattern: "swordfish" }, inside)).toEqual([
      expect.stringMatching(/^\{"matches":\[\{"path":"private\/deep\/note".*"total":1,/),
      note("private/*"),
    ]);
    const [names = "", ...notes] = await look(
      "search_files",
      { pattern: "**", directory: "private" },
      inside,
    );
    expect([JSON.parse(names), notes]).toEqual([["private/deep/note"], [note("private/*")]]);
    const [entries = "", ...more] = await look(
      "fs_list",
      { path: "private/deep" },
      rule(action, "read", "**/note"),
    );
    expect([entries, more]).toEqual(["[]", [note("**/note")]]);
    expect(await look("fs_list", { path: "open" }, inside)).toHaveLength(1);
    expect(await look("search_files", { pattern: "**" }, rule(action, "write", "private/*"))).toHaveLength(1);
  }
  const [all] = await look("fs_list", { path: "private" }, rule("deny", "read", "private/d*"));
  expect(all).not.toContain("deep");
  expect(all).toContain("key");
});

test("TB-7: what a pattern closes deep in a folder is found by the sandbox, for the act of the rule alone", async () => {
  const copy = { source: "private", destination: "open/p" };
  const unreadable = await callGuarded("fs_copy", copy, { permissions: rule("deny", "read", "**/note") });
  expect(unreadable.output).toMatch(/^not_permitted: a permission rule applies to private\/deep\/note/);
  const unwritable = await callGuarded("fs_copy", copy, {
    permissions: rule("deny", "write", "private/**/note"),
  });
  expect(unwritable.outcome).toBe("ok");
  const removal = { path: "private", recursive: true };
  const undeletable = await callGuarded("fs_delete", removal, {
    permissions: rule("deny", "write", "**/note"),
  });
  expect([undeletable.changed, undeletable.output]).toEqual([
    false,
    expect.stringMatching(/private\/deep\/note/),
  ]);
  const readable = await callGuarded("fs_delete", removal, { permissions: rule("deny", "read", "**/note") });
  expect(readable.outcome).toBe("ok");
});

test("TB-7: an allow on a part of a folder does not allow what acts on the whole", async () => {
  const removal = (path: string, match: string) =>
    callGuarded(
      "fs_delete",
      { path, recursive: true },
      { permissions: rule("allow", "delete", match, "locked") },
    );
  for (const [path, match, outcome] of [
    ["private", "private/*", "denied"],
    ["private", "private", "denied"],
    ["private", "p*", "denied"],
    ["private/deep", "private/*", "denied"],
    ["private/deep", "private/**", "ok"],
    ["private/key", "private/*", "denied"],
    ["private", "**", "ok"],
  ] as const)
    expect([path, match, (await removal(path, match)).outcome]).toEqual([path, match, outcome]);
  const plain = await callGuarded(
    "fs_delete",
    { path: "private/key" },
    {
      permissions: rule("allow", "delete", "private/*", "locked"),
    },
  );
  expect(plain.outcome).toBe("ok");
  const parts = "{ preset: locked, rules: [{ act: write, match: 'open/**', action: allow }] }";
  const copy = await callGuarded(
    "fs_copy",
    { source: "private", destination: "open/p" },
    { permissions: parts },
  );
  expect(copy.outcome).toBe("ok");
  const move = await callGuarded(
    "fs_move",
    { source: "private", destination: "open/p" },
    { permissions: parts },
  );
  expect([move.outcome, move.changed]).toEqual(["denied", false]);
});

test("TB-7: under a rule on exec with a pattern, shell text is denied and asks, and is never allowed", async () => {
  const run = (command: string, ...args: string[]) => ["exec_run", { command, args }] as const;
  const shell = ["exec_shell", { script: "true" }] as const;
  const outcomeOf = async ([tool, args]: readonly [string, Args], permissions: string) => {
    const { outcome, ask } = await callGuarded(tool, args, { permissions });
    return ask === undefined ? outcome : "asks";
  };
  const deny = rule("deny", "exec", "rm *");
  expect(await outcomeOf(run("rm", "-f", "open/a.md"), deny)).toBe("denied");
  expect(await outcomeOf(run("true"), deny)).toBe("ok");
  expect(await outcomeOf(shell, deny)).toBe("denied");
  expect(await outcomeOf(shell, rule("ask", "exec", "rm *"))).toBe("asks");
  const allow = rule("allow", "exec", "true*", "locked");
  expect(await outcomeOf(run("true"), allow)).toBe("ok");
  expect(await outcomeOf(run("ls"), allow)).toBe("denied");
  expect(await outcomeOf(shell, allow)).toBe("denied");
  expect(await outcomeOf(shell, rule("allow", "exec", "*", "locked"))).toBe("ok");
});

const crew = `
providers:
  - { name: p, kind: scripted, model: m, script: { script: 1, replies: [{ reply: [{ text: done }] }] } }
agents:
  - { name: lead, effects: [], delegation: { ad_hoc: true }, options: { max_handoffs: 1 } }
  - { name: coder, effects: [], options: { max_handoffs: 1 } }
  - { name: tester, effects: [] }
permissions: { preset: open, rules: [{ act: delegate, match: coder, action: deny }] }
`;

test("TB-7: a rule on delegating holds for each tool that calls the agent, and for each of a list", async () => {
  const engine = await engineOf(crew);
  const session = { tools: null, clientTools: [], model: null } as never;
  const judge = (name: string, args: object): string =>
    engine
      .agent("lead", session)
      .judge({ name, args: JSON.stringify(args) }, [], { depth: 0, untrusted: false, page: null }).verdict;
  const task = (agent: string) => ({ agent, task: "Do it", context: "" });
  for (const [tool, args] of [
    ["delegate_to_agent", task],
    ["spawn_agents", (agent: string) => ({ tasks: [task("tester"), task(agent)] })],
    ["delegate", (agent: string) => ({ tasks: [task("tester"), task(agent)] })],
    ["dispatch_tasks", (agent: string) => ({ tasks: [{ id: "a", agent, message: "Do it" }] })],
  ] as const)
    expect([tool, judge(tool, args("coder")), judge(tool, args("tester"))]).toEqual([tool, "deny", "allow"]);
  expect(judge("spawn_agent", { task: "Do it" })).toBe("allow");
  expect(judge("delegate_to_agent", task("Coder"))).toBe("deny");
});

test("TB-7: a rule on delegating without a pattern holds for nameless helpers, too", async () => {
  const engine = await engineOf(crew.replace("match: coder, ", ""));
  const session = { tools: null, clientTools: [], model: null } as never;
  const call = { name: "spawn_agent", args: '{"task":"Do it"}' } as never;
  expect(
    engine.agent("lead", session).judge(call, [], { depth: 0, untrusted: false, page: null }).verdict,
  ).toBe("deny");
});

const path = z.strictObject({ path: z.string().describe("A path.") });
const stamp = (more: Partial<ToolDefinition<typeof path>>) => ({
  extras: {
    toolboxes: [
      {
        name: "lab",
        description: "A lab.",
        tools: [
          defineTool({
            name: "stamp",
            description: "Stamps.",
            params: path,
            run: () => ({ content: "ok" }),
            ...more,
          }),
        ],
      },
    ],
  },
  agent: "lab",
});

test("TB-7: a team's own tool is bound by the acts that it declares, and by tool rules alone without them", async () => {
  const acting = stamp({ acts: ({ path: subject }) => [{ act: "write", subject }] });
  const verdictOf = async (permissions: string, made = acting, at = "private/key") => {
    const { bench, outcome, ask } = await callGuarded("stamp", { path: at }, { permissions, ...made });
    return [
      ask === undefined ? outcome : "asks",
      eventsOf(bench, "tool_call_end")[0]?.["permission"] ?? null,
    ];
  };
  const by = "rule deny act write private/**";
  expect(await verdictOf(rule("deny", "write", "private/**"))).toEqual([
    "denied",
    expect.objectContaining({ by }),
  ]);
  expect((await verdictOf(rule("deny", "write", "private/**"), acting, "open/a"))[0]).toBe("ok");
  expect((await verdictOf(rule("ask", "write", "private/**")))[0]).toBe("asks");
  expect((await verdictOf("{ preset: sandboxed }"))[0]).toBe("asks");
  expect((await verdictOf(rule("allow", "write", "private/**", "sandboxed")))[0]).toBe("ok");
  expect(
    (await verdictOf(rule("deny", "write", "private/**"), stamp({ subject: ({ path: at }) => [at] })))[0],
  ).toBe("ok");
  const wrong = stamp({ acts: () => [{ act: "burn", subject: "x" }] as never });
  expect((await callGuarded("stamp", { path: "x" }, { permissions: open, ...wrong })).output).toBe(
    "failed: acts did not return a list of {act, subject}",
  );
});
