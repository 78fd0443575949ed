import { expect } from "vitest";
import * as z from "zod";
import type { StoredEvent } from "../../src/agent/state/events.ts";
import { buildView } from "../../src/chat/view.ts";
import type { Engine } from "../../src/engine/engine.ts";
import { ProblemError } from "../../src/session/problems.ts";
import { defineTool } from "../../src/tools/define-tool.ts";
import type { Bench } from "../support/bench.ts";
import type { SeenSnapshot } from "../support/fold.ts";
import { emptySnapshot, foldMessages, takeSnapshot } from "../support/fold.ts";
import { openBench } from "../support/bench.ts";
import { createDice } from "../support/dice.ts";
import type { Dice } from "../support/dice.ts";
import { checkInvariants } from "../support/invariants.ts";
import type { Probe } from "../support/probe.ts";
import { createProbe } from "../support/probe.ts";
import { scripted } from "../support/scripts.ts";
import { engineOf } from "../support/teams.ts";
import { checkTranscripts } from "../support/transcripts.ts";
import type { SnapshotBody } from "../../src/client/fold/start.ts";
import { invalidity } from "../support/validity.ts";

/** Random schedules over a scripted session (RE-8): everything that people, clocks, providers and power cuts can do, in any order. */

const callPieces = [
  "{ call: look, args: { name: a } }",
  "{ call: look, args: { fail: true } }",
  "{ call: put, args: { name: b } }",
  "{ call: fire, args: { name: c } }",
  "{ call: fire, args: { name: d } }",
  '{ call: ask_user, args: { question: "Which?" } }',
  "{ call: fire, raw_args: '{\"a\":' }",
  "{ call: fs_write, args: { path: x, content: y } }",
  "{ call: submit }",
];

const calls = (dice: Dice): string =>
  Array.from({ length: 1 + dice.roll(4) }, () => dice.pick(callPieces)).join(", ");

const replyKinds: readonly ((dice: Dice) => string)[] = [
  () => "{ reply: [{ text: Done. }] }",
  () => "{ reply: [{ reasoning: Hm. }, { text: 'A longer answer than usual' }] }",
  (dice) => `{ reply: [${calls(dice)}] }`,
  (dice) => `{ reply: [${calls(dice)}] }`,
  (dice) => `{ reply: [{ text: Look. }, ${calls(dice)}] }`,
  () => "{ reply: [{ reasoning: Hm. }] }",
  () => "{ reply: [{ text: 'Cut he' }], finish: length }",
  (dice) => `{ reply: [${calls(dice)}], finish: length }`,
  () => "{ fail: [{ status: 529, times: 2 }], reply: [{ text: Late. }] }",
  () => "{ fail: [{ status: 429, retry_after: 40 }], reply: [{ call: look }] }",
  () => "{ fail: [{ error: truncated_stream, after_chars: 3 }], reply: [{ text: 'Once more' }] }",
  () => "{ reply: [{ refusal: No. }] }",
];

/** One agent in two plans, and half of those ask a person. */
const planOf = (dice: Dice): string =>
  `plan_before_execute: ${dice.pick(["false", "false", "true", "approve"])}`;

interface Stage {
  readonly probe: Probe;
  readonly engine: Engine;
}

/** Every built-in effect, at thresholds that a small window reaches in a few turns. */
const effectLines = [
  "{ kind: observation_mask, params: { threshold: 0.3, recent_window: 3 } }",
  "{ kind: observation_mask, params: { threshold: 0.2, style: digest, recent_turns: 2 } }",
  "{ kind: sliding_window, params: { threshold: 0.4, recent_zone: 3, medium_zone: 2, trim_length: 20 } }",
  "{ kind: compact, params: { threshold: 0.5, target: 0.2 } }",
  "{ kind: compact, params: { threshold: 0.4, keep_turns: 1, on_failure: keep } }",
  "{ kind: compact, params: { threshold: 0.4, on_failure: ask } }",
  "{ kind: trim_tool_results, params: { max_result_length: 40, preserve_recent: 1 } }",
  "{ kind: offload, params: { threshold: 0.2, min_result_len: 100, recent_window: 2 } }",
  "{ kind: loop_detect, params: { threshold: 2, window_size: 6 } }",
  "{ kind: reflection, params: { failure_threshold: 1 } }",
  "{ kind: stall_detect, params: { window: 4, similarity_threshold: 0.9 } }",
  "{ kind: tool_scope, params: { exclude: [submit] } }",
];

/** A random choice of effects for an agent, in any order. */
const effectsOf = (dice: Dice): string => {
  const chosen = effectLines.filter(() => dice.roll(2) === 0).sort(() => dice.roll(3) - 1);
  return `effects: [${chosen.join(", ")}]`;
};

