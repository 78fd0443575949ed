import { describe, expect, test } from "vitest";
import { checkInvariants } from "../../support/invariants.ts";
import { scripted } from "../../support/scripts.ts";
import { createBigTool } from "../../support/probe.ts";
import type { Play } from "../loop/play.ts";
import { dataOf, ends, lastResult, onlyAsk, play, refused } from "../loop/play.ts";

/** A budget is judged by the request that would be sent: after the effects of its turn (EF-38). */

const big = createBigTool("word ".repeat(6_000));

const claims = (total: number, piece: string): string =>
  `{ reply: [${piece}], usage: { input: ${total - 10}, output: 10 } }`;

const said = claims(200, "{ text: Done. }");

/** An agent that masks old results as soon as there is anything of note, but for its newest messages. */
const masking = async (recent: number, agent: string, second = 5_000): Promise<Play> => {
  const mask = `effects: [{ kind: observation_mask, params: { threshold: 0.02, recent_window: ${recent} } }]`;
  const replies = [claims(200, "{ call: big }"), claims(second, "{ call: look }"), said, said].join(", ");
  const yaml = scripted(`replies: [${replies}]`, agent).replace("effects: []", mask);
  return play("", { yaml, tools: [big] });
};

const budget = (keys: string): string => `max_tokens: 500\nguards: { budget: { ${keys} } }`;

describe("EF-38: what an effect can still leave out is not judged before it", () => {
  test("EF-38: a request that fits its budget once it is masked is sent", async () => {
    const { bench } = await masking(0, budget("max_tokens: 11000"));
    bench.send("Go");
    await bench.idle();
    expect(ends(bench)).toEqual(["completed:end_turn"]);
    expect(bench.requests).toHaveLength(3);
    expect(dataOf(bench, "effect_applied")).toMatchObject([{ kind: "observation_mask", overlaid: 1 }]);
    checkInvariants(bench, ["in_1"]);
  });

  test("EF-38: one that does not fit with all its effects is not sent, and its run ends", async () => {
    const { bench } = await masking(9, budget("max_tokens: 11000"));
    bench.send("Go");
    await bench.idle();
    expect(ends(bench)).toEqual(["failed:budget_exceeded"]);
    expect(lastResult(bench).error).toContain("max_tokens: 5200 of 11000 tokens are spent");
    expect(bench.requests).toHaveLength(2);
    checkInvariants(bench, ["in_1"]);
  });

  test("EF-38: where nothing is left, or less than the smallest request needs, no turn begins", async () => {
    for (const second of [9_300, 9_400, 9_200]) {
      const { bench } = await masking(0, budget("max_tokens: 9600"), second);
      bench.send("Go");
      await bench.idle();
      expect(dataOf(bench, "turn_start")).toHaveLength(2);
      expect(ends(bench)).toEqual(["failed:budget_exceeded"]);
    }
  });

  test("EF-37 EF-38: an ask before the effects names what the request needs as it stands", async () => {
    const { bench } = await masking(0, budget("max_tokens: 9600, on_exceeded: ask"), 9_300);
    bench.send("Go");
    await bench.idle();
    expect(Object.values(bench.state().asks)[0]?.budget?.least).toBeGreaterThan(9_500 + 6_000);
    bench.ok("answer", { ask: onlyAsk(bench), decision: "approve", limit: 30_000 });
    await bench.idle();
    expect(ends(bench)).toEqual(["completed:end_turn"]);
  });

  test("EF-38 AP-10: an input is taken whose request the effects of its turn make fit its session", async () => {
    const { bench } = await masking(3, "max_tokens: 500");
    bench.send("Go");
    await bench.idle();
    bench.ok("patch", { budget: { max_tokens: 8_400 } });
    bench.send("Again");
    await bench.idle();
    expect(ends(bench)).toEqual(["completed:end_turn", "completed:end_turn"]);
    bench.ok("patch", { budget: { max_tokens: 5_800 } });
    expect(refused(bench, "send", { content: "More" })).toBe("budget_exceeded");
  });
});
