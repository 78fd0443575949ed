import { expect, test } from "vitest";
import type { Bench } from "../../support/bench.ts";
import { coder, crew, delegate, eventsAs, lead } from "../../support/crew.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { done, replies, said } from "../../support/scripts.ts";
import { ends, onlyAsk, play, run, textsOf, typesAfter } from "../loop/play.ts";

/** Notes at shares of a run's turns, from YAML to what the model is sent (SE-35). */

const looks = (turns: number): readonly string[] =>
  Array.from({ length: turns }, (_, index) => said(["look", { name: `n${index}` }]));

const checkpoints = (...pairs: readonly (readonly [number, string])[]): string =>
  `checkpoints: [${pairs.map(([fraction, message]) => `{ fraction: ${fraction}, message: ${message} }`).join(", ")}]`;

const agent = (limit: number, list: string, more = ""): string =>
  `guards: { tool_loops: false, budget: { max_tokens: 10000000, max_tool_calls: "off" } }\noptions: { max_iterations: ${limit}, ${list}${more} }`;

/** `turn: text` of the checkpoints, in order. */
const given = (bench: Bench): readonly string[] =>
  eventsAs({ bench }, "checkpoint").map(({ turn, data }) => `${turn}: ${data.text}`);

/** Numbers of the requests, from 1, whose newest messages hold a checkpoint. */
const sentWith = (bench: Bench, text: string): number =>
  1 + bench.requests.findIndex(({ messages }) => JSON.stringify(messages).includes(text));

test("SE-35: 0.6 and 0.85 of 80 turns are the turns 48 and 68, and 0.5 of them is turn 40", async () => {
  const list = checkpoints([0.85, "Late."], [0.6, "Wrap up."], [0.5, "Half."]);
  const { bench } = await run(replies(...looks(70), done), { agent: agent(80, list) });
  expect(given(bench)).toEqual(["40: Half.", "48: Wrap up.", "68: Late."]);
  expect([sentWith(bench, "Half."), sentWith(bench, "Wrap up."), sentWith(bench, "Late.")]).toEqual([
    40, 48, 68,
  ]);
  expect(bench.requests[39]?.messages.map(textsOf).at(-1)).toBe('<note from="checkpoint">Half.</note>');
});

test.each([
  [0, 10, 1],
  [1, 3, 3],
  [0.07, 100, 7],
  [0.1, 3, 1],
])("SE-35: %d of %d turns is turn %d", async (fraction, limit, turn) => {
  const { bench } = await run(replies(...looks(turn + 1), done), {
    agent: agent(Math.max(limit, 3), checkpoints([fraction, "Now."])),
  });
  expect(given(bench)).toEqual([`${turn}: Now.`]);
});

test("SE-35: all that are due at a turn fire in ascending order, equal ones as they are listed, each once in a run", async () => {
  const list = checkpoints([0.5, "B1."], [0.4, "A."], [0.5, "B2."]);
  const { bench } = await run(replies(...looks(3), done, ...looks(1), done), { agent: agent(4, list) });
  expect(given(bench)).toEqual(["2: A.", "2: B1.", "2: B2."]);
  bench.send("Again");
  await bench.idle();
  expect(given(bench)).toEqual(["2: A.", "2: B1.", "2: B2.", "2: A.", "2: B1.", "2: B2."]);
});

test("SE-35 SE-46 AP-27: the events stand before the turn's start, behind a steered input and before the wrap-up note", async () => {
  const { bench, probe } = await play(replies(said(["put", {}]), done), {
    agent: agent(4, checkpoints([0.5, "Half."]), ", warn_iterations: 1"),
    instant: false,
  });
  bench.send("Go");
  await bench.steps();
  const before = bench.state().head;
  bench.send("More", { on_busy: "steer" });
  probe.calls[0]?.finish();
  await bench.idle();
  expect(typesAfter(bench, before).slice(5, 14)).toEqual([
    "turn_end",
    "input_applied",
    "steering_injected",
    "message_added",
    "checkpoint",
    "message_added",
    "message_added",
    "turn_start",
    "llm_request_preparing",
  ]);
  const [event] = eventsAs({ bench }, "checkpoint");
  expect(event).toMatchObject({ turn: 2, data: { fraction: 0.5, text: "Half." } });
  const note = bench.chat().find(({ id }) => id === event?.data.message);
  expect(note?.parts).toEqual([{ type: "text", text: "Half." }]);
});

test("★ SE-35: what was given is not given again once the limit is raised", async () => {
  const list = checkpoints([0.5, "Half."], [1, "Last."]);
  const { bench } = await run(replies(...looks(5), done), {
    agent: agent(2, list).replace("budget: {", "budget: { on_exceeded: ask,"),
  });
  expect(given(bench)).toEqual(["1: Half.", "2: Last."]);
  bench.ok("answer", { ask: onlyAsk(bench), decision: "approve", limit: 10 });
  await bench.idle();
  expect(given(bench)).toEqual(["1: Half.", "2: Last."]);
  expect(ends(bench)).toEqual(["completed:end_turn"]);
});

test("SE-35: a run without a limit of turns has no checkpoint", async () => {
  const { bench } = await run(replies(...looks(2), done), { agent: agent(0, checkpoints([0, "Now."])) });
  expect(given(bench)).toEqual([]);
});

test("SE-35: a child's checkpoints count its own turns", async () => {
  const own = agent(2, checkpoints([1, "Last."]));
  const { bench } = await crew([
    lead([said(delegate("coder")), done], "delegation: {}"),
    coder([...looks(1), done], own),
  ]);
  bench.send("Go");
  await bench.idle();
  expect(eventsAs({ bench }, "checkpoint").map(({ agent: who, turn }) => `${who.name} ${turn}`)).toEqual([
    "coder 2",
  ]);
});

test("SE-35: a repair turn gives none", async () => {
  const schema = "response_format: json_schema, response_schema: { type: object, required: [a] }";
  const { bench } = await run(replies(said("no"), said("no"), said('{"a":1}')), {
    agent: agent(2, checkpoints([1, "Last."]), `, ${schema}`),
  });
  expect(given(bench)).toEqual([]);
  expect(bench.requests).toHaveLength(3);
});

test("SE-35, C24: whatever write the power is cut at, each checkpoint is given once", async () => {
  const list = checkpoints([0.5, "Half."], [1, "Last."]);
  for (let write = 1, cut = true; cut; write++) {
    const { bench } = await play(replies(...looks(1), done), { agent: agent(2, list) });
    bench.send("Go");
    const before = bench.writes();
    bench.cutAt(write);
    await bench.idle();
    bench.cutAt(null);
    cut = bench.writes() >= before + write;
    expect(given(bench)).toEqual(["1: Half.", "2: Last."]);
    checkInvariants(bench, []);
  }
});
