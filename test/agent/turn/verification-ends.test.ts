import { noBackgroundCommands } from "../../../src/agent/state/records.ts";
import { describe, expect, test } from "vitest";
import type { Bench } from "../../support/bench.ts";
import { coder, crew, delegate, endings, lead, toRest } from "../../support/crew.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { settle } from "../../support/power-cut.ts";
import { createProbe } from "../../support/probe.ts";
import { done, said } from "../../support/scripts.ts";
import { workspaceWith } from "../../support/workspace.ts";
import { dataOf, ends, lastResult, onlyAsk } from "../loop/play.ts";
import type { VerifyPlay } from "./verify-play.ts";
import { check, checks, openVerify, playVerify, repairNotes, untilChecking, write } from "./verify-play.ts";

/** A check is ended by cancels, stops and deadlines, and a run that used up its turns is checked once (SE-39, SE-40). */

const slow = "echo run >> runs.log; sleep 60; false";

const slowOptions = `max_verify_retries: 1, verify_after_edit: true, verify_command: ${JSON.stringify(slow)}`;

/** The check of the first edit is under way. */
const checking = async (replies: readonly string[], options = slowOptions): Promise<VerifyPlay> => {
  const played = await openVerify(replies, { options });
  played.bench.send("Go");
  await untilChecking(played.bench);
  return played;
};

const killsOf = ({ workspace }: VerifyPlay): number =>
  workspace.asked.filter((route) => route.startsWith("DELETE exec/")).length;

test.each(["now", "after_turn"])("SE-39 SE-31: a cancel %s ends the command and the run", async (mode) => {
  const played = await checking([write("bad"), done]);
  const { bench } = played;
  bench.ok("cancel", { mode });
  await bench.idle();
  expect(checks(bench)).toEqual(["started 1", "skipped 1"]);
  expect(ends(bench)).toEqual(["cancelled:cancelled"]);
  expect(killsOf(played)).toBeGreaterThan(0);
  await settle(bench);
  checkInvariants(bench, []);
});

test("SE-39 RE-C26: a cancel whose kill was lost with the isolate ends the command all the same", async () => {
  const played = await checking([write("bad"), done]);
  const { bench, workspace } = played;
  workspace.refuse = "exec";
  bench.ok("cancel");
  bench.crash();
  workspace.refuse = null;
  await settle(bench);
  expect(killsOf(played)).toBeGreaterThan(0);
  expect(bench.state().commands).toEqual(noBackgroundCommands);
});

test("SE-39: the run's deadline ends a check", async () => {
  const { bench, workspace } = await openVerify([write("bad"), done], {
    options: slowOptions,
    agent: "middleware: [{ kind: timeout, params: { duration: 5m, count: wall } }]",
  });
  bench.send("Go");
  await untilChecking(bench);
  await bench.pass(300_000);
  await settle(bench);
  expect(ends(bench)).toEqual(["failed:deadline_exceeded"]);
  expect(checks(bench)).toEqual(["started 1", "skipped 1"]);
  expect(await workspace.text("runs.log")).toBe("run\n");
});

test("SE-39 EF-39: a budget that a child uses up ends the run's check at once, and nothing is repaired", async () => {
  const { env, asked } = await workspaceWith();
  const budget = "guards: { tool_loops: false, budget: { max_tokens: 40000 } }";
  const spends = said(["look", {}]).replace(/ \}$/, ", usage: { input: 50000, output: 10 } }");
  const made = await crew(
    [
      lead(
        [said(delegate("coder", { async: true }), ["fs_write", { path: "app.txt", content: "bad" }]), done],
        `toolboxes: [filesystem]\noptions: { ${slowOptions} }\ndelegation: { async: true }\n${budget}`,
      ),
      coder([said(["look", {}]), spends, done]),
    ],
    { env, instant: false },
  );
  const { bench } = made;
  bench.send("Go");
  await untilChecking(bench);
  await toRest(made);
  expect(checks(bench)).toEqual(["started 1", "skipped 1"]);
  expect(endings(made)).toContain("lead failed:budget_exceeded");
  expect(repairNotes(bench)).toEqual([]);
  expect(asked.some((route) => route.startsWith("DELETE exec/"))).toBe(true);
});