const bigResult = defineTool({
  name: "big",
  description: "A long result.",
  params: z.strictObject({ size: z.int().default(2_000).describe("Characters.") }),
  safety: "read",
  run: ({ size }) => ({ content: "a long line of words ".repeat(Math.ceil(size / 21)) }),
});

/** The same, with a small window, long results and effects that the seed decides. */
export const effectStageOf = async (seed: number): Promise<Stage> => {
  const dice = createDice(seed * 6271 + 5);
  const replies = Array.from({ length: 40 }, () =>
    dice.roll(3) === 0
      ? `{ reply: [{ call: big, args: { size: ${100 + dice.roll(6_000)} } }, { call: look }] }`
      : dice.pick(replyKinds)(dice),
  ).join(", ");
  const probe = createProbe(false);
  const agent = "options: { max_iterations: 12 }\nguards: { context_window: false }";
  const yaml = scripted(`replies: [${replies}]`, agent, "")
    .replace("context_window: 128000", `context_window: ${dice.pick([4_000, 8_000, 16_000])}`)
    .replace("effects: []", effectsOf(dice));
  const toolbox = { ...probe.toolbox, tools: [...probe.toolbox.tools, bigResult] };
  return { probe, engine: await engineOf(yaml, { toolboxes: [toolbox] }) };
};

/** A team whose script, permissions and options the seed decides. */
export const stageOf = async (seed: number): Promise<Stage> => {
  const dice = createDice(seed * 7919 + 1);
  const replies = Array.from({ length: 30 }, () => dice.pick(replyKinds)(dice)).join(", ");
  const options = `options: { max_iterations: 8, cache_tool_results: ${dice.roll(2) === 0}, ${planOf(dice)} }`;
  const team = dice.roll(2) === 0 ? "permissions: { rules: [{ tool: fire, action: ask }] }" : "";
  const probe = createProbe(false);
  const engine = await engineOf(scripted(`replies: [${replies}]`, options, team), {
    toolboxes: [probe.toolbox],
  });
  return { probe, engine };
};

const limitLines = [
  "max_tokens: 3000",
  "max_tokens: 9000, on_exceeded: ask",
  "max_tool_calls: 2",
  "max_tool_calls: 1, on_exceeded: ask",
  "max_cost_usd: 0.004, max_tokens: 20000, warn_at: 0.2",
  "on_exceeded: ask",
];

/** The same, with budgets of runs, sessions and the tenant's day that the seed decides. */
export const budgetStageOf = async (seed: number): Promise<Stage> => {
  const dice = createDice(seed * 4409 + 3);
  const replies = Array.from({ length: 30 }, () => dice.pick(replyKinds)(dice)).join(", ");
  const probe = createProbe(false);
  const agent = [
    `options: { max_iterations: ${2 + dice.roll(5)}, ${planOf(dice)} }`,
    `max_tokens: ${200 + dice.roll(800)}`,
    `guards: { budget: { ${dice.pick(limitLines)} } }`,
  ];
  const section = (name: string): string =>
    dice.roll(2) === 0 ? "" : `${name}: { max_tokens: ${4_000 + dice.roll(12_000)} }`;
  const sections = [section("session"), section("tenant")].filter((each) => each !== "");
  const team = `models: { play: { price: { input: 1, output: 1 } } }\nbudgets: { ${sections.join(", ")} }`;
  const engine = await engineOf(scripted(`replies: [${replies}]`, agent.join("\n"), team), {
    toolboxes: [probe.toolbox],
  });
  return { probe, engine };
};

interface Scene extends Stage {
  readonly bench: Bench;
  readonly dice: Dice;
  /** Probe calls of this scene begin here. */
  readonly from: number;
  readonly acknowledged: string[];
  /** Clients that came meanwhile hold these. */
  readonly snapshots: SeenSnapshot[];
  /** Forks of the session, which are played after it. */
  readonly forks: Bench[];
}

const open = ({ probe, from }: Scene) => probe.calls.slice(from);

const queued = ({ bench }: Scene): readonly string[] =>
  (bench.state().threads["main"]?.inbox ?? []).map(({ id }) => id);

const decisions = [
  { decision: "approve" },
  { decision: "approve", remember: "session" },
  { decision: "deny", message: "no" },
  { decision: "edit", input: { name: "e" } },
  { decision: "edit", input: { plan: "Another." } },
  { decision: "answer", text: "x" },
  { decision: "cancel" },
  { decision: "approve", limit: 20_000 },
];

