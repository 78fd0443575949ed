import { expect, test } from "vitest";
import type { Bench } from "../../support/bench.ts";
import { openBench } from "../../support/bench.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { insist, settle, settleSoon } from "../../support/power-cut.ts";
import { createProbe } from "../../support/probe.ts";
import { done, replies, said, scripted } from "../../support/scripts.ts";
import { engineOf } from "../../support/teams.ts";
import { workspaceWith } from "../../support/workspace.ts";
import { dataOf, ends, lastResult } from "../loop/play.ts";
import type { VerifyPlay } from "./verify-play.ts";
import { checks, openVerify, repairNotes, until, untilChecking, write } from "./verify-play.ts";

/** A steer comes before a check, and the edits are checked when the next turn ends (SE-39, SE-25, SE-26). */

/** It takes its time until a command of the agent, which is no edit, lets it pass at once. */
const patient = "test -f calm || sleep 60; echo run >> runs.log";

const calmDown = said(["exec_shell", { script: "touch calm" }]);

const checkedBy = (command: string): string =>
  `verify_after_edit: true, verify_command: ${JSON.stringify(command)}`;

const killsOf = ({ workspace }: VerifyPlay): number =>
  workspace.asked.filter((route) => route.startsWith("DELETE exec/")).length;

/** The agent's first reply is an edit, whose call waits for the test. */
const openEditing = async (said: readonly string[], options: string) => {
  const probe = createProbe(false);
  const { bench } = await openVerify(said, { options, toolboxes: "[probe]", extra: [probe.toolbox] });
  bench.send("Go");
  await bench.steps();
  const finish = (): void =>
    probe.calls.at(-1)?.finish({ content: "ok", changes: [{ path: "a", op: "create" }] });
  return { bench, finish };
};

test("★ SE-39 SE-26: a steer ends the command and joins the run, and the edits are checked before the run ends", async () => {
  const played = await openVerify([write("bad"), calmDown, said("Ok.")], { options: checkedBy(patient) });
  const { bench, workspace } = played;
  bench.send("Go");
  await untilChecking(bench);
  bench.send("Stop that", { on_busy: "steer" });
  await bench.idle();
  expect(checks(bench)).toEqual(["started 1", "skipped 1", "started 1", "passed 1"]);
  expect(killsOf(played)).toBeGreaterThan(0);
  expect(JSON.stringify(bench.requests[1]?.messages.at(-1))).toContain("[STEERING] Stop that");
  expect(repairNotes(bench)).toEqual([]);
  expect(lastResult(bench)).toMatchObject({ text: "Ok.", turns: 3 });
  expect(ends(bench)).toEqual(["completed:end_turn"]);
  await settle(bench);
  expect(await workspace.text("runs.log")).toBe("run\n");
  checkInvariants(bench, []);
});

test("SE-39: a steer that already waits when the turn ends comes first, and its turn's end is checked", async () => {
  const { bench, finish } = await openEditing([said(["put", {}]), said("Ok.")], checkedBy("true"));
  bench.send("Look here", { on_busy: "steer" });
  finish();
  await bench.idle();
  expect(checks(bench)).toEqual(["started 1", "passed 1"]);
  expect(dataOf(bench, "steering_injected")).toHaveLength(1);
  const types = bench.types();
  expect(types.indexOf("verify")).toBeGreaterThan(types.indexOf("steering_injected"));
  expect(lastResult(bench)).toMatchObject({ text: "Ok.", turns: 2 });
});

test("SE-39: edits stay unchecked over several steers, and are checked once", async () => {
  const { bench, finish } = await openEditing(
    [said(["put", {}]), said(["look", {}]), said("Ok.")],
    checkedBy("true"),
  );
  for (const text of ["Look here", "And here"]) {
    bench.send(text, { on_busy: "steer" });
    finish();
    await bench.steps();
  }
  await bench.idle();
  expect(checks(bench)).toEqual(["started 1", "passed 1"]);
  expect(lastResult(bench)).toMatchObject({ text: "Ok.", turns: 3 });
});

