import { expect, test } from "vitest";
import { createGates } from "../../../durable-objects/gates.ts";
import type { GateState } from "../../../src/model/gate.ts";
import { emptyGate, readHealth, release, reportOutcome, reserve, settle } from "../../../src/model/gate.ts";
import type { Bench } from "../../support/bench.ts";
import { openBench } from "../../support/bench.ts";
import { createProbe } from "../../support/probe.ts";
import { engineOf } from "../../support/teams.ts";
import { dataOf, ends } from "../loop/play.ts";
import { compacted, openStage, purposes, talked } from "./gate-play.ts";
import { startFakeProvider } from "../../support/fake-provider.ts";
import { wireEnv } from "../../engine/harness.ts";

/** What a session knows of its providers' health while a run goes on (MO-27, MO-28). */

const hop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A gate of each provider, a hop away, sessions at them, and what waits to read one again. */
const gatesAt = (now: () => number) => {
  const waits: { readonly at: number; readonly work: () => void }[] = [];
  const states = new Map<string, GateState>();
  const read = (name: string): GateState => states.get(name) ?? emptyGate;
  const stub = (name: string) => ({
    reserve: async (request: Parameters<typeof reserve>[1]) => {
      await hop();
      const { state, answer } = reserve(read(name), request, now());
      states.set(name, state);
      return answer;
    },
    settle: async (id: string, settlement: Parameters<typeof settle>[2]) => {
      await hop();
      states.set(name, settle(read(name), id, settlement, now()));
      return readHealth(read(name), name, null, now()).rows;
    },
    release: async (id: string) => {
      await hop();
      states.set(name, release(read(name), id));
    },
    report: async (model: string, code: Parameters<typeof reportOutcome>[2], exhausted: boolean) => {
      await hop();
      states.set(name, reportOutcome(read(name), model, code, exhausted, now()));
      return readHealth(read(name), name, null, now()).rows;
    },
    health: async (claim: string | null) => {
      await hop();
      const { state, rows } = readHealth(read(name), name, claim, now());
      states.set(name, state);
      return rows;
    },
  });
  const whileDriving = (ms: number, work: () => void) => {
    const wait = { at: now() + ms, work };
    waits.push(wait);
    return { isPending: () => waits.includes(wait) && wait.at > now() };
  };
  const open = () => createGates((name) => stub(name) as never, { now, whileDriving });
  return { gates: open(), open, waits, reset: () => states.clear() };
};

const targets = [
  { provider: "script", model: "play" },
  { provider: "back", model: "back" },
];

const yaml = (fail: string, limits: string): string => `
providers:
  - name: script
    kind: scripted
    model: play
    context_window: 128000
    fallbacks: [back]
    rate_limit: ${limits}
    script: { script: 1, scenes: [{ name: fails, fail: [{ ${fail}, times: 99 }], reply: [{ text: No. }] }] }
  - name: back
    kind: scripted
    model: back
    context_window: 128000
    script:
      script: 1
      pace: { chunk: 400, delay_ms: 5 }
      replies:
        - { reply: [{ text: Looking now. }, { call: look, args: { name: a } }] }
        - { reply: [{ text: Looking now. }, { call: look, args: { name: b } }] }
        - { reply: [{ text: Done. }] }
agents:
  - { name: tester, toolboxes: [probe], permissions: { preset: open }, effects: [] }
`;

/** As the session's shell does: what is known is read again whenever the session moves from outside. */
const played = async (fail: string, limits = "{ max_retries: 1 }"): Promise<Bench> => {
  let bench: Bench | null = null;
  const { gates } = gatesAt(() => bench?.now() ?? 0);
  const engine = await engineOf(yaml(fail, limits), { toolboxes: [createProbe(true).toolbox] });
  bench = openBench({ engine, gates });
  bench.ok("create");
  bench.send("Go");
  gates.refresh(targets);
  await bench.idle();
  for (
    let at = bench.alarm();
    at !== null && bench.state().threads["main"]?.run != null;
    at = bench.alarm()
  ) {
    gates.refresh(targets);
    await bench.pass(Math.max(1, at - bench.now()));
  }
  return bench;
};

