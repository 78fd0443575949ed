import { expect, test } from "vitest";
import type { Gate } from "../../src/agent/host.ts";
import { emptyGate, release, reserve, settle } from "../../src/model/gate.ts";
import type { GateState, ReserveAnswer } from "../../src/model/gate.ts";
import { openBench } from "../support/bench.ts";
import type { Bench } from "../support/bench.ts";
import { scripted } from "../support/scripts.ts";
import { engineOf } from "../support/teams.ts";
import { ends } from "./play.ts";

/** A session at its provider's gate (MO-29): what it booked is used or given back, whatever becomes of it. */

interface Stage {
  readonly bench: Bench;
  /** The isolate dies, and nothing of it reaches the gate any more. */
  readonly die: () => Promise<void>;
  /** What the session asked for, by its names. */
  readonly asked: readonly string[];
  /** Another session asks for a place. */
  readonly other: (id: string) => ReserveAnswer;
}

const limits = { input_tpm: 0, output_tpm: 0, rpm: 0, max_concurrent: 0, cacheReadsCount: true };

const open = async (
  given: Partial<typeof limits>,
  { provider = "", first = [] }: { provider?: string; first?: ReserveAnswer[] } = {},
): Promise<Stage> => {
  const rate = JSON.stringify(given).replaceAll('"', "").replaceAll(":", ": ");
  const yaml = scripted("replies: [{ reply: [{ text: Done. }] }]").replace(
    "context_window: 128000",
    `${provider === "" ? "context_window: 128000" : provider}\n    rate_limit: ${rate}`,
  );
  let state: GateState = emptyGate;
  let dying = false;
  const asked: string[] = [];
  const ask = (request: Parameters<Gate["reserve"]>[0]): ReserveAnswer => {
    const { state: after, answer } = reserve(state, request, bench.now());
    state = after;
    return answer;
  };
  const bench: Bench = openBench({
    engine: await engineOf(yaml, { toolboxes: [{ name: "probe", description: "None.", tools: [] }] }),
    gate: {
      reserve: async (request) => {
        asked.push(request.id);
        return first.shift() ?? ask(request);
      },
      ended: (id, booked, outcome) => {
        if (booked && !dying) state = settle(state, id, outcome, bench.now());
      },
      release: (id) => {
        state = release(state, id);
      },
    },
  });
  bench.ok("create");
  const request = {
    input: 10,
    maxOutput: 10,
    limits: { ...limits, ...given },
    maxWait: 600_000,
    total: 600_000,
  };
  const die = async (): Promise<void> => {
    bench.crash();
    dying = true;
    await new Promise((resolve) => setImmediate(resolve));
    dying = false;
  };
  return { bench, die, asked, other: (id) => ask({ id, ...request }) };
};

test("MO-29: a call that a crash cut off holds its slot no longer", async () => {
  const { bench, die } = await open({ max_concurrent: 1 });
  bench.hold = true;
  bench.send("Go");
  await bench.steps();
  expect(bench.requests).toHaveLength(1);
  await die();
  bench.hold = false;
  bench.release();
  await bench.pass(5_000);
  expect(ends(bench)).toEqual(["completed:end_turn"]);
});

test("MO-29: a wait that is cancelled after an eviction gives its place back", async () => {
  const { bench, die, other } = await open({ rpm: 1 });
  const { startAt } = other("before");
  bench.send("Go");
  await bench.idle();
  expect(bench.alarm()).toBe(startAt + 60_000);
  await die();
  bench.ok("cancel");
  await bench.idle();
  expect(ends(bench)).toEqual(["cancelled:cancelled"]);
  expect(other("behind").startAt).toBe(startAt + 60_000);
});

test("MO-29: who is queued asks again, also if the answer came late", async () => {
  const late = { status: "queued", startAt: 1 } as const;
  const { bench, asked } = await open({ max_concurrent: 1 }, { first: [late] });
  bench.send("Go");
  await bench.idle();
  await bench.pass(1_000);
  expect(ends(bench)).toEqual(["completed:end_turn"]);
  expect(asked).toHaveLength(2);
  expect(new Set(asked).size).toBe(1);
});

test("MO-29: a history that outgrew the window gives its place back", async () => {
  const { bench, other } = await open({ max_concurrent: 1 }, { provider: "context_window: 16000" });
  bench.send("word ".repeat(11_900));
  await bench.idle();
  expect(ends(bench)).toEqual(["completed:end_turn"]);
  expect(other("next").status).toBe("booked");
});
