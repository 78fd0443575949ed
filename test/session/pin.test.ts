import { expect, test } from "vitest";
import { shownTokens } from "../../src/chat/message.ts";
import { shownParts } from "../../src/chat/render.ts";
import { dataOf, play, textsOf } from "../agent/loop/play.ts";
import type { Bench } from "../support/bench.ts";
import { checkInvariants } from "../support/invariants.ts";
import { scripted } from "../support/scripts.ts";
import { createBigTool } from "../support/probe.ts";

/** Pins by API: a pinned message is never shortened, with its whole block (EF-2). */

const text = "so much to say ".repeat(20);

const big = createBigTool(text);

/** A session whose two results of one reply were trimmed. */
const trimmed = async (): Promise<Bench> => {
  const replies = "replies: [{ reply: [{ call: big }, { call: big }] }, { reply: [{ text: Done. }] }]";
  const effects = "[{ kind: trim_tool_results, params: { max_result_length: 10, preserve_recent: 0 } }]";
  const { bench } = await play("", {
    tools: [big],
    yaml: scripted(replies).replace("effects: []", `effects: ${effects}`),
  });
  bench.send("Go");
  await bench.idle();
  return bench;
};

const results = (bench: Bench): readonly string[] =>
  bench
    .chat()
    .filter(({ role }) => role === "tool")
    .map((message) => textsOf({ parts: shownParts(message) }));

for (const [name, at] of [
  ["the reply", 1],
  ["one result", 3],
] as const) {
  test(`EF-2: ${name} pinned: the whole block is shown whole again, and stays so`, async () => {
    const bench = await trimmed();
    expect(results(bench)).toEqual(["so much to… [trimmed]", "so much to… [trimmed]"]);
    bench.ok("pin", { message: bench.chat()[at]?.id, pinned: true });
    expect(results(bench)).toEqual([text, text]);
    const { tokens, chat } = bench.state().threads["main"] ?? { tokens: 0, chat: [] };
    expect(tokens).toBe(chat.reduce((sum, message) => sum + shownTokens(message), 0));
    expect(bench.chat().filter(({ marks }) => marks?.includes("pinned"))).toHaveLength(1);
    bench.crash();
    bench.send("Again");
    await bench.idle();
    expect(results(bench)).toEqual([text, text]);
    expect(dataOf(bench, "session_updated")).toMatchObject([{ pinned: true }]);
    checkInvariants(bench, []);
  });
}

test("AP-16: pinning, editing and withdrawing are use: the list and the days of retention count from them", async () => {
  const { bench } = await play("", { yaml: scripted("replies: [{ reply: [{ text: Done. }] }]") });
  bench.send("Go");
  await bench.idle();
  const ticks: Promise<void>[] = [];
  const isMoved = (run: () => void): boolean => {
    const { updatedAt } = bench.state();
    ticks.push(bench.tick(1_000));
    run();
    return bench.state().updatedAt > updatedAt;
  };
  const message = bench.chat()[0]?.id;
  expect(isMoved(() => bench.ok("pin", { message, pinned: true }))).toBe(true);
  bench.send("Wait");
  const { input } = bench.ok("send", { content: "Later", on_busy: "queue" });
  expect(isMoved(() => bench.ok("edit_input", { input, content: "Or now" }))).toBe(true);
  expect(isMoved(() => bench.ok("withdraw", { input }))).toBe(true);
  await Promise.all(ticks);
});
