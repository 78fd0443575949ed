import { expect, test } from "vitest";
import type { Ask } from "../../src/agent/state/ask.ts";
import type { Grant } from "../../src/agent/state/session.ts";
import { openBench } from "../support/bench.ts";
import type { Bench } from "../support/bench.ts";
import { engineOf } from "../support/teams.ts";
import { eventsOf } from "./harness.ts";

/** What an approval leaves behind, and that its ask says so before (TB-8). */

type Call = readonly [tool: string, args: object];

/** A session whose runs make these calls, one a run; each asks. */
const opened = async (calls: readonly Call[]): Promise<Bench> => {
  const replies = calls.flatMap(([call, args]) => [
    { reply: [{ call, args }] },
    { reply: [{ text: "done" }] },
  ]);
  const team = {
    providers: [{ name: "p", kind: "scripted", model: "m", script: { script: 1, replies } }],
    agents: [
      {
        name: "tester",
        toolboxes: ["filesystem", "exec"],
        effects: [],
        permissions: { preset: "ask" },
      },
    ],
  };
  const bench = openBench({ engine: await engineOf(JSON.stringify(team)) });
  bench.ok("create");
  return bench;
};

const openAsk = (bench: Bench): Ask | undefined => Object.values(bench.state().asks)[0];

const run = async (bench: Bench): Promise<Ask | undefined> => {
  bench.send("Go");
  await bench.idle();
  return openAsk(bench);
};

const exec = (command: string, ...args: string[]): Call => ["exec_run", { command, args }];

/** Approves the first call for good; gives what is granted then, and whether a second call asks. */
const approved = async (first: Call, second: Call, answer: object = { decision: "approve" }) => {
  const bench = await opened([first, second]);
  const ask = await run(bench);
  bench.ok("answer", { ask: ask?.id, remember: "agent", ...answer });
  await bench.idle();
  const { grants } = bench.state();
  const again = await run(bench);
  return {
    shown: ask?.approval?.remember,
    granted: grants.map(({ tool, pattern }: Grant) => ({ tool, pattern })),
    asks: again !== undefined,
  };
};

test("★ TB-8: the ask shows what remember would allow, and that is granted", async () => {
  const bench = await opened([exec("git", "push", "origin")]);
  const remember = { tool: "exec_run", pattern: "git push *" };
  expect((await run(bench))?.approval).toMatchObject({ remember });
  expect(eventsOf(bench, "ask_user")[0]).toMatchObject({ ask: { approval: { remember } } });
  expect(bench.ok("asks", { status: "open" })["data"]).toMatchObject([{ approval: { remember } }]);
  expect(await approved(exec("git", "push", "origin"), exec("git", "push", "--force"))).toEqual({
    shown: remember,
    granted: [remember],
    asks: false,
  });
});

test("★ TB-8: of a program that runs others the exact command is remembered, and no other one is let through", async () => {
  for (const [command, ...args] of [
    ["sh", "-c", "echo harmless"],
    ["/bin/bash", "script.sh", "*"],
    ["env", "A=1", "ls"],
    ["xargs", "rm"],
    ["find", ".", "-name", "*.ts"],
    ["timeout", "5", "ls"],
    ["python3.12", "a.py"],
    ["awk", "{print}", "[a]"],
    ["NODE", "a.js"],
    ["npx", "tool"],
    ["make", "test"],
    ["npm", "exec", "prettier"],
    ["let", "x=1", "y=2"],
    ["git", "-c", "core.pager=less", "log"],
    ["ls"],
  ] as const) {
    const call = exec(command, ...args);
    const same = await approved(call, call);
    expect(same, command).toMatchObject({ granted: [same.shown], asks: false });
    expect(same.shown?.pattern.replaceAll("'", "")).toBe([command, ...args].join(" "));
    const other = await approved(call, exec(command, ...args, "; rm -rf x"));
    expect(other.asks, command).toBe(true);
    const wild = args.map((arg) => arg.replace("*", "anything").replace("[a]", "a"));
    if (wild.join() !== args.join()) expect((await approved(call, exec(command, ...wild))).asks).toBe(true);
  }
});

test("★ TB-8: commands with the same letters and other words are others", async () => {
  const shell = await approved(
    exec("sh", "-c", "echo hi", "; rm -rf build"),
    exec("sh", "-c", "echo hi ; rm -rf build"),
  );
  expect(shell).toMatchObject({ shown: { pattern: "sh -c 'echo hi' '; rm -rf build'" }, asks: true });
  const query = await approved(exec("psql", "select 1", "db"), exec("psql", "select 1; drop table t", "db"));
  expect(query).toMatchObject({ shown: { pattern: "psql 'select 1' *" }, asks: true });
});

test("★ TB-8: a program that reads a script is remembered with its input, and no other script is let through", async () => {
  const reading = (stdin: string, command: string, ...args: string[]): Call => [
    "exec_run",
    { command, args, stdin },
  ];
  const call = reading("echo hi", "bash");
  const same = await approved(call, call);
  expect(same).toEqual({
    shown: { tool: "exec_run", pattern: "bash <<< 'echo hi'" },
    granted: [same.shown],
    asks: false,
  });
  for (const other of [reading("rm -rf x", "bash"), exec("bash"), exec("bash", "<<<", "echo hi")]) {
    expect((await approved(call, other)).asks).toBe(true);
    expect((await approved(other, call)).asks).toBe(true);
  }
  const long = reading("x".repeat(5_000), "python3", "-");
  expect(await approved(long, long)).toEqual({ shown: undefined, granted: [], asks: true });
  const patch = await approved(reading("one", "git", "apply"), reading("two", "git", "apply"));
  expect(patch).toMatchObject({ shown: { pattern: "git apply *" }, asks: false });
});

