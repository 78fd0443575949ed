import { expect, test } from "vitest";
import type { Bench } from "../../support/bench.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { insist, settleSoon } from "../../support/power-cut.ts";
import { done, said } from "../../support/scripts.ts";
import type { TestWorkspace } from "../../support/workspace.ts";
import { dataOf, ends } from "../loop/play.ts";
import type { VerifyPlay } from "./verify-play.ts";
import { check, openVerify, untilChecking, write } from "./verify-play.ts";

/** A check survives every crash: each of its commands runs once, and the run goes on as if undisturbed (SE-33, RE-C30). */

interface CutCase {
  readonly name: string;
  readonly replies: readonly string[];
  readonly options: string;
  readonly ends: string;
  /** The check's own log of its runs. */
  readonly log: string;
  readonly states: readonly string[];
}

const edits = `verify_after_edit: true, verify_command: ${JSON.stringify(check)}`;

const cases: readonly CutCase[] = [
  {
    name: "a repair",
    replies: [write("bad"), write("good"), done],
    options: edits,
    ends: "completed:end_turn",
    log: "run\nrun\n",
    states: ["failed", "passed"],
  },
  {
    name: "a check that stays red",
    replies: [write("bad"), said("No."), done],
    options: `max_verify_retries: 1, ${edits}`,
    ends: "completed:end_turn",
    log: "run\nrun\n",
    states: ["failed", "failed", "exhausted"],
  },
  {
    name: "a broad command and the check at the turn limit",
    replies: [write("good"), done],
    options: `max_iterations: 1, verify_on_breach: true, verify_broad_command: "echo broad >> runs.log", ${edits}`,
    ends: "completed:max_iterations",
    log: "run\nbroad\nrun\n",
    states: ["passed", "passed", "passed"],
  },
];

const open = ({ replies, options }: CutCase): Promise<VerifyPlay> => openVerify(replies, { options });

const outcomes = (bench: Bench): readonly string[] =>
  dataOf(bench, "verify").flatMap(({ state }) => (state === "started" ? [] : [state]));

const finish = async (given: CutCase, bench: Bench, workspace: TestWorkspace): Promise<void> => {
  insist(bench, "send", { id: "i1", content: "Go" }, "i1");
  await settleSoon(bench);
  expect(ends(bench)).toEqual([given.ends]);
  expect(outcomes(bench)).toEqual(given.states);
  expect(await workspace.text("runs.log"), "each command ran once").toBe(given.log);
  checkInvariants(bench, ["i1"]);
};

test.each(cases)("SE-46 SE-33 RE-C30: $name survives a power cut at every single write", async (given) => {
  const whole = await open(given);
  const before = whole.bench.writes();
  await finish(given, whole.bench, whole.workspace);
  const total = whole.bench.writes() - before;
  expect(total).toBeGreaterThan(20);
  const types = whole.bench.types();
  for (let cut = 1; cut <= total; cut++) {
    const { bench, workspace } = await open(given);
    bench.cutAt(cut);
    await finish(given, bench, workspace);
    const started = dataOf(bench, "verify").filter(({ state }) => state === "started");
    expect(started, `cut ${cut}`).toHaveLength(
      types.filter((type) => type === "verify").length - given.states.length,
    );
  }
});

test("★ SE-39 RE-C30: killed while its command runs, a check finds it again: it runs once, and its outcome counts", async () => {
  const slow = "echo run >> runs.log; sleep 1; grep -q good app.txt";
  const { bench, workspace } = await openVerify([write("bad"), write("good"), done], {
    options: `verify_after_edit: true, verify_command: ${JSON.stringify(slow)}`,
  });
  bench.send("Go");
  for (const times of [1, 2]) {
    await untilChecking(bench, times);
    bench.crash();
    await settleSoon(bench);
  }
  expect(outcomes(bench)).toEqual(["failed", "passed"]);
  expect(await workspace.text("runs.log")).toBe("run\nrun\n");
  expect(ends(bench)).toEqual(["completed:end_turn"]);
});

test("★ SE-39 TB-29: a check whose command the sandbox lost is an error, and is not repeated", async () => {
  const slow = "echo run >> runs.log; sleep 30; false";
  const { bench, workspace } = await openVerify([write("bad"), done], {
    options: `verify_after_edit: true, verify_command: ${JSON.stringify(slow)}`,
  });
  bench.send("Go");
  await untilChecking(bench);
  bench.crash();
  workspace.restart();
  await settleSoon(bench);
  expect(outcomes(bench)).toEqual(["error"]);
  expect(await workspace.text("runs.log")).toBe("run\n");
  expect(ends(bench)).toEqual(["completed:end_turn"]);
});
