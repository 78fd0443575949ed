import { expect } from "vitest";
import { handleReachedLimit } from "../../../src/agent/turn/ask-answers.ts";
import type { Gate } from "../../../src/driver/host.ts";
import type { Engine } from "../../../src/engine/engine.ts";
import type { GateState, ReserveAnswer, GateSettlement } from "../../../src/model/gate.ts";
import { emptyGate, readHealth, release, reportOutcome, reserve, settle } from "../../../src/model/gate.ts";
import type { Bench } from "../../support/bench.ts";
import { openBench } from "../../support/bench.ts";
import { createProbe } from "../../support/probe.ts";
import type { EngineExtras } from "../../support/teams.ts";
import { engineOf } from "../../support/teams.ts";
import { ends } from "../loop/play.ts";

/** A session at its providers' gates, which others ask for places, too (MO-29). */

export interface Stage {
  readonly bench: Bench;
  /** The isolate dies, and nothing of it reaches a gate any more. */
  readonly die: () => Promise<void>;
  /** What the session asked for, by its names. */
  readonly asked: readonly string[];
  /** What the gates were told of its calls. */
  readonly told: readonly GateSettlement[];
  /** Another session asks for a place. */
  readonly other: (id: string, provider?: string) => ReserveAnswer;
  /** Another session's call ends. */
  readonly otherEnded: (id: string, provider?: string) => void;
  readonly gate: (provider?: string) => GateState;
}

const limits = { input_tpm: 0, output_tpm: 0, rpm: 0, max_concurrent: 0, cacheReadsCount: true };

export type Limits = Partial<typeof limits>;

/** `first`: answers that the session gets before the gates' own. `engine`: what becomes of the YAML's. */
export interface StageOptions {
  readonly first?: ReserveAnswer[];
  readonly engine?: (engine: Engine) => Engine;
  readonly extras?: EngineExtras;
}

export const openStage = async (
  yaml: string,
  given: Limits,
  { first = [], engine = (own) => own, extras = {} }: StageOptions = {},
): Promise<Stage> => {
  const states = new Map<string, GateState>();
  const gate = (provider = "script"): GateState => states.get(provider) ?? emptyGate;
  let dying = false;
  const asked: string[] = [];
  const told: GateSettlement[] = [];
  const ask = (provider: string, request: Parameters<Gate["reserve"]>[0]): ReserveAnswer => {
    const { state, answer } = reserve(gate(provider), request, bench.now());
    states.set(provider, state);
    return answer;
  };
  const bench: Bench = openBench({
    engine: engine(await engineOf(yaml, { toolboxes: [createProbe(true).toolbox], ...extras })),
    gates: {
      gate: (provider) => ({
        reserve: async (request) => {
          asked.push(request.id);
          return first.shift() ?? ask(provider, request);
        },
        ended: (id, booked, outcome) => {
          if (dying) return;
          told.push(outcome);
          const { model, code, exhausted } = outcome;
          const after = booked
            ? settle(gate(provider), id, outcome, bench.now())
            : reportOutcome(gate(provider), model, code, exhausted, bench.now());
          states.set(provider, after);
        },
        release: (id) => void states.set(provider, release(gate(provider), id)),
      }),
      health: (provider, model) => {
        const { rows } = readHealth(gate(provider), provider, null, bench.now());
        const row = rows.find((each) => each.model === model);
        return { coolingUntil: row?.until ?? 0 };
      },
    },
  });
  bench.ok("create");
  const request = { input: 10, maxOutput: 10, limits: { ...limits, ...given }, maxWait: 600_000 };
  return {
    bench,
    asked,
    told,
    gate,
    other: (id, provider = "script") => ask(provider, { id, ...request, total: 600_000 }),
    otherEnded: (id, provider = "script") =>
      void states.set(
        provider,
        settle(gate(provider), id, { model: "play", code: "ok", exhausted: false, usage: null }, bench.now()),
      ),
    die: async () => {
      bench.crash();
      dying = true;
      await new Promise((resolve) => setImmediate(resolve));
      dying = false;
    },
  };
};

/** Limits as YAML. */
export const yamlOf = (given: object): string =>
  JSON.stringify(given).replaceAll('"', "").replaceAll(":", ": ");

export interface Scene {
  readonly limits: Limits;
  /** YAML of the provider, and of others. */
  readonly provider?: string;
  readonly others?: string;
  /** YAML of the agent. */
  readonly agent?: string;
  /** YAML of the scene that writes summaries. */
  readonly summary?: string;
  readonly rate?: object;
}

export const teamOf = ({ limits, provider, others, agent, summary, rate = {} }: Scene): string => `
providers:
  - name: script
    kind: scripted
    model: play
    ${provider ?? "context_window: 128000"}
    rate_limit: ${yamlOf({ ...limits, ...rate })}
    script:
      script: 1
      pace: { chunk: 4000, delay_ms: 0 }
      scenes:
        - { name: summary, when: { purpose: compaction }, ${summary ?? "reply: [{ text: A summary. }], usage: { input: 900, output: 70 }"} }
        - { name: one, when: { turn: 1 }, reply: [{ text: { repeat: "Looking. ", times: 500 } }, { call: look, args: { name: a } }] }
        - { name: two, reply: [{ text: Done. }] }
${others ?? ""}
agents:
  - name: tester
    toolboxes: [probe]
    permissions: { preset: open }
    ${agent ?? "effects: []"}
`;

export const purposes = ({ requests }: Bench): readonly string[] =>
  requests.map(({ context }) => context.purpose);

export const leases = ({ gate }: Stage, provider?: string): readonly string[] =>
  gate(provider).bookings.flatMap(({ id, leaseUntil }) => (leaseUntil === 0 ? [] : [id]));

/** A chat of two turns, so long ago that no window remembers it; `Compact` follows. */
export const talked = async (scene: Scene): Promise<Stage> => {
  const stage = await openStage(teamOf(scene), scene.limits);
  const { bench } = stage;
  bench.send("Go");
  await settled(bench);
  expect(ends(bench)).toEqual(["completed:end_turn"]);
  await bench.pass(120_000);
  return stage;
};

export const settled = async (bench: Bench): Promise<void> => {
  await bench.idle();
  for (let at = bench.alarm(); at !== null && bench.state().threads["main"]?.run != null; at = bench.alarm())
    await bench.pass(Math.max(1, at - bench.now()));
};

export const compacted = async ({ bench }: Stage): Promise<void> => {
  bench.ok("compact");
  await bench.idle();
};

/** A limit of the run is reached below it: somebody is asked for more. */
export const raiseWanted = (bench: Bench): void =>
  bench.change((draft) =>
    handleReachedLimit(draft, {
      scope: "run",
      thread: "main",
      kind: "tokens",
      limit: 1,
      spent: 1,
      least: 2,
      ask: true,
    }),
  );
