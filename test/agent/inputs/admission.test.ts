import { expect, test } from "vitest";
import type { Bench } from "../../support/bench.ts";
import { openBench } from "../../support/bench.ts";
import { createProbe } from "../../support/probe.ts";
import { scripted } from "../../support/scripts.ts";
import { engineOf } from "../../support/teams.ts";
import { ends, play, refused } from "../loop/play.ts";

/** Runs of a session whose tenant has as many runs under way as it may have (RE-3). */

const say = (text: string): string => `{ reply: [{ text: '${text}' }] }`;

const fullTenant = async (): Promise<Bench> => {
  const { bench } = await play(`replies: [${say("Hi.")}, ${say("Ho.")}]`);
  bench.full = true;
  return bench;
};

test("RE-3: an input that would begin a run is refused, and is taken by its key when there is room", async () => {
  const bench = await fullTenant();
  expect(refused(bench, "send", { content: "Go", id: "i" }, "k")).toBe("rate_limited");
  const reply = bench.perform("send", { content: "Go", id: "i" }, "k");
  expect(reply).toMatchObject({
    ok: false,
    problem: {
      retryAfterMs: 5_000,
      detail:
        "the tenant has as many runs under way as limits.runs.per_tenant allows; send it again when one has ended",
    },
  });
  bench.full = false;
  expect(bench.perform("send", { content: "Go", id: "i" }, "k")).toMatchObject({ ok: true, replayed: false });
  await bench.idle();
  expect(ends(bench)).toEqual(["completed:end_turn"]);
});

test("RE-3: a session is created without a run, but not with an input", async () => {
  const bench = openBench({
    engine: await engineOf(scripted(`replies: [${say("Hi.")}]`), {
      toolboxes: [createProbe(true).toolbox, { name: "others", description: "Others.", tools: [] }],
    }),
  });
  bench.full = true;
  expect(bench.perform("create", { input: "Go" })).toMatchObject({
    ok: false,
    problem: { code: "rate_limited" },
  });
  expect(bench.perform("snapshot")).toMatchObject({ ok: false, problem: { code: "not_found" } });
  expect(bench.perform("create")).toMatchObject({ ok: true, status: 201 });
});

test("RE-3: a run under way takes inputs and a wish to compact", async () => {
  const { bench, probe } = await play(
    `replies: [{ reply: [{ call: put, args: { name: a } }] }, ${say("Hi.")}, ${say("Ho.")}, ${say("Hu.")}]`,
    { instant: false },
  );
  bench.send("Go");
  await bench.steps();
  bench.full = true;
  for (const on_busy of ["queue", "steer"]) bench.send("More", { on_busy });
  expect(bench.perform("compact")).toMatchObject({ ok: true, status: 202 });
  probe.instant = true;
  for (const call of probe.calls) call.finish();
  await bench.idle();
  expect(ends(bench).every((end) => end === "completed:end_turn")).toBe(true);
  expect(refused(bench, "compact", {})).toBe("rate_limited");
  expect(refused(bench, "send", { content: "Go" })).toBe("rate_limited");
});