describe("AG-23 SE-39: a terminal call beside an edit", () => {
  const submit = (content: string): string =>
    said(["fs_write", { path: "app.txt", content }], ["submit", {}]);

  const terminal = async (replies: readonly string[], options?: string): Promise<Bench> => {
    const { toolbox } = createProbe();
    const { bench } = await playVerify(replies, {
      ...(options === undefined ? {} : { options }),
      toolboxes: "[filesystem, probe]",
      extra: [toolbox],
    });
    return bench;
  };

  test("ends the run once the check has passed, without another model call", async () => {
    const bench = await terminal([submit("good")]);
    expect(checks(bench)).toEqual(["started 1", "passed 1"]);
    expect(ends(bench)).toEqual(["completed:terminal_tool"]);
    expect(bench.requests).toHaveLength(1);
  });

  test("is taken back by a red check", async () => {
    const bench = await terminal([submit("bad"), write("good"), done]);
    expect(checks(bench)).toEqual(["started 1", "failed 1", "started 2", "passed 2"]);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    expect(lastResult(bench).turns).toBe(2);
  });

  test("ends the run after its retries are used up", async () => {
    const bench = await terminal(
      [submit("bad"), submit("worse")],
      `max_verify_retries: 1, verify_after_edit: true, verify_command: ${JSON.stringify(check)}`,
    );
    expect(checks(bench).at(-1)).toBe("exhausted 2");
    expect(ends(bench)).toEqual(["completed:terminal_tool"]);
    expect(bench.requests).toHaveLength(2);
  });
});