/** A turn boundary, a place that rounds down to one, or a message that may not be there. */
const placeOf = ({ bench, dice }: Scene): number | string =>
  dice.roll(2) === 0 ? dice.roll(bench.state().head + 1) : `msg_main_${dice.roll(12)}`;

/** Forks that are made of a session, and forks of these. */
const mostForks = 2;

/** A place inside what a fork took shows its view up to there, and its end the whole of it. */
const checkPlaces = (bench: Bench, dice: Dice): void => {
  const idsOf = (): readonly string[] => bench.chat().map(({ id }) => id);
  const view = idsOf();
  if (view.length === 0) return;
  const place = dice.roll(view.length);
  bench.ok("rewind", { at: view[place] });
  const shown = idsOf();
  expect(shown, "SE-45: the view up to a place").toEqual(view.slice(0, Math.min(shown.length, place + 1)));
  bench.ok("rewind", { at: view.at(-1) });
  expect(idsOf(), "SE-45: the whole view").toEqual(view);
};

const forkAt = (scene: Scene): void => {
  const { bench: source, engine, forks } = scene;
  const bench = openBench({
    engine,
    source,
    id: source.id.replace(/a(?=[bc]*$)/, forks.length === 0 ? "b" : "c"),
  });
  const before = source.state();
  const at = placeOf(scene);
  try {
    bench.ok("fork", { source: source.id, at });
  } catch (error) {
    if (error instanceof ProblemError && error.problem.code === "not_found") return;
    throw error;
  }
  expect(source.state(), "SE-45: the source stays untouched").toBe(before);
  checkChat(bench, 0);
  checkPlaces(bench, scene.dice);
  forks.push(bench);
};

const moves: readonly ((scene: Scene) => Promise<void> | void)[] = [
  ({ bench, dice, acknowledged }) => {
    const id = `i${acknowledged.length}_${dice.roll(1e9)}`;
    const on_busy = dice.pick(["reject", "queue", "steer", "steer", "interrupt", "rollback"]);
    if (bench.perform("send", { id, content: `Say ${id}`, on_busy }).ok) acknowledged.push(id);
  },
  ({ bench, dice }) => {
    const asks = Object.keys(bench.state().asks);
    if (asks.length > 0) bench.perform("answer", { ask: dice.pick(asks), ...dice.pick(decisions) });
  },
  ({ bench, dice }) => {
    if (dice.roll(3) === 0)
      bench.perform("cancel", {
        mode: dice.pick(["now", "after_turn"]),
        queued: dice.pick(["keep", "return"]),
      });
  },
  (scene) => {
    const ids = queued(scene);
    const { bench, dice } = scene;
    if (ids.length === 0) return;
    const input = dice.pick(ids);
    if (dice.roll(2) === 0) bench.perform("withdraw", { input });
    else bench.perform("edit_input", { input, content: "Changed", place: dice.roll(4) });
  },
  ({ bench }) => bench.crash(),
  ({ bench, dice }) => {
    if (dice.roll(4) === 0)
      bench.perform("compact", dice.roll(2) === 0 ? {} : { instructions: "Keep names." });
  },
  ({ bench, dice }) => {
    const chat = bench.chat();
    const pinned = dice.roll(2) === 0;
    if (chat.length > 0 && dice.roll(4) === 0) bench.perform("pin", { message: dice.pick(chat).id, pinned });
  },
  (scene) => {
    const at = placeOf(scene);
    if (scene.dice.roll(2) === 0) scene.bench.perform("rewind", { at });
  },
  (scene) => {
    if (scene.dice.roll(4) === 0 && scene.forks.length < mostForks) forkAt(scene);
  },
  ({ bench, snapshots }) => {
    snapshots.push(takeSnapshot(bench));
  },
  (scene) => {
    const live = open(scene);
    if (live.length === 0) return;
    const call = scene.dice.pick(live);
    if (scene.dice.roll(4) === 0) call.fail("broken");
    else call.finish();
  },
  ({ bench }) => bench.steps(),
  ({ bench }) => bench.steps(),
  ({ bench, dice }) => bench.tick(dice.pick([10, 30, 1_000, 5_000, 60_000, 3_600_000])),
  ({ bench, dice }) => {
    if (dice.roll(2) === 0) bench.release();
    else bench.hold = true;
  },
];

/** Lets everything come to an end: calls finish, asks expire, waits pass. */
const settle = async ({ bench, probe, from }: Scene): Promise<void> => {
  bench.release();
  probe.instant = true;
  for (let round = 0; round < 200; round++) {
    for (const call of probe.calls.slice(from)) call.finish();
    await bench.idle();
    const at = bench.alarm();
    if (at === null) return;
    await bench.tick(Math.max(1, at - bench.now()));
  }
  throw new Error("the session never came to rest");
};

