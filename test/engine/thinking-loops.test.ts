import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod";
import { defineTool } from "../../src/tools/define-tool.ts";
import type { Bench } from "../support/bench.ts";
import { startFakeProvider } from "../support/fake-provider.ts";
import type { FakeProvider, FakeReply } from "../support/fake-provider.ts";
import { benchOf, eventsOf, lastText, say, wireEnv } from "./harness.ts";

/** Tool loops of Claude models that think by a budget: they think once, before the first call of a loop. */

let fake: FakeProvider;
beforeAll(async () => {
  fake = await startFakeProvider();
});
afterAll(() => fake.close());

const open = (result: string, provider = ""): Promise<Bench> => {
  const yaml = `
providers: [{ name: main, kind: anthropic, base_url: "${fake.url("anthropic")}", api_key: "\${KEY}", model: claude-haiku-4-5, ${provider} }]
agents: [{ name: helper, effects: [], toolboxes: [sea], permissions: { preset: open }, reasoning: { effort: medium } }]
`;
  const look = defineTool({
    name: "look",
    description: "Looks.",
    params: z.strictObject({ place: z.string().describe("Where.") }),
    run: () => ({ content: result }),
  });
  const toolboxes = [{ name: "sea", description: "The sea.", tools: [look] }];
  return benchOf(yaml, { env: wireEnv(fake), toolboxes }, {});
};

const call = (place: string) => ({ call: "look", args: { place } });

/** Lets the model say these pieces, one list for each reply. */
const play = (...replies: readonly (readonly object[])[]): void => {
  const left = [...replies];
  fake.play((): FakeReply => ({ speech: { pieces: (left.shift() ?? [{ text: "Done." }]) as never } }));
};

const thinks = (from: number): readonly unknown[] =>
  fake.requests
    .slice(from)
    .map(({ body, text }) => [
      (body as { thinking?: { type: string } }).thinking?.type,
      text.match(/"signature":"/g)?.length ?? 0,
    ]);

test("MO-10: a model with a budget thinks on in a loop whose later replies hold no thinking ★", async () => {
  const bench = await open("A crab.");
  play([{ reasoning: "I shall look." }, call("pool")], [call("shore")], [call("pier")], [{ text: "Crabs." }]);
  const before = fake.requests.length;
  expect(await say(bench, "Look")).toMatchObject({ state: "completed" });
  expect(lastText(bench, "assistant")).toBe("Crabs.");
  expect(thinks(before)).toEqual([
    ["enabled", 0],
    ["enabled", 1],
    ["enabled", 1],
    ["enabled", 1],
  ]);
  expect(eventsOf(bench, "error")).toEqual([]);
  const run = String(bench.events().findLast(({ type }) => type === "run_end")?.run);
  expect(bench.ok("context", { run, turn: 3 })).toMatchObject({ verified: true });
});

test("MO-10: where the window leaves no room to think on, the loop goes on without its thinking", async () => {
  const bench = await open("Tide. ".repeat(2_400), "context_window: 16000");
  play([{ reasoning: "I shall look." }, call("pool")], [{ text: "Tides." }]);
  const before = fake.requests.length;
  expect(await say(bench, "Tide. ".repeat(6_700))).toMatchObject({ state: "completed" });
  expect(thinks(before)).toEqual([
    ["enabled", 0],
    [undefined, 0],
  ]);
  expect(eventsOf(bench, "error").map(({ code }) => code)).not.toContain("reasoning_refused");
});