test("SE-39: a steer ends a repair, and what it left is checked when the next turn ends, with its own retries", async () => {
  const { bench } = await openVerify([write("bad"), write("good"), said("Ok."), write("good"), said("Now.")]);
  bench.hold = true;
  bench.send("Go");
  await until(bench, () => {
    bench.release();
    bench.hold = true;
    return repairNotes(bench).length > 0;
  });
  bench.send("Answer me", { on_busy: "steer" });
  bench.release();
  await bench.idle();
  expect(checks(bench)).toEqual(["started 1", "failed 1", "started 1", "failed 1", "started 2", "passed 2"]);
  expect(dataOf(bench, "llm_request_start").map(({ purpose }) => purpose)).toEqual([
    "turn",
    "repair",
    "turn",
    "repair",
    "turn",
  ]);
  expect(lastResult(bench)).toMatchObject({ text: "Now.", turns: 3 });
});

test("SE-39 SE-14: edits that a steer left unchecked are checked though the steered answer has to be repaired", async () => {
  const options = `${checkedBy("true")}, response_format: json_schema, response_schema: { type: object, required: [a] }`;
  const { bench, finish } = await openEditing([said(["put", {}]), said("No."), said('{"a":1}')], options);
  bench.send("Look here", { on_busy: "steer" });
  finish();
  await bench.idle();
  expect(checks(bench)).toEqual(["started 1", "passed 1"]);
  expect(ends(bench)).toEqual(["completed:end_turn"]);
});

/** Plays a steer into the first check, whose outcomes are the same whatever is cut. */
const steerCheck = async (bench: Bench): Promise<void> => {
  insist(bench, "send", { id: "i2", content: "Stop that", on_busy: "steer" }, "i2");
  await settleSoon(bench);
  expect(checks(bench)).toEqual(["started 1", "skipped 1", "started 1", "passed 1"]);
  expect(ends(bench)).toEqual(["completed:end_turn"]);
  checkInvariants(bench, ["i1", "i2"]);
};

const openChecking = async (): Promise<VerifyPlay> => {
  const played = await openVerify([write("bad"), calmDown, said("Ok.")], { options: checkedBy(patient) });
  insist(played.bench, "send", { id: "i1", content: "Go" }, "i1");
  await until(played.bench, () => checks(played.bench).length > 0);
  return played;
};

test("SE-39 SE-33: a steer into a check survives a power cut at every single write", async () => {
  const whole = await openChecking();
  const before = whole.bench.writes();
  await steerCheck(whole.bench);
  const total = whole.bench.writes() - before;
  expect(total).toBeGreaterThan(8);
  for (let cut = 1; cut <= total; cut++) {
    const { bench, workspace } = await openChecking();
    bench.cutAt(cut);
    await steerCheck(bench);
    expect(await workspace.text("runs.log"), `cut ${cut}`).toBe("run\n");
  }
});

test("SE-39: what a check finds after a steer ended it does not touch the check that follows", async () => {
  const { env } = await workspaceWith({ Makefile: "test:\n\ttrue\n" });
  const held: (() => void)[] = [];
  const slow = {
    fetch: async (request: Request): Promise<Response> => {
      if (request.url.includes("/fs/list")) await new Promise<void>((resolve) => held.push(resolve));
      return env.SANDBOX.fetch(request);
    },
  };
  const yaml = scripted(replies(write("a"), write("b"), done), `options: { verify_after_edit: true }`);
  const engine = await engineOf(yaml.replace("[probe]", "[filesystem, exec]"), { env: { SANDBOX: slow } });
  const bench = openBench({ engine });
  bench.ok("create");
  bench.send("Go");
  await until(bench, () => held.length === 1);
  bench.send("More", { on_busy: "steer" });
  await until(bench, () => held.length === 2);
  held[0]?.();
  await bench.steps();
  expect(checks(bench), "the first has been given up").toEqual([]);
  held[1]?.();
  await bench.idle();
  expect(checks(bench).filter((each) => each.startsWith("started"))).toHaveLength(1);
});