/** So many numbers of messages were never used here: a fork takes some messages only. */
const missingMessages = (bench: Bench): number =>
  (bench.state().threads["main"]?.nextPos ?? 0) - bench.rows("messages").length;

const count = (events: readonly StoredEvent[], ...types: string[]): number =>
  events.filter(({ type }) => types.includes(type)).length;

/** Every client shows what a new one does; which messages an effect retired is not told one by one. */
const checkClients = ({ bench, snapshots }: Scene): void => {
  const events = bench.events();
  checkTranscripts(bench, snapshots as unknown as readonly SnapshotBody[]);
  if (events.some(({ type, data }) => type === "effect_applied" && data.retired > 0)) return;
  const idsOf = (messages: SeenSnapshot["messages"]): readonly string[] => messages.map(({ id }) => id);
  const now = idsOf(takeSnapshot(bench).messages);
  for (const client of [emptySnapshot, ...snapshots])
    expect(idsOf(foldMessages(client, events)), `AP-24: a client since ${client.seq}`).toEqual(now);
};

const check = (scene: Scene, missing: number): void => {
  const { bench, probe, from, acknowledged } = scene;
  checkInvariants(bench, acknowledged, { ...probe, calls: probe.calls.slice(from) });
  const events = bench.events();
  const ended = count(events, "input_applied", "input_withdrawn", "input_returned");
  expect(ended, "SE-23: each input came to one end").toBe(count(events, "input_accepted"));
  const settled = count(events, "ask_resolved", "ask_expired", "ask_cancelled");
  expect(settled, "SE-29: each ask came to one end").toBe(count(events, "ask_user"));
  expect(bench.state().threads["main"]?.run, "no run is left").toBeNull();
  expect(bench.state().asks, "no ask is left").toEqual({});
  expect(missingMessages(bench), "no message is missing from the store").toBe(missing);
  checkClients(scene);
  let active = 0;
  for (const { type } of events) {
    active += type === "run_start" ? 1 : type === "run_end" ? -1 : 0;
    expect(active, "SE-24: one run at a time").toBeLessThanOrEqual(1);
  }
};

/** At any moment: what left was valid, what is stored needs no repair but the results that are still to come (SE-3, SE-6). */
const checkChat = (bench: Bench, from: number): void => {
  for (const { messages } of bench.requests.slice(from))
    expect(invalidity(messages), "SE-6: each request is valid").toBeNull();
  const thread = bench.state().threads["main"];
  const { messages, repairs } = buildView(thread?.chat ?? [], thread?.firstInput ?? null);
  if (messages.length > 0) expect(invalidity(messages), "SE-7: what is shown is valid").toBeNull();
  const open = thread?.run?.phase.at === "acting";
  const wrong = repairs.filter(({ kind }) => kind !== "end_added" && !(open && kind === "result_missing"));
  expect(wrong, "SE-3: transitions alone never break a chat").toEqual([]);
};

/** Plays a session to its end and checks it, the chat after every four moves; then its forks, more shortly. */
const playSession = async (scene: Scene, sequences: number): Promise<readonly Bench[]> => {
  const { bench, dice, probe, engine, forks } = scene;
  const missing = missingMessages(bench);
  for (let sequence = 0; sequence < sequences; sequence++) {
    const sent = bench.requests.length;
    for (let move = 0; move < 4; move++) await dice.pick(moves)(scene);
    checkChat(bench, sent);
  }
  const sent = bench.requests.length;
  await settle(scene);
  checkChat(bench, sent);
  check(scene, missing);
  const played = [bench];
  for (const fork of forks)
    played.push(...(await playSession(openScene({ engine, probe }, fork, dice), Math.floor(sequences / 3))));
  return played;
};

const openScene = ({ engine, probe }: Stage, bench: Bench, dice: Dice): Scene => {
  const from = probe.calls.length;
  return { bench, dice, probe, engine, from, acknowledged: [], snapshots: [], forks: [] };
};

/** Plays one schedule and returns the session and its forks; the seed stands in every failure. */
export const playSchedule = async (
  stage: Stage,
  seed: number,
  sequences: number,
): Promise<readonly Bench[]> => {
  stage.probe.instant = seed % 3 === 0;
  try {
    const bench = openBench({ engine: stage.engine });
    bench.ok("create");
    return await playSession(openScene(stage, bench, createDice(seed)), sequences);
  } catch (error) {
    const detail = error instanceof ProblemError ? error.problem.detail : String(error);
    throw new Error(`seed ${seed}: ${detail}`, { cause: error });
  }
};
