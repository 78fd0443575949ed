import { exports } from "cloudflare:workers";
import { expect, test } from "vitest";
import type { ProviderGate } from "../../durable-objects/provider-gate.ts";
import { api, create } from "../support/worker/session.ts";

const gateOf = (provider: string): DurableObjectStub<ProviderGate> => {
  const { ProviderGate: namespace } = exports as unknown as {
    readonly ProviderGate: DurableObjectNamespace<ProviderGate>;
  };
  return namespace.getByName(provider);
};

test("★ MO-28: a session with a single target tries it while it cools, and its success is told to all others", async () => {
  const gate = gateOf("text-script");
  await gate.report("text-model", "overloaded", false);
  expect(await gate.health(null)).toMatchObject([{ model: "text-model", available: false }]);
  const session = await create("text", "Go on");
  await session.quiet();
  const ends = (await session.events()).filter(({ type }) => type === "run_end");
  expect(ends.map(({ data }) => data)).toMatchObject([{ state: "completed" }]);
  await expect.poll(() => gate.health(null)).toEqual([]);
});

test("MO-28, AP-4: reading an idle session asks no gate", async () => {
  const session = await create("held");
  await session.call("GET");
  const { body } = await api("GET", "/models");
  expect(body["data"]).not.toEqual([]);
  expect(await gateOf("held-script").health(null)).toEqual([]);
});

test("MO-28: a cooldown that an admin ends is over for whoever asks next, and the next failure begins at the first step", async () => {
  const gate = gateOf("text-script");
  for (const provider of ["text-script", "held-script"])
    await gateOf(provider).report(`${provider}-model`, "overloaded", true);
  expect((await api("DELETE", "/models/cooldowns/text-script")).status).toBe(204);
  expect(await gate.health(null)).toEqual([]);
  expect(await gateOf("held-script").health(null)).toMatchObject([{ available: false }]);
  expect((await api("DELETE", "/models/cooldowns")).status).toBe(204);
  expect(await gateOf("held-script").health(null)).toEqual([]);
  const before = Date.now();
  const [row] = await gate.report("text-script-model", "overloaded", true);
  expect((row?.until ?? 0) - before).toBeLessThan(120_000);
  await gate.resetHealth();
});