describe("SE-40: verify_on_breach", () => {
  const options = `max_iterations: 1, verify_on_breach: true, verify_command: ${JSON.stringify(check)}`;

  test("completes a run that used up its turns if its command passes", async () => {
    const { bench } = await playVerify([write("good"), done], { options });
    expect(dataOf(bench, "verify")).toEqual([
      { state: "started", breach: true, attempt: 1, command: check },
      {
        state: "passed",
        breach: true,
        attempt: 1,
        command: check,
        exit_code: 0,
        output_tail: "good\n[exit 0]",
      },
    ]);
    expect(ends(bench)).toEqual(["completed:max_iterations"]);
    expect(lastResult(bench)).toMatchObject({ breach_verify: "passed", max_turns_used: true, error: null });
  });

  test("lets the run fail if it does not pass, without a repair", async () => {
    const { bench, workspace } = await playVerify([write("bad"), done], {
      options: `${options}, verify_broad_command: "echo broad >> runs.log"`,
    });
    expect(checks(bench)).toEqual(["started 1", "failed 1"]);
    expect(ends(bench)).toEqual(["failed:max_iterations"]);
    expect(lastResult(bench)).toMatchObject({ breach_verify: "failed", max_turns_used: true });
    expect(await workspace.text("runs.log")).toBe("run\n");
    expect(bench.requests).toHaveLength(1);
  });

  test("counts a command that cannot be run as failed", async () => {
    const { bench } = await playVerify([write("bad"), done], {
      options: "max_iterations: 1, verify_on_breach: true, verify_command: no-such-program",
    });
    expect(dataOf(bench, "verify").at(-1)).toMatchObject({ state: "error", breach: true, exit_code: 127 });
    expect(ends(bench)).toEqual(["failed:max_iterations"]);
    expect(lastResult(bench).breach_verify).toBe("failed");
  });

  test("SE-40: runs once also where the edits could not be checked", async () => {
    const { bench } = await playVerify([write("good"), done], {
      options:
        "max_iterations: 1, verify_after_edit: true, verify_on_breach: true, verify_command: no-such-program",
    });
    expect(checks(bench)).toEqual(["started 1", "error 1", "started 1", "error 1"]);
    expect(ends(bench)).toEqual(["failed:max_iterations"]);
    expect(lastResult(bench).breach_verify).toBe("failed");
    const broad = await playVerify([write("good"), done], {
      options: `${options}, verify_after_edit: true, verify_broad_command: no-such-program`,
    });
    expect(checks(broad.bench).slice(-3)).toEqual(["error 1", "started 1", "passed 1"]);
    expect(ends(broad.bench)).toEqual(["completed:max_iterations"]);
  });

  test("comes after the checks of the last turn's edits and their repairs", async () => {
    const { bench } = await playVerify([write("bad"), write("good"), done], {
      options: `${options}, verify_after_edit: true`,
    });
    expect(dataOf(bench, "verify").map(({ state, breach = false }) => `${state} ${breach}`)).toEqual([
      "started false",
      "failed false",
      "started false",
      "passed false",
      "started true",
      "passed true",
    ]);
    expect(ends(bench)).toEqual(["completed:max_iterations"]);
    expect(lastResult(bench).turns).toBe(1);
  });

  test("runs nothing for a run that ends by itself or by a budget", async () => {
    const own = await playVerify([done], { options });
    expect(checks(own.bench)).toEqual([]);
    expect(lastResult(own.bench)).toMatchObject({ breach_verify: "not_run", max_turns_used: false });
    const spent = await playVerify([write("good"), done], {
      options: `verify_on_breach: true, verify_command: ${JSON.stringify(check)}`,
      agent: "guards: { budget: { max_tokens: 300 } }",
    });
    expect(ends(spent.bench)).toEqual(["failed:budget_exceeded"]);
    expect(checks(spent.bench)).toEqual([]);
  });

  test("waits for a person who is asked for more turns, and runs after a refusal", async () => {
    const { bench } = await playVerify([write("good"), done], {
      options,
      agent: "guards: { budget: { on_exceeded: ask } }",
    });
    expect(checks(bench)).toEqual([]);
    bench.ok("answer", { ask: onlyAsk(bench), decision: "deny" });
    await bench.idle();
    expect(checks(bench)).toEqual(["started 1", "passed 1"]);
    expect(ends(bench)).toEqual(["completed:max_iterations"]);
  });

  const passes = `verify_on_breach: true, verify_command: "true"`;

  test("AG-25: of a called agent, which is completed with its last text", async () => {
    const { env } = await workspaceWith();
    const made = await crew(
      [
        lead([said(delegate("coder")), done]),
        coder([said("Half of it.", ["look", {}]), done], `options: { max_iterations: 1, ${passes} }`),
      ],
      { env },
    );
    made.bench.send("Go");
    await made.bench.idle();
    const [end] = dataOf(made.bench, "run_end");
    expect(end).toMatchObject({ state: "completed", reason: "max_iterations" });
    expect(end?.result).toMatchObject({ breach_verify: "passed", max_turns_used: true });
    expect(JSON.stringify(made.bench.requests.at(-1)?.messages.at(-1))).toContain("Half of it.");
  });

  test("begins when the run's open children were stopped", async () => {
    const { env } = await workspaceWith();
    const made = await crew(
      [
        lead(
          [said(delegate("coder", { async: true }), ["look", { name: "l" }]), done],
          `delegation: { async: true }\noptions: { max_iterations: 1, ${passes} }`,
        ),
        coder([said(["look", { name: "c" }]), done]),
      ],
      { env, instant: false },
    );
    const { bench } = made;
    bench.send("Go");
    await bench.steps();
    made.probe.calls.find(({ name }) => name === "l")?.finish();
    await bench.steps();
    expect(checks(bench), "the child still ends its call").toEqual([]);
    for (const call of made.probe.calls) call.finish();
    await bench.idle();
    expect(ends(bench)).toEqual(["cancelled:cancelled", "completed:max_iterations"]);
    const types = bench.types();
    expect(types.indexOf("verify")).toBeGreaterThan(types.indexOf("run_end"));
    expect(checks(bench)).toEqual(["started 1", "passed 1"]);
  });

  test("goes on after a crash, and the command runs once", async () => {
    const { bench, workspace } = await openVerify([write("good"), done], { options });
    bench.send("Go");
    await untilChecking(bench);
    bench.crash();
    await settle(bench);
    expect(ends(bench)).toEqual(["completed:max_iterations"]);
    expect(await workspace.text("runs.log")).toBe("run\n");
  });

  test("is ended by a steer, whose input begins the next run", async () => {
    const { bench } = await openVerify([write("bad"), done], {
      options: `max_iterations: 1, verify_on_breach: true, verify_command: ${JSON.stringify(slow)}`,
    });
    bench.send("Go");
    await untilChecking(bench);
    bench.send("More", { on_busy: "steer" });
    await bench.idle();
    expect(checks(bench).slice(0, 2)).toEqual(["started 1", "skipped 1"]);
    expect(ends(bench)).toEqual(["failed:max_iterations", "completed:end_turn"]);
    expect(dataOf(bench, "run_end")[0]?.result.breach_verify).toBe("not_run");
  });
});
