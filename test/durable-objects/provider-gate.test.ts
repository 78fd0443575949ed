import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { exports } from "cloudflare:workers";
import { expect, test } from "vitest";
import type { ProviderGate } from "../../durable-objects/provider-gate.ts";
import type { ReserveRequest, GateSettlement } from "../../src/model/gate.ts";

/** The object of a provider name; each test has its own. */
const gateOf = (provider: string): DurableObjectStub<ProviderGate> => {
  const { ProviderGate: namespace } = exports as unknown as {
    readonly ProviderGate: DurableObjectNamespace<ProviderGate>;
  };
  return namespace.getByName(provider);
};

const ask = (id: string): ReserveRequest => ({
  id,
  input: 100,
  maxOutput: 100,
  limits: { input_tpm: 0, output_tpm: 0, rpm: 1, max_concurrent: 0, cacheReadsCount: true },
  maxWait: 600_000,
  total: 600_000,
});
const used: GateSettlement = {
  model: "m",
  code: "ok",
  exhausted: false,
  usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, total: 2 },
};

const storedKeys = (gate: DurableObjectStub<ProviderGate>): Promise<string[]> =>
  runInDurableObject(gate, (_, state) => [...state.storage.kv.list()].map(([key]) => key));

test("MO-29: five sessions at once at rpm 1 are booked a minute apart", async () => {
  const gate = gateOf("five");
  const answers = await Promise.all(["a", "b", "c", "d", "e"].map((id) => gate.reserve(ask(id))));
  const starts = answers.map(({ startAt }) => startAt);
  expect(starts.slice(1).map((start, i) => start - (starts[i] ?? 0))).toEqual([
    60_000, 60_000, 60_000, 60_000,
  ]);
});

test("MO-29: a gate evicted between reserve and settle keeps its bookings", async () => {
  const gate = gateOf("evicted");
  const { startAt } = await gate.reserve(ask("a"));
  await evictDurableObject(gate);
  expect((await gate.reserve(ask("a"))).startAt).toBe(startAt);
  expect((await gate.reserve(ask("b"))).startAt).toBe(startAt + 60_000);
  await evictDurableObject(gate);
  await gate.settle("a", used);
  await gate.release("b");
  expect((await gate.reserve(ask("c"))).startAt).toBe(startAt + 60_000);
  expect(await storedKeys(gate)).toEqual(["gate"]);
});

test("MO-28: health is shared by all sessions, survives eviction and is cleared by a success", async () => {
  const gate = gateOf("health");
  await gate.report("m", "overloaded", false);
  await evictDurableObject(gate);
  expect(await gate.health(null)).toMatchObject([
    { provider: "health", model: "m", available: false, reason: "overloaded" },
  ]);
  await gate.report("m", "ok", false);
  expect(await gate.health(null)).toEqual([]);
});

test("MO-29: a name that was never written to stays empty, whatever is asked", async () => {
  const gate = gateOf("unknown");
  expect(await gate.health("m")).toEqual([]);
  await gate.settle("nothing", used);
  await gate.release("nothing");
  await gate.report("m", "ok", false);
  expect(await storedKeys(gate)).toEqual([]);
});
