import { expect, test } from "vitest";
import type { Bench } from "../support/bench.ts";
import { outcomeOf } from "../sandbox/bench.ts";
import { createSandbox } from "../../src/sandbox/client.ts";
import { createLocalWorkspace } from "../sandbox/local.ts";
import { scripted } from "../support/scripts.ts";
import { benchOf, eventsOf, lastEvent, lastText } from "./harness.ts";

/** The git toolbox as a team configures it. */

const script = `mkdir -p app; cd app; git init -q; echo one > a; git add a; git commit -q -m first; echo two > b`;

/** A team whose agent makes these calls in a workspace whose folder `app` is a repository. */
const teamWith = (
  calls: readonly string[],
  { permissions = "{}", options = "{}", top = "" } = {},
): string => {
  const replies = [...calls.map((call) => `{ reply: [{ ${call} }] }`), "{ reply: [{ text: done }] }"];
  return scripted(`replies: [${replies.join(", ")}]`, `options: ${options}`, top)
    .replace("toolboxes: [probe]", "toolboxes: [git]")
    .replace("permissions: { preset: open }", `permissions: ${permissions}`);
};

const commit = "call: git_commit, args: { message: second, files: [b] }";

const opened = async (yaml: string, silent = false) => {
  const workspace = createLocalWorkspace();
  const sandbox = createSandbox(workspace, "any");
  const events = [];
  const request = { argv: ["sh", "-c", `echo key > key; ${script}`], execId: "make" };
  for await (const event of sandbox.exec(request, new AbortController().signal)) events.push(event);
  expect(outcomeOf(events).code).toBe(0);
  const asked: string[] = [];
  const fetch = async (sent: Request): Promise<Response> => {
    const isCommit = sent.url.endsWith("/git/commit");
    if (isCommit) asked.push(await sent.clone().text());
    const answer = await workspace.fetch(sent);
    return isCommit && silent ? new Promise(() => undefined) : answer;
  };
  const bench: Bench = await benchOf(yaml, { env: { SANDBOX: { fetch } } }, {});
  const log = (): Promise<string> =>
    sandbox.git("log", { directory: "app", format: "short" }, { signal: new AbortController().signal });
  return { bench, asked, log };
};

const top = 'git: { work_dir: app, author: "Ada L. <ada@example.com>" }';

test("TB-17: a team's git.work_dir and git.author hold for what its agent commits", async () => {
  const { bench, log } = await opened(teamWith([commit, "call: git_log"], { top }));
  bench.send("Go");
  await bench.idle();
  expect(await log()).toMatch(/^commit [0-9a-f]{40}\nAuthor: Ada L\. <ada@example\.com>\n\n {4}second\n/);
  expect(lastText(bench, "tool")).toMatch(/^[0-9a-f]{40} second\n[0-9a-f]{40} first\n$/);
});

test("TB-17: work_dir counts from the agent's working_dir", async () => {
  const { bench, log } = await opened(
    teamWith([commit], { options: "{ working_dir: app }", top: "git: { author: 'Ada <a@b.c>' }" }),
  );
  bench.send("Go");
  await bench.idle();
  expect(await log()).toContain("    second\n");
});

test("toolboxes §2: with the preset ask a commit asks and remembers its command; with locked it is denied; reads are free", async () => {
  const asking = await opened(
    teamWith(["call: git_status", commit], { permissions: "{ preset: ask }", top }),
  );
  asking.bench.send("Go");
  await asking.bench.idle();
  expect(eventsOf(asking.bench, "tool_call_end")).toEqual([expect.objectContaining({ outcome: "ok" })]);
  const [ask] = Object.values(asking.bench.state().asks);
  expect(ask?.approval?.remember).toEqual({ tool: "git_commit", pattern: "git commit *" });
  expect(asking.asked).toEqual([]);
  asking.bench.ok("answer", { ask: ask?.id, decision: "approve" });
  await asking.bench.idle();
  expect(await asking.log()).toContain("    second\n");
  const locked = await opened(teamWith([commit], { permissions: "{ preset: locked }", top }));
  locked.bench.send("Go");
  await locked.bench.idle();
  expect(lastEvent(locked.bench, "tool_call_end")).toMatchObject({ outcome: "denied" });
  expect(locked.asked).toEqual([]);
});

test("TB-7: a rule on the act of a command holds for a commit, too", async () => {
  const rules = '{ rules: [{ act: exec, match: "git commit *", action: deny }] }';
  const { bench, asked } = await opened(teamWith([commit], { permissions: rules, top }));
  bench.send("Go");
  await bench.idle();
  expect(lastEvent(bench, "tool_call_end")).toMatchObject({ outcome: "denied" });
  expect(asked).toEqual([]);
});

test("TB-7: a rule on reading leaves files out of a diff", async () => {
  const rules = "{ rules: [{ act: read, match: app/b, action: deny }] }";
  const calls = ["call: git_status, args: { short: true }"];
  const { bench } = await opened(teamWith(calls, { permissions: rules, top }));
  bench.send("Go");
  await bench.idle();
  expect(lastText(bench, "tool")).toBe(
    "nothing to commit, working tree clean\n[Left out, since permission rules close it to this call: app/b]",
  );
});

test("TB-17: ★ a session killed in the middle of a commit says that its outcome is unknown, and commits once", async () => {
  const { bench, asked, log } = await opened(teamWith([commit], { top }), true);
  bench.send("Go");
  await expect.poll(() => asked.length).toBe(1);
  bench.crash();
  await bench.idle();
  expect(lastEvent(bench, "tool_call_end")).toMatchObject({ outcome: "unknown" });
  expect(lastEvent(bench, "run_end")).toMatchObject({ state: "completed" });
  expect(asked).toHaveLength(1);
  expect((await log()).match(/^commit /gm)).toHaveLength(2);
});
