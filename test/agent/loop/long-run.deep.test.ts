import { expect, test } from "vitest";
import type { Engine } from "../../../src/engine/engine.ts";
import type { Bench } from "../../support/bench.ts";
import { openBench, PowerCut } from "../../support/bench.ts";
import { createProbe } from "../../support/probe.ts";
import { scripted } from "../../support/scripts.ts";
import { engineOf } from "../../support/teams.ts";
import { ends } from "./play.ts";

const turns = Array.from(
  { length: 10 },
  (_, index) =>
    `{ reply: [{ text: T${index}. }, { call: look, args: { name: a${index} } }, { call: put, args: { name: b${index} } }] }`,
);

const replies = `replies: [${turns.join(", ")}, { reply: [{ text: Done. }] }]`;

const insist = (bench: Bench, op: "create" | "send", params: object): void => {
  for (let attempt = 0; attempt < 3; attempt++) {
    try {
      bench.ok(op, params, op);
      return;
    } catch (error) {
      if (!(error instanceof PowerCut) && !String(error).includes("storage_error")) throw error;
    }
  }
};

const played = async (engine: Engine, cut: number | null): Promise<Bench> => {
  const bench = openBench({ engine });
  bench.cutAt(cut);
  insist(bench, "create", {});
  insist(bench, "send", { content: "Go" });
  await bench.idle();
  return bench;
};

const chatOf = (bench: Bench): unknown =>
  bench.chat().map(({ id, role, parts, turn }) => ({ id, role, parts, turn }));

test("SE-9 RE-P2: a run of 30 steps, cut before each of its writes, ends with the chat of an undisturbed one", async () => {
  const engine = await engineOf(scripted(replies), { toolboxes: [createProbe().toolbox] });
  const whole = await played(engine, null);
  expect(whole.types().filter((type) => type === "tool_call_end" || type === "llm_finish")).toHaveLength(31);
  const expected = chatOf(whole);
  for (let cut = 1; cut <= whole.writes(); cut++) {
    const bench = await played(engine, cut);
    expect(chatOf(bench), `cut before write ${cut}`).toEqual(expected);
    expect(ends(bench)).toEqual(["completed:end_turn"]);
  }
});