test("★ TB-8: an exact command is remembered with its folder, and is not let through in another one", async () => {
  const inside = (cwd: string, command: string, ...args: string[]): Call => [
    "exec_run",
    { command, args, cwd },
  ];
  const call = inside("a dir", "make", "test");
  const same = await approved(call, call);
  expect(same).toEqual({
    shown: { tool: "exec_run", pattern: "make test <cwd> 'a dir'" },
    granted: [same.shown],
    asks: false,
  });
  for (const other of [
    inside("b", "make", "test"),
    exec("make", "test"),
    exec("make", "test", "<cwd>", "a dir"),
  ]) {
    expect((await approved(call, other)).asks).toBe(true);
    expect((await approved(other, call)).asks).toBe(true);
  }
  const status = await approved(inside("a", "git", "status"), inside("b", "git", "status"));
  expect(status).toMatchObject({ shown: { pattern: "git status *" }, asks: false });
});

test("★ TB-8: of shell text nothing is remembered, and the ask offers nothing", async () => {
  const call: Call = ["exec_shell", { script: "ls" }];
  expect(await approved(call, call)).toEqual({ shown: undefined, granted: [], asks: true });
});

test("TB-8: a command that is too long to be read is not remembered", async () => {
  const call = (length: number): Call => exec("sh", "-c", "x".repeat(length));
  const pattern = `sh -c ${"x".repeat(4_090)}`;
  expect((await run(await opened([call(4_090)])))?.approval?.remember).toEqual({ tool: "exec_run", pattern });
  expect((await run(await opened([call(4_091)])))?.approval?.remember).toBeUndefined();
});

test("★ TB-8: an edit does not widen what the ask showed", async () => {
  const first = exec("git", "status", ".");
  const edit = (args: readonly string[]): object => ({ decision: "edit", input: { command: "git", args } });
  const wider = await approved(first, exec("git", "push", "origin"), edit(["push", "origin"]));
  expect(wider).toMatchObject({ granted: [], asks: true });
  const covered = await approved(first, exec("git", "status", "src"), edit(["status", "docs"]));
  expect(covered).toEqual({
    shown: { tool: "exec_run", pattern: "git status *" },
    granted: [{ tool: "exec_run", pattern: "git status *" }],
    asks: false,
  });
});

test("TB-8: a client cannot say what is remembered", async () => {
  const bench = await opened([exec("git", "status")]);
  const ask = (await run(bench))?.id;
  for (const remember of ["*", { tool: "exec_run", pattern: "*" }, "tenant"])
    expect(bench.perform("answer", { ask, decision: "approve", remember })).toMatchObject({
      ok: false,
      problem: { code: "invalid_request" },
    });
});

test("TB-8: a folder, and a file of the workspace's root, stand in the ask", async () => {
  const write = (path: string): Call => ["fs_write", { path, content: "x" }];
  const shown = async (call: Call) => (await run(await opened([call])))?.approval?.remember;
  expect(await shown(write("docs/a.md"))).toEqual({ tool: "fs_write", pattern: "docs/**" });
  expect(await shown(write("a*.md"))).toEqual({ tool: "fs_write", pattern: "a\\*.md" });
});

test("TB-8 AG-19: what is remembered for an agent holds for a tool that its caller lent it", async () => {
  const script = (...replies: readonly object[]) => ({ script: 1, replies });
  const says = (text: string) => ({ reply: [{ text }] });
  const delegate = {
    reply: [{ call: "delegate_to_agent", args: { agent: "coder", task: "Work", context: "" } }],
  };
  const work = { reply: [{ call: "exec_run", args: { command: "npm", args: ["test"] } }] };
  const agent = {
    effects: [],
    permissions: { preset: "ask", rules: [{ act: "delegate", action: "allow" }] },
  };
  const team = {
    providers: [
      {
        name: "p_lead",
        kind: "scripted",
        model: "m",
        script: script(delegate, says("ok"), delegate, says("ok")),
      },
      {
        name: "p_coder",
        kind: "scripted",
        model: "m",
        script: script(work, says("ok"), work, says("ok")),
      },
    ],
    agents: [
      {
        ...agent,
        name: "lead",
        provider: "p_lead",
        toolboxes: ["exec"],
        delegation: { inherit: "union", may_call: ["coder"] },
      },
      { ...agent, name: "coder", provider: "p_coder", description: "Codes.", toolboxes: [] },
    ],
  };
  const bench = openBench({ engine: await engineOf(JSON.stringify(team)) });
  bench.ok("create");
  const ask = await run(bench);
  expect(ask).toMatchObject({ approval: { remember: { tool: "exec_run" } } });
  bench.ok("answer", { ask: ask?.id, decision: "approve", remember: "agent" });
  await bench.idle();
  expect(bench.state().grants).toMatchObject([{ agent: "coder", scope: "agent" }]);
  expect(await run(bench)).toBeUndefined();
});
