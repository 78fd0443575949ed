import { expect, test } from "vitest";
import { dataOf, ends } from "../loop/play.ts";
import type { Limits, Stage } from "./gate-play.ts";
import { leases, openStage, settled, teamOf, yamlOf } from "./gate-play.ts";

/** Embeddings at their provider's gate: a place that is free now is taken, and nothing waits for another (MO-29, AG-41). */

interface Scene {
  readonly limits: Limits;
  readonly status?: number;
}

const open = async ({
  limits,
  status = 200,
}: Scene): Promise<Stage & { readonly inputs: readonly string[] }> => {
  const inputs: string[] = [];
  const yaml = teamOf({
    limits: {},
    agent: "effects: []\n    memory: { recent: 0, embedding: near }",
    others: `  - name: near
    kind: openai-compatible
    base_url: "https://near.example/v1"
    api_key: k
    allow_literal_secrets: true
    model: small
    rate_limit: ${yamlOf(limits)}`,
  });
  const stage = await openStage(yaml, limits, {
    extras: {
      fetch: async (address, init) => {
        const { input } = await new Request(address, init).json<{ readonly input: readonly string[] }>();
        inputs.push(...input);
        if (status !== 200) return new Response("no", { status });
        return Response.json({ data: input.map((_, index) => ({ index, embedding: [1, 0] })) });
      },
    },
  });
  return { ...stage, inputs };
};

const errors = ({ bench }: Stage): readonly string[] => dataOf(bench, "error").map(({ code }) => code);

test("MO-29: an embedding books its request, and its slot is free afterwards", async () => {
  const stage = await open({ limits: { rpm: 100, max_concurrent: 1 } });
  stage.bench.send("Where does my boat lie?");
  await settled(stage.bench);
  expect(ends(stage.bench)).toEqual(["completed:end_turn"]);
  expect(stage.inputs).toHaveLength(2);
  expect(stage.gate("near").bookings.map(({ requests }) => requests)).toEqual([1, 1]);
  expect(leases(stage, "near")).toEqual([]);
  expect(errors(stage)).toEqual([]);
});

test("MO-29: without a place the run goes on, and what is remembered leaves once there is one", async () => {
  const stage = await open({ limits: { max_concurrent: 1 } });
  const { bench, inputs } = stage;
  stage.other("busy", "near");
  bench.send("Where does my boat lie?");
  await settled(bench);
  expect(ends(bench)).toEqual(["completed:end_turn"]);
  expect(errors(stage)).toEqual(["memory_unavailable"]);
  expect(inputs).toEqual([]);
  expect(stage.gate("near").queue).toEqual([]);
  stage.otherEnded("busy", "near");
  await bench.pass(60_000);
  expect(inputs).toHaveLength(1);
  expect(bench.state().outbox).toBeNull();
  expect(leases(stage, "near")).toEqual([]);
});

test("MO-28: embeddings tell of their model's health", async () => {
  const stage = await open({ limits: {}, status: 429 });
  stage.bench.send("Where does my boat lie?");
  await stage.bench.idle();
  expect(errors(stage)).toEqual(["memory_unavailable"]);
  expect(stage.gate("near").health).toMatchObject({ small: { reason: "rate_limited" } });
});