test.each([
  ["quota", "status: 402", "{ max_retries: 1 }", 1],
  ["an overload", "status: 529", "{ max_retries: 1 }", 2],
  ["an overload under a rate limit", "status: 529", "{ max_retries: 1, rpm: 100 }", 2],
])(
  "MO-27 MO-28: after %s the run's next turns start at the target that does not cool",
  async (_, fail, limits, tries) => {
    const bench = await played(fail, limits);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    expect(bench.requests.map(({ model }) => model)).toEqual([
      ...Array.from({ length: tries }, () => "play"),
      "back",
      "back",
      "back",
    ]);
  },
);

test("MO-28: a fallback that cools is tried where every other target is lost ★", async () => {
  const { gates } = gatesAt(() => 0);
  const bench = openBench({
    engine: await engineOf(yaml("status: 401", "{ max_retries: 1 }"), {
      toolboxes: [createProbe(true).toolbox],
    }),
    gates: {
      gate: gates.gate,
      health: (provider) =>
        provider === "back"
          ? { coolingUntil: Number.MAX_SAFE_INTEGER, code: "overloaded" }
          : { coolingUntil: 0 },
    },
  });
  bench.ok("create");
  bench.send("Go");
  await bench.idle();
  expect(ends(bench)).toEqual(["completed:end_turn"]);
  expect(dataOf(bench, "provider_failover")[0]).toEqual({
    from: "script/play",
    to: "back/back",
    code: "auth",
  });
});

test("MO-27: while the first target cools, the next run's summary goes to the fallback", async () => {
  const stage = await talked({
    limits: {},
    provider: "fallbacks: [spare]",
    others: `  - name: spare
    kind: scripted
    model: spare
    script: { script: 1, pace: { chunk: 4000, delay_ms: 0 }, scenes: [{ name: any, reply: [{ text: Spare. }] }] }`,
    summary: "fail: [{ status: 429, retry_after: 3600 }], reply: [{ text: No. }]",
  });
  await compacted(stage);
  expect(stage.bench.requests.at(-1)?.model).toBe("play");
  await compacted(stage);
  expect(stage.bench.requests.at(-1)).toMatchObject({ model: "spare", context: { purpose: "compaction" } });
  expect(dataOf(stage.bench, "compaction").map(({ stage: rung }) => rung === "failed")).toEqual([
    true,
    false,
  ]);
});

const tooLarge = "Request too large for play on tokens per min (TPM): Limit 300, Requested 400.";

test.each([
  ["413", { status: 413, body: "" }],
  ["a context that is too long", { status: 400, body: { error: { code: "context_length_exceeded" } } }],
  [
    "429, since it alone exceeds the limit of a minute",
    { status: 429, body: { error: { code: "rate_limit_exceeded", message: tooLarge } } },
  ],
])(
  "MO-28: a request that is too large (%s) cools no target, whether it is a summary or a turn",
  async (_, refusal) => {
    const fake = await startFakeProvider(() => ({ speech: { pieces: [{ text: "Waves. ".repeat(500) }] } }));
    const yaml = `
providers:
  - { name: small, kind: openai, protocol: openai-chat, base_url: "${fake.url("openai")}", api_key: "\${KEY}", model: gpt-5.2 }
agents: [{ name: tester, effects: [] }]
`;
    const { bench, told, gate } = await openStage(yaml, {}, { extras: { env: wireEnv(fake) } });
    for (const text of ["Go", "On"]) {
      bench.send(text);
      await bench.idle();
    }
    fake.play(() => refusal);
    bench.ok("compact");
    await bench.idle();
    bench.send("On");
    await bench.idle();
    await fake.close();
    expect(new Set(purposes(bench).slice(2))).toEqual(new Set(["compaction", "turn"]));
    expect(told.slice(2).map(({ code }) => code)).not.toContain("ok");
    expect(gate("small").health).toEqual({});
  },
);

