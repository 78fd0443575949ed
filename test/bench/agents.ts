import { performance } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { openBench } from "../support/bench.ts";
import type { Bench } from "../support/bench.ts";
import { crewYaml, spawn, task } from "../support/crew.ts";
import { createProbe } from "../support/probe.ts";
import { engineOf } from "../support/teams.ts";
import type { Results } from "./table.ts";
import { replies, said } from "../support/scripts.ts";

/** What called agents cost, in one process: the real core over the real store, scripted models with real waits. */

const modelMs = 100;
const childTurns = 5;

interface Played {
  readonly ms: number;
  /** Model turns of the called agents. */
  readonly turns: number;
  readonly bench: Bench;
}

/** A lead that starts `children` at once, each with these replies; the wall from its input to its answer. */
const play = async (children: number, script: string): Promise<Played> => {
  const tasks = Array.from({ length: children }, () => task("worker"));
  const yaml = crewYaml([
    {
      name: "lead",
      script: replies(said(spawn(tasks)), said("Done.")),
      yaml: "delegation: { max_children_per_call: 64 }",
    },
    { name: "worker", script },
  ]);
  const engine = await engineOf(yaml, { toolboxes: [createProbe(true).toolbox] });
  const bench = openBench({ engine });
  bench.ok("create");
  const before = performance.now();
  bench.send("Go");
  await bench.idle();
  const ms = performance.now() - before;
  const events = bench.events();
  const ended = events.flatMap((event) => (event.type === "run_end" ? [event.data] : []));
  const failed = ended.filter(({ state }) => state !== "completed");
  if (ended.length !== children + 1 || failed.length > 0)
    throw new Error(`${ended.length} of ${children + 1} runs ended: ${JSON.stringify(failed[0])}`);
  const turns = events.filter(({ type, thread }) => type === "turn_end" && thread !== "main").length;
  return { ms, turns, bench };
};

const slow = `replies: [{ stall_ms: ${modelMs}, reply: [{ text: Done. }] }]`;

/** Four turns with a call each, then the answer; the model answers at once. */
const busy = replies(
  ...Array.from({ length: childTurns - 1 }, (_, turn) => said(["look", { name: `${turn}` }])),
  said("Done."),
);

/** Four children beside each other against one alone: pairs of one moment. */
const beside = async (passes: number, results: Results): Promise<void> => {
  for (let pass = 0; pass < passes; pass++) {
    const alone = (await play(1, slow)).ms;
    const four = (await play(4, slow)).ms;
    results.add("fourChildren", four / alone);
    results.note("fourChildren", `${four.toFixed(0)} against ${alone.toFixed(0)} ms`);
  }
};

interface Cost extends Played {
  /** Processor time of a child's turn: the wall of work this short tells more of the machine's other work. */
  readonly turnMs: number;
}

const cost = async (sessions: number, children: number): Promise<Cost> => {
  const before = process.cpuUsage();
  let last = await play(children, busy);
  let { turns } = last;
  for (let session = 1; session < sessions; session++) {
    last = await play(children, busy);
    turns += last.turns;
  }
  const { user, system } = process.cpuUsage(before);
  return { ...last, turnMs: (user + system) / 1_000 / turns };
};

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const heldBytes = (): number => {
  collectGarbage();
  return process.memoryUsage().heapUsed;
};

/** 64 children of one session against as many in sessions of four, and what the larger session adds to memory. */
const crowd = async (passes: number, results: Results): Promise<void> => {
  for (let pass = 0; pass < passes; pass++) {
    const few = await cost(16, 4);
    const before = heldBytes();
    const { bench, turns, ms, turnMs } = await cost(1, 64);
    results.add("manyHeap", (heldBytes() - before) / 2 ** 20);
    if (turns !== 64 * childTurns) throw new Error(`the children took ${turns} turns`);
    if (Object.keys(bench.state().threads).length !== 1) throw new Error("threads were left behind");
    results.add("manyChildren", turnMs / few.turnMs);
    results.note("manyChildren", `${turnMs.toFixed(2)} against ${few.turnMs.toFixed(2)} ms`);
    results.add("manyWall", ms);
  }
};

/** The figures of agents that work together. */
export const measureAgents = async (
  tell: (text: string) => void,
  passes: number,
  results: Results,
): Promise<void> => {
  await play(4, busy);
  tell("four children beside each other");
  await beside(passes, results);
  tell("64 children in one session");
  await crowd(passes, results);
};
