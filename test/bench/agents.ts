import { performance } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { openBench } from "../support/bench.ts";
import type { Bench } from "../support/bench.ts";
import { crewYaml, replies, said, spawn, task } from "../support/crew.ts";
import { createProbe } from "../support/probe.ts";
import { engineOf } from "../support/teams.ts";
import { absolute, median, most } from "./table.ts";
import type { Figure } from "./table.ts";

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
const beside = async (repetitions: number): Promise<Figure> => {
  const alone: number[] = [];
  const four: number[] = [];
  for (let repetition = 0; repetition < repetitions; repetition++) {
    alone.push((await play(1, slow)).ms);
    four.push((await play(4, slow)).ms);
  }
  const ratios = four.map((ms, index) => ms / (alone[index] ?? Number.NaN));
  return absolute(
    `four children with model calls of ${modelMs} ms: wall against one alone`,
    median(ratios),
    "×",
    { must: most(1.3), aim: "" },
    `${median(four).toFixed(0)} against ${median(alone).toFixed(0)} ms`,
  );
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
const crowd = async (repetitions: number): Promise<readonly Figure[]> => {
  const few: number[] = [];
  const many: number[] = [];
  const walls: number[] = [];
  let heap = 0;
  for (let repetition = 0; repetition < repetitions; repetition++) {
    few.push((await cost(16, 4)).turnMs);
    const before = heldBytes();
    const { bench, turns, ms, turnMs } = await cost(1, 64);
    heap = Math.max(heap, heldBytes() - before);
    if (turns !== 64 * childTurns) throw new Error(`the children took ${turns} turns`);
    if (Object.keys(bench.state().threads).length !== 1) throw new Error("threads were left behind");
    many.push(turnMs);
    walls.push(ms);
  }
  return [
    absolute(
      `64 children of ${childTurns} turns in one session: processor time of a child's turn against that of four`,
      median(many.map((value, index) => value / (few[index] ?? Number.NaN))),
      "×",
      { must: most(1.3), aim: "" },
      `${median(many).toFixed(2)} against ${median(few).toFixed(2)} ms`,
    ),
    absolute("wall of that session", median(walls), "ms", { must: null, aim: "" }),
    absolute("heap that it holds at its end, with the bench's own records of it", heap / 2 ** 20, "MiB", {
      must: null,
      aim: "",
    }),
  ];
};

/** The figures of agents that work together. */
export const measureAgents = async (
  tell: (text: string) => void,
  repetitions: number,
): Promise<readonly Figure[]> => {
  await play(4, busy);
  tell("four children beside each other");
  const four = await beside(repetitions);
  tell("64 children in one session");
  return [four, ...(await crowd(repetitions))];
};