test("MO-28: a success clears the cooldown for other sessions, however long the reply took", async () => {
  let time = 0;
  const { open } = gatesAt(() => time);
  const callEnds = async (session: ReturnType<typeof open>, code: "overloaded" | "ok"): Promise<void> => {
    session.gate("script").ended("a", false, { model: "play", code, exhausted: false, usage: null });
    for (let hops = 0; hops < 4; hops++) await hop();
  };
  await callEnds(open(), "overloaded");
  time = 61_000;
  const trial = open();
  trial.refresh(targets);
  await hop();
  await hop();
  time = 121_000;
  await callEnds(trial, "ok");
  const next = open();
  next.refresh(targets);
  await hop();
  await hop();
  expect(next.health("script", "play").coolingUntil).toBe(0);
});

test("MO-28: a session follows a reset within 30 s, also in the middle of a long turn", async () => {
  let time = 0;
  const { gates, waits, reset } = gatesAt(() => time);
  const isCooling = (): boolean => gates.health("script", "play").coolingUntil > time;
  gates
    .gate("script")
    .ended("a", false, { model: "play", code: "quota_exceeded", exhausted: true, usage: null });
  await hop();
  await hop();
  expect(isCooling()).toBe(true);
  const pass = async (ms: number): Promise<void> => {
    for (const end = time + ms; time < end; time += 1_000) {
      for (const { work } of waits.filter(({ at }) => at === time)) work();
      await hop();
      await hop();
    }
  };
  await pass(90_000);
  expect(isCooling()).toBe(true);
  reset();
  await pass(30_000);
  expect(isCooling()).toBe(false);
});

test("MO-28: a model's health is read again in the next drive, too, when the end of one took the time for it", async () => {
  const { gates, waits } = gatesAt(() => 0);
  const fail = async (): Promise<void> => {
    gates
      .gate("script")
      .ended("a", false, { model: "play", code: "quota_exceeded", exhausted: true, usage: null });
    await hop();
    await hop();
  };
  await fail();
  await fail();
  expect(waits).toHaveLength(1);
  waits.length = 0;
  await fail();
  expect(waits).toHaveLength(1);
});

test("MO-28: what a session knew of health before a rest steers no more", async () => {
  let time = 0;
  const { gates } = gatesAt(() => time);
  gates
    .gate("script")
    .ended("a", false, { model: "play", code: "quota_exceeded", exhausted: true, usage: null });
  await hop();
  await hop();
  time = 29_000;
  expect(gates.health("script", "play").coolingUntil).toBeGreaterThan(0);
  time = 30_000;
  expect(gates.health("script", "play").coolingUntil).toBe(0);
});

test("MO-29: a request that waits for its ticket again and again is announced once", async () => {
  const engine = await engineOf(
    yaml("status: 402", "{ rpm: 10 }").replace("fail: [{ status: 402, times: 99 }], ", ""),
    { toolboxes: [createProbe(true).toolbox] },
  );
  let asked = 0;
  const gate = {
    reserve: async () => {
      asked += 1;
      const status = asked < 4 ? ("queued" as const) : ("booked" as const);
      return { status, startAt: bench.now() + (asked < 4 ? 5_000 : 0) };
    },
    ended: () => undefined,
    release: () => undefined,
  };
  const bench: Bench = openBench({
    engine,
    gates: { gate: () => gate, health: () => ({ coolingUntil: 0 }) },
  });
  bench.ok("create");
  bench.send("Go");
  await bench.steps();
  for (let at = 0; at < 5; at++) await bench.tick(5_000);
  expect(asked).toBe(4);
  expect(bench.types().filter((type) => type.startsWith("llm_request"))).toEqual([
    "llm_request_preparing",
    "llm_request_start",
  ]);
  expect(ends(bench)).toEqual(["completed:end_turn"]);
});
